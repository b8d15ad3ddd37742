import Bytes
import MarketData

/// Bitget v2: spot, and perpetuals that are settled in USDT, without a key (<doc:Bitget>).
///
/// A venue with two kinds of connection to one address, as a name (`BTCUSDT`) is a market of each. Instruments come by
/// REST before the connection, then `books` (a snapshot in the stream, then changes every 100 or 200 ms), `books1` as
/// quotes, `trade` and `ticker`. Books are chained: each update names the number before its own. Sizes are in base
/// units everywhere.
package final class Bitget: Dialect, RegisteredVenue {
  /// Without a `ping` a connection ends after two minutes, whatever else is said; older manuals say 30 s.
  static let pingInterval = 20 * Microseconds.second
  /// A request is 4,096 bytes at most; the four topics of a symbol are about 300.
  static let symbolsPerRequest = 10
  /// Topics that a connection begins and ends in an hour. 240 *requests* are allowed, of which none has less than one.
  static let topicsPerHour = 230
  /// Levels a side that a book is kept to, unless its snapshot says otherwise (`window`).
  static let depth = 500
  /// The newest trades of a market that are recognised when a subscription begins with them: more than any first
  /// message is said to have.
  static let seenTradeLimit = 512
  /// The channels, by their indices in `DialectFacts.channels`.
  enum Channel: Int { case book, quote, trades, ticker, other }
  private static let channels: [VenueProfile.Channel] = [
    .init("books", .book, silence: .linked, .contradicted),
    .init("books1", .quote, silence: .contradicted), .init("trade", .trades, silence: .contradicted),
    .init("ticker", .ticker, silence: .contradicted),
  ]

  static let spot: Venue = connection("spot", kinds: [.spot])
  static let usdt: Venue = connection("usdt", kinds: [.perpetual])
  package static let venue: Venue = Venue(title: "Bitget", parts: [spot, usdt], replay: replay)

  private static func connection(_ part: String, kinds: Set<Instrument.Kind.Family>) -> Venue {
    Venue(
      name: "bitget", title: "Bitget \(part)", separator: "", endpoint: "wss://ws.bitget.com/v2/ws/public",
      restEndpoint: "https://api.bitget.com",
      // Several a second, measured; nothing promises it.
      cadence: .canary("ticker", of: ["BTCUSDT"], every: Microseconds.second),
      // A snapshot of 500 levels a side is about 30 KB.
      messageLimit: 2 << 20,
      // 1,000 channels a connection, and better fewer than 50: four of a symbol, one of the canary.
      symbolLimit: 12, kinds: kinds, part: part,
      // By some copies of the manual; others have no such line.
      connectionLifetime: Microseconds.day,
      // 300 attempts in 5 minutes from one address.
      connectLimit: ConnectLimit(count: 300, interval: 5 * Microseconds.minute),
      market: Market.Configuration(
        quotesFromBook: false, bookDepthLimit: depth,
        checksum: { RankedChecksum.checksum(of: $0, priceScale: $1, sizeScale: $2, hasSignedAsks: false) },
        tickerInterval: Microseconds.second),
      profile: VenueProfile(
        channels: channels, bookDepth: depth, bookCheck: "pseq links each update to the one before",
        requests: [.instruments, .volumes],
        limits: [
          "10 messages a second to the venue", "240 requests an hour and connection", "4,096 bytes a request",
          "50 channels a connection",
        ]),
      candles: part == "spot" ? BitgetCandles.spot : BitgetCandles.contracts,
      makeEngine: { FeedEngine(Bitget(part), venue: part == "spot" ? spot : usdt, configuration: $0) })
  }

  let isSpot: Bool
  /// What the venue calls the family of markets of this connection.
  let family: StaticString
  /// By index: the newest trades. They outlive the connection, as the next one begins with what was before it.
  var seenTrades: [SeenTrades<UInt64>] = []

  let facts: DialectFacts

  init(_ part: String) {
    let isSpot = part == "spot"
    self.isSpot = isSpot
    family = isSpot ? "SPOT" : "USDT-FUTURES"
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(Self.rule),
      // Ten messages a second are allowed, pings included.
      pacing: .init(
        grouping: .symbols(Self.symbolsPerRequest), atOnce: 2, every: 500 * Microseconds.millisecond, limit: 64),
      salvage: [.init(mark: "\"books\"", key: "\"instId\"")])
    facts.pacing.topicsPerHour = Self.topicsPerHour
    facts.answersEachTopic = true
    facts.ping = .init(after: Self.pingInterval, since: .ping)
    facts.list = Self.listing(isSpot: isSpot)
    facts.volumes = [Self.volumes(isSpot: isSpot)]
    // A market is acknowledged whether it has a book or not.
    facts.silenceLimit = Microseconds.minute
    facts.carriesHalted = false
    // That subscribing again brings a snapshot has not been seen.
    facts.silentAttempts = 2
    if !isSpot { facts.derivativePolls = BitgetDerivatives.polls }
    self.facts = facts
  }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    func text(_ topic: Topic) -> String {
      argument(facts.channels[topic.channel].name, instruments[topic.index].venueSymbol)
    }
    let (operation, topics): (String, [String])
    switch request {
    case .topics(let wanted, let verb): (operation, topics) = (verb.rawValue, wanted.map(text))
    case .canary(let market): (operation, topics) = ("subscribe", [argument("ticker", market)])
    case .ping: return "ping"
    default: return nil
    }
    return #"{"op":"\#(operation)","args":[\#(topics.joined(separator: ","))]}"#
  }

  private func argument(_ channel: String, _ market: String) -> String {
    #"{"instType":"\#(family)","channel":"\#(channel)","instId":\#(JSONQuoting.quoted(market))}"#
  }

  // MARK: Replies

  /// `{"event":…,"arg":{…}}`: the answer to one topic. One that names none was to no request that could be read, or to
  /// too many. What is answered to an end, in the same way, is no answer to the beginning behind it.
  /// - Parameter isOwn: whether it is about a market of this connection's family.
  func report(
    _ reply: borrowing FieldObject, isOwn: Bool, _ instruments: InstrumentTable
  ) throws(FeedError) -> MessageOutcome.Report? {
    let topic =
      isOwn ? try reply.object("arg")?.topic(channel: "channel", symbol: "instId", facts, instruments) : nil
    switch (try reply.name("event"), topic) {
    case _ where reply.says("op", "unsubscribe") == true: return nil
    case ("subscribe", let topic?): return .acknowledged(id: nil, index: topic.index, channel: topic.channel)
    case ("error", _):
      // A number, and a text in the manual.
      let code = reply.integer("code") ?? 0
      var refusal = MessageOutcome.Refusal(reason: "code \(code): \(reply.text("msg") ?? "")")
      // Too many requests; after the second one the venue closes the connection.
      if code == 30_006 || code == 30_007 { refusal.effect = .pause(nil) }
      (refusal.index, refusal.channel) = (topic?.index, topic?.channel)
      return .refused(refusal)
    default: return nil
    }
  }
}

extension Bitget {
  /// Bitget: an update names the number before it. What its other API says of the first update holds here too: a
  /// snapshot may stand between the two numbers of it. A number before that is 0 says that the venue has begun anew.
  static let rule = SequenceRule(
    isOld: { update, snapshot in update.last <= snapshot },
    joins: { update, snapshot in
      update.previous > 0 && update.previous <= snapshot && snapshot < update.last
    },
    follows: { update, last in update.previous == last && update.last > last })
}
