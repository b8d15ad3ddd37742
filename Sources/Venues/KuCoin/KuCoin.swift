import Bytes
import MarketData

/// KuCoin on the sockets of its unified API, without a key or a token: `obu` at depth `increment@10ms` (a snapshot of
/// 500 levels a side in the stream, then changes every 10 ms) and `trade`. Facts and their evidence: <doc:KuCoin>.
///
/// A venue with two connections, as spot and contracts have a socket each. Sizes of contracts are in lots, and are
/// brought to base units by the lot's size; inverse contracts, whose lot is a dollar, are left out.
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

  /// The part of the venue that a socket serves.
  enum Part: String { case spot, futures }

  private static let channels: [VenueProfile.Channel] = [
    .init("obu", .book, silence: .linked, .contradicted), .init("trade", .trades, silence: .figures),
  ]

  static let spot: Venue = connection(
    .spot, restEndpoint: "https://api.kucoin.com", canary: "BTC-USDT", kinds: [.spot], KuCoinCandles.spot)
  static let futures: Venue = connection(
    .futures, restEndpoint: "https://api-futures.kucoin.com", canary: "XBTUSDTM", kinds: [.perpetual],
    KuCoinCandles.futures)
  package static let venue: Venue = Venue(title: "KuCoin", parts: [spot, futures], replay: replay)

  private static func connection(
    _ part: Part, restEndpoint: String, canary: String, kinds: Set<Instrument.Kind.Family>, _ candles: CandleFormat
  ) -> Venue {
    Venue(
      name: "kucoin", title: part == .spot ? "KuCoin" : "KuCoin futures", separator: "-",
      endpoint: "wss://x-push-\(part.rawValue).kucoin.com/", restEndpoint: restEndpoint,
      // Pings are answered within a moment.
      // Five levels are sent again each 100 ms, changed or not.
      cadence: .canary("obu", of: [canary], every: Microseconds.second),
      // The largest is a snapshot of 500 levels a side: about 30 KB.
      messageLimit: 2 << 20,
      // Two topics each, and one of the canary; 200 topics a connection is the smallest number in use, 600 the
      // documented one.
      symbolLimit: 99, kinds: kinds, part: part.rawValue,
      // The smallest of the documented numbers.
      connectLimit: ConnectLimit(count: 30, interval: Microseconds.minute),
      market: Market.Configuration(quotesFromBook: true, bookDepthLimit: depth, checksum: nil, hasWitness: true),
      profile: VenueProfile(
        channels: channels, bookDepth: depth, bookCheck: "O and C link each update to the one before",
        requests: part == .spot ? [.instruments, .volumes] : [.instruments],
        limits: ["8 requests a second", "200 topics a connection"]),
      candles: candles, assetNames: part == .spot ? assetNames : nil,
      makeEngine: { FeedEngine(KuCoin(part), venue: part == .spot ? spot : futures, configuration: $0) })
  }

  let part: Part
  let facts: DialectFacts

  init(_ part: Part) {
    self.part = part
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(Self.rule),
      // Requests are limited to 100 in ten seconds by some of the documentation, and to 300 by other: eight a second
      // keep both.
      pacing: .init(grouping: .topic, atOnce: 2, every: 250 * Microseconds.millisecond, limit: 1_024),
      salvage: [.init(mark: part == .spot ? "\"obu.SPOT\"" : "\"obu.FUTURES\"", key: "\"s\"")])
    facts.ping = .init(after: Self.pingAfter, since: .ping)
    facts.list = part == .spot ? Self.listing : Self.contracts
    // The list of contracts has its own.
    facts.volumes = part == .spot ? [Self.volumes] : []
    // Weight 15 of 2,000 in 30 s on spot, 3 on futures.
    facts.witness = .init(
      path: { Self.statisticsPath(of: $0) }, requestsPerMinute: 60,
      read: Self.statistics(part == .spot ? Self.figures : Self.contractFigures))
    // Any name is acknowledged.
    facts.silenceLimit = Microseconds.minute
    facts.carriesHalted = false
    // That a subscription brings a snapshot is what the documentation says of a first one.
    facts.silentAttempts = 2
    self.facts = facts
  }

  func opening(_ url: String) -> ConnectionOpening { .afterWelcome(within: 3 * Microseconds.second) }

  private static func statisticsPath(of instrument: Instrument) -> String {
    let path = instrument.kind == .spot ? "/api/v1/market/stats?symbol=" : "/api/v1/contracts/"
    return path + instrument.venueSymbol
  }

  private static let figures = TickerFormat(last: "last", volume: "vol")
  private static let contractFigures = TickerFormat(last: "lastTradePrice", volume: "volumeOf24h")

  /// `{"code":"200000","data":{"symbol":…,"last":"…","vol":"…",…}}`, and the like of a contract.
  private static func statistics(_ format: TickerFormat) -> DialectFacts.PerMarket.Figures {
    { (reader, instruments, figures) throws(FeedError) in
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "data"), reader.peek() == .object {
          try instruments.readFigures(&reader, format, into: &figures)
        } else {
          try reader.skipValue()
        }
      }
    }
  }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    switch request {
    case .topics(let topics, let verb): return text(verb.rawValue, topics[0], id, instruments)
    case .ping: return #"{"id":"\#(id)","type":"ping"}"#
    case .canary(let market): return text("subscribe", "obu", market, depth: "5", id)
    default: return nil
    }
  }

  private func text(
    _ action: String, _ topic: Topic, _ id: Int, _ instruments: InstrumentTable
  ) -> String {
    let name = instruments[topic.index].venueSymbol
    return topic.channel == 0
      ? text(action, "obu", name, depth: "increment@10ms", id) : text(action, "trade", name, depth: nil, id)
  }

  private func text(
    _ action: String, _ channel: String, _ symbol: String, depth: String?, _ id: Int
  ) -> String {
    let depth = depth.map { #","depth":"\#($0)""# } ?? ""
    return
      #"{"id":"\#(id)","action":"\#(action)","channel":"\#(channel)","tradeType":"\#(part == .spot ? "SPOT" : "FUTURES")","symbol":\#(JSONQuoting.quoted(symbol))\#(depth)}"#
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
