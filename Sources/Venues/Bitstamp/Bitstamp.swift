import Bytes
import MarketData

/// Bitstamp v2: spot, without a key. Whole books and trades; quotes come from the book, and 24 h figures are the
/// gateway's own, as the feed has none of either.
///
/// A book is `diff_order_book`, which has no snapshot, joined to one that is asked for by REST. Updates have a time and
/// nothing else: a lost one shows in nothing (`DialectFacts.Unnumbered`). REST answers come from a cache and may be
/// some seconds old.
///
/// Perpetuals are on the same connection, but nobody has shown what unit their amounts are in; they are not followed.
package final class Bitstamp: Dialect, RegisteredVenue {
  /// By their indices in `facts.channels`.
  static let prefixes: [StaticString] = ["diff_order_book_", "live_trades_"]
  private static let channels: [VenueProfile.Channel] = [
    .init("diff_order_book", .book, silence: .contradicted), .init("live_trades", .trades, silence: .figures),
  ]
  /// Quiet time after which a heartbeat is asked for.
  static let pingAfter = 10 * Microseconds.second
  /// How long a connection may last after the venue asked for another: "a few seconds".
  static let reconnectNotice = 5 * Microseconds.second

  package static let venue: Venue = Venue(
    name: "bitstamp", title: "Bitstamp", separator: "/", endpoint: "wss://ws.bitstamp.net",
    restEndpoint: "https://www.bitstamp.net",
    // Heartbeats are asked for after 10 s of silence and are answered.
    cadence: .canary("diff_order_book", of: ["btcusd"], every: Microseconds.second, behind: "_"),
    messageLimit: 4 << 20,
    // 1,024 channels a connection, two a symbol.
    symbolLimit: 500, connectionLifetime: 90 * Microseconds.day,
    market: Market.Configuration(quotesFromBook: true, bookDepthLimit: 20_000, checksum: nil, hasWitness: true),
    profile: VenueProfile(
      channels: channels, bookDepth: nil,
      bookCheck: "the venue numbers nothing; times link updates to a REST snapshot, which is renewed every 10 min",
      requests: [.instruments, .snapshots, .volumes],
      limits: ["1,024 channels a connection", "5 REST requests a second"]),
    candles: BitstampCandles.format,
    replay: replay,
    makeEngine: { FeedEngine(Bitstamp(), venue: Bitstamp.venue, configuration: $0) })

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels, book: .bridged,
      // 20 at once have been taken.
      pacing: .init(grouping: .topic, atOnce: 10, every: 100 * Microseconds.millisecond, limit: 4_096),
      salvage: [
        .init(mark: Self.prefixes[0], key: "\"channel\"", prefix: Self.prefixes[0]),
        .init(mark: "\"bids\"", key: "\"channel\"", prefix: Self.prefixes[0]),
      ])
    var bridge = DialectFacts.Bridge(
      // The whole book, whatever is asked for: 7,400 levels have been 206 KB.
      rule: Self.rule, path: { instrument, _ in "/api/v2/order_book/\(instrument.venueSymbol)/?group=1" },
      read: { (reader, index, instruments, batch) throws(FeedError) in
        try Self.readBookFields(&reader, index, &instruments, into: &batch)
      }, snapshots: [(levels: 0, weight: 1)], weightPerMinute: 300, concurrency: 4, bodyLimit: 16 << 20)
    // Answers have been seen to be up to 2.2 s old.
    bridge.delay = 2 * Microseconds.second
    bridge.missing = 404
    bridge.unnumbered = .init(
      firstRenewal: Microseconds.minute, renewal: 10 * Microseconds.minute, tradePatience: 30 * Microseconds.second,
      otherMark: "\"event\"")
    facts.bridge = bridge
    facts.ping = .init(after: Self.pingAfter, since: .heard)
    facts.list = Self.listing
    facts.volumes = [Self.volumes]
    facts.witness = .init(
      path: { "/api/v2/ticker/\($0.venueSymbol)/" }, requestsPerMinute: 60,
      read: { (reader, instruments, figures) throws(FeedError) in
        try instruments.readFigures(&reader, TickerFormat(last: "last", volume: "volume"), into: &figures)
      })
    self.facts = facts
  }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    func text(_ event: String, _ topic: Topic) -> String {
      let name = JSONQuoting.quoted("\(Self.prefixes[topic.channel])\(instruments[topic.index].venueSymbol)")
      return #"{"event":"bts:\#(event)","data":{"channel":\#(name)}}"#
    }
    switch request {
    case .topics(let topics, let verb): return text(verb.rawValue, topics[0])
    case .ping: return #"{"event":"bts:heartbeat"}"#
    case .canary(let market):
      return #"{"event":"bts:subscribe","data":{"channel":"\#(Self.prefixes[0])\#(market)"}}"#
    default: return nil
    }
  }
}

extension Bitstamp {
  /// Two updates of one time are both applied: sizes are absolute, so that one that came twice changes nothing.
  static let rule = SequenceRule(
    isOld: { update, snapshot in update.last <= snapshot },
    joins: { update, snapshot in update.last > snapshot },
    follows: { update, last in update.last >= last }, isNumbered: false)
}
