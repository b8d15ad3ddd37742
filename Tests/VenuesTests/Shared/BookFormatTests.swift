import Bytes
import MarketData
import Testing

@testable import Venues

/// A venue whose only message is a book, a quote or trades, in a format of the test's.
final class FormatDialect: Dialect {
  typealias Read = (inout InstrumentTable, inout FieldReader, inout EventBatch) throws(FeedError) -> Void
  typealias Got = (batch: [MarketEvent], bids: [PriceLevel], asks: [PriceLevel], error: FeedError?)
  private let readAny: Read
  let facts = DialectFacts(
    channels: [.init("book", .book)], book: .streamed(nil),
    pacing: .init(grouping: .topic, atOnce: 1, every: 0, limit: 1),
    salvage: [])

  private init(_ read: @escaping Read) { readAny = read }

  /// With one market, `BTCUSD`, of the scales given.
  static func harness(
    priceScale: UInt8 = 2, sizeScale: UInt8 = 3, contractSize: Decimal64 = Decimal64(mantissa: 1, scale: 0),
    _ read: @escaping Read
  ) -> (engine: FeedEngine, receive: (String) -> Got) {
    let engine = FeedEngine(FormatDialect(read), venue: Kraken.venue, configuration: FeedConfiguration(symbols: []))
    var first = EventBatch()
    let market = ListedMarket(
      venueSymbol: "BTCUSD", symbol: FeedSymbol(base: "BTC", quote: "USD"), priceScale: priceScale,
      sizeScale: sizeScale, contractSize: contractSize)
    _ = engine.add(market, for: "BTC-USD", into: &first)
    engine.makeLines()
    return (
      engine,
      { text in
        var batch = EventBatch()
        let bytes = Array(text.utf8)
        var failure: FeedError?
        do throws(FeedError) {
          try engine.receive(bytes.span.bytes, now: Timestamp(microseconds: 7), into: &batch)
        } catch {
          failure = error
        }
        return (batch.events, batch.bids, batch.asks, failure)
      }
    )
  }

  func spell(_ request: FeedRequest, id: Int, now: Timestamp, _ instruments: InstrumentTable) -> String? { nil }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    try readAny(&instruments, &reader, &batch)
    try reader.end()
  }
}

