import Bytes
import MarketData
import TestSupport

@testable import PubSub

/// A message of a channel in both encodings, from random values of every size.
struct RandomMessage {
  let stream: BinaryScale
  let channel: ChannelName
  /// The JSON text, and the bytes of a binary message.
  let text: String
  let bytes: [UInt8]
}

/// Random values of every size, among them the smallest and the largest.
struct RandomData {
  var random: SeededGenerator
  private let instrument: Instrument
  private let scale: BinaryScale
  private let now: Timestamp

  static let symbol = "kraken:BTC-USD"

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    let digits = (UInt8.random(in: 0...18, using: &random), UInt8.random(in: 0...18, using: &random))
    instrument = Instrument(
      id: InstrumentID(0), venue: "kraken", venueSymbol: "BTC/USD", base: "BTC", quote: "USD", priceScale: digits.0,
      sizeScale: digits.1)
    let base: Int64 = 1_790_000_000_000_000
    scale = BinaryScale(base: base, priceDigits: digits.0, sizeDigits: digits.1)
    now = Timestamp(microseconds: base + Int64.random(in: -9...9_000_000_000, using: &random))
  }

  // MARK: Values

  private mutating func flip() -> Bool { Bool.random(using: &random) }

  private mutating func number() -> Int64 {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return [0, 1, -1, .min, .max, 1 << 53, -(1 << 53)].randomElement(using: &random)!
    default: return Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random)
    }
  }

  private mutating func size() -> Int64 { max(0, number()) }
  private mutating func time() -> Timestamp { now + Int64.random(in: -99_000_000_000...9, using: &random) }
  private mutating func some<Value>(_ value: (inout Self) -> Value) -> Value? { flip() ? value(&self) : nil }
  private mutating func decimal() -> Decimal64 {
    Decimal64(mantissa: number(), scale: UInt8.random(in: 0...18, using: &random))
  }
  private mutating func text() -> String {
    ["sequence gap", "", "ü \"quoted\"\n", "no message for 12 s"].randomElement(using: &random)!
  }
  private mutating func mark() -> ChannelMark? {
    flip() ? nil : ChannelMark(reason: flip() ? nil : text())
  }
  private mutating func list<Value>(_ value: (inout Self) -> Value) -> [Value] {
    (0..<Int.random(in: 0...6, using: &random)).map { _ in value(&self) }
  }
  private mutating func level() -> PriceLevel { PriceLevel(price: number(), size: size()) }

  private mutating func trade() -> Trade {
    let texts = ["7f3a-11", "", "007", "18446744073709551616", "ABC~!"]
    let id =
      flip()
      ? TradeID(UInt64.random(in: 0 ... .max, using: &random) >> UInt64.random(in: 0..<64, using: &random))
      : TradeID(Array(texts.randomElement(using: &random)!.utf8).span.bytes)
    var trade = Trade(
      instrument: InstrumentID(0), id: id, price: number(), size: size(), side: flip() ? .buy : .sell, time: time(),
      isLate: flip())
    trade.breakBefore = [.none, .none, .gap, .renumbered].randomElement(using: &random)!
    return trade
  }

  private mutating func candle(_ interval: CandleInterval) -> Candle {
    Candle(
      instrument: InstrumentID(0), interval: interval, time: interval.start(of: time()), open: number(),
      high: number(), low: number(), close: number(), volume: Int128(size()) * 1_000,
      quoteVolume: some { Int128($0.size()) * 1_000_000 }, trades: some { $0.size() },
      rev: UInt32.random(in: 0...3, using: &random), source: [.own, .partial, .venue].randomElement(using: &random)!,
      isClosed: flip())
  }

  private mutating func change() -> PriceChange? {
    guard flip() else { return nil }
    var ticker = Ticker(instrument: InstrumentID(0), time: now)
    ticker.changePercent = Decimal64(mantissa: 1, scale: 2)
    var change = PriceChange(ticker)
    change?.open = some { $0.number() }
    change?.change = some { $0.decimal() }
    change?.percent = some { $0.number() }
    return change
  }

  private mutating func ticker() -> DayTicker {
    var ticker = Ticker(instrument: InstrumentID(0), time: time())
    var day = DayTicker(
      venue: ticker, figures: WindowFigures(), lastPrice: nil, quote: nil, instrument: instrument, coveredFrom: nil,
      now: now)
    for field in [\Ticker.last, \.bid, \.ask, \.open, \.high, \.low] { ticker[keyPath: field] = some { $0.number() } }
    for field in [\Ticker.volume, \.quoteVolume, \.vwap, \.change, \.changePercent] {
      ticker[keyPath: field] = some { $0.decimal() }
    }
    ticker.trades = some { $0.size() }
    day.ticker = ticker
    day.source = [.venue, .gateway, .mixed].randomElement(using: &random)!
    day.own = DayTicker.Figures(rawValue: flip() ? 0 : UInt8.random(in: 0 ... .max, using: &random))
    day.coveredFrom = some { $0.time() }
    return day
  }

  // MARK: Messages

  mutating func message(_ channel: ChannelName) -> RandomMessage {
    let isSnapshot = flip()
    let key = StreamKey(channel: channel, symbol: Self.symbol)
    let stream = PublishedStream.make(
      StreamStart(id: StreamID(rawValue: UInt32.random(in: 1...70_000, using: &random)), seq: 0, key: key))
    stream.seq = UInt64(size()) | 1
    let prev = flip() ? stream.seq - 1 : stream.seq / 2
    let reason = SnapshotReason.allCases.randomElement(using: &random)!
    // Updates of a stream that began with other digits have theirs.
    var known = scale
    let digits = (price: instrument.priceScale, size: instrument.sizeScale)
    if flip() { (known.priceDigits, known.sizeDigits) = (3, 4) }
    let isOther = (known.priceDigits, known.sizeDigits) != (digits.price, digits.size)
    var json = ByteBuffer()
    var record = ByteBuffer()
    if isSnapshot {
      Envelope.appendSnapshot(of: stream, reason: reason, now: now, to: &json)
      BinaryEnvelope.appendSnapshot(
        channel.facts.binary!, of: stream, reason: reason, now: now, known, digits: digits, to: &record)
    } else {
      Envelope.appendUpdate(of: stream, prev: prev, now: now, to: &json)
      BinaryEnvelope.appendUpdate(
        channel.facts.binary!, of: stream, prev: prev, now: now, known, digits: isOther ? digits : nil, to: &record)
    }
    append(channel, isSnapshot, &json, &record)
    json.append("}")
    return RandomMessage(stream: known, channel: channel, text: json.description, bytes: Array(record.unsafeBytes))
  }

  private mutating func append(
    _ channel: ChannelName, _ isSnapshot: Bool, _ json: inout ByteBuffer, _ record: inout ByteBuffer
  ) {
    switch channel {
    case .pulse:
      if flip() {
        let (price, mark, time) = (number(), ChannelMark(reason: flip() ? nil : text()), time())
        PulseChannel.append(price, mark, time: time, of: instrument, to: &json)
        return PulseChannel.appendBinary(price, mark, time: time, now: now, to: &record)
      }
      let pulse = Pulse(
        instrument: InstrumentID(0), price: number(), previous: some { $0.number() },
        merged: Int.random(in: 1...9_999, using: &random), time: time())
      let (change, mark) = (some { $0.number() }, mark())
      PulseChannel.append(pulse, changePercent: change, of: instrument, mark: mark, to: &json)
      PulseChannel.appendBinary(pulse, changePercent: change, mark: mark, now: now, to: &record)
    case .quote:
      if Int.random(in: 0..<5, using: &random) == 0 {
        let (reason, time) = (text(), time())
        QuoteChannel.appendSyncing(reason, time: time, to: &json)
        return QuoteChannel.appendBinarySyncing(reason, time: time, now: now, to: &record)
      }
      let quote = Quote(
        instrument: InstrumentID(0), bid: number(), bidSize: size(), ask: number(), askSize: size(), time: time())
      QuoteChannel.append(quote, of: instrument, to: &json)
      QuoteChannel.appendBinary(quote, now: now, to: &record)
    case .trades:
      if !isSnapshot, Int.random(in: 0..<4, using: &random) == 0 {
        var hole = TradeHole(
          first: number(), last: number(), count: some { $0.size() }, from: time(), to: time(),
          covers: TimeSpan(from: now, to: now))
        (hole.isSearched, hole.found) = (flip(), hole.count.map { $0 / 2 } ?? 0)
        let isEnd = flip()
        TradesChannel.append(hole, isEnd: isEnd, to: &json)
        return TradesChannel.appendBinary(hole, isEnd: isEnd, now: now, to: &record)
      }
      let (trades, mark) = (list { $0.trade() }, mark())
      TradesChannel.append(trades[...], of: instrument, mark: mark, to: &json)
      TradesChannel.appendBinary(trades[...], mark: mark, now: now, to: &record)
    case .book:
      let members = flip() ? "" : #","venues":["kraken"],"absent":[{"venue":"bybit","reason":"\u00fc"}]"#
      if !isSnapshot, Int.random(in: 0..<4, using: &random) == 0 {
        let (reason, time) = (text(), time())
        BookChannel.appendSyncing(reason, members: members, time: time, to: &json)
        return BookChannel.appendBinarySyncing(reason, members: members, time: time, now: now, to: &record)
      }
      let (bids, asks, time) = (list { $0.level() }, list { $0.level() }, time())
      var spread: Int64?
      if isSnapshot {
        json.append("{\"state\":\"live\",")
        BookChannel.appendSnapshot(bids: bids, asks: asks, time: time, of: instrument, to: &json)
        json.append(members)
        json.append("}")
        if let bid = bids.first, let ask = asks.first { spread = BookChannel.spreadPercent(bid, ask)?.mantissa }
      } else {
        BookChannel.appendUpdate(bids: bids, asks: asks, members: members, time: time, of: instrument, to: &json)
      }
      BookChannel.appendBinary(
        bids: bids, asks: asks, spread: spread, members: members, time: time, now: now, to: &record)
    case .ticker:
      let (day, mark) = (ticker(), mark())
      TickerChannel.append(day, of: instrument, mark: mark, to: &json)
      TickerChannel.appendBinary(day, mark: mark, now: now, to: &record)
    case .candles:
      let interval = CandleInterval.allCases.randomElement(using: &random)!
      let candles = list { $0.candle(interval) }
      CandlesChannel.append(candles[...], interval, of: instrument, to: &json)
      CandlesChannel.appendBinary(candles[...], interval, of: instrument, to: &record)
    default:
      let change = change()
      guard isSnapshot else {
        var line = Sparkline.empty(.day, now: time())
        line.points = [number()] + list { $0.number() }
        guard let tip = line.tip else { return }
        SparklineChannel.appendUpdate(tip, change, of: instrument, to: &json)
        return SparklineChannel.appendBinaryUpdate(tip, change, now: now, to: &record)
      }
      var line = Sparkline.empty(ChartRange.allCases.randomElement(using: &random)!, now: time())
      (line.step, line.points, line.change) = (size(), list { $0.number() }, change)
      line.coveredFrom = some { $0.time() }
      line.gaps = list { TimeSpan(from: $0.time(), to: $0.time()) }
      json.append("{")
      SparklineChannel.appendSnapshot(line, of: instrument, to: &json)
      json.append("}")
      SparklineChannel.appendBinarySnapshot(line, now: now, to: &record)
    }
  }
}
