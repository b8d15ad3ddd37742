import Bytes
import Foundation

/// A value of a market's channel, and whether its source sends it.
struct Sourced<Value: Sendable>: Sendable {
  var value: Value
  private var state = "live"
  /// Why it does not.
  private(set) var reason = ""
  /// Of a composite; nil: the message is a market's.
  private var venues: [String]?
  private var absent: [Composite.Absence] = []
  private var isSimulated = false

  init(_ value: Value) { self.value = value }

  var isLive: Bool { state == "live" }

  var composite: Composite? {
    venues.map { .init(state: .init(rawValue: state), venues: $0, absent: absent, isSimulated: isSimulated) }
  }

  static var stateFields: [Field<Sourced>] { [.init("state", \.state), .init("reason", \.reason)] }

  /// With those of a composite.
  static var compositeFields: [Field<Sourced>] {
    let venues = Field<Sourced>("venues") { $0.venues = try $1.list(limit: Composite.limit) }
    return [venues, .init("absent", \.absent, limit: Composite.limit), .init("simulated", \.isSimulated)] + stateFields
  }
}

extension Composite.Absence: MessageObject {
  static let format = MessageFormat<Composite.Absence>(
    Composite.Absence(venue: "", reason: ""), [.init("venue", \.venue), .init("reason", \.reason)])
}

extension Quote {
  static let message = MessageFormat<Sourced<Quote>>(
    Sourced(Quote(time: .distantPast)),
    [
      .init("bid", \.value.bid), .init("bid_size", \.value.bidSize), .init("bid_venue", \.value.bidVenue),
      .init("ask", \.value.ask), .init("ask_size", \.value.askSize), .init("ask_venue", \.value.askVenue),
      .init("time", needed: \.value.time),
    ], Sourced.compositeFields)
}

extension Ticker {
  static let message = MessageFormat<Sourced<Ticker>>(
    Sourced(Ticker(source: .unknown(""), time: .distantPast)),
    [
      .init("last", \.value.last), .init("last_venue", \.value.lastVenue), .init("bid", \.value.bid),
      .init("ask", \.value.ask), .init("open_24h", \.value.open24h), .init("high_24h", \.value.high24h),
      .init("low_24h", \.value.low24h), .init("volume_24h", \.value.volume24h),
      .init("quote_volume_24h", \.value.quoteVolume24h), .init("vwap_24h", \.value.vwap24h),
      .init("change_24h", \.value.change24h), .init("change_pct_24h", \.value.changePercent24h),
      .init("trades_24h", \.value.trades24h), .init("source", needed: \.value.source),
      .init("own", \.value.own, limit: 100), .init("covered_from", \.value.coveredFrom),
      .init("time", needed: \.value.time),
    ], Sourced.compositeFields)
}

extension Pulse {
  static let message = MessageFormat<Sourced<Pulse>>(
    Sourced(Pulse(direction: .flat, price: 0, merged: 0, time: .distantPast)),
    [
      .init("direction") { $0.value.direction = Direction(rawValue: try $1.word()) ?? .flat },
      .init("price", needed: \.value.price), .init("previous", \.value.previous),
      .init("change_pct", \.value.changePercent), .init("change_pct_24h", \.value.changePercent24h),
      .init("merged", needed: \.value.merged), .init("time", needed: \.value.time),
    ], Sourced.stateFields)
}

/// The `data` of a message of `trades`.
struct TradeList {
  var trades: [Trade] = []
  var lost: LostTrades?
}

/// Trades that the gateway did not get from the exchange.
struct LostTrades {
  /// Their number; nil if it is unknown.
  var count: Int?

  static let format = MessageFormat<LostTrades>(LostTrades(), [.init("count", \.count)])
}