@Suite("Sides of a book in a venue's format")
struct BookFormatTests {
  private static func side(
    _ format: BookFormat
  ) -> (FeedEngine, (String) -> FormatDialect.Got) {
    FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
      try instruments.readLevels(&reader, 0, "bids", isBid: true, format, into: &batch)
    }
  }

  private static func level(_ price: Int64, _ size: Int64) -> PriceLevel { PriceLevel(price: price, size: size) }

  @Test(
    "a level is an array or an object, with whatever else stands in it",
    arguments: [
      (BookFormat(title: "book"), #"[["100.5","2"],[101,0.5,"0","3",{"a":[1]}]]"#),
      (BookFormat(title: "book", word: .action(removal: "delete")), #"[["new",100.5,2],["change",101,5e-1,null]]"#),
      (
        BookFormat(title: "book", level: .object(price: "px", size: "sz")),
        #"[{"px":"100.5","sz":"2","n":36},{"x":{"px":1},"sz":0.5,"px":"101"}]"#
      ),
    ])
  func shapes(_ format: BookFormat, _ text: String) {
    let (_, receive) = Self.side(format)
    let got = receive(text)
    #expect(got.error == nil, "\(got.error?.detail ?? "")")
    #expect(got.bids == [Self.level(10_050, 2_000), Self.level(10_100, 500)])
  }

  @Test("an empty list is a side without levels, and null is one where a side may be missing")
  func empty() {
    for (text, needsBothSides) in [("null", false), ("[]", false), ("[]", true)] {
      let got = Self.side(BookFormat(title: "book", needsBothSides: needsBothSides)).1(text)
      #expect(got.error == nil && got.bids.isEmpty)
    }
    #expect(Self.side(BookFormat(title: "book")).1("null").error?.kind == .json)
  }

  @Test("a level goes with the word for it, or with a size of 0")
  func removal() {
    let (_, receive) = Self.side(BookFormat(title: "book", word: .action(removal: "delete")))
    let got = receive(#"[["delete",100,4],["change",101,0.0],["Delete",102,1]]"#)
    #expect(got.bids == [Self.level(10_000, 0), Self.level(10_100, 0), Self.level(10_200, 1_000)])
  }

  @Test(
    "what is missing or bad costs the message, which says what it was",
    arguments: [
      (#"[["100"]]"#, "level without field size"), ("[[]]", "level without field price"),
      (#"[["100","-1"]]"#, "field bids at offset 12: negative size"),
      (#"[["0.-1","1"]]"#, "field bids at offset 3: not a decimal number"),
      (#"[["99999999999999999999","1"]]"#, "price is too large"), (#"[["100","1"]"#, "ends too early"),
      ("{}", "unexpected byte"),
    ])
  func strict(_ text: String, _ reason: String) {
    let (engine, receive) = Self.side(BookFormat(title: "book"))
    let got = receive(text)
    #expect(got.error?.detail.contains(reason) == true, "\(got.error?.detail ?? "nothing")")
    #expect(got.bids.isEmpty && engine.counts.rejected == 1 && engine.counts.rejectedLevels == 0)
  }

  @Test("an object without a number says which")
  func strictObject() {
    let (_, receive) = Self.side(BookFormat(title: "book", level: .object(price: "px", size: "sz")))
    #expect(receive(#"[{"px":"1"}]"#).error?.detail == "level without field sz")
    #expect(receive(#"[{"sz":"1"}]"#).error?.detail == "level without field px")
  }

  @Test(
    "an ask that is too far away for 64 bits is left out and counted, once, however often the message is read; a bid is not"
  )
  func farAsk() {
    let (engine, receive) = FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
      try instruments.readLevels(&reader, 0, "asks", isBid: false, BookFormat(title: "book"), into: &batch)
    }
    let got = receive(#"[["1e30","1"],["99999999999999999999","0"],["100.123","2.5"]]"#)
    // The third has one digit more than the scale: the message was read twice.
    #expect(got.error == nil && got.asks == [Self.level(100_123, 2_500)] && engine.instruments[0].priceScale == 3)
    #expect(engine.counts.rejectedLevels == 2)
    #expect(receive(#"[["1e30","1"],["100"]]"#).error?.detail == "level without field size")
    #expect(engine.counts.rejectedLevels == 2, "a message that is refused counts no levels")
    #expect(receive(#"[["100","1e30"]]"#).error?.kind == .decimal, "a size that does not fit is unknown")
    let (_, bids) = Self.side(BookFormat(title: "book"))
    #expect(bids(#"[["1e30","1"]]"#).error?.kind == .decimal, "it would be the best bid")
  }

  @Test("a price of zero or less costs the message, unless it is a place without orders")
  func impossiblePrice() {
    let (engine, receive) = Self.side(BookFormat(title: "book"))
    for text in [#"[["0","1"]]"#, #"[["-1","1"]]"#, #"[["-1","0"]]"#, #"[["100","1"],["0.00","0.5"]]"#] {
      #expect(receive(text).error?.kind == .value, "\(text)")
    }
    #expect(engine.counts.rejected == 4)
    let got = receive(#"[["100","1"],["0","0"]]"#)
    #expect(got.error == nil && got.bids == [Self.level(10_000, 1_000)])
  }

  @Test("printed digits are the scale where a format learns them, eight at most, and not those of zero")
  func learning() {
    let sizes = BookFormat(title: "book", learns: .sizes)
    var (engine, receive) = Self.side(sizes)
    #expect(receive(#"[["100.5000","1.50000000"],["100","0.000000000"]]"#).error == nil)
    #expect(engine.instruments[0].priceScale == 2 && engine.instruments[0].sizeScale == 8)
    (engine, receive) = Self.side(BookFormat(title: "book").learning(.all))
    let got = receive(#"[["100.5000","0.00000000"]]"#)
    #expect(engine.instruments[0].priceScale == 4 && engine.instruments[0].sizeScale == 3)
    #expect(got.bids == [Self.level(1_005_000, 0)])
    (engine, receive) = Self.side(sizes)
    #expect(receive(#"[["100",1.500000]]"#).error == nil)
    #expect(engine.instruments[0].sizeScale == 6, "bare numbers show theirs too")
  }

  @Test("sizes of contracts are in base units, and what is learnt of them too")
  func contracts() {
    let (engine, receive) = FormatDialect.harness(
      sizeScale: 0, contractSize: Decimal64(mantissa: 5, scale: 2)
    ) { (instruments, reader, batch) throws(FeedError) in
      try instruments.readLevels(
        &reader, 0, "asks", isBid: false, BookFormat(title: "book", learns: .sizes), into: &batch)
    }
    #expect(receive(#"[["100","3"]]"#).asks == [Self.level(10_000, 15)] && engine.instruments[0].sizeScale == 2)
    #expect(receive(#"[["100","3.0"]]"#).asks == [Self.level(10_000, 150)] && engine.instruments[0].sizeScale == 3)
    // More digits than any scale has, and those of the contract beside them.
    for size in ["1e-253", "1e-254", "1e-255", "1e-400", "0." + String(repeating: "9", count: 400)] {
      #expect(receive("[[\"100\",\"\(size)\"]]").asks.isEmpty && engine.instruments[0].sizeScale == 3, "\(size)")
    }
  }

  @Test("levels of both sides in one list; a side that is none costs the message")
  func changes() {
    let format = BookFormat(title: "l2", word: .side(bid: "buy", ask: "sell"))
    let (engine, receive) = FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
      try instruments.readLevels(&reader, 0, "changes", isBid: nil, format, into: &batch)
    }
    let got = receive(#"[["buy","100","1"],["sell","101","2"],["sell","1e30","2"],["buy","99","0"]]"#)
    #expect(got.error == nil && engine.counts.rejectedLevels == 1)
    #expect(receive(#"[["buy","100","1"],["sell","x","2"]]"#).error?.kind == .decimal)
    #expect(got.bids == [Self.level(10_000, 1_000), Self.level(9_900, 0)] && got.asks == [Self.level(10_100, 2_000)])
    #expect(receive(#"[["hold","100","1"]]"#).error?.detail.hasSuffix("neither buy nor sell") == true)
    let objects = BookFormat(
      title: "l2", level: .object(price: "p", size: "q", word: "side"), word: .side(bid: "bid", ask: "offer"))
    let (_, read) = FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
      try instruments.readLevels(&reader, 0, "updates", isBid: nil, objects, into: &batch)
    }
    #expect(read(#"[{"q":"1","side":"offer","p":"100"}]"#).asks == [Self.level(10_000, 1_000)])
    #expect(read(#"[{"q":"1","p":"100"}]"#).error?.detail == "level without field side")
  }

  @Test("both sides are wanted unless a side that is not there did not change")
  func sides() {
    func harness(
      _ needsBothSides: Bool
    ) -> (String) -> FormatDialect.Got {
      let format = BookFormat(title: "depth", bids: "b", asks: "a", needsBothSides: needsBothSides)
      return FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
        let fields = try instruments.readUpdate(&reader, of: 0, UpdateFormat(), format, into: &batch)
        batch.appendBook(.snapshot, 0, since: fields.mark, time: Timestamp(microseconds: 5))
      }.receive
    }
    let whole = harness(true)(#"{"b":[["100","1"]],"a":[]}"#)
    #expect(whole.error == nil && whole.bids.count == 1 && whole.asks.isEmpty)
    guard case .book(let event)? = whole.batch.first else {
      Issue.record("no book")
      return
    }
    #expect(event.bidRange == 0..<1 && event.askRange == 0..<0 && event.time.microseconds == 5)
    #expect(harness(true)(#"{"b":[]}"#).error?.detail == "depth without field a")
    #expect(harness(true)(#"{"a":[]}"#).error?.detail == "depth without field b")
    #expect(harness(false)(#"{"b":[["100","1"]]}"#).bids.count == 1)
    #expect(harness(false)(#"{"b":[["100"]]}"#).error != nil)
  }

  @Test("levels before their symbol wait for it, and of a side that stands twice the last one counts")
  func order() {
    let name = "BTCUSD"
    let (_, receive) = FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
      let format = BookFormat(title: "depth", bids: "b", asks: "a")
      let fields = try instruments.readUpdate(&reader, UpdateFormat(symbol: "s", last: "u"), format, into: &batch)
      #expect(fields.index == 0 && fields.last == 7)
    }
    for text in [
      #"{"s":"\#(name)","b":[["1","1"]],"b":[["100","1"]],"a":[["101","2"]],"u":7}"#,
      #"{"b":[["100","1"]],"a":[["101","2"]],"u":7,"s":"\#(name)"}"#,
      #"{"b":[["1","1"]],"a":[["101","2"]],"s":"\#(name)","u":7,"b":[["100","1"]]}"#,
    ] {
      let got = receive(text)
      #expect(got.error == nil, "\(text)")
      #expect(got.bids == [Self.level(10_000, 1_000)] && got.asks == [Self.level(10_100, 2_000)], "\(text)")
    }
    #expect(receive(#"{"s":"\#(name)","u":7,"b":[]}"#).error?.detail == "depth without field a")
    #expect(receive(#"{"s":"OTHER","u":7,"b":[],"a":[]}"#).error?.kind == .unknownSymbol)
  }

  @Test("a symbol stands between what the format says is around it, or the message is another stream's")
  func stream() {
    let name = "BTCUSD"
    var fields: UpdateFields?
    let (_, receive) = FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
      let format = BookFormat(title: "depth", bids: "b", asks: "a", needsBothSides: false)
      fields = try instruments.readUpdate(
        &reader, UpdateFormat(symbol: "s", prefix: "ob.", suffix: ".400"), format, into: &batch)
    }
    #expect(receive(#"{"s":"ob.\#(name).400","b":[["100","1"]]}"#).bids.count == 1)
    #expect(fields?.index == 0 && fields?.isOther == false)
    #expect(receive(#"{"s":"ob.\#(name).50","b":[["100","1"]]}"#).bids.isEmpty)
    #expect(fields?.index == nil && fields?.isOther == true)
    #expect(receive(#"{"s":"ob.OTHER.400","b":[["100","1"]]}"#).error?.kind == .unknownSymbol)
  }

  @Test(
    "the best level is the first with a size; a side of removals is one without orders, and an empty one says nothing")
  func best() {
    var best: PriceLevel?
    let (_, receive) = FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
      let mark = BatchMark(batch)
      let format = BookFormat(title: "quote", needsBothSides: false)
      try instruments.readLevels(&reader, 0, "bids", isBid: true, format, into: &batch)
      let (bid, ask) = batch.takeBest(since: mark)
      best = bid
      #expect(ask == nil && batch.bids.isEmpty)
    }
    for (text, wanted) in [
      (#"[["100","1"],["99","2"]]"#, Self.level(10_000, 1_000)),
      (#"[["100","0"],["99","2"]]"#, Self.level(9_900, 2_000)),
      (#"[["100","0"]]"#, Self.level(0, 0)), ("[]", nil), ("null", nil),
    ] as [(String, PriceLevel?)] {
      #expect(receive(text).error == nil && best == wanted, "\(text)")
    }
  }
}
