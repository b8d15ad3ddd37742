import Bytes
import MarketData

/// Bybit v5: spot, and linear perpetuals and futures (settled in USDT or USDC), without a key.
///
/// A venue with two connections, as one socket carries one family of markets. Instruments come by REST before the
/// connection, then `orderbook.200` (a snapshot in the stream, then changes every 100 ms), `orderbook.1` as quotes
/// (10 ms, and again every 3 s when nothing changed), `publicTrade` and `tickers`. Sizes of linear contracts are in
/// base units already.
///
/// Books have no checksum. `u` rises by one with every message, which was measured over 100,000 of them and is
/// documented for the full book only; so a jump costs the book a new subscription and nothing else.
package final class Bybit: Dialect, RegisteredVenue {
  /// Quiet time on the client's side after which a ping is sent: every 20 s by the documentation.
  static let pingAfter = 20 * Microseconds.second
  /// A quote is sent again so long after its last change, µs.
  static let quoteInterval = 3 * Microseconds.second
  /// Subscriptions sent in one go, and the time between two goes. 200 at once have been taken; nothing promises it.
  static let requestsAtOnce = 10
  static let requestInterval = 100 * Microseconds.millisecond
  /// The channels, by their indices in `DialectFacts.channels`.
  enum Channel: Int { case book, quote, trades, ticker, liquidations, other }
  /// In front of a symbol and a point. The book has 200 levels a side; those that fall out of it come as removals.
  private static let channels: [VenueProfile.Channel] = [
    .init("orderbook.200", .book, silence: .linked, .contradicted),
    .init("orderbook.1", .quote, silence: .atLeast(every: quoteInterval), .contradicted),
    .init("publicTrade", .trades, silence: .contradicted), .init("tickers", .ticker, silence: .contradicted),
  ]
  /// Of linear contracts, `tickers` has mark, index, funding and open interest as well.
  private static let linearChannels =
    channels + [.init("allLiquidation", .liquidations, silence: .connection, isOnDemand: true)]

  static let spot: Venue = connection("spot", kinds: [.spot])
  static let linear: Venue = connection("linear", kinds: [.perpetual, .future])
  package static let venue: Venue = Venue(title: "Bybit", parts: [spot, linear], replay: replay)

  private static func channels(of part: String) -> [VenueProfile.Channel] {
    part == "spot" ? channels : linearChannels
  }

  private static func connection(_ part: String, kinds: Set<Instrument.Kind.Family>) -> Venue {
    Venue(
      name: "bybit", title: "Bybit \(part)", separator: "", endpoint: "wss://stream.bybit.com/v5/public/\(part)",
      restEndpoint: "https://api.bybit.com",
      // Pings are answered.
      cadence: .promised("orderbook.1", every: quoteInterval),
      // The largest is a message of 1,024 trades: about 200 KB.
      messageLimit: 2 << 20,
      // 21,000 characters of topics a connection: four topics of a symbol are about 100.
      symbolLimit: 150, kinds: kinds, part: part,
      // 500 connections in 5 minutes from one address.
      connectLimit: ConnectLimit(count: 500, interval: 5 * Microseconds.minute),
      market: Market.Configuration(
        quotesFromBook: false, bookDepthLimit: 1_000, checksum: nil, tickerInterval: Microseconds.second,
        liquidations: part == "spot" ? .none : .complete),
      profile: VenueProfile(
        channels: channels(of: part), bookDepth: 200, bookCheck: "u rises by one with every update",
        requests: [.instruments, .volumes],
        limits: ["21,000 characters of topics a connection", "10 topics a request on spot"]),
      candles: BybitCandles.format,
      makeEngine: { FeedEngine(Bybit(part), venue: part == "spot" ? spot : linear, configuration: $0) })
  }

  /// By index: the newest quote and the newest figures, as changes leave out what they do not change.
  var quotes: [Quote?] = []
  var tickers: [Ticker?] = []
  /// When a ticker was last asked for whole, by instrument.
  var tickersAsked: [Timestamp] = []
  /// The time between two such requests, µs: changes come ten times a second.
  static let tickerPatience = 10 * Microseconds.second

  let facts: DialectFacts

  init(_ part: String) {
    var facts = DialectFacts(
      channels: Self.channels(of: part), book: .streamed(Self.rule),
      // One request for each symbol: one bad topic refuses the whole request it is in, and spot takes ten at most.
      pacing: .init(
        grouping: .symbols(1), atOnce: Self.requestsAtOnce, every: Self.requestInterval, limit: 1_024),
      salvage: [.init(mark: "\"orderbook.", key: "\"s\"")])
    facts.ping = .init(after: Self.pingAfter, since: .ping)
    facts.list = Self.listing(part)
    facts.volumes = [Self.volumes(part)]
    // 403 is "access too frequent", for ten minutes.
    facts.list?.banPause = 10 * Microseconds.minute
    // What is sent again is the symbols'.
    facts.isSilentWithoutSymbols = true
    if part != "spot" { facts.derivativePolls = BybitDerivatives.polls }
    self.facts = facts
  }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    switch request {
    case .topics(let topics, let verb):
      let names = JSONQuoting.array(
        topics.map { "\(facts.channels[$0.channel].name).\(instruments[$0.index].venueSymbol)" })
      return #"{"req_id":"\#(id)","op":"\#(verb.rawValue)","args":\#(names)}"#
    case .ping: return #"{"req_id":"\#(id)","op":"ping"}"#
    default: return nil
    }
  }

  func forget() {
    quotes = []
    tickers = []
    tickersAsked = []
  }

  func skip() {
    quotes = []
    tickers = []
  }

  // MARK: Replies

  /// `{"success":…,"ret_msg":…,"req_id":…,"op":…}`. One bad topic refuses all of its request, and so does one that is
  /// there already, which goes on. Nil for the answer to a ping.
  static func report(_ reply: borrowing FieldObject, _ instruments: InstrumentTable) -> MessageOutcome.Report? {
    let (operation, message) = (reply.text("op") ?? "request", reply.text("ret_msg") ?? "")
    let (id, succeeded) = (reply.id("req_id") ?? 0, reply.flag("success") ?? !reply.has("success"))
    // Public sockets answer `"op":"ping"` with a message of `pong`; others `"op":"pong"`.
    if operation == "pong" || (operation == "ping" && succeeded) { return nil }
    guard !succeeded else { return .acknowledged(id: id, index: nil, channel: nil) }
    let topic = topic(namedIn: message, instruments)
    return .refused(
      MessageOutcome.Refusal(
        id: id, blames: topic.map { [.init(index: $0.index, channel: $0.channel)] } ?? [], reason: message,
        effect: message.contains("already subscribed") ? .already : .final, what: operation))
  }

  /// The topic that stands by itself in a text: `tickers.BTCUSDT` does not stand in `tickers.BTCUSDTX`.
  private static func topic(namedIn text: String, _ instruments: InstrumentTable) -> Topic? {
    for word in text.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "-" && $0 != "." }) {
      for (channel, known) in linearChannels.enumerated() where word.hasPrefix(known.name + ".") {
        guard let index = instruments.index(named: String(word.dropFirst(known.name.count + 1))) else { continue }
        return Topic(index: index, channel: channel)
      }
    }
    return nil
  }
}

extension Bybit {
  /// Bybit: `u` rises by one with every message.
  static let rule = SequenceRule(
    joins: { update, snapshot in update.last == snapshot &+ 1 },
    isRepeat: { update, last in update.last == last }, follows: { update, last in update.last == last &+ 1 })
}
