import Bytes
import MarketData

/// Gate spot, WebSocket v4, without a key: `spot.obu` (a snapshot of 400 levels a side in the stream, then changes
/// every 100 ms), `spot.trades`, `spot.book_ticker` as quotes and `spot.tickers`. Facts and their evidence:
/// <doc:Gate>.
///
/// Of the venue's two books `spot.obu` is the one that needs no REST: its snapshot comes on subscribing, it is four
/// times as deep as what `spot.order_book_update` reports, and each message says which numbers it covers. The other is
/// still read, since recordings from before 2025 have it: as soon as it comes for a symbol, that symbol's book is
/// bridged to a REST snapshot.
package final class Gate: Dialect, RegisteredVenue {
  /// Which of the venue's books is subscribed.
  package enum Books: Sendable { case streamed, bridged }

  /// Levels a side of `spot.obu`, to which the book is cut: whether the venue says what falls out is known of its
  /// futures only.
  static let depth = 400
  /// Levels a side of a REST snapshot: the most that the venue answers with.
  static let snapshotLimit = 1_000
  /// Room for 1,000 levels a side: about 60 KB.
  static let snapshotBodyLimit = 1 << 20
  /// A socket without a word from the client has been seen to close after 30 s.
  static let pingAfter = 15 * Microseconds.second
  /// How long a connection may last after its end was announced: "soon", and nobody has seen how soon.
  static let upgradeNotice = 10 * Microseconds.second
  /// A subscription that the venue could not carry out is sent again after this long.
  static let retryAfter = 5 * Microseconds.second
  private static func channels(_ books: Books) -> [VenueProfile.Channel] {
    let book = books == .streamed ? "spot.obu" : "spot.order_book_update"
    return [
      .init(book, .book, silence: .linked, .contradicted),
      .init("spot.trades", .trades, silence: .contradicted),
      .init("spot.book_ticker", .quote, silence: .contradicted),
      .init("spot.tickers", .ticker, silence: .contradicted),
    ]
  }

  package static let venue: Venue = venue(.streamed)

  /// The venue with one or the other book.
  package static func venue(_ books: Books) -> Venue {
    Venue(
      name: "gate", title: "Gate", separator: "_", endpoint: "wss://api.gateio.ws/ws/v4/",
      restEndpoint: "https://api.gateio.ws",
      // Pings are answered within a moment.
      cadence: .canary("spot.tickers", of: ["BTC_USDT"], every: Microseconds.second),
      // The largest is a snapshot of 400 levels a side: about 25 KB.
      messageLimit: 2 << 20,
      // None is documented; 150 streams on a connection have been measured, on futures.
      symbolLimit: 150,
      market: Market.Configuration(
        quotesFromBook: false, bookDepthLimit: books == .streamed ? depth : nil, checksum: nil,
        tickerInterval: Microseconds.second),
      profile: VenueProfile(
        channels: channels(books), bookDepth: depth, bookCheck: "U and u link each update to the one before",
        requests: [.instruments, .volumes],
        limits: ["50 subscriptions in one go, five times a second"]),
      candles: GateCandles.format,
      replay: replay,
      makeEngine: { FeedEngine(Gate(books), venue: Gate.venue(books), configuration: $0) })
  }

  let facts: DialectFacts

  init(_ books: Books) {
    // 150 at once have been taken.
    var facts = DialectFacts(
      channels: Self.channels(books), book: books == .streamed ? .streamed(Self.streamRule) : .bridged,
      // One request for each stream, as what a bad name does to the others of its request is not documented.
      pacing: .init(grouping: .topic, atOnce: 50, every: 200 * Microseconds.millisecond, limit: 4_096),
      salvage: [
        .init(mark: "\"spot.obu\"", key: "\"s\"", prefix: "ob.", suffix: ".400"),
        .init(mark: "\"spot.order_book_update\"", key: "\"s\""),
      ])
    // A fifth of what the venue allows an address on one endpoint (200 in 10 s).
    facts.bridge = .init(
      rule: Self.updatesRule, path: Self.snapshotPath, read: Self.readSnapshot,
      snapshots: [(levels: Self.snapshotLimit, weight: 1)], weightPerMinute: 240, concurrency: 4,
      bodyLimit: Self.snapshotBodyLimit)
    facts.ping = .init(after: Self.pingAfter, since: .ping)
    facts.list = Self.listing
    facts.volumes = [Self.volumes]
    // `spot.obu` may acknowledge any name.
    facts.silenceLimit = Microseconds.minute
    facts.carriesHalted = false
    self.facts = facts
  }

  /// A time that is more than 60 s off is refused.
  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    let time = now.rawValue / Microseconds.second
    let (event, channel, payload): (String, String, [String])
    switch request {
    case .topics(let topics, let verb):
      (event, channel) = (verb.rawValue, facts.channels[topics[0].channel].name)
      let name = instruments[topics[0].index].venueSymbol
      payload =
        switch channel {
        case "spot.obu": ["ob.\(name).\(Self.depth)"]
        case "spot.order_book_update": [name, "100ms"]
        default: [name]
        }
    case .canary(let market): (event, channel, payload) = ("subscribe", "spot.tickers", [market])
    case .ping: return #"{"time":\#(time),"channel":"spot.ping"}"#
    default: return nil
    }
    return
      #"{"time":\#(time),"id":\#(id),"channel":"\#(channel)","event":"\#(event)","payload":\#(JSONQuoting.array(payload))}"#
  }

  // MARK: Replies

  /// The answer to a subscription, or to its end.
  static func report(_ reply: borrowing FieldObject) throws(FeedError) -> MessageOutcome.Report {
    let id = reply.id("id")
    guard let error = try reply.object("error"), reply.says("event", "unsubscribe") != true else {
      return .acknowledged(id: id ?? 0, index: nil, channel: nil)
    }
    let (code, message) = (error.integer("code") ?? 0, error.text("message") ?? "no reason given")
    // Subscribed or unsubscribed already: what was wanted is so.
    guard !message.hasPrefix("Alert sub") else { return .acknowledged(id: id ?? 0, index: nil, channel: nil) }
    // Others than 2 are the server's own trouble: the same again, later.
    return .refused(
      MessageOutcome.Refusal(
        id: id, reason: message, effect: code == 2 ? .final : .again(after: retryAfter),
        what: "\((reply.text("channel") ?? "").prefix(40)): code \(code)"))
  }
}

extension Gate {
  /// Gate, "How to maintain local order book": drop `u <= id`; first `U <= id+1 <= u`; then `U == last+1`. Numbers
  /// rise by one with every change of a book.
  static let updatesRule = SequenceRule(
    isOld: { update, snapshot in update.last <= snapshot },
    joins: { update, snapshot in update.first <= snapshot &+ 1 && update.last >= snapshot &+ 1 },
    isRepeat: { update, last in update.last == last },
    follows: { update, last in update.first == last &+ 1 })

  /// `full` replaces the book whenever it comes; a change must follow by one. One without levels only moves the number
  /// on.
  static let streamRule = SequenceRule(
    joins: { update, snapshot in update.first == snapshot &+ 1 },
    isRepeat: { update, last in update.last == last },
    follows: { update, last in update.first == last &+ 1 })
}
