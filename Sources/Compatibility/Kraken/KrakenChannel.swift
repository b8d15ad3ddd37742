import MarketData
import PubSub

/// The channels of Kraken's protocol that are streams, and what makes their messages.
enum KrakenChannel {
  static let depths: [Int64] = [10, 25, 100, 500, 1000]
  static let usualDepth: Int64 = 10

  /// How often tickers and candles are sent at most, ms. Kraken sends them with each trade.
  private static let interval: UInt16 = 100

  /// The stream that a request asks for; the error's words if it asks for none.
  static func key(of request: KrakenRequest, symbol: String) throws(KrakenRequest.Problem) -> StreamKey {
    switch request.channelName {
    case "book":
      let depth = request.depth ?? usualDepth
      guard depths.contains(depth) else { throw problem("Unsupported depth: \(depth)", request) }
      var key = StreamKey(channel: .book, symbol: symbol, depth: UInt16(depth))
      key.dialect = DialectChannel("kraken.book", hears: [.book, .bookState]) { KrakenBookWriter(depth: Int(depth)) }
      return key
    case "trade":
      var key = StreamKey(channel: .trades, symbol: symbol)
      key.dialect =
        request.sendsSnapshot
        ? DialectChannel("kraken.trade", hears: .trades) { KrakenTradeWriter(sendsSnapshot: true) }
        : DialectChannel("kraken.trade.updates", hears: .trades) { KrakenTradeWriter(sendsSnapshot: false) }
      return key
    case "ticker":
      var key = StreamKey(channel: .ticker, symbol: symbol, intervalMilliseconds: interval)
      switch request.trigger ?? "trades" {
      case "trades": key.dialect = DialectChannel("kraken.ticker", hears: [.ticker, .trades]) { KrakenTickerWriter() }
      case "bbo":
        key.dialect = DialectChannel("kraken.ticker.bbo", hears: [.ticker, .trades, .quote]) { KrakenTickerWriter() }
      case let other: throw problem("Unsupported event_trigger: '\(other.prefix(40))'", request)
      }
      return key
    case "ohlc":
      let minutes = request.interval ?? 1
      guard let interval = CandleInterval.allCases.first(where: { $0.minutes == minutes }) else {
        throw problem("Unsupported interval: \(minutes)", request)
      }
      var key = StreamKey(channel: .candles, symbol: symbol, candle: interval, intervalMilliseconds: Self.interval)
      key.dialect = DialectChannel("kraken.ohlc", hears: [.trades, .candles, .past]) {
        KrakenCandleWriter(interval: interval)
      }
      return key
    default: throw problem("Unsupported channel: '\(request.channelName.prefix(40))'", request)
    }
  }

  private static func problem(_ words: String, _ request: KrakenRequest) -> KrakenRequest.Problem {
    KrakenRequest.Problem(words: words, method: request.method.rawValue, id: request.id)
  }

  /// The spot market's name here: `BTC/USD`.
  static func name(of instrument: Instrument) -> String { "\(instrument.base)/\(instrument.quote)" }
}
