import Bytes
import MarketData

/// Gemini's WebSocket (the API of 2025 and later): spot and linear perpetuals on one connection, without a key.
///
/// `depth@100ms` is the book, `bookTicker` the quote, `trade` the trades. With `?snapshot=-1` in the URL the first
/// message of a book after its subscription is the whole of it, told from the others by `U` = `u` alone. Each further
/// one begins at the number that the one before ended at: `U` = `u` before, an overlap of one. There is no checksum.
///
/// 24 h figures are by REST only, a market at a time, and so are the increments. Spot markets need not wait for them,
/// as their names are base and quote. Perpetuals wait, until it is known that they are linear.
package final class Gemini: Dialect, RegisteredVenue {
  /// What stands behind a market's name and `@`.
  private static let channels: [VenueProfile.Channel] = [
    .init("depth@100ms", .book, silence: .linked, .contradicted), .init("trade", .trades, silence: .quoted),
    .init("bookTicker", .quote, silence: .contradicted),
  ]
  /// Quiet time after which a ping is sent; books that do not change say nothing, 28 s have been seen.
  static let pingAfter = 15 * Microseconds.second
  /// The pause that a refusal for too many requests costs.
  static let ratePause = 10 * Microseconds.second

  package static let venue: Venue = Venue(
    name: "gemini", title: "Gemini", separator: "", endpoint: "wss://ws.gemini.com/?snapshot=-1",
    restEndpoint: "https://api.gemini.com",
    // Pings go out after 15 s of silence and are answered.
    cadence: .canary("bookTicker", of: ["btcusd", "ethusd"], every: Microseconds.second),
    // A whole book of 16,000 levels is some 500 KB.
    messageLimit: 8 << 20, symbolLimit: 350, kinds: [.spot, .perpetual],
    // What the venue reports of itself.
    connectLimit: ConnectLimit(count: 300, interval: 5 * Microseconds.minute),
    market: Market.Configuration(quotesFromBook: false, bookDepthLimit: 20_000, checksum: nil),
    profile: VenueProfile(
      channels: channels, bookDepth: nil, bookCheck: "each update begins at the number that the one before ended at",
      requests: [.instruments, .volumes],
      limits: ["120 REST requests a minute"]),
    candles: GeminiCandles.format,
    replay: replay,
    makeEngine: { FeedEngine(Gemini(), venue: Gemini.venue, configuration: $0) })

  /// The number of the ping whose answer is awaited: it looks like any other.
  private var ping: Int?
  /// A hash of the last trade that each market's quotes have named, by its index; 0 before the first.
  var lastTrades: [UInt64] = []

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(Self.rule),
      // A bad stream refuses all of its request, so each market has one of its own. 347 markets on one socket have been
      // taken; nothing promises it.
      pacing: .init(grouping: .symbols(1), atOnce: 25, every: 200 * Microseconds.millisecond, limit: 2_048),
      salvage: [.init(mark: "\"depthUpdate\"", key: "\"s\"")])
    facts.ping = .init(after: Self.pingAfter, since: .heard)
    facts.list = Self.listing
    facts.list?.perMarket = .init(
      details: "/v1/symbols/details/", read: Self.readDetails,
      figures: [("/v2/ticker/", Self.readDay), ("/v1/pubticker/", Self.readVolume)],
      // With the list itself half of the 120 that an address may send.
      requestsPerMinute: 59, concurrency: 2, bodyLimit: 64 << 10, detailsAge: 6 * Microseconds.hour,
      figuresEvery: 30 * Microseconds.second, name: GeminiName.text(of:), waits: { $0.kind != .spot })
    facts.unlisted = { wanted, markets in
      let name = GeminiName.text(of: wanted)
      return "Gemini has no market \(name)\(NearNames.question(name, among: markets.lazy.map(\.venueSymbol)))"
    }
    facts.derivativePolls = GeminiDerivatives.polls
    self.facts = facts
  }

  func opening(_ url: String) -> ConnectionOpening {
    // Without it the first message of a book would be taken for the whole of it.
    url.contains("snapshot=-1")
      ? .atOnce
      : .never(
        "\(url) does not ask for whole books: leave the path out of the endpoint, or write \(Gemini.venue.endpoint)")
  }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    let (method, names): (String, [String])
    switch request {
    case .topics(let topics, let verb):
      method = verb.rawValue
      names = topics.map { "\(instruments[$0.index].venueSymbol)@\(Self.channels[$0.channel].name)" }
    case .canary(let market): (method, names) = ("subscribe", [market + "@bookTicker"])
    case .ping:
      ping = id
      return #"{"id":\#(id),"method":"ping"}"#
    default: return nil
    }
    return #"{"id":\#(id),"method":"\#(method)","params":\#(JSONQuoting.array(names))}"#
  }

  func forget() {
    ping = nil
    lastTrades.removeAll(keepingCapacity: true)
  }

  // MARK: Replies

  /// `{"id":…,"status":200}`, or with `"error":{"code":…,"msg":…}`. Nil for the answer to a ping.
  func report(
    _ reply: borrowing FieldObject, _ instruments: InstrumentTable
  ) throws(FeedError) -> MessageOutcome.Report? {
    // A number of ours; others give texts.
    let id = reply.value("id") { (id) throws(FeedError) in try id.wholeNumber("id").flatMap { Int(exactly: $0) } }
    if let ping, id == ping {
      self.ping = nil
      return nil
    }
    var (status, code, message) = (reply.integer("status"), Int64(0), "")
    if let error = try reply.object("error") {
      if status ?? 200 == 200 { status = 400 }
      (code, message) = (error.integer("code") ?? 0, error.text("msg") ?? "")
    }
    guard let status else { throw FeedError.missing("status", in: "reply") }
    guard status != 200 else { return .acknowledged(id: id ?? 0, index: nil, channel: nil) }
    var refusal = MessageOutcome.Refusal(id: id ?? 0, reason: message.isEmpty ? "status \(status)" : message)
    if status != 400 || code == -1003 {
      // Too much at once, or the venue's own trouble: the same again later.
      refusal.effect = .pause(Self.ratePause)
    } else if let topic = Self.topic(namedIn: message, instruments) {
      // One bad stream refuses all; without a quote or trades there is still a book.
      refusal.blames = [.init(index: topic.index, channel: topic.channel)]
    }
    return .refused(refusal)
  }

  /// The stream that a refusal ends with.
  private static func topic(namedIn message: String, _ instruments: InstrumentTable) -> Topic? {
    guard let name = message.split(separator: " ").last,
      let channel = channels.firstIndex(where: { name.hasSuffix("@\($0.name)") }),
      let index = instruments.index(named: String(name.dropLast(channels[channel].name.count + 1)))
    else { return nil }
    return Topic(index: index, channel: channel)
  }
}

extension Gemini {
  /// Gemini: an update begins at the number that the one before ended at, or before it. The whole book is one number.
  static let rule = SequenceRule(
    joins: { update, snapshot in update.first <= snapshot && update.last > snapshot },
    follows: { update, last in update.first <= last && update.last > last },
    mayBeWhole: { $0.first == $0.last })
}
