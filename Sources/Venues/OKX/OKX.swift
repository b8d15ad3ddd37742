import Bytes
import MarketData

/// OKX v5: spot, linear perpetuals (`SWAP`) and linear dated futures on one connection, without a key.
///
/// Instruments come by REST before the connection, then `books` (400 levels, a snapshot in the stream, then changes
/// every 100 ms), `bbo-tbt` as quotes (10 ms), `trades` and `tickers`. Books are chained: each update names the
/// number before it. The checksum has been 0 since June 2026 and is not looked at.
///
/// Sizes of contracts are in contracts: they are multiplied by `ctVal` × `ctMult` as they are read. Inverse
/// contracts, whose worth is fixed in dollars, are not followed.
package final class OKX: Dialect, RegisteredVenue {
  /// Quiet time after which a ping is sent; OKX drops a connection on which nothing was said for 30 s.
  static let pingAfter = 20 * Microseconds.second
  /// Topics that a connection begins and ends in an hour: the stricter reading of 480 "operations".
  static let topicsPerHour = 470
  /// Symbols in one request: four topics each are about 5 KB of the 64 KB that are allowed.
  static let symbolsPerRequest = 25
  /// The pause that a refusal for too many requests costs.
  static let ratePause = 5 * Microseconds.second
  /// The channels, by their indices in `DialectFacts.channels`.
  enum Channel: Int { case book, quote, trades, ticker, liquidations, derivative, index, other }
  private static let channels: [VenueProfile.Channel] = [
    // A book that does not change says so about once a minute.
    .init("books", .book, silence: .linked, .atLeast(every: Microseconds.minute), .contradicted),
    .init("bbo-tbt", .quote, silence: .contradicted), .init("trades", .trades, silence: .contradicted),
    .init("tickers", .ticker, silence: .contradicted),
    // Of all contracts of a kind, whatever is subscribed.
    .init("liquidation-orders", .liquidations, silence: .connection, isOnDemand: true),
  ]

  package static let venue: Venue = Venue(
    name: "okx", title: "OKX", separator: "-", endpoint: "wss://ws.okx.com:8443/ws/v5/public",
    restEndpoint: "https://www.okx.com",
    // Pings go out after 20 s of silence and are answered.
    cadence: .canary("tickers", of: ["BTC-USDT"], every: Microseconds.second),
    // A snapshot of 400 levels a side is about 40 KB.
    messageLimit: 2 << 20,
    // Four or five topics a symbol of `topicsPerHour`, with room for books that are subscribed again.
    symbolLimit: 85, kinds: [.spot, .perpetual, .future],
    // Three attempts a second from one address.
    connectLimit: ConnectLimit(count: 3, interval: Microseconds.second),
    market: Market.Configuration(
      quotesFromBook: false, bookDepthLimit: 400, checksum: nil, tickerInterval: Microseconds.second,
      liquidations: .complete),
    profile: VenueProfile(
      channels: channels, bookDepth: 400, bookCheck: "prevSeqId links each update to the one before",
      requests: [.instruments, .volumes],
      limits: ["480 subscriptions an hour and connection", "64 KB a request"]),
    candles: OKXCandles.format,
    replay: replay,
    makeEngine: { FeedEngine(OKX(), venue: OKX.venue, configuration: $0) })

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(Self.rule),
      // Three requests a second are allowed; the two of a pair go together, four times a second, as they are few.
      pacing: .init(
        grouping: .symbols(Self.symbolsPerRequest), atOnce: 2, every: 250 * Microseconds.millisecond, limit: 512),
      salvage: [.init(mark: "\"books\"", key: "\"instId\"")])
    facts.pacing.topicsPerHour = Self.topicsPerHour
    facts.answersEachTopic = true
    facts.ping = .init(after: Self.pingAfter, since: .heard)
    facts.list = Self.listing
    facts.volumes = Self.volumes
    facts.countsTrades = true
    facts.tradePages = Self.tradePages
    facts.beginsWithOldTrades = true
    facts.derivativePolls = OKXDerivatives.polls
    self.facts = facts
  }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    func text(_ topic: Topic) -> String {
      if topic.channel == Channel.liquidations.rawValue {
        return OKXDerivatives.liquidations(of: instruments[topic.index])
      }
      return Self.text(facts.channels[topic.channel].name, instruments[topic.index].venueSymbol)
    }
    let (operation, topics): (String, [String])
    switch request {
    case .topics(let wanted, let verb):
      // The end of one symbol's liquidations would end those of all.
      let said = verb == .subscribe ? wanted : wanted.filter { $0.channel != Channel.liquidations.rawValue }
      guard !said.isEmpty else { return nil }
      (operation, topics) = (verb.rawValue, said.map(text))
    case .canary(let market): (operation, topics) = ("subscribe", [Self.text("tickers", market)])
    case .ping: return "ping"
    default: return nil
    }
    return #"{"id":"\#(id)","op":"\#(operation)","args":[\#(topics.joined(separator: ","))]}"#
  }

  private static func text(_ channel: String, _ market: String) -> String {
    #"{"channel":"\#(channel)","instId":"\#(market)"}"#
  }

  // MARK: Replies

  /// `{"event":…}`: an acknowledgement of one topic, a refusal that names its topic in the text only, if at all, or a
  /// notice. What a refusal does not name is not acknowledged, and so sent again.
  func report(
    _ reply: borrowing FieldObject, _ instruments: InstrumentTable
  ) throws(FeedError) -> MessageOutcome.Report? {
    let (code, message) = (reply.text("code") ?? "", reply.text("msg") ?? "")
    switch try reply.name("event") {
    case "subscribe":
      if try reply.object("arg")?.text("channel") == "liquidation-orders" {
        return .acknowledged(id: nil, index: nil, channel: Channel.liquidations.rawValue)
      }
      guard let topic = try reply.object("arg")?.topic(channel: "channel", symbol: "instId", facts, instruments)
      else { return nil }
      return .acknowledged(id: reply.id("id"), index: topic.index, channel: topic.channel)
    case "error":
      var refusal = MessageOutcome.Refusal(reason: "code \(code): \(message)")
      // Requests too frequent, by the address and by the connection.
      if code == "50011" || code == "60014" { refusal.effect = .pause(Self.ratePause) }
      if code == "60018", let topic = Self.topic(namedIn: message, instruments) {
        (refusal.index, refusal.channel, refusal.reason) = (topic.index, topic.channel, message)
      }
      return .refused(refusal)
    case "notice" where code == "64008":
      // The connection will be closed for an upgrade in about a minute.
      return .leave("the venue announced a service upgrade", within: Microseconds.minute)
    default: return nil
    }
  }

  /// What `channel:` and `instId:` say in a refusal; the book's where it is no channel that is subscribed.
  private static func topic(namedIn message: String, _ instruments: InstrumentTable) -> Topic? {
    func word(_ key: String) -> String? {
      message.firstRange(of: key).map { String(message[$0.upperBound...].prefix { !" ,\"".contains($0) }) }
    }
    guard let index = word("instId:").flatMap(instruments.index(named:)) else { return nil }
    return Topic(
      index: index, channel: word("channel:").flatMap { channel in channels.firstIndex { $0.name == channel } } ?? 0)
  }
}

extension OKX {
  /// OKX: an update names the number before it. Once a minute without a change, one only names that number again.
  static let rule = SequenceRule(
    joins: { update, snapshot in update.previous == snapshot },
    follows: { update, last in update.previous == last })
}
