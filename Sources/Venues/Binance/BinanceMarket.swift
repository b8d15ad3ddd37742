import MarketData

/// What differs between Binance's markets.
struct BinanceMarket: Sendable {
  let part: String
  let infoPath: String
  /// 24 h figures of all markets: weight 80 on spot, 40 on futures.
  let volumePath: String
  let depthPath: String
  /// How trades that are missing are asked for.
  let trades: TradePages
  let candles: CandleFormat
  let rule: SequenceRule
  /// Snapshots that can be asked for, the deepest first: levels a side, and the request weight.
  let snapshots: [(levels: Int, weight: Int)]
  /// Weight a minute, until the venue has said what an address may use: half of it is taken.
  let weightPerMinute: Int
  let channels: [VenueProfile.Channel]
  /// The stream of the canary: the route of futures has no `ticker`.
  let canary: String
  /// Digits after the point of every price and size; nil where each market has its own.
  let scale: UInt8?
  /// Whether the instrument list can be asked for by names.
  let selectsSymbols: Bool

  /// How long a ticker may be away while its market trades, µs; nil without tickers.
  let tickerInterval: Int64?

  private static let book = VenueProfile.Channel("depth@100ms", .book, silence: .linked, .contradicted)
  private static let quote = VenueProfile.Channel("bookTicker", .quote, silence: .contradicted)

  static let spot = BinanceMarket(
    part: "spot", infoPath: "/api/v3/exchangeInfo", volumePath: "/api/v3/ticker/24hr?type=MINI",
    depthPath: "/api/v3/depth", trades: spotTrades, candles: BinanceCandles.spot, rule: .binanceSpot,
    snapshots: [(1_000, 50), (500, 25), (100, 5)], weightPerMinute: 600,
    channels: [
      book, .init("trade", .trades, silence: .contradicted), quote, .init("ticker", .ticker, silence: .contradicted),
    ], canary: "ticker", scale: 8, selectsSymbols: true, tickerInterval: Microseconds.second)

  /// One connection to the route `/public`, which has books, quotes and, undocumented but used by several clients,
  /// `trade`. `ticker` and `aggTrade` are on another route, `/market`; 24 h figures are made from the trades.
  static let usdm = BinanceMarket(
    part: "usdm", infoPath: "/fapi/v1/exchangeInfo", volumePath: "/fapi/v1/ticker/24hr", depthPath: "/fapi/v1/depth",
    trades: futuresTrades, candles: BinanceCandles.futures,
    rule: .binanceFutures, snapshots: [(1_000, 20), (500, 10), (100, 5)],
    weightPerMinute: 1_200, channels: [book, .init("trade", .trades, silence: .figures), quote], canary: "depth5@500ms",
    scale: nil,
    selectsSymbols: false, tickerInterval: nil)
}

extension Binance {
  // `ticker` is once a second for each symbol that trades; the server pings every 20 s.
  static let spot: Venue = connection(
    .spot, title: "Binance", endpoint: "wss://stream.binance.com:9443/stream", rest: "https://api.binance.com",
    kinds: [.spot], bookCheck: "U and u link updates to a REST snapshot and to each other")
  // The server pings every three minutes only; the session's own pings are answered.
  static let usdm: Venue = connection(
    .usdm, title: "Binance USD-M", endpoint: "wss://fstream.binance.com/public/stream",
    rest: "https://fapi.binance.com", kinds: [.perpetual, .future],
    bookCheck: "pu links updates to a REST snapshot and to each other")
  package static let venue: Venue = Venue(title: "Binance", parts: [spot, usdm], replay: replay)

  private static func connection(
    _ market: BinanceMarket, title: String, endpoint: String, rest: String, kinds: Set<Instrument.Kind.Family>,
    bookCheck: String
  ) -> Venue {
    Venue(
      name: "binance", title: title, separator: "", endpoint: endpoint, restEndpoint: rest,
      cadence: .canary(market.canary, of: ["BTCUSDT"], every: Microseconds.second), messageLimit: 4 << 20,
      // 1,024 streams a connection: four a symbol, one of the canary.
      symbolLimit: 255, kinds: kinds, part: market.part, connectionLifetime: lifetime,
      // 300 attempts in 5 minutes from one address.
      connectLimit: ConnectLimit(count: 300, interval: 5 * Microseconds.minute),
      // Snapshots of up to 5,000 levels a side, which updates go on to lengthen.
      market: Market.Configuration(
        quotesFromBook: false, bookDepthLimit: 10_000, checksum: nil, tickerInterval: market.tickerInterval,
        hasWitness: market.tickerInterval == nil),
      profile: VenueProfile(
        channels: market.channels, bookDepth: 1_000, bookCheck: bookCheck,
        requests: [.instruments, .snapshots, .volumes],
        limits: [
          "1,024 streams a connection", "5 messages a second to the venue", "half of the request weight of an address",
          "24 h a connection",
        ]),
      candles: market.candles,
      makeEngine: { FeedEngine(Binance(market), venue: market.part == "spot" ? spot : usdm, configuration: $0) })
  }
}
