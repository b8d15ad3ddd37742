import Bytes
import MarketData

/// One bar, by the instrument's scales.
struct SimulatedCandle {
  /// When it opens.
  var start: Timestamp
  /// µs.
  let interval: Int64
  var bar: SimulatedDay.Minute
  let isClosed: Bool
  /// The volume-weighted average price, within the bar's range; 0 without a trade.
  var vwap: Int64 {
    bar.volume > 0 ? min(max(Int64(bar.turnover / Int128(bar.volume)), bar.low), bar.high) : 0
  }
}

/// How long a bar is, and how far behind midnight UTC its days begin; both in µs.
struct CandleInterval {
  let length: Int64
  var offset: Int64 = 0

  static let minute = CandleInterval(length: Microseconds.minute)
  static let fiveMinutes = CandleInterval(length: 5 * Microseconds.minute)
  static let quarter = CandleInterval(length: 15 * Microseconds.minute)
  static let hour = CandleInterval(length: Microseconds.hour)
  static let fourHours = CandleInterval(length: 4 * Microseconds.hour)
  static let day = CandleInterval(length: Microseconds.day)
  /// Days by the clock of Hong Kong: from 16:00 UTC.
  static let hongKongDay = CandleInterval(length: Microseconds.day, offset: 16 * Microseconds.hour)

  /// By the venue's six names for them, in this order; nil for one that it has not.
  static func named(_ name: String?, _ names: [String?]) -> CandleInterval? {
    let all = [minute, fiveMinutes, quarter, hour, fourHours, day]
    guard let name, let index = names.firstIndex(where: { $0 == name }) else { return nil }
    return all[index]
  }

  /// The opening of the bar that `time` is in.
  func opening(_ time: Timestamp) -> Timestamp {
    let past = time.rawValue - offset
    let number = past >= 0 ? past / length : (past - length + 1) / length
    return Timestamp(rawValue: number * length + offset)
  }
}

/// Which bars an answer has. A venue's rules fill it in.
struct CandleWindow {
  /// By their openings, both ends included.
  var from = Timestamp.distantPast
  var to = Timestamp.distantFuture
  var limit: Int
  /// Which rows are left when there are more than `limit`.
  var keepsOldest = false
  var isNewestFirst = false
  /// Whether an interval without a trade has a row.
  var isFilled = true
  /// Whether the bar under way is among them.
  var hasRunning = true
  /// How many closed bars the venue has at all; nil for those since the listing.
  var depth: Int?
}

/// The rows of one answer, with what a fault has made of them.
struct CandleRows {
  private(set) var candles: [SimulatedCandle] = []
  let state: InstrumentMarket
  /// The clock that the answer shows.
  let clock: Timestamp
  let isRagged: Bool

  init(
    _ state: InstrumentMarket, _ interval: CandleInterval, _ window: CandleWindow, now: Timestamp, fault: CandleFault?
  ) {
    self.state = state
    clock = fault == .lying ? now + Microseconds.hour : now
    isRagged = fault == .ragged
    guard fault != .empty else { return }
    let running = interval.opening(now)
    let newest = window.hasRunning ? running : running - interval.length
    var reader = InstrumentMarket.CandleReader(state)
    var oldest = interval.opening(reader.listed + (interval.length - 1))
    if let depth = window.depth { oldest = max(oldest, running - Int64(depth) * interval.length) }
    var first = max(interval.opening(max(window.from, oldest) + (interval.length - 1)), oldest)
    var last = min(interval.opening(min(window.to, newest)), newest)
    switch fault {
    case .lying where first <= last:
      let span = min(last - first + interval.length, Int64(window.limit) * interval.length)
      (first, last) = (max(oldest, first - span), last - span)
    case .overlapping:
      (first, last) = (max(oldest, first - 3 * interval.length), min(newest, last + 3 * interval.length))
    default: break
    }
    let step = window.keepsOldest ? interval.length : -interval.length
    var next = window.keepsOldest ? first : last
    while next >= first, next <= last, candles.count < window.limit {
      let bar = reader.bar(from: next, length: interval.length)
      if window.isFilled || bar.trades > 0 {
        candles.append(SimulatedCandle(start: next, interval: interval.length, bar: bar, isClosed: next < running))
      }
      next = next + step
    }
    if !window.keepsOldest { candles.reverse() }
    switch fault {
    case .holes: candles = candles.enumerated().filter { $0.offset % 5 != 2 }.map(\.element)
    case .overlapping: if let double = candles.first { candles.insert(double, at: 0) }
    case .lying: if !candles.isEmpty { candles[candles.count - 1].start = running + interval.length }
    default: break
    }
    if window.isNewestFirst { candles.reverse() }
  }

  /// Those rows alone that fit.
  func filtered(_ fits: (SimulatedCandle) -> Bool) -> CandleRows {
    var rows = self
    rows.candles.removeAll { !fits($0) }
    return rows
  }

  /// Appends the rows with commas between, each as `row` writes it.
  func append(to out: inout ByteBuffer, _ row: (SimulatedCandle, inout ByteBuffer) -> Void) {
    for (index, candle) in candles.enumerated() {
      if index > 0 { out.append(",") }
      let start = out.count
      row(candle, &out)
      if isRagged, index == min(2, candles.count - 1) { Self.cut(&out, from: start) }
    }
  }

  /// Takes the last field of an array or object that has no other one in it.
  private static func cut(_ out: inout ByteBuffer, from start: Int) {
    let row = out.unsafeBytes[start...]
    guard let comma = row.lastIndex(of: UInt8(ascii: ",")), let end = row.last else { return }
    out.truncate(to: comma)
    out.append(end)
  }
}

extension SimulatedInstrument {
  /// A sum of price × size in quote units, with eight digits at most.
  func quoteUnits(_ turnover: Int128) -> Decimal64 {
    let scale = priceScale + sizeScale + contractSize.scale
    let excess = scale > 8 ? scale - 8 : 0
    let units = turnover * Int128(contractSize.mantissa) / Int128(DecimalText.power(excess))
    return Decimal64(mantissa: Int64(clamping: units), scale: scale - excess)
  }

  /// A size in base units: the same, but where the venue counts contracts.
  func baseUnits(_ size: Int64) -> Decimal64 {
    Decimal64(mantissa: size * contractSize.mantissa, scale: sizeScale + contractSize.scale)
  }
}
