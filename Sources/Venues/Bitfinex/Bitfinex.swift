import Bytes
import MarketData

/// Bitfinex v2: spot, without a key. Books of 100 levels a side with checksums, trades and statistics.
///
/// The venue numbers the channels of a connection anew each time; data carry that number only, and a subscription is
/// ended by it. With the flags of `conf` the venue counts every data message of the *connection* and tells the checksum
/// of a book every few seconds. The count shows that a message is missing, but not of which channel: then every book is
/// out of sync. The checksum is a second look at what the count has vouched for already.
///
/// Prices have five significant digits and no tick: price scales begin at 0 and are learnt from the values.
package final class Bitfinex: Dialect, RegisteredVenue {
  /// Places of `facts.channels`.
  static let book = 0
  static let trades = 1
  static let ticker = 2
  static let channels: [VenueProfile.Channel] = [
    .init("book", .book, silence: .linked, .atLeast(every: heartbeat), .contradicted),
    .init("trades", .trades, silence: .linked, .atLeast(every: heartbeat), .contradicted),
    .init("ticker", .ticker, silence: .linked, .atLeast(every: heartbeat), .contradicted),
  ]
  /// Levels a side that are subscribed. The venue says what falls out of them.
  static let bookLength = 100
  /// TIMESTAMP (32768), SEQ_ALL (65536) and OB_CHECKSUM (131072).
  static let flags = 229_376
  /// Every channel sends a heartbeat when nothing else has come for so long.
  static let heartbeat = 15 * Microseconds.second
  /// Tickers of a market that trades come every few seconds, and 15 s apart at most.
  static let tickerInterval = 15 * Microseconds.second
  /// Quiet time after which a ping is sent, for when the heartbeats do not come.
  static let pingAfter = 5 * Microseconds.second
  /// How long a connection may last after a restart was announced, which says no time.
  static let restartNotice = 10 * Microseconds.second

  package static let venue: Venue = Venue(
    name: "bitfinex", title: "Bitfinex", separator: ":", endpoint: "wss://api-pub.bitfinex.com/ws/2",
    restEndpoint: "https://api-pub.bitfinex.com",
    // Three channels of each symbol with a heartbeat every 15 s.
    cadence: .promised("hb", every: heartbeat),
    // 250 levels are about 10 KB, and so is the backlog of trades.
    messageLimit: 1 << 20,
    // 25 channels a connection (docs.bitfinex.com, "Public Channels"), three a symbol.
    symbolLimit: 8,
    // 20 a minute from one address, else it is shut out for one.
    connectLimit: ConnectLimit(count: 15, interval: Microseconds.minute),
    market: Market.Configuration(
      quotesFromBook: true, bookDepthLimit: 250,
      checksum: { RankedChecksum.checksum(of: $0, priceScale: $1, sizeScale: $2, hasSignedAsks: true) },
      // False ones have been reported, and a message that is missing shows in the count at once.
      checksumPatience: 2, tickerInterval: tickerInterval),
    profile: VenueProfile(
      channels: channels, bookDepth: bookLength,
      bookCheck: "every message of a connection is counted; CRC-32 of the top 25 every few seconds",
      requests: [.instruments, .volumes],
      limits: ["25 channels a connection"]),
    candles: BitfinexCandles.format, assetNames: assetNames,
    replay: replay,
    makeEngine: { FeedEngine(Bitfinex(), venue: Bitfinex.venue, configuration: $0) })

  /// The venue's number of each topic, by `code`; 0 while it has none.
  var numbers: [Int64] = []
  /// The number of a subscription that has been given up, until the venue says that it is gone; 0 if there is none.
  var leaving: [Int64] = []
  /// The count of the newest data message; nil before the first, or if the venue does not count.
  var lastCount: Int64?
  /// The newest trade of each index. Kept over connections, as each begins with trades from before it.
  var lastTrades: [NewestTrade] = []

  let facts: DialectFacts

  init() {
    var facts = DialectFacts(
      channels: Self.channels, book: .streamed(nil),
      // Nothing is said of a limit; the ends and the beginnings of all channels of a connection are fewer.
      pacing: .init(grouping: .topic, atOnce: 50, every: 100 * Microseconds.millisecond, limit: 256),
      // Whose a message is that cannot be read, its number says (`missed`).
      salvage: [])
    // An answer has been seen to take 11 s.
    facts.answerWithin = 15 * Microseconds.second
    facts.ping = .init(after: Self.pingAfter, since: .heard)
    facts.greeting = .required
    facts.isSilentWithoutSymbols = true
    // Two minutes at most by the documentation.
    facts.maintenance = .endsSubscriptions(limit: 5 * Microseconds.minute)
    facts.list = Self.listing
    facts.volumes = [Self.volumes]
    facts.unlisted = { wanted, markets in
      let names = ["t\(wanted.base)\(wanted.quote)", "t\(wanted.base):\(wanted.quote)"]
      let alias = markets.first { names.contains($0.venueSymbol) }
      return alias.map { "Bitfinex' \($0.venueSymbol) is \($0.symbol.text) elsewhere: write that" }
    }
    self.facts = facts
  }

  // MARK: Requests

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    switch request {
    // Before any subscription: it holds for what is subscribed after it.
    case .greeting: return #"{"event":"conf","flags":\#(Self.flags)}"#
    case .ping: return #"{"event":"ping","cid":\#(id)}"#
    case .topics(let topics, .subscribe):
      let topic = topics[0]
      // What is there is not asked for twice, which the venue refuses.
      guard !numbers.indices.contains(code(topic)) || numbers[code(topic)] == 0 else { return nil }
      let book = topic.channel == Self.book ? #","prec":"P0","freq":"F0","len":"\#(Self.bookLength)""# : ""
      let symbol = JSONQuoting.quoted(instruments[topic.index].venueSymbol)
      return #"{"event":"subscribe","channel":"\#(Self.channels[topic.channel].name)","symbol":\#(symbol)\#(book)}"#
    case .topics(let topics, .unsubscribe):
      // What still comes of it is not looked at.
      let code = code(topics[0])
      grow(to: code)
      if numbers[code] != 0 { leaving[code] = numbers[code] }
      numbers[code] = 0
      return leaving[code] == 0 ? nil : #"{"event":"unsubscribe","chanId":\#(leaving[code])}"#
    default: return nil
    }
  }

  func forget() {
    lastCount = nil
    numbers = []
    leaving = []
  }

  func skip() { lastCount = nil }

  // MARK: Channels

  func code(_ topic: Topic) -> Int { topic.index * Self.channels.count + topic.channel }
  func topic(_ code: Int) -> Topic { Topic(index: code / Self.channels.count, channel: code % Self.channels.count) }

  func grow(to code: Int) {
    while numbers.count <= code {
      numbers.append(0)
      leaving.append(0)
    }
  }

  /// The topic of a channel number, nil if it has none. At most 24 comparisons.
  func topic(of number: Int64) -> Topic? {
    number == 0 ? nil : numbers.firstIndex(of: number).map(topic)
  }

  // MARK: Messages

  /// A data message has used up its count, whether it could be read or not; what it said is lost to its own book, or
  /// to all of them if it cannot be told whose it was.
  func missed(_ message: RawSpan, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome) {
    guard let number = Self.channelNumber(message) else { return }
    lastCount = lastCount.map { $0 &+ 1 }
    guard number != 0 else { return outcome.report(.lost(index: nil, .malformed)) }
    guard let topic = topic(of: number) else { return }
    outcome.hear(topic)
    if topic.channel == Self.book { outcome.report(.lost(index: topic.index, .malformed)) }
  }

  /// The number that a data message begins with, 0 if it cannot be told; nil for other messages.
  private static func channelNumber(_ message: RawSpan) -> Int64? {
    message.withUnsafeBytes { bytes in
      var rest = bytes.drop { $0 <= 0x20 }
      guard rest.popFirst() == UInt8(ascii: "[") else { return nil }
      var number: Int64 = 0
      for byte in rest.drop(while: { $0 <= 0x20 }).prefix(18) {
        let digit = byte &- UInt8(ascii: "0")
        guard digit < 10 else { return byte == UInt8(ascii: ",") || byte <= 0x20 ? number : 0 }
        number = number * 10 + Int64(digit)
      }
      return 0
    }
  }
}
