import Bytes
import MarketData

/// KuCoin spot on the socket of its unified API, without a key or a token: `obu` at depth `increment@10ms` (a snapshot
/// of 500 levels a side in the stream, then changes every 10 ms) and `trade`. Facts and their evidence: <doc:KuCoin>.
///
/// The venue's classic socket needs a token from a POST, and its changes of the whole book can be joined without a key
/// to a REST snapshot of 100 levels only: everything below them stays unknown until it changes, and as the market
/// moves, the known part runs out. `obu` is exact to its depth at all times, which is why it is used.
///
/// Quotes are made from the book, which comes as often as the venue's own. 24 h figures are made from the trades: this
/// socket has none.
package final class KuCoin: Dialect, RegisteredVenue {
  /// Levels a side, to which the book is cut: a level that falls out comes as a removal, but some messages late.
  static let depth = 500
  /// Without a ping for its `pingInterval` of 18 s the venue may close; more than one a second is forbidden.
  static let pingAfter = 15 * Microseconds.second
  static let shortestPing = 2 * Microseconds.second
  /// A subscription that was one too many is sent again after this long.
  static let retryAfter = 10 * Microseconds.second

  private static let channels: [VenueProfile.Channel] = [
    .init("obu", .book, silence: .linked, .contradicted), .init("trade", .trades, silence: .figures),
  ]

  package static let venue: Venue = Venue(
    name: "kucoin", title: "KuCoin", separator: "-", endpoint: "wss://x-push-spot.kucoin.com/",
    restEndpoint: "https://api.kucoin.com",
    // Pings are answered within a moment.
    // Five levels are sent again each 100 ms, changed or not.
    cadence: .canary("obu", of: ["BTC-USDT"], every: Microseconds.second),
    // The largest is a snapshot of 500 levels a side: about 30 KB.
    messageLimit: 2 << 20,
    // Two topics each, and one of the canary; 200 topics a connection is the smallest number in use, 600 the documented
    // one.
    symbolLimit: 99,
    // The smallest of the documented numbers.
    connectLimit: ConnectLimit(count: 30, interval: Microseconds.minute),
    market: Market.Configuration(quotesFromBook: true, bookDepthLimit: depth, checksum: nil, hasWitness: true),
    profile: VenueProfile(
      channels: channels, bookDepth: depth, bookCheck: "O and C link each update to the one before",
      requests: [.instruments, .volumes],
      limits: ["8 requests a second", "200 topics a connection"]),
    candles: KuCoinCandles.format, assetNames: assetNames,
    replay: replay,
    makeEngine: { FeedEngine(KuCoin(), venue: KuCoin.venue, configuration: $0) })

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(Self.rule),
      // Requests are limited to 100 in ten seconds by some of the documentation, and to 300 by other: eight a second
      // keep both.
      pacing: .init(grouping: .topic, atOnce: 2, every: 250 * Microseconds.millisecond, limit: 1_024),
      salvage: [.init(mark: "\"obu.SPOT\"", key: "\"s\"")])
    facts.ping = .init(after: Self.pingAfter, since: .ping)
    facts.list = Self.listing
    facts.volumes = [Self.volumes]
    // Weight 15 of 2,000 in 30 s.
    facts.witness = .init(
      path: { "/api/v1/market/stats?symbol=\($0.venueSymbol)" }, requestsPerMinute: 60, read: Self.readStatistics)
    // Any name is acknowledged.
    facts.silenceLimit = Microseconds.minute
    facts.carriesHalted = false
    // That a subscription brings a snapshot is what the documentation says of a first one.
    facts.silentAttempts = 2
    self.facts = facts
  }

  func opening(_ url: String) -> ConnectionOpening { .afterWelcome(within: 3 * Microseconds.second) }

  /// `{"code":"200000","data":{"symbol":…,"last":"…","vol":"…",…}}`
  private static let readStatistics: DialectFacts.PerMarket.Figures = {
    (reader, instruments, figures) throws(FeedError) in
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "data"), reader.peek() == .object {
        try instruments.readFigures(&reader, TickerFormat(last: "last", volume: "vol"), into: &figures)
      } else {
        try reader.skipValue()
      }
    }
  }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    switch request {
    case .topics(let topics, let verb): return Self.text(verb.rawValue, topics[0], id, instruments)
    case .ping: return #"{"id":"\#(id)","type":"ping"}"#
    case .canary(let market): return Self.text("subscribe", "obu", market, depth: "5", id)
    default: return nil
    }
  }

  private static func text(
    _ action: String, _ topic: Topic, _ id: Int, _ instruments: InstrumentTable
  ) -> String {
    let name = instruments[topic.index].venueSymbol
    return topic.channel == 0
      ? text(action, "obu", name, depth: "increment@10ms", id) : text(action, "trade", name, depth: nil, id)
  }

  private static func text(
    _ action: String, _ channel: String, _ symbol: String, depth: String?, _ id: Int
  ) -> String {
    let depth = depth.map { #","depth":"\#($0)""# } ?? ""
    return
      #"{"id":"\#(id)","action":"\#(action)","channel":"\#(channel)","tradeType":"SPOT","symbol":\#(JSONQuoting.quoted(symbol))\#(depth)}"#
  }

  // MARK: Replies

  /// `{"sessionId":…,"message":"welcome","pingInterval":18000}`
  static func welcome(pingInterval milliseconds: Int64?) -> MessageOutcome.Report {
    guard let milliseconds, (1...3_600_000).contains(milliseconds) else { return .welcome(pingAfter: nil) }
    // Some room before it runs out, and never more than one a second.
    return .welcome(pingAfter: max(shortestPing, milliseconds * Microseconds.millisecond * 5 / 6))
  }

  /// The answer to a request.
  static func report(_ id: Int?, isDone: Bool, _ message: String?) -> MessageOutcome.Report? {
    guard !isDone else { return id.map { .acknowledged(id: $0, index: nil, channel: nil) } }
    var refusal = MessageOutcome.Refusal(id: id, reason: message ?? "no reason given")
    // One too many is no word about the symbol: the same again, later.
    let isTooMuch = ["exceed", "too many", "limit"].contains { refusal.reason.lowercased().contains($0) }
    if id != nil, isTooMuch { refusal.effect = .again(after: retryAfter) }
    return .refused(refusal)
  }
}

extension KuCoin {
  /// A change is applied if `O <= last + 1` and `C > last`, as documented. In two years' captures `O` was always `last
  /// + 1`. What the snapshot has already may come after it and is nothing.
  static let rule = SequenceRule(
    isOld: { update, snapshot in update.last <= snapshot },
    joins: { update, snapshot in update.first <= snapshot &+ 1 && update.last > snapshot },
    isRepeat: { update, last in update.last == last },
    follows: { update, last in update.first <= last &+ 1 && update.last > last })
}
