import Bytes
import MarketData

/// Hyperliquid: perpetuals (margined in USDC) and spot on one connection, without a key.
///
/// The lists of markets are asked for over the connection itself (`post` of `meta` and `spotMeta`), then `l2Book`,
/// `bbo` as quotes, `trades`, and `activeAssetCtx` as 24 h figures. Sizes are in base units. A name is upper case in
/// symbols: the market `kPEPE`, whose unit is a thousand tokens, is `KPEPE-USDC-PERP`. Perpetuals that others deploy
/// (`xyz:SP500`) have names that no symbol can carry.
///
/// **Books are whole.** Each `l2Book` message is the book of a block to its depth, replaces what was before, and is
/// sent again when nothing changed: five levels a side about every 0.54 s (`fast`; the slower stream of twenty levels
/// comes every 5.4 s only). So there are no gaps: a message that is lost costs half a second of freshness.
///
/// **A name that the venue does not know ends the connection, without a word.** Only listed names are subscribed.
package final class Hyperliquid: Dialect, RegisteredVenue {
  /// The channels, by their indices in `DialectFacts.channels`.
  enum Channel: Int { case book, quote, trades, context }
  private static let channels: [VenueProfile.Channel] = [
    .init("l2Book", .book, silence: .atLeast(every: bookInterval), .contradicted),
    .init("bbo", .quote, silence: .contradicted), .init("trades", .trades, silence: .contradicted),
    .init("activeAssetCtx", .ticker, silence: .contradicted),
  ]
  /// Books are sent again twice a second.
  static let bookInterval = 540 * Microseconds.millisecond
  /// What the parts of the list are.
  enum Part: Int { case perpetuals, spots }
  /// Trades of a symbol that are recognised. Only those of the newest millisecond before a subscription have to be.
  static let seenTradeLimit = 64

  package static let venue: Venue = Venue(
    name: "hyperliquid", title: "Hyperliquid", separator: "/", endpoint: "wss://api.hyperliquid.xyz/ws",
    restEndpoint: "https://api.hyperliquid.xyz",
    // Pings are answered.
    cadence: .promised("l2Book", every: bookInterval),
    // The list of spot markets and tokens is the largest: some 400 KB.
    messageLimit: 4 << 20,
    // 1,000 subscriptions from an address, four for a symbol.
    symbolLimit: 200, addressLimit: 250, kinds: [.spot, .perpetual],
    // From one address.
    connectLimit: ConnectLimit(count: 30, interval: Microseconds.minute),
    market: Market.Configuration(
      quotesFromBook: false, bookDepthLimit: 20, checksum: nil, tickerInterval: Microseconds.second),
    profile: VenueProfile(
      channels: channels, bookDepth: 5, bookCheck: "every message is the whole book",
      requests: [],
      limits: ["1,000 subscriptions an address", "2,000 messages a minute to the venue"]),
    candles: HyperliquidCandles.format,
    replay: replay,
    makeEngine: { FeedEngine(Hyperliquid(), venue: Hyperliquid.venue, configuration: $0) })

  /// What is known of a symbol's trades, by index. It outlives the connection: what the next one repeats is known.
  struct Trades {
    /// When they were subscribed, and whether any have come since.
    var subscribed = Timestamp.distantPast
    var hasTraded = false
    /// The time of the newest.
    var newest = Timestamp.distantPast
    /// By number. Every trade older than the newest at the subscription counts as seen.
    var seen = SeenTrades<UInt64>(limit: Hyperliquid.seenTradeLimit)
    /// The newest price, and the scale that it was read at.
    var price: (value: Int64, scale: UInt8)?
  }
  var trades: [Trades] = []

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels,
      // Silence for 20 s is looked into; the stream then has a little more than the slowest cadence to catch up.
      book: .whole(
        .init(
          lateLimit: 10 * Microseconds.second, probeAfter: 20 * Microseconds.second,
          probeWithin: 10 * Microseconds.second, catchUp: 6 * Microseconds.second)),
      // Of the 2,000 messages that an address may send in a minute.
      pacing: .init(
        grouping: .topic, atOnce: 100, every: 200 * Microseconds.millisecond, limit: 2_048, perMinute: 1_500),
      salvage: [.init(mark: "\"l2Book\"", key: "\"coin\"")])
    // The venue closes when it has sent nothing for 60 s.
    facts.ping = .init(after: 15 * Microseconds.second, since: .heard)
    facts.streamedList = .init(parts: 2, within: 15 * Microseconds.second)
    facts.answerWithin = 15 * Microseconds.second
    // The end has been seen to follow within 0.1 s. Another attempt may cost everybody the connection.
    facts.badName = .itsConnection(.init(within: 3 * Microseconds.second, strikes: 3, rest: 6 * Microseconds.hour))
    facts.carriesHalted = false
    facts.isSilentWithoutSymbols = true
    self.facts = facts
  }

  func forget() {
    for index in trades.indices { trades[index].hasTraded = false }
  }

  func trades(_ index: Int) -> Int {
    while trades.count <= index { trades.append(Trades()) }
    return index
  }

  // MARK: Requests

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    switch request {
    case .topics(let topics, let verb):
      if verb == .subscribe, topics[0].channel == Channel.trades.rawValue { subscribed(topics[0].index, now) }
      return #"{"method":"\#(verb.rawValue)","subscription":\#(text(topics[0], instruments))}"#
    case .ping: return #"{"method":"ping"}"#
    case .list(let query, .subscribe):
      let isSpot = query.part == Part.spots.rawValue
      guard query.families.contains(isSpot ? .spot : .perpetual) else { return nil }
      // With the 24 h figures of all markets where their volumes are wanted.
      let type = (isSpot ? "spotMeta" : "meta") + (query.wantsVolumes ? "AndAssetCtxs" : "")
      return Self.post(id, #"{"type":"\#(type)"}"#)
    case .book(let index):
      return Self.post(id, #"{"type":"l2Book","coin":\#(JSONQuoting.quoted(instruments[index].venueSymbol))}"#)
    default: return nil
    }
  }

  private static func post(_ id: Int, _ payload: String) -> String {
    #"{"method":"post","id":\#(id),"request":{"type":"info","payload":\#(payload)}}"#
  }

  private func text(_ topic: Topic, _ instruments: InstrumentTable) -> String {
    let coin = JSONQuoting.quoted(instruments[topic.index].venueSymbol)
    let fast = topic.channel == 0 ? #","fast":true"# : ""
    return #"{"type":"\#(facts.channels[topic.channel].name)","coin":\#(coin)\#(fast)}"#
  }

  private func subscribed(_ index: Int, _ now: Timestamp) {
    let index = trades(index)
    trades[index].subscribed = now
    trades[index].hasTraded = false
    trades[index].seen.close(before: trades[index].newest)
  }
}
