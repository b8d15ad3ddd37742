import MarketData

/// What an instrument traded before its simulation began, hour by hour: a function of the seed and the hour alone, so
/// that it costs nothing until somebody asks and says the same every time. It meets the first recorded hour at its
/// opening price.
struct CandleHistory: Sendable {
  private let seed: UInt64
  private let tick: Int64
  private let lot: Int64
  /// The price at the seam, in ticks.
  private let price: Double
  /// Of an hour on average, and of a trade in lots.
  private let trades: Double
  private let lots: Double
  /// The first hour that is recorded, in hours since 1970.
  let seam: Int64
  /// The first hour of all.
  let listed: Int64
  /// The price, where it is a function of the time, and what that is a multiple of, in ticks.
  private let path: PricePath?
  private let reference: Double

  /// - Parameters:
  ///   - start: of the simulation; the day before it is recorded.
  ///   - price: that the first whole hour of that day opens with, in counts of 10^-`priceScale`.
  ///   - lots: of a trade on average.
  init(
    seed: UInt64, instrument: SimulatedInstrument, start: Timestamp, price: Int64, tradesPerMinute: Double,
    lots: Double, path: PricePath? = nil, reference: Double = 0
  ) {
    self.seed = seed
    self.path = path
    self.reference = reference
    tick = instrument.tick
    lot = instrument.lot
    self.price = Double(price / tick)
    trades = max(60, tradesPerMinute * 60)
    self.lots = lots
    seam = Self.seam(start)
    var random = MarketRandom(seed: seed ^ 0x4C49_5354)
    // Between one and four years old; from a midnight on.
    let first = path == nil ? seam / 24 - 365 - Int64(random.below(1_095)) : Self.listingDay + Int64(random.below(600))
    listed = first * 24
  }

  /// 2023-01-01, in days since 1970: the first listing of markets that another run goes on with.
  private static let listingDay: Int64 = 19_358

  /// The first whole hour of the day before `start`.
  static func seam(_ start: Timestamp) -> Int64 {
    let minute = start.rawValue / Microseconds.minute - Int64(SimulatedDay.minuteCount)
    return (minute + 59) / 60
  }

  // MARK: - Hours

  /// Octaves of the walk: hours from knot to knot, and how far it goes, as a part of the price.
  private static let octaves: [(span: Int64, part: Double)] = [(1, 0.004), (24, 0.03), (336, 0.1), (2_880, 0.12)]

  private func draw(_ salt: UInt64, _ index: Int64) -> Double {
    var random = MarketRandom(seed: seed &+ salt &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(bitPattern: index))
    return random.uniform() * 2 - 1
  }

  private func walk(_ hour: Int64) -> Double {
    var sum = 0.0
    for (index, octave) in Self.octaves.enumerated() {
      let knot = hour / octave.span
      let part = Double(hour % octave.span) / Double(octave.span)
      let (left, right) = (draw(UInt64(index), knot), draw(UInt64(index), knot + 1))
      sum += octave.part * (left + (right - left) * part)
    }
    return sum
  }

  /// What an hour opens with, in ticks.
  private func opening(_ hour: Int64) -> Int64 {
    if let path {
      return max(2, Int64(reference * path.level(at: Timestamp(microseconds: hour * Microseconds.hour))))
    }
    return max(2, Int64(price * (1 + walk(hour) - walk(seam))))
  }

  /// An hour before the seam.
  func hour(_ hour: Int64) -> SimulatedDay.Minute {
    var random = MarketRandom(seed: seed ^ UInt64(bitPattern: hour) &* 0xD6E8_FEB8_6659_FD93)
    let (open, close) = (opening(hour), opening(hour + 1))
    let wick = (path == nil ? price : reference) * 0.002
    var bar = SimulatedDay.Minute(at: open * tick)
    bar.close = close * tick
    bar.high = (max(open, close) + Int64(wick * random.exponential())) * tick
    bar.low = max(1, min(open, close) - Int64(wick * random.exponential())) * tick
    bar.trades = 60 + Int64(trades * (0.3 + 0.7 * random.exponential()))
    bar.volume = max(bar.trades, Int64(Double(bar.trades) * lots * (0.7 + 0.6 * random.uniform()))) * lot
    bar.turnover = Int128((bar.open + bar.close) / 2) * Int128(bar.volume)
    return bar
  }

