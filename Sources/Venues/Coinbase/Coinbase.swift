import Bytes
import MarketData

/// Coinbase Exchange: books by `level2_batch`, trades by `matches`, statistics by `ticker`, liveness by `heartbeat`,
/// without a key.
///
/// The products come by REST before the connection. The feed has no sequence number and no checksum: a book is as
/// good as the connection, and on any doubt it is subscribed again: a book that is crossed, an update whose time goes
/// back. The acknowledgement calls `level2_batch` `level2_50`: a book that does not come by one name is asked for by
/// the other.
package final class Coinbase: Dialect, RegisteredVenue {
  /// A snapshot of BTC-USD is about 1.4 MiB in some 40,000 levels; room for five of it.
  static let messageLimit = 8 << 20
  /// The book's channel by the name that is documented, and by the one that acknowledgements use.
  static let bookNames = ["level2_batch", "level2_50"]
  private static let channels: [VenueProfile.Channel] = [
    .init(bookNames[0], .book, silence: .contradicted),
    .init("matches", .trades, silence: .linked, .contradicted), .init("ticker", .ticker, silence: .contradicted),
    // All of a product's channels are one subscription: what has taken its heartbeat has taken its book.
    .init("heartbeat", .heartbeat, silence: .atLeast(every: Microseconds.second), isOfAll: true),
  ]
  /// The channels, by their indices in `DialectFacts.channels`.
  enum Channel: Int { case book, matches, ticker, heartbeat }

  package static let venue: Venue = Venue(
    name: "coinbase", title: "Coinbase", separator: "-", endpoint: "wss://ws-feed.exchange.coinbase.com",
    restEndpoint: "https://api.exchange.coinbase.com",
    // `heartbeat` is once a second for every product.
    cadence: .promised("heartbeat", every: Microseconds.second), messageLimit: messageLimit,
    // Recommended in its best practices for the feed.
    offersCompression: true, symbolLimit: 100,
    // Eight requests a second from one address.
    connectLimit: ConnectLimit(count: 8, interval: Microseconds.second),
    // The snapshot is the whole book: 40,000 levels of BTC-USD, both sides together.
    market: Market.Configuration(
      quotesFromBook: true, bookDepthLimit: 50_000, checksum: nil, tickerInterval: Microseconds.second),
    profile: VenueProfile(
      channels: channels, bookDepth: nil,
      bookCheck: "the venue numbers nothing; an update whose time goes back, a crossed or frozen book",
      requests: [.instruments, .volumes],
      limits: ["subscribed within 5 s of connecting"]),
    candles: CoinbaseCandles.format, assetNames: assetNames,
    replay: replay,
    makeEngine: { FeedEngine(Coinbase(), venue: Coinbase.venue, configuration: $0) })

  /// Of a product: by which of `bookNames` its book was asked for, and by which it will be.
  private struct Naming {
    var present = 0
    var next = 0
  }
  private var namings: [Naming] = []
  /// By index, the newest venue time of a book message, for one that says the year 0001.
  var bookTimes: [Timestamp?] = []

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(Self.rule),
      // Subscribed at once, and in one message: without it Coinbase closes after 5 s.
      pacing: .init(grouping: .symbols(100), atOnce: 1_024, every: 0, limit: 2_048),
      salvage: [
        .init(mark: "\"l2update\"", key: "\"product_id\""), .init(mark: "\"snapshot\"", key: "\"product_id\""),
      ])
    facts.badName = .itsRequest
    // The heartbeats are the products'.
    facts.isSilentWithoutSymbols = true
    facts.kinds = ["\"type\""]
    facts.list = Self.listing
    facts.volumes = [Self.volumes]
    facts.countsTrades = true
    facts.tradePages = Self.tradePages
    self.facts = facts
  }

  // MARK: Requests

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    guard case .topics(let topics, let verb) = request else { return nil }
    for topic in topics where topic.channel == 0 {
      name(topic.index)
      if verb == .subscribe { namings[topic.index].present = namings[topic.index].next }
    }
    return text(verb.rawValue, topics, instruments)
  }

  /// Which products each channel is asked for of; in short where they are the same for all.
  private func text(_ type: String, _ topics: [Topic], _ instruments: InstrumentTable) -> String {
    var channels: [(name: String, indices: [Int])] = []
    for topic in topics {
      let name = topic.channel == 0 ? Self.bookNames[namings[topic.index].present] : facts.channels[topic.channel].name
      if let index = channels.firstIndex(where: { $0.name == name }) {
        channels[index].indices.append(topic.index)
      } else {
        channels.append((name, [topic.index]))
      }
    }
    func ids(_ indices: [Int]) -> String { JSONQuoting.array(indices.map { instruments[$0].venueSymbol }) }
    if channels.allSatisfy({ $0.indices == channels[0].indices }) {
      let names = JSONQuoting.array(channels.map(\.name))
      return #"{"type":"\#(type)","product_ids":\#(ids(channels[0].indices)),"channels":\#(names)}"#
    }
    let parts = channels.map { #"{"name":"\#($0.name)","product_ids":\#(ids($0.indices))}"# }.joined(separator: ",")
    return #"{"type":"\#(type)","channels":[\#(parts)]}"#
  }

  private func name(_ index: Int) { while namings.count <= index { namings.append(Naming()) } }

  func silent(_ index: Int) {
    name(index)
    namings[index].next = 1 - namings[index].present
  }

  /// `{"type":"error",…}`. A bad product refuses the whole message; it says neither which one, nor of which channel.
  func report(_ message: String, _ reason: String, _ instruments: InstrumentTable) -> MessageOutcome.Report {
    var refusal = MessageOutcome.Refusal(reason: reason, what: message)
    if reason.contains("is not a valid channel") || reason.contains("require authentication") {
      // Whatever was asked for by that name is asked for by the other one.
      let named = Self.bookNames.firstIndex { reason.hasPrefix($0 + " ") }
      for index in namings.indices where named.map({ $0 == namings[index].present }) ?? reason.contains("level2") {
        silent(index)
      }
    } else if let word = reason.split(separator: " ").first, let index = instruments.index(named: String(word)) {
      refusal.blames = [.init(index: index)]
      refusal.effect = .finalForAll
    }
    return .refused(refusal)
  }
}

extension Coinbase {
  /// Updates are not numbered, but their times never go back (9,719 recorded updates of ten products): one that does
  /// came late, and the sizes it brings may be older than what the book has. That none is missing is not known.
  static let rule = SequenceRule(
    joins: { _, _ in true }, follows: { update, last in update.last >= last }, provesLinks: false)
}
