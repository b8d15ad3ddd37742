import MarketData
import PubSub
import Recordings

extension Route {
  static let stream = Route(
    "stream", "/v1/stream", .gateway, "The stream: a WebSocket with the subprotocol tidegate.v1.json", access: .open,
    statuses: [426], get: Reading(.upgrade, GatewayAnswer.stream, isTagged: false))

  static let events = Route(
    "events", "/v1/events", .gateway, "The stream as server-sent events",
    parameters: [
      Parameter("streams", .text("channel:symbol,…;field=value"), repeats: true, isNeeded: true),
      Parameter("heartbeat_s", .number(1...60)),
    ],
    statuses: [], get: Reading(.events, GatewayAnswer.eventsHead, isTagged: false))

  static let replay = Route(
    "replay", "/v1/replay", .gateway, "Recorded time as the stream had it: a WebSocket, or lines of JSON",
    parameters: [
      Parameter("streams", .text("channel:symbol,…;field=value"), repeats: true, isNeeded: true),
      Parameter("from", time, isNeeded: true), Parameter("to", time),
      Parameter("speed", .text(ReplaySpeed.allowed)),
    ],
    statuses: [404, 503], get: Reading(.lines, GatewayAnswer.replayHead, isTagged: false))

  /// The range of a line.
  static let range = Parameter("range", .oneOf(ChartRange.allCases.map(\.name)))
  /// 10^16 µs are the year 2286.
  private static let time = Form.ordinal("microseconds since 1970", upTo: 10_000_000_000_000_000)

  /// The routes of the gateway itself, and of its markets. Those of longer paths come before shorter ones that would
  /// match them, too.
  static let markets: [Route] = [
    Route(
      "welcome", "/", .gateway, "What the gateway serves, in plain text; the console for browsers", access: .open,
      statuses: [], get: Reading(.text, GatewayAnswer.welcome, isTagged: false)),
    Route(
      "openapi", "/openapi.json", .gateway, "This document", access: .open, statuses: [], freshness: "max-age=3600",
      get: Reading(.json(nil), GatewayAnswer.openAPI)),
    Route(
      "asyncapi", "/asyncapi.json", .gateway, "The stream as AsyncAPI", access: .open, statuses: [],
      freshness: "max-age=3600", get: Reading(.json(nil), GatewayAnswer.asyncAPI)),
    stream,
    events,
    replay,
    Route(
      "instruments", "/v1/instruments", .market, "The instruments that are followed",
      parameters: [
        Parameter("venue", .text("a venue's name")),
        Parameter("q", .text("a part of a symbol or of an asset's name")),
      ],
      statuses: [404], freshness: "max-age=5",
      get: Reading(.json("InstrumentsAnswer"), InstrumentListAnswer.list)),
    Route(
      "assets", "/v1/assets", .market, "The names of assets, in pages",
      parameters: [
        Parameter("q", .text("a part of a code or a name")),
        Parameter("after", .text("a code")),
        Parameter("limit", .number(1...AssetsAnswer.pageLimit)),
      ],
      statuses: [], freshness: "max-age=300", get: Reading(.json("AssetsAnswer"), AssetsAnswer.page)),
    Route(
      "status", "/v1/status", .gateway, "State and age of every feed", channels: [.status], statuses: [],
      get: Reading(.json("StatusAnswer"), GatewayAnswer.status, isTagged: false)),
    Route(
      "snapshot", "/v1/snapshot", .market, "Ticker, pulse and sparkline of symbols",
      channels: [.ticker, .pulse, .sparkline], partsOf: "a snapshot",
      parameters: [
        Parameter("symbols", .text("symbols between commas"), repeats: true, isNeeded: true),
        Parameter("points", .number(2...1440)),
      ],
      statuses: [], get: Reading(.json("SnapshotAnswer"), SymbolAnswer.snapshot)),
    Route(
      "ticker", "/v1/tickers/{symbol}", .market, "The 24 h figures", channels: [.ticker],
      get: Reading(.json("TickerAnswer"), SymbolAnswer.ticker)),
    Route(
      "derivative", "/v1/derivatives/{symbol}", .market, "Mark, index, funding and open interest",
      channels: [.derivative], get: Reading(.json("DerivativeAnswer"), SymbolAnswer.derivative)),
    Route(
      "funding", "/v1/funding/{symbol}", .market, "The last settlements of a perpetual's funding",
      channels: [.derivative], parameters: [Parameter("limit", .number(1...FundingHistory.limit))],
      get: Reading(.json("FundingAnswer"), SymbolAnswer.funding)),
    Route(
      "quote", "/v1/quotes/{symbol}", .market, "Best bid and ask of a market or of all venues together",
      channels: [.quote, .ticker], partsOf: "a quote",
      parameters: [Parameter("depth", .number(1...QuoteAnswer.depthLimit))],
      get: Reading(.json("QuoteAnswer"), ComparisonAnswer.quote)),
    Route(
      "trades", "/v1/trades/{symbol}", .market, "The last trades, or recorded ones", channels: [.trades],
      parameters: [Parameter("limit", .number(1...1000)), Parameter("from", time), Parameter("to", time)],
      statuses: [404, 503], get: Reading(.json("TradesAnswer"), SymbolAnswer.trades)),
    Route(
      "linePicture", "/v1/sparklines/{symbol}.svg", .market, "The line as a picture",
      channels: [.ticker, .sparkline], partsOf: "a picture",
      parameters: [
        range,
        Parameter("points", .number(2...500)),
        Parameter("width", .number(16...2000)),
        Parameter("height", .number(16...1000)),
      ],
      freshness: "max-age=10", get: Reading(.picture, PictureAnswer.line)),
    Route(
      "sparkline", "/v1/sparklines/{symbol}", .market, "The last price of each slice of a range",
      channels: [.sparkline], parameters: [range, Parameter("points", .number(2...1440))], freshness: "max-age=10",
      get: Reading(.json("SparklineAnswer"), SymbolAnswer.sparkline)),
    Route(
      "candles", "/v1/candles/{symbol}", .market, "Candles from memory and history, in pages", channels: [.candles],
      parameters: [
        Parameter("interval", .oneOf(CandleInterval.allCases.map(\.name))),
        Parameter("from", time),
        Parameter("to", time),
        Parameter("limit", .number(1...1440)),
      ],
      get: Reading(.json("CandlesAnswer"), CandlesAnswer.page)),
    Route(
      "rates", "/v1/rates", .market, "What an asset is worth in another", channels: [.quote],
      parameters: [
        Parameter("base", .text("an asset: ZEC"), isNeeded: true),
        Parameter("quote", .text("an asset: USD"), isNeeded: true),
      ],
      statuses: [404, 503], get: Reading(.json("RateAnswer"), ComparisonAnswer.rate)),
    Route(
      "book", "/v1/books/{symbol}", .market, "The order book, now or as it was recorded", channels: [.book],
      parameters: [
        Parameter("depth", .numberOr(1...5000, "full")), Parameter("venues", .flag), Parameter("at", time),
      ],
      statuses: [404, 503], get: Reading(.json("BookAnswer"), SymbolAnswer.book)),
    Route(
      "card", "/v1/cards/price/{symbol}.svg", .market, "A card for a home screen",
      channels: [.ticker, .sparkline], partsOf: "a picture",
      parameters: [Parameter("size", .oneOf(PriceCard.Size.allCases.map(\.rawValue))), range],
      freshness: "max-age=10", get: Reading(.picture, PictureAnswer.card)),
  ]
}
