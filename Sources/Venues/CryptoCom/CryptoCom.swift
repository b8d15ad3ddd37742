import Bytes
import MarketData

/// Crypto.com Exchange, API v1, without a key: spot, perpetuals and dated futures on one connection. Facts and their
/// evidence: <doc:CryptoCom>.
///
/// Instruments come by REST before the connection, then `book` with 50 levels a side (a snapshot in the stream, then
/// changes every 10 ms), `trade` and `ticker`. Each change of a book names the number before it; a quiet book sends an
/// empty change each 5 s. All sizes are in base units. Quotes are made from the book.
package final class CryptoCom: Dialect, RegisteredVenue {
  /// Levels a side; one that leaves the window comes as a removal.
  static let depth = 50
  /// A book without changes says so this often, µs.
  static let idleInterval = 5 * Microseconds.second
  /// The venue counts requests by the second of its clock, in part from the moment of the connection: it advises to
  /// wait this long.
  static let openingPause = Microseconds.second
  /// A subscription that was one too many is sent again after this long.
  static let retryAfter = 10 * Microseconds.second
  /// The channels, by their indices in `DialectFacts.channels`.
  enum Channel: Int { case book, trade, ticker }
  private static let channels: [VenueProfile.Channel] = [
    .init("book", .book, silence: .linked, .atLeast(every: idleInterval), .contradicted),
    .init("trade", .trades, silence: .contradicted), .init("ticker", .ticker, silence: .contradicted),
  ]

  package static let venue: Venue = Venue(
    name: "crypto-com", title: "Crypto.com", separator: "_", endpoint: "wss://stream.crypto.com/exchange/v1/market",
    restEndpoint: "https://api.crypto.com",
    cadence: .promised("book", every: idleInterval),
    // The largest is a snapshot of 50 levels a side: about 4 KB.
    messageLimit: 1 << 20,
    // 400 channels a connection; three of a symbol.
    symbolLimit: 120, kinds: [.spot, .perpetual, .future],
    market: Market.Configuration(
      quotesFromBook: true, bookDepthLimit: depth, checksum: nil, tickerInterval: Microseconds.second),
    profile: VenueProfile(
      channels: channels, bookDepth: depth, bookCheck: "pu links each update to the one before",
      requests: [.instruments, .volumes],
      limits: ["4 of 100 requests a second", "400 channels a connection", "100 channels a request"]),
    candles: CryptoComCandles.format,
    replay: replay,
    makeEngine: { FeedEngine(CryptoCom(), venue: CryptoCom.venue, configuration: $0) })

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(Self.rule),
      pacing: .init(grouping: .symbols(25), atOnce: 1, every: 250 * Microseconds.millisecond, limit: 512),
      salvage: [.init(mark: "\"book.", key: "\"instrument_name\"")])
    facts.list = Self.listing
    facts.volumes = [Self.volumes]
    facts.answersEachTopic = true
    facts.beginsWithOldTrades = true
    facts.carriesHalted = false
    // What repeats itself is the symbols'.
    facts.isSilentWithoutSymbols = true
    self.facts = facts
  }

  func opening(_ url: String) -> ConnectionOpening { .afterWelcome(within: Self.openingPause) }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    guard case .topics(let topics, let verb) = request else { return nil }
    let names = topics.map { topic in
      let name = instruments[topic.index].venueSymbol
      return topic.channel == Channel.book.rawValue
        ? "book.\(name).\(Self.depth)" : "\(Self.channels[topic.channel].name).\(name)"
    }
    let isBook = topics.contains { $0.channel == Channel.book.rawValue }
    let manner =
      isBook ? #","book_subscription_type":"SNAPSHOT_AND_UPDATE","book_update_frequency":10"# : ""
    return
      #"{"id":\#(id),"method":"\#(verb.rawValue)","params":{"channels":\#(JSONQuoting.array(names))\#(manner)},"nonce":\#(now.milliseconds)}"#
  }

  // MARK: Replies

  /// `{"id":1,"method":"subscribe","code":0,"channel":"book.BTCUSD-PERP.50"}`, one for each book; with another code and
  /// a `message` where the channel was refused. Nil for what ends a subscription.
  static func report(
    _ reply: borrowing FieldObject, _ instruments: InstrumentTable
  ) -> MessageOutcome.Report? {
    let (id, code) = (reply.id("id"), reply.integer("code") ?? 0)
    let topic = reply.text("channel").flatMap { Self.topic(of: $0, instruments) }
    guard reply.says("method", "unsubscribe") != true else { return nil }
    guard code != 0 else {
      guard reply.text("channel") == nil || topic != nil else { return nil }
      return .acknowledged(id: id, index: topic?.index, channel: topic?.channel)
    }
    let effect: MessageOutcome.Refusal.Effect =
      switch code {
      // Too many requests in a second.
      case 42901: .pause(nil)
      // Too many channels.
      case 40107: .again(after: retryAfter)
      default: .final
      }
    return .refused(
      MessageOutcome.Refusal(
        id: id, index: topic?.index, channel: topic?.channel, reason: reply.text("message") ?? "no reason given",
        effect: effect, what: "code \(code)"))
  }

  /// `book.BTCUSD-PERP.50`, `trade.BTC_USD`
  private static func topic(of channel: String, _ instruments: InstrumentTable) -> Topic? {
    let parts = channel.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count > 1, let index = instruments.index(named: String(parts[1])),
      let channel = channels.firstIndex(where: { $0.name == parts[0] })
    else { return nil }
    return Topic(index: index, channel: channel)
  }
}

extension CryptoCom {
  /// Each change names the number before it. The numbers are no count: they jump by thousands. An empty change of a
  /// quiet book has the last number twice.
  static let rule = SequenceRule(
    joins: { update, snapshot in update.previous == snapshot },
    follows: { update, last in update.previous == last })
}
