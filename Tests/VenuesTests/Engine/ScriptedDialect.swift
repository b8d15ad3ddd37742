import Bytes
import MarketData

@testable import Venues

/// A venue that exists only here: its messages are a few words each, so that a test says exactly what came.
///
///     ack 3               the request 3 was carried out; without a number, the one that is under way
///     took 3 A.0 B.1      of the request 3 these topics were carried out, and no others
///     blame A B           a request was refused for these symbols
///     beat A 7            a heartbeat of A, whose newest trade is 7
///     refuse 3 final      it was refused: `final`, `again`, `pause`, `already`
///     refuse 3 final A.1  the same, for the topic that is named, which took the rest of its request with it
///     whole A 7           the book of A, at number 7
///     next A 8            a change of it, of which the number is 8
///     trade A             a trade
///     broken A            a message of A's book that cannot be read
///     hole whole A 9      the same, and something before it is missing of which nobody knows whose it was
///     ended A 1           the venue has ended that channel of A by itself
///     greeted             the greeting was answered
///     maintenance on      the venue is in maintenance, or `off`
final class ScriptedDialect: Dialect {
  enum Books { case streamed, bridged }
  static let symbols = ["A", "B", "C"]
  static let rule = SequenceRule(
    isOld: { $0.last <= $1 }, joins: { $0.first <= $1 &+ 1 && $0.last > $1 }, isRepeat: { $0.last == $1 },
    follows: { $0.first == $1 &+ 1 })

  let facts: DialectFacts

  init(
    _ books: Books, _ grouping: DialectFacts.Grouping = .topic, _ change: (inout DialectFacts) -> Void = { _ in }
  ) {
    var facts = DialectFacts(
      channels: [.init("book", .book), .init("trade", .trades)],
      book: books == .streamed ? .streamed(Self.rule) : .bridged,
      pacing: .init(grouping: grouping, atOnce: 2, every: Microseconds.second, limit: 256),
      salvage: [.init(mark: "broken", key: "\"s\"")])
    if books == .bridged {
      facts.bridge = .init(
        rule: Self.rule, path: { instrument, _ in "/book/\(instrument.venueSymbol)" },
        read: { (reader, _, _, batch) throws(FeedError) in
          batch.bids.append(PriceLevel(price: 1, size: 1))
          return try reader.int64("number")
        }, snapshots: [(levels: 10, weight: 1)], weightPerMinute: 60, concurrency: 2, bodyLimit: 1_024)
    }
    facts.list = MarketListing("/list") { (body) throws(FeedError) in
      guard body.equals("list") else { throw FeedError(.shape, "no list") }
      return ListPage(
        markets: Self.symbols.map { ListedMarket(venueSymbol: $0, symbol: FeedSymbol(base: $0, quote: "USD")) })
    }
    change(&facts)
    self.facts = facts
  }

  static func venue(_ books: Books, _ grouping: DialectFacts.Grouping = .topic) -> Venue {
    Venue(
      name: "scripted", title: "Scripted", separator: "-", endpoint: "wss://scripted.example",
      restEndpoint: "https://scripted.example", cadence: .promised("heartbeat", every: Microseconds.second),
      messageLimit: 1_024, symbolLimit: 10,
      market: Market.Configuration(quotesFromBook: false, bookDepthLimit: nil, checksum: nil),
      makeEngine: {
        FeedEngine(ScriptedDialect(books, grouping), venue: venue(books, grouping), configuration: $0)
      })
  }

  static func engine(
    _ books: Books, _ grouping: DialectFacts.Grouping = .topic, _ change: (inout DialectFacts) -> Void = { _ in }
  ) -> FeedEngine {
    let venue = venue(books, grouping)
    let configuration = FeedConfiguration(symbols: symbols.map { "\($0)-USD" })
    return FeedEngine(ScriptedDialect(books, grouping, change), venue: venue, configuration: configuration)
  }

  func spell(
    _ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable
  ) -> String? {
    switch request {
    case .topics(let topics, let verb):
      "\(verb == .subscribe ? "sub" : "end") \(id) "
        + topics.map { "\($0.index).\($0.channel)" }.joined(separator: " ")
    case .greeting:
      switch facts.greeting {
      case .unanswered: nil
      case .required: "hello"
      case .request: "hello \(id)"
      }
    default: nil
    }
  }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let text = message.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    var words = text.split(separator: " ").map(String.init)
    if words[0] == "hole" {
      words.removeFirst()
      outcome.lostBefore = .gap
    }
    func index() throws(FeedError) -> InstrumentID {
      guard words.count > 1, let index = instruments.index(named: words[1]) else { throw FeedError(.shape, text) }
      return InstrumentID(index)
    }
    switch words[0] {
    case "ack":
      outcome.report(.acknowledged(id: words.count > 1 ? Int(words[1]) : nil, index: nil, channel: nil))
    case "blame":
      let indices = words.dropFirst().compactMap { instruments.index(named: $0) }
      outcome.report(.refused(MessageOutcome.Refusal(blames: indices.map { .init(index: $0) }, reason: text)))
    case "took":
      let topics = words.dropFirst(2).compactMap { word in
        let parts = word.split(separator: ".")
        return instruments.index(named: String(parts[0])).map { Topic(index: $0, channel: Int(parts[1]) ?? 0) }
      }
      outcome.report(.taken(id: Int(words[1]) ?? 0, topics, rest: "not taken"))
    case "beat":
      let index = try index().index
      outcome.hear(Topic(index: index, channel: 1))
      outcome.report(.newestTrade(index: index, id: Int64(words[2]) ?? 0))
    case "refuse":
      let effect: MessageOutcome.Refusal.Effect =
        switch words[2] {
        case "again": .again(after: 5 * Microseconds.second)
        case "pause": .pause(nil)
        case "already": .already
        default: .final
        }
      var refusal = MessageOutcome.Refusal(id: Int(words[1]), reason: words[2], effect: effect)
      if words.count > 3 {
        let parts = words[3].split(separator: ".")
        refusal.blames =
          instruments.index(named: String(parts[0])).map { [.init(index: $0, channel: Int(parts[1]))] } ?? []
      }
      outcome.report(.refused(refusal))
    case "whole", "next":
      guard words.count == 3, let number = Int64(words[2]) else { throw FeedError(.shape, text) }
      let start = batch.bids.count
      batch.bids.append(PriceLevel(price: 1, size: 1))
      let event = BookEvent(
        instrument: try index(), kind: words[0] == "whole" ? .snapshot : .delta, bidRange: start..<(start + 1),
        askRange: 0..<0, time: outcome.now)
      batch.events.append(.book(event))
      outcome.number(UpdateNumbers(first: number, last: number))
    case "ended":
      outcome.report(.ended(Topic(index: try index().index, channel: Int(words[2]) ?? 0)))
    case "greeted": outcome.report(.greeted)
    case "maintenance": outcome.report(.maintenance(words[1] == "on"))
    case "trade":
      batch.events.append(
        .trade(
          Trade(
            instrument: try index(), id: TradeID(1), price: 1, size: 1, side: .buy,
            time: outcome.now, isBacklog: false)))
    default: throw FeedError(.shape, text)
    }
  }
}
