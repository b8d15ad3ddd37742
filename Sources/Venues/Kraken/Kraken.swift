import Bytes
import MarketData

/// Kraken spot, WebSocket v2: instruments, books with checksums, trades and statistics on one connection without a key.
///
/// On connecting `instrument` is subscribed; when that snapshot has said what the pairs are, `book`, `trade` and
/// `ticker` of the configured ones. The book is subscribed at depth 100: the deepest that still costs little (a
/// snapshot of 9 KB a symbol, against 90 KB at 1,000) and ten times what the checksum covers, so that what clients see
/// is what was verified.
package final class Kraken: Dialect, RegisteredVenue {
  /// The depth that is subscribed. The book must be cut to the one that is acknowledged, which is this one or, in what
  /// others have recorded, theirs: Kraken sends no removal for levels that fall out of it.
  static let bookDepth = 100
  /// The channels, by their indices in `DialectFacts.channels`.
  enum Channel: Int { case book, trade, ticker }
  private static let channels: [VenueProfile.Channel] = [
    .init("book", .book, silence: .linked, .contradicted),
    .init("trade", .trades, silence: .linked, .contradicted), .init("ticker", .ticker, silence: .contradicted),
  ]

  package static let venue: Venue = Venue(
    name: "kraken", title: "Kraken", separator: "/", endpoint: "wss://ws.kraken.com/v2",
    restEndpoint: "https://api.kraken.com",
    // A heartbeat comes every second in which there was nothing else.
    cadence: .promised("heartbeat", every: Microseconds.second),
    // The instrument snapshot is the largest message: some 1,500 pairs and 600 assets, under 1 MB.
    messageLimit: 8 << 20, symbolLimit: 200,
    // About 150 attempts in 10 minutes from one address, else it is banned for as long.
    connectLimit: ConnectLimit(count: 150, interval: 10 * Microseconds.minute),
    market: Market.Configuration(
      quotesFromBook: true, bookDepthLimit: bookDepth,
      checksum: { book, _, _ in KrakenBookChecksum.checksum(of: book) },
      tickerInterval: Microseconds.second),
    profile: VenueProfile(
      channels: [.init("instrument", .instruments)] + channels, bookDepth: bookDepth,
      bookCheck: "CRC-32 of the top ten levels after every message",
      requests: [.volumes],
      limits: ["one subscription frame for all symbols; after a refusal for the rate, waits of 5 s to 1 min"]),
    candles: KrakenCandles.format,
    replay: replay,
    makeEngine: { FeedEngine(Kraken(), venue: Kraken.venue, configuration: $0) })

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(nil),
      // One frame for each channel of all pairs: a burst of frames trips the venue's limit.
      pacing: .init(grouping: .channel(symbols: 1_024), atOnce: 1_024, every: 0, limit: 2_048),
      salvage: [.init(mark: "\"book\"", key: "\"symbol\"")])
    // Kraken closes after about a minute without a word from either side.
    facts.ping = .init(after: 25 * Microseconds.second, since: .sent)
    facts.streamedList = .init(within: 15 * Microseconds.second)
    facts.volumes = Self.volumes
    facts.countsTrades = true
    facts.tradePages = Self.tradePages
    facts.unlisted = { wanted, markets in
      // REST and v1 still say XBT and XDG; v2 says BTC and DOGE.
      let names = ["XBT": "BTC", "XDG": "DOGE"]
      let known = FeedSymbol(base: names[wanted.base] ?? wanted.base, quote: names[wanted.quote] ?? wanted.quote)
      guard known != wanted, markets.contains(where: { $0.symbol == known }) else { return nil }
      return "Kraken's feed calls \(wanted.text) \(known.text): write that"
    }
    self.facts = facts
  }

  /// An unsubscribe must repeat the depth. The snapshot of `trade` is the last 50 trades; `ticker` is sent on trades,
  /// as quotes are made from the book, which is exact at every change.
  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    let (method, parameters): (FeedRequest.Verb, String)
    switch request {
    case .ping: return #"{"method":"ping","req_id":\#(id)}"#
    case .book, .canary, .greeting: return nil
    case .list(_, let verb): (method, parameters) = (verb, #""channel":"instrument""#)
    case .topics(let topics, let verb):
      let names = JSONQuoting.array(topics.map { instruments[$0.index].venueSymbol })
      let name = facts.channels[topics[0].channel].name
      let own =
        switch Channel(rawValue: topics[0].channel) {
        case .book: #","depth":\#(Self.bookDepth)"#
        case .ticker: #","event_trigger":"trades""#
        default: ""
        }
      (method, parameters) = (verb, #""channel":"\#(name)","symbol":\#(names)\#(own)"#)
    }
    let snapshot = method == .subscribe ? #","snapshot":true"# : ""
    return #"{"method":"\#(method.rawValue)","params":{\#(parameters)\#(snapshot)},"req_id":\#(id)}"#
  }
}
