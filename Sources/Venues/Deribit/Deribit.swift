import Bytes
import MarketData

/// Deribit v2 (JSON-RPC): linear perpetuals and dated futures, settled in USDC or USDT, on one connection without a
/// key.
///
/// Instruments come by REST before the connection, then `book.….100ms` (the whole book in the stream, then changes),
/// `quote`, `trades.….100ms` and `ticker.….agg2`. Books are chained: each change names the number before it. The
/// numbers are those of a counter that all books share, so a chain is all that is tested.
///
/// **Sizes.** The amount of a linear contract is in its base currency already and is taken as it is, whatever
/// `contract_size` says. That of an inverse contract (`BTC-PERPETUAL`, settled in its base currency) is in US
/// dollars, which have no exact value in base units: those are refused. Options cannot be written as symbols, and
/// spot is left out: its pairs are matched at another exchange.
///
/// **Silence.** Still books send nothing for minutes. The connection lives by Deribit's own heartbeat, whose test
/// requests are answered at once. A book whose `quote` moves while it stays as it is has died alone: it is subscribed
/// again.
package final class Deribit: Dialect, RegisteredVenue {
  /// Seconds between heartbeats, the shortest that Deribit takes. Without it a quiet connection ends after a minute.
  static let heartbeatSeconds = 10
  /// Symbols in one request: with four channels each it stays below the 500 that are recommended.
  static let symbolsPerRequest = 100
  /// The id of answers to test requests, which are awaited by nobody.
  static let testID = 0
  /// A market's name stands behind the first word.
  private static let channels: [VenueProfile.Channel] = [
    .init("book.100ms", .book, silence: .linked, .contradicted), .init("quote", .quote, silence: .contradicted),
    .init("trades.100ms", .trades, silence: .contradicted), .init("ticker.agg2", .ticker, silence: .contradicted),
  ]
  /// How long a book may stay as it is after its quote has moved. Feeds without a key have been seen 1.6 s late.
  static let quoteLead = 15 * Microseconds.second

  package static let venue: Venue = Venue(
    name: "deribit", title: "Deribit", separator: "_", endpoint: "wss://www.deribit.com/ws/api/v2",
    restEndpoint: "https://www.deribit.com",
    // A heartbeat comes every 10 s.
    cadence: .promised("heartbeat", every: Int64(heartbeatSeconds) * Microseconds.second),
    // Books are sent whole: some thousand levels of 25 bytes a side.
    messageLimit: 4 << 20, offersCompression: true,
    symbolLimit: 200, kinds: [.perpetual, .future],
    market: Market.Configuration(
      quotesFromBook: false, bookDepthLimit: nil, checksum: nil, tickerInterval: Microseconds.second,
      quoteLead: quoteLead,
      // A trade says that it was one.
      liquidations: .complete),
    profile: VenueProfile(
      channels: channels, bookDepth: nil, bookCheck: "prev_change_id links each update to the one before",
      requests: [.instruments, .volumes],
      limits: ["500 channels a connection", "3,000 of 30,000 credits a subscription, 10,000 come back a second"]),
    candles: DeribitCandles.format, assetNames: assetNames,
    replay: replay,
    makeEngine: { FeedEngine(Deribit(), venue: Deribit.venue, configuration: $0) })

  /// Whether a request for the platform's state was carried out on this connection.
  var followsPlatform = false
  /// Whether the platform has said something of maintenance on this connection.
  var hasSaidMaintenance = false

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(Self.rule),
      // Subscribing costs 3,000 of an address's 30,000 credits, of which 10,000 come back in a second. Two requests go
      // out in that time.
      pacing: .init(
        grouping: .symbols(Self.symbolsPerRequest), atOnce: 2, every: Microseconds.second, limit: 64, isShared: true),
      salvage: [.init(mark: "\"book.", key: "\"instrument_name\"")])
    facts.greeting = .request
    facts.beginsWithOldTrades = true
    facts.list = Self.listing
    facts.volumes = Self.volumes
    self.facts = facts
  }

  func forget() {
    followsPlatform = false
    hasSaidMaintenance = false
  }

  // MARK: Requests

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    switch request {
    case .greeting:
      return
        #"{"jsonrpc":"2.0","id":\#(id),"method":"public/set_heartbeat","params":{"interval":\#(Self.heartbeatSeconds)}}"#
    case .topics(let topics, let verb):
      let isMore = verb == .subscribe && !followsPlatform && topics.contains { $0.channel != 0 }
      let channels = JSONQuoting.array(topics.map { Self.name($0, instruments) } + (isMore ? ["platform_state"] : []))
      return
        #"{"jsonrpc":"2.0","id":\#(id),"method":"public/\#(verb.rawValue)","params":{"channels":\#(channels)}}"#
    default: return nil
    }
  }

  /// `book.BTC_USDC-PERPETUAL.100ms`
  private static func name(_ topic: Topic, _ instruments: InstrumentTable) -> String {
    var words = channels[topic.channel].name.split(separator: ".").map(String.init)
    words.insert(instruments[topic.index].venueSymbol, at: 1)
    return words.joined(separator: ".")
  }

  /// A test request must be answered within 10 s: it does not wait for its turn.
  static let testAnswer = #"{"jsonrpc":"2.0","id":\#(testID),"method":"public/test","params":{}}"#
}

extension Deribit {
  /// Each change names the number before it. The counter is shared by all books, so that the chain is all that is
  /// tested. What is exactly the last change again is nothing; everything else that does not follow is a gap.
  static let rule = SequenceRule(
    joins: { update, snapshot in update.previous == snapshot },
    follows: { update, last in update.previous == last })
}
