import Bytes
import MarketData

/// Coinbase Advanced Trade: books by `level2`, trades by `market_trades`, statistics by `ticker`, liveness by
/// `heartbeats`, without a key.
///
/// The products come by REST before the connection. `sequence_num` counts every message of a connection, whatever its
/// channel, so a hole cannot be laid to a product: it costs all books of the connection a new subscription. There is
/// no checksum.
///
/// Books in USDC are those in USD: data comes under the name that the list gives as `alias`, which is what is
/// subscribed. Of two names of one book only the first is followed.
///
/// Replies say neither which request nor, as a rule, which product they are about: requests go one by one.
package final class CoinbaseAdvanced: Dialect, RegisteredVenue {
  /// Room for three of the largest snapshot seen: 5.2 MB in 43,974 levels.
  static let messageLimit = 16 << 20
  /// Books on one connection; of more the venue refuses all.
  static let bookLimit = 30
  /// Books in one subscription: their snapshots may be 50 MB.
  static let booksPerRequest = 10
  /// After this long without a reply the next request is sent.
  static let replyTimeout = 3 * Microseconds.second
  /// The pause that a refusal for too many requests costs.
  static let ratePause = 5 * Microseconds.second
  /// How long a connection on which the venue counts too many books may go on with those that it has.
  static let renewalTime = Microseconds.minute

  private static let channels: [VenueProfile.Channel] = [
    .init("level2", .book, silence: .linked, .contradicted, atMost: booksPerRequest),
    .init("market_trades", .trades, silence: .linked, .contradicted),
    .init("ticker", .ticker, silence: .linked, .contradicted),
  ]

  package static let venue: Venue = Venue(
    name: "coinbase-advanced", title: "Coinbase Advanced Trade", separator: "-",
    endpoint: "wss://advanced-trade-ws.coinbase.com", restEndpoint: "https://api.coinbase.com",
    // `heartbeats` is once a second.
    cadence: .promised("heartbeats", every: Microseconds.second), messageLimit: messageLimit, symbolLimit: bookLimit,
    // Eight in a second may be made, and each begins with one of the eight messages that an address may send in it.
    connectLimit: ConnectLimit(count: 4, interval: Microseconds.second),
    // The snapshot is the whole book.
    market: Market.Configuration(
      quotesFromBook: true, bookDepthLimit: 50_000, checksum: nil, tickerInterval: Microseconds.second),
    profile: VenueProfile(
      channels: [.init("heartbeats", .heartbeat, silence: .linked)] + channels, bookDepth: nil,
      bookCheck: "sequence_num counts every message of a connection",
      requests: [.instruments],
      limits: ["30 books a connection", "8 messages a second to the venue"]),
    candles: CoinbaseAdvancedCandles.format,
    replay: replay,
    makeEngine: { FeedEngine(CoinbaseAdvanced(), venue: CoinbaseAdvanced.venue, configuration: $0) })

  /// `sequence_num` of the newest message; nil before the first of a connection.
  var sequence: Int64?
  /// Of the newest messages.
  var recent = AppliedNumbers(limit: 512)
  /// `heartbeat_counter` of the newest heartbeat.
  var heartbeat: Int64?
  /// By index, the newest venue time of a book, for a message that has none.
  var bookTimes: [Timestamp?] = []

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(Self.rule),
      // Five messages a second, of the eight that an address may send.
      pacing: .init(
        grouping: .channel(symbols: Self.bookLimit), atOnce: 1, every: 200 * Microseconds.millisecond, limit: 256,
        isShared: true, oneByOne: Self.replyTimeout),
      salvage: [.init(mark: "\"l2_data\"", key: "\"product_id\"")])
    facts.greeting = .request
    facts.list = Self.listing
    facts.kinds = ["\"channel\"", "\"error\""]
    self.facts = facts
  }

  func forget() {
    sequence = nil
    recent.removeAll()
    heartbeat = nil
  }

  func skip() { forget() }

  // MARK: Requests

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    switch request {
    case .greeting: return #"{"type":"subscribe","channel":"heartbeats"}"#
    case .topics(let topics, let verb):
      let ids = JSONQuoting.array(topics.map { instruments[$0.index].venueSymbol })
      let channel = facts.channels[topics[0].channel].name
      return #"{"type":"\#(verb.rawValue)","product_ids":\#(ids),"channel":"\#(channel)"}"#
    default: return nil
    }
  }

  /// `{"type":"error","message":…}` is about the request under way.
  func refuse(_ message: String, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome) {
    var refusal = MessageOutcome.Refusal(reason: message, what: "error")
    let words = message.lowercased()
    if words.contains("too many l2 streams") {
      // A new connection begins the count anew.
      outcome.report(.leave(message, within: Self.renewalTime))
      refusal.effect = .again(after: Self.renewalTime)
    } else if words.contains("too many") || words.contains("rate limit") {
      refusal.effect = .pause(Self.ratePause)
    } else {
      // `BTC-USD` does not stand in `BTC-USDC`.
      let names = message.split { !($0.isLetter || $0.isNumber || $0 == "-") }
      refusal.blames = names.compactMap { instruments.index(named: String($0)).map { .init(index: $0) } }
    }
    outcome.report(.refused(refusal))
  }

  // MARK: The connection's numbers

  /// Takes the number and time of a message; false if that message has come. A hole takes all books out of sync: which
  /// of them it concerns is not known. So does a number that goes back with another time, whether its message is late
  /// or the numbering begun anew.
  func follow(_ number: Int64?, _ time: Timestamp?, _ outcome: inout MessageOutcome) -> Bool {
    guard let number else { return true }
    let numbers = UpdateNumbers(first: number, last: number)
    if let time {
      if let sequence, number < sequence, recent.contains(numbers, at: time) { return false }
      recent.note(numbers, at: time)
    }
    let last = sequence
    sequence = number
    guard let last else { return true }
    if number == last { return false }
    if number != last &+ 1 { outcome.lostBefore = .gap }
    return true
  }

  /// The message had a number of its own, and the next one follows it.
  func missed(_ message: RawSpan, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome) {
    guard !MalformedMessageScan.contains(message, "\"error\"") else { return }
    if let number = MalformedMessageScan.number(message, key: "\"sequence_num\"") {
      _ = follow(number, nil, &outcome)
      if outcome.lostBefore != nil { outcome.report(.lost(index: nil, .gap)) }
    } else if let sequence {
      self.sequence = sequence &+ 1
    }
  }
}

extension CoinbaseAdvanced {
  /// What follows has been looked at already, by the numbers of the whole connection.
  static let rule = SequenceRule(joins: { _, _ in true }, follows: { _, _ in true })
}
