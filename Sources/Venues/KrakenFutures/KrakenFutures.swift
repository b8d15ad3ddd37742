import Bytes
import MarketData

/// Kraken's derivatives exchange, WebSocket v1, without a key: linear perpetuals (`PF_XBTUSD`) and linear dated futures
/// (`FF_XBTUSD_261225`). Facts and their evidence: <doc:KrakenFutures>.
///
/// Instruments come by REST before the connection, then `book` (the whole book in the stream, then one level a
/// message), `trade` and `ticker`. Quotes are made from the book, which is whole and exact at every message; the
/// venue's own come once a second.
///
/// **Sizes.** Those of linear contracts are in base units. Those of inverse contracts (`PI_`, `FI_`) are in US dollars,
/// which have no exact value in base units; they are left out.
package final class KrakenFutures: Dialect, RegisteredVenue {
  /// The channels, by their indices in `DialectFacts.channels`.
  enum Channel: Int { case book, trade, ticker }
  private static let channels: [VenueProfile.Channel] = [
    .init("book", .book, silence: .linked, .contradicted), .init("trade", .trades, silence: .contradicted),
    .init("ticker", .ticker, silence: .contradicted),
  ]

  package static let venue: Venue = Venue(
    name: "kraken-futures", title: "Kraken Futures", separator: "_", endpoint: "wss://futures.kraken.com/ws/v1",
    restEndpoint: "https://futures.kraken.com",
    // How often the venue's own heartbeat comes is not known. The ticker of the busiest market comes once a second.
    cadence: .canary("ticker", of: ["PF_XBTUSD"], every: Microseconds.second),
    // The largest is the whole book of a market: some thousand levels of 30 bytes a side.
    messageLimit: 4 << 20,
    // None is documented. Three topics each.
    symbolLimit: 100, kinds: [.perpetual, .future],
    market: Market.Configuration(
      quotesFromBook: true, bookDepthLimit: nil, checksum: nil, tickerInterval: Microseconds.second),
    profile: VenueProfile(
      channels: channels, bookDepth: nil, bookCheck: "seq rises by one with every update",
      requests: [.instruments, .volumes],
      limits: ["40 of 100 requests a second", "100 connections an address"]),
    candles: KrakenFuturesCandles.format,
    replay: replay,
    makeEngine: { FeedEngine(KrakenFutures(), venue: KrakenFutures.venue, configuration: $0) })

  let facts: DialectFacts

  init() {
    // One request for each topic, and one at a time: a refusal may name neither the product nor the feed that it is
    // about.
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(Self.rule),
      pacing: .init(
        grouping: .topic, atOnce: 1, every: 25 * Microseconds.millisecond, limit: 1_024,
        oneByOne: 2 * Microseconds.second),
      salvage: [
        .init(mark: "\"book\"", key: "\"product_id\""), .init(mark: "\"book_snapshot\"", key: "\"product_id\""),
      ])
    facts.list = Self.listing
    facts.volumes = [Self.volumes]
    // No capture shows the venue's reply to an unknown product: it may be silent. Requests go one by one, so a few
    // lost ones take a minute.
    facts.silenceLimit = 3 * Microseconds.minute
    facts.carriesHalted = false
    self.facts = facts
  }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    switch request {
    case .topics(let topics, let verb):
      let products = topics.map { instruments[$0.index].venueSymbol }
      return Self.text(verb.rawValue, Self.channels[topics[0].channel].name, products)
    case .canary(let market): return Self.text("subscribe", "ticker", [market])
    default: return nil
    }
  }

  private static func text(_ event: String, _ feed: String, _ products: [String]) -> String {
    #"{"event":"\#(event)","feed":"\#(feed)","product_ids":\#(JSONQuoting.array(products))}"#
  }

  // MARK: Replies

  /// `{"event":"subscribed","feed":"book","product_ids":["PF_XBTUSD"]}`, one for each product; `subscribed_failed` the
  /// same way; or `{"event":"error","message":"Invalid product id"}`, which names nothing and comes in the order of the
  /// requests. Nil for what tells of no subscription.
  static func report(
    _ reply: borrowing FieldObject, _ event: String, _ facts: DialectFacts, _ instruments: InstrumentTable
  ) -> MessageOutcome.Report? {
    let channel = reply.text("feed").flatMap { feed in facts.channels.firstIndex { $0.name == feed } }
    let index = reply.elements("product_ids") { (name) throws(FeedError) in try name.decodedString("product_ids") }
      .first.flatMap(instruments.index(named:))
    let message = reply.text("message") ?? "no reason given"
    switch event {
    case "subscribed", "unsubscribed":
      // Of the canary, or of a feed that somebody else recorded.
      guard let index, let channel else { return nil }
      return .acknowledged(id: nil, index: index, channel: channel)
    case "subscribed_failed":
      guard let index, let channel else { return nil }
      return .refused(MessageOutcome.Refusal(index: index, channel: channel, reason: message, what: event))
    case "error":
      let isTooMuch = ["limit", "too many"].contains { message.lowercased().contains($0) }
      return .refused(
        MessageOutcome.Refusal(
          reason: message, effect: isTooMuch ? .pause(nil) : .final, isOfOldest: true, what: event))
    // Of what was sent, and of no subscription.
    case "alert": return .refused(MessageOutcome.Refusal(reason: message, what: event))
    default: return nil
    }
  }
}

extension KrakenFutures {
  /// `seq` rises by one with every message of a product's book: 7,014 links of ten books, recorded in 2021. The venue
  /// does not promise it, so a jump costs the book a new subscription and nothing else.
  static let rule = SequenceRule(
    joins: { update, snapshot in update.last == snapshot &+ 1 },
    isRepeat: { update, last in update.last == last }, follows: { update, last in update.last == last &+ 1 })
}