extension Trade: MessageObject {
  static let format = MessageFormat<Trade>(
    Trade(id: "", price: 0, size: 0, side: .buy, time: .distantPast),
    [
      .init("id") { $0.id = try readID(&$1) },
      .init("price", needed: \.price), .init("size", needed: \.size), .init("side", needed: \.side),
      .init("time", needed: \.time), .init("gap", \.followsGap), .init("renumbered", \.isRenumbered),
      .init("late", \.isLate),
    ])

  static let message = MessageFormat<Sourced<TradeList>>(
    Sourced(TradeList()),
    [
      .init("trades", \.value.trades, limit: .max),
      .init("lost") { if let lost = try LostTrades.format.readObject(&$1) { $0.value.lost = lost } },
    ], Sourced.stateFields)

  private static func readID(_ json: inout JSONScanner) throws -> String {
    if json.peek() == .string { return try json.word() }
    return "\(try json.int64())"
  }
}

extension BookLevels {
  static let message = MessageFormat<Sourced<BookLevels>>(
    Sourced(BookLevels(time: .distantPast)),
    [
      .init("bids", \.value.bids, limit: levelLimit), .init("asks", \.value.asks, limit: levelLimit),
      .init("time", needed: \.value.time),
    ], Sourced.stateFields)

  /// The largest number of levels of a side. No market has more, and without a limit a message could cost any amount of
  /// work.
  private static let levelLimit = 100_000
}

extension OrderBook.Level: MessageValue {
  /// `["64123.4","0.5"]`
  static func read(_ json: inout JSONScanner) throws -> OrderBook.Level? {
    var price: ExactDecimal?, size: ExactDecimal?
    try json.arrayStart()
    var count = 0
    while try json.nextElement() {
      let offset = json.offset
      guard let value = try ExactDecimal.read(&json) else { throw MessageError.notANumber(offset: offset) }
      if count == 0 { price = value } else if count == 1 { size = value }
      count += 1
    }
    guard let price, let size else { return nil }
    return OrderBook.Level(price: price, size: size)
  }
}

extension Rate {
  static let format = MessageFormat<Rate>(
    Rate(base: "", quote: "", state: .unavailable),
    [
      .init("base", \.base), .init("quote", \.quote), .init("rate", \.value), .init("path", \.path, limit: pathLimit),
      .init("state", \.state), .init("reason", \.reason), .init("age_ms", \.age), .init("simulated", \.isSimulated),
    ])
}

extension FeedReport: MessageObject {
  static let format = MessageFormat<FeedReport>(
    FeedReport(venue: "", state: .unknown(""), indicator: .reconnecting),
    [
      .init("venue", \.venue), .init("state", \.state), .init("indicator", \.indicator), .init("age_ms", \.age),
      .init("simulated", \.isSimulated), .init("replayed", \.isReplayed), .init("reason", \.reason),
      .init("since", \.since), .init("attempt", \.attempt),
      .init("syncing") { $0.syncing = try reasons(&$1) }, .init("failed") { $0.failed = try reasons(&$1) },
      .init("silent") { $0.silent = try $1.map(silentChannels) },
    ])

  private static func reasons(_ json: inout JSONScanner) throws -> [String: String] { try json.map { try $0.word() } }

  private static func silentChannels(_ json: inout JSONScanner) throws -> [String] { try json.list(limit: 8) }

  /// Of `status`.
  static let message = MessageFormat<[FeedReport]>([FeedReport](), [.init("feeds", \.self, limit: .max)])

  /// `[{"venue":"kraken","state":…}]`, or `{"kraken":{"state":…}}`, which is then sorted by name.
  static func list(_ json: inout JSONScanner) throws -> [FeedReport] {
    guard json.peek() == .object else { return try json.list() }
    var feeds: [FeedReport] = []
    try json.objectStart()
    while let key = try json.nextKey() {
      var feed = FeedReport(venue: try json.decoded(key), state: .unknown(""), indicator: .reconnecting)
      try format.read(&json, into: &feed)
      feeds.append(feed)
    }
    return feeds.sorted { $0.venue < $1.venue }
  }
}