  // MARK: - Minutes

  /// Sixty minutes that come to `bar` together, some of them without a trade.
  func minutes(of bar: SimulatedDay.Minute, _ hour: Int64) -> [SimulatedDay.Minute] {
    var random = MarketRandom(seed: seed ^ UInt64(bitPattern: hour) &* 0xA076_1D64_78BD_642F)
    let (top, bottom) = (random.below(60), random.below(60))
    // An hour with less than a trade a minute happened in one of them.
    let isBusy = bar.trades >= 60 && bar.volume / lot >= 60
    var list: [SimulatedDay.Minute] = []
    var price = bar.open
    for index in 0..<60 {
      let isQuiet =
        isBusy ? ![0, 59, top, bottom].contains(index) && random.chance(0.05) : index != top || bar.trades == 0
      guard !isQuiet else {
        list.append(SimulatedDay.Minute(at: price))
        continue
      }
      var minute = SimulatedDay.Minute(at: price)
      let drift = Double(bar.open) + Double(bar.close - bar.open) * Double(index + 1) / 60
      let noise = Double(bar.high - bar.low) * 0.2 * (random.uniform() - 0.5)
      price = min(max(Int64(drift + noise) / tick * tick, bar.low), bar.high)
      if index == 59 || !isBusy { price = bar.close }
      minute.close = price
      minute.high = max(minute.open, price)
      minute.low = min(minute.open, price)
      minute.trades = isBusy ? bar.trades / 60 : 1
      minute.volume = isBusy ? bar.volume / lot / 60 * lot : 0
      list.append(minute)
    }
    list[top].high = bar.trades > 0 ? bar.high : bar.open
    list[isBusy ? bottom : top].low = bar.trades > 0 ? bar.low : bar.open
    // What is left over was in the minute of the high.
    list[top].trades = bar.trades - list.reduce(0) { $0 + $1.trades } + list[top].trades
    list[top].volume = bar.volume - list.reduce(0) { $0 + $1.volume } + list[top].volume
    for index in list.indices where index != top {
      list[index].turnover = Int128((list[index].open + list[index].close) / 2) * Int128(list[index].volume)
    }
    list[top].turnover = bar.turnover - list.reduce(0) { $0 + $1.turnover }
    return list
  }
}

extension InstrumentMarket {
  /// Reads the bars of an instrument, one after the other: the last hour that was divided into minutes is kept.
  struct CandleReader {
    private let day: SimulatedDay
    private let history: CandleHistory
    private var divided: (hour: Int64, minutes: [SimulatedDay.Minute])?

    init(_ state: InstrumentMarket) {
      day = state.day
      history = state.history
    }

    /// When the instrument was first traded.
    var listed: Timestamp { Timestamp(rawValue: history.listed * Microseconds.hour) }

    /// What happened from `start` on for `length` µs, both whole minutes, and for a length of an hour or more whole
    /// hours.
    mutating func bar(from start: Timestamp, length: Int64) -> SimulatedDay.Minute {
      let first = start.rawValue / Microseconds.minute
      let count = length / Microseconds.minute
      guard count % 60 == 0, first % 60 == 0 else {
        return SimulatedDay.Minute(joining: (first..<first + count).map { minute($0) })
      }
      return SimulatedDay.Minute(joining: (first / 60..<(first + count) / 60).map { hour($0) })
    }

    private mutating func minute(_ number: Int64) -> SimulatedDay.Minute {
      if number >= day.firstMinute, number / 60 >= history.seam { return day.minute(number) }
      if divided?.hour != number / 60 { divided = (number / 60, history.minutes(of: hour(number / 60), number / 60)) }
      return divided!.minutes[Int(number % 60)]
    }

    private func hour(_ number: Int64) -> SimulatedDay.Minute {
      guard number >= history.seam else { return history.hour(number) }
      let index = Int(number - history.seam)
      if index < day.hours.count { return day.hours[index] }
      return SimulatedDay.Minute(joining: (number * 60..<number * 60 + 60).map { day.minute($0) })
    }
  }
}
