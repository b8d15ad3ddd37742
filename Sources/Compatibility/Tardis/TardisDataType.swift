import MarketData
import PubSub

/// A data type: `book_snapshot_20_100ms`.
enum TardisDataType: Equatable, Sendable {
  case trade, bookChange, bookTicker
  /// `name` is what messages repeat; `interval` in ms.
  case bookSnapshot(name: String, depth: Int, interval: Int)
  case tradeBar(name: String, TardisBarRule)

  init?(_ text: String) {
    switch text {
    case "trade": self = .trade
    case "book_change": self = .bookChange
    case "book_ticker": self = .bookTicker
    case "quote": self = .bookSnapshot(name: text, depth: 1, interval: 0)
    default:
      let parts = text.split(separator: "_", omittingEmptySubsequences: false)
      if parts.count == 2, parts[0] == "quote", let interval = Self.milliseconds(parts[1]) {
        self = .bookSnapshot(name: text, depth: 1, interval: interval)
      } else if parts.count == 4, parts[0] == "book", parts[1] == "snapshot", let depth = Int(parts[2]),
        (1...1_000).contains(depth), let interval = Self.milliseconds(parts[3])
      {
        self = .bookSnapshot(name: text, depth: depth, interval: interval)
      } else if parts.count == 3, parts[0] == "trade", parts[1] == "bar", let rule = TardisBarRule(parts[2]) {
        self = .tradeBar(name: text, rule)
      } else {
        return nil
      }
    }
  }

  /// `100ms`, `1s`, `1m`. Nil if the gateway does not publish at that interval.
  private static func milliseconds(_ text: Substring) -> Int? {
    guard let (number, unit) = TardisBarRule.parts(text) else { return nil }
    let factor: Int? =
      switch unit {
      case "ms": 1
      case "s": 1_000
      default: nil
      }
    guard let factor, number <= 5_000 else { return nil }
    return RateClass.intervals.contains(UInt16(clamping: number * factor)) ? number * factor : nil
  }

  /// The stream of a market.
  func key(of instrument: Instrument, _ head: TardisHead) -> StreamKey {
    var key: StreamKey
    let text: String
    switch self {
    case .trade:
      (key, text) = (StreamKey(channel: .trades, symbol: instrument.symbol), "trade")
      key.dialect = DialectChannel(head.streamName(text), hears: .trades) { TardisTradeWriter(head) }
    case .bookChange:
      (key, text) = (StreamKey(channel: .book, symbol: instrument.symbol), "book_change")
      key.dialect = DialectChannel(head.streamName(text), hears: [.book, .bookState]) { TardisBookWriter(head) }
    case .bookTicker:
      (key, text) = (StreamKey(channel: .quote, symbol: instrument.symbol), "book_ticker")
      key.dialect = DialectChannel(head.streamName(text), hears: [.quote, .bookState]) { TardisQuoteWriter(head) }
    case .bookSnapshot(let name, let depth, let interval):
      key = StreamKey(
        channel: .book, symbol: instrument.symbol, intervalMilliseconds: UInt16(clamping: interval))
      key.dialect = DialectChannel(head.streamName(name), hears: [.book, .bookState]) {
        TardisTopWriter(head, name: name, depth: depth, interval: interval)
      }
    case .tradeBar(let name, let rule):
      key = StreamKey(channel: .trades, symbol: instrument.symbol)
      key.dialect = DialectChannel(head.streamName(name), hears: .trades) {
        TardisBarWriter(head, name: name, rule: rule)
      }
    }
    return key
  }

  /// The channel of ours with the same data.
  var channel: ChannelName {
    switch self {
    case .trade, .tradeBar: .trades
    case .bookChange, .bookSnapshot: .book
    case .bookTicker: .quote
    }
  }
}

/// When a bar ends: `1m`, `100ticks`, `5vol`.
struct TardisBarRule: Equatable, Sendable {
  enum Kind: String, Sendable { case time, tick, volume }

  let kind: Kind
  /// As the client wrote it.
  let number: Int
  /// In µs, of a bar of time.
  let length: Int64

  init?(_ text: Substring) {
    guard let (number, unit) = Self.parts(text), number > 0 else { return nil }
    self.number = number
    switch unit {
    case "ms": (kind, length) = (.time, Int64(number) * Microseconds.millisecond)
    case "s": (kind, length) = (.time, Int64(number) * Microseconds.second)
    case "m": (kind, length) = (.time, Int64(number) * Microseconds.minute)
    case "ticks": (kind, length) = (.tick, 0)
    case "vol": (kind, length) = (.volume, 0)
    default: return nil
    }
  }

  /// A number, 0…1,000,000, and its unit.
  static func parts(_ text: Substring) -> (number: Int, unit: Substring)? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int(digits), number <= 1_000_000 else { return nil }
    return (number, text[digits.endIndex...])
  }
}
