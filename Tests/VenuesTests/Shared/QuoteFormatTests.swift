import MarketData
import Testing

@testable import Venues

@Suite("Quotes in a venue's format")
struct QuoteFormatTests {
  private static func harness() -> (FeedEngine, (String) -> FormatDialect.Got) {
    let format = QuoteFormat(
      title: "bbo", symbol: "s", bid: "b", bidSize: "B", ask: "a", askSize: "A", time: "t")
    return FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
      var fields = QuoteFields()
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if try !instruments.take(key, of: &reader, format, into: &fields) { try reader.skipValue() }
      }
      batch.events.append(.quote(try instruments.quote(fields, reader, format, now: Timestamp(microseconds: 7))))
    }
  }

  private func quote(_ events: [MarketEvent]) -> [Int64] {
    guard case .quote(let quote)? = events.last else { return [] }
    return [quote.bid, quote.bidSize, quote.ask, quote.askSize, quote.time.microseconds]
  }

  @Test("both sides and the time")
  func whole() {
    let got = Self.harness().1(#"{"A":2,"a":"101","t":1700000000000,"B":"1.5","b":100.5,"u":9,"s":"BTCUSD"}"#)
    #expect(quote(got.batch) == [10_050, 1_500, 10_100, 2_000, 1_700_000_000_000_000], "\(got.error?.detail ?? "")")
  }

  @Test(
    "a side without orders is missing, null, an empty text, or 0, in its price or its size",
    arguments: [
      #""b":"","B":"1""#, #""b":"100","B":"""#, #""b":null,"B":null"#, #""b":100,"B":0.0"#, #""b":"0","B":"5""#,
      #""b":"100""#, #""B":"100""#, #""x":1"#,
    ])
  func emptySide(_ bid: String) {
    let got = Self.harness().1(#"{"s":"BTCUSD",\#(bid),"a":"101","A":"2"}"#)
    #expect(quote(got.batch) == [0, 0, 10_100, 2_000, 7], "\(got.error?.detail ?? "")")
  }

  @Test("a number that is none, or below zero, costs the message; an ask that is too far away is as good as none")
  func bad() {
    let (_, receive) = Self.harness()
    for (bid, size, kind) in [
      ("x", "1", FeedError.Kind.decimal), ("1e30", "1", .decimal), ("100", "1e30", .decimal), ("100", "-1", .decimal),
      ("-1", "1", .value),
    ] {
      #expect(receive(#"{"s":"BTCUSD","b":"\#(bid)","B":"\#(size)","a":"101","A":"2"}"#).error?.kind == kind, "\(bid)")
    }
    #expect(quote(receive(#"{"s":"BTCUSD","b":"100","B":"1","a":"1e30","A":"2"}"#).batch) == [10_000, 1_000, 0, 0, 7])
  }

  @Test("more digits than the scale widen it")
  func widens() {
    let (engine, receive) = Self.harness()
    let got = receive(#"{"s":"BTCUSD","b":"100.125","B":"1","a":"101","A":"2"}"#)
    #expect(quote(got.batch) == [100_125, 1_000, 101_000, 2_000, 7] && engine.instruments[0].priceScale == 3)
  }

  @Test("a quote without its symbol is refused")
  func symbol() {
    #expect(Self.harness().1(#"{"b":"1","B":"1"}"#).error?.detail == "bbo without field s")
    #expect(Self.harness().1(#"{"s":"ETHUSD"}"#).error?.kind == .unknownSymbol)
  }
}
