import MarketData
import PubSub

/// The name of a stream: `btcusdt@depth@100ms`.
struct BinanceStreamName: Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    case depth
    case partialDepth(Int)
    case trade, aggTrade, bookTicker, miniTicker, ticker
    case kline(CandleInterval)
  }

  /// As the client wrote it, which combined messages repeat.
  let text: String
  /// `BTCUSDT`
  let symbol: String
  let kind: Kind
  /// How often it is sent at most, ms; 0: with every change.
  let interval: UInt16

  /// Why a name is no stream that is served.
  struct Refusal: Error, Equatable { let words: String }

  private static let nameLimit = 100

  init(_ text: String) throws(Refusal) {
    guard text.utf8.count <= Self.nameLimit else { throw Refusal(words: "unknown stream") }
    self.text = text
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count >= 2, let symbol = parts.first, !symbol.isEmpty, !symbol.hasPrefix("!") else {
      throw Refusal(words: "\(text): there is no stream of all markets; name each")
    }
    guard symbol == symbol.lowercased() else { throw Refusal(words: "\(text): symbols are in lower case") }
    self.symbol = symbol.uppercased()
    let rate = parts.count > 2 ? parts[2] : ""
    func depthInterval() throws(Refusal) -> UInt16 {
      switch rate {
      case "", "1000ms": 1000
      case "100ms": 100
      default: throw Refusal(words: "\(text): depth comes every 100ms or 1000ms")
      }
    }
    let word = parts[1]
    switch word {
    case "depth": (kind, interval) = (.depth, try depthInterval())
    case "depth5", "depth10", "depth20":
      (kind, interval) = (.partialDepth(Int(word.dropFirst(5)) ?? 5), try depthInterval())
    case "trade": (kind, interval) = (.trade, 0)
    case "aggTrade": (kind, interval) = (.aggTrade, 0)
    case "bookTicker": (kind, interval) = (.bookTicker, 0)
    case "miniTicker": (kind, interval) = (.miniTicker, 1000)
    case "ticker": (kind, interval) = (.ticker, 1000)
    case _ where word.hasPrefix("kline_"):
      guard let candle = CandleInterval(name: String(word.dropFirst(6))) else {
        let known = CandleInterval.allCases.map(\.name).joined(separator: ", ")
        throw Refusal(words: "\(text): klines are \(known)")
      }
      (kind, interval) = (.kline(candle), 1000)
    default: throw Refusal(words: "\(text): there is no stream \(word)")
    }
    guard parts.count == (rate.isEmpty ? 2 : 3), rate.isEmpty || isDepth else {
      throw Refusal(words: "\(text): unknown stream")
    }
  }

  private var isDepth: Bool {
    switch kind {
    case .depth, .partialDepth: true
    default: false
    }
  }

  /// The channel of ours with the same data.
  var channel: ChannelName {
    switch kind {
    case .depth, .partialDepth: .book
    case .trade, .aggTrade: .trades
    case .bookTicker: .quote
    case .miniTicker, .ticker: .ticker
    case .kline: .candles
    }
  }

  /// The stream's key.
  func key(of symbol: String, _ form: BinanceForm) -> StreamKey {
    var key = StreamKey(channel: channel, symbol: symbol, intervalMilliseconds: interval)
    let envelope = BinanceEnvelope(symbol: self.symbol, stream: form.isCombined ? text : nil, unit: form.unit)
    // The whole name, because combined messages have it.
    let name = "binance.\(form.name).\(text)"
    switch kind {
    case .depth:
      key.dialect = DialectChannel(name, hears: [.book, .bookState]) { BinanceDepthWriter(envelope) }
    case .partialDepth(let depth):
      key.dialect = DialectChannel(name, hears: [.book, .bookState]) { BinanceTopWriter(envelope, depth: depth) }
    case .trade: key.dialect = DialectChannel(name, hears: .trades) { BinanceTradeWriter(envelope, isAggregate: false) }
    case .aggTrade:
      key.dialect = DialectChannel(name, hears: .trades) { BinanceTradeWriter(envelope, isAggregate: true) }
    case .bookTicker:
      key.dialect = DialectChannel(name, hears: [.quote, .bookState]) { BinanceQuoteWriter(envelope) }
    case .miniTicker:
      key.dialect = DialectChannel(name, hears: [.ticker, .trades]) { BinanceTickerWriter(envelope, isMini: true) }
    case .ticker:
      key.dialect = DialectChannel(name, hears: [.ticker, .trades, .quote]) {
        BinanceTickerWriter(envelope, isMini: false)
      }
    case .kline(let interval):
      key.candle = interval
      key.dialect = DialectChannel(name, hears: [.trades, .candles]) { BinanceCandleWriter(envelope, interval) }
    }
    return key
  }
}

/// How a connection has its messages.
struct BinanceForm: Equatable, Sendable {
  enum Unit: Sendable { case milliseconds, microseconds }

  /// Whether a message has the name of its stream: `{"stream":…,"data":…}`.
  var isCombined: Bool
  var unit = Unit.milliseconds

  fileprivate var name: String { (isCombined ? "combined" : "raw") + (unit == .milliseconds ? "" : ".us") }
}

extension DialectMarkets {
  /// The spot market that `BTCUSDT` names: of all ways to divide it, the one with the longest quote that is listed.
  /// O(length).
  func entry(joined name: String, in directory: Directory) -> DirectoryEntry? {
    guard (2...40).contains(name.utf8.count) else { return nil }
    for index in name.indices.dropFirst() {
      if let entry = entry(name[..<index], name[index...], in: directory) { return entry }
    }
    return nil
  }
}
