import MarketData
import Testing

@testable import Venues

@Suite("Trades in a venue's format")
struct TradeFormatTests {
  private static let format = TradeFormat(
    symbol: "s", price: "p", size: "q", id: "i", side: "S", buy: "buy", sell: "sell", time: "T")

  private static func harness(
    _ format: TradeFormat = format
  ) -> (FeedEngine, (String) -> FormatDialect.Got) {
    FormatDialect.harness { (instruments, reader, batch) throws(FeedError) in
      var fields = TradeFields()
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if try !instruments.take(key, of: &reader, format, into: &fields) { try reader.skipValue() }
      }
      let trade = try instruments.trade(fields, reader, format, now: Timestamp(microseconds: 7))
      batch.events.append(.trade(trade))
    }
  }

  private func trade(_ events: [MarketEvent]) throws -> Trade {
    guard case .trade(let trade)? = events.last else { throw FeedError(.shape, "no trade") }
    return trade
  }

  @Test("fields in any order, numbers in quotes or bare, and what else stands there")
  func reads() throws {
    let (engine, receive) = Self.harness()
    let got = receive(#"{"x":[1],"i":12345678901234567,"S":"sell","T":1700000000500,"p":100.5,"q":"2","s":"BTCUSD"}"#)
    #expect(got.error == nil, "\(got.error?.detail ?? "")")
    let trade = try trade(got.batch)
    #expect(trade.price == 10_050 && trade.size == 2_000 && trade.side == .sell)
    #expect(trade.id.text == "12345678901234567" && trade.id.number == 12_345_678_901_234_567)
    #expect(trade.time == Timestamp(milliseconds: 1_700_000_000_500) && !trade.isBacklog)
    #expect(engine.symbolCounts[0].trades == 1)
  }

  @Test("a side's word is taken in capitals too, and no other word is")
  func sides() throws {
    let (_, receive) = Self.harness()
    func text(_ side: String) -> String { #"{"s":"BTCUSD","p":"1","q":"1","i":"a-7","S":"\#(side)"}"# }
    #expect(try trade(receive(text("BUY")).batch).side == .buy)
    #expect(try trade(receive(text("Sell")).batch).side == .sell)
    for side in ["", "b", "buyer", "b\u{55}\u{19}", "SEL|"] {
      #expect(receive(text(side)).error?.kind != nil, "\(side)")
    }
    #expect(receive(text("hold")).error?.detail == "trade without field S (buy or sell)")
  }

  @Test(
    "what is missing is named",
    arguments: [
      ("s", "trade without field s"), ("p", "trade without field p"), ("q", "trade without field q"),
      ("i", "trade without field i"), ("S", "trade without field S (buy or sell)"),
    ])
  func missing(_ field: String, _ reason: String) {
    let (engine, receive) = Self.harness()
    let all = [("s", #""BTCUSD""#), ("p", "1"), ("q", "1"), ("i", "7"), ("S", #""buy""#)]
    let rest = all.filter { $0.0 != field }.map { #""\#($0.0)":\#($0.1)"# }.joined(separator: ",")
    #expect(receive("{\(rest)}").error?.detail == reason)
    #expect(engine.symbolCounts[0].trades == 0)
  }

  @Test("a bad number or an unknown symbol costs the message")
  func bad() {
    let (_, receive) = Self.harness()
    #expect(receive(#"{"s":"ETHUSD","p":1,"q":1,"i":7,"S":"buy"}"#).error?.kind == .unknownSymbol)
    #expect(receive(#"{"s":"BTCUSD","p":"0.-1","q":1,"i":7,"S":"buy"}"#).error?.kind == .decimal)
    #expect(receive(#"{"s":"BTCUSD","p":1,"q":-1,"i":7,"S":"buy"}"#).error?.detail.contains("negative size") == true)
  }

  @Test(
    "a time that is none is the time of arrival",
    arguments: ["null", "0", "-5", "99999999999999999999", #""soon""#, "\"\"", #""0001-01-01T00:00:00Z""#])
  func times(_ text: String) throws {
    let (_, receive) = Self.harness()
    let got = receive(#"{"s":"BTCUSD","p":1,"q":1,"i":7,"S":"buy","T":\#(text)}"#)
    let trade = try trade(got.batch)
    #expect(trade.time.microseconds == 7, "\(got.error?.detail ?? "")")
  }

  @Test("clocks: ms or µs, ns, and texts; in quotes or not")
  func clocks() throws {
    let second: Int64 = 1_700_000_000_000_000
    for (clock, text) in [
      (.epoch, "1700000000000"), (.epoch, #""1700000000000000""#), (.nanoseconds, "1700000000000000999"),
      (.nanoseconds, #""1700000000000""#), (.text, #""2023-11-14T22:13:20Z""#),
    ] as [(VenueClock, String)] {
      var format = Self.format
      format.clock = clock
      let (_, receive) = Self.harness(format)
      let got = receive(#"{"s":"BTCUSD","p":1,"q":1,"i":7,"S":"buy","T":\#(text)}"#)
      #expect(try trade(got.batch).time.microseconds == second, "\(text)")
    }
    var format = Self.format
    format.clock = .text
    let got = Self.harness(format).1(#"{"s":"BTCUSD","p":1,"q":1,"i":7,"S":"buy","T":1700000000000}"#)
    #expect(try trade(got.batch).time.microseconds == 7)
  }

  @Test("ids as numbers, where they are")
  func numbers() {
    func number(_ text: String) -> UInt64? { TradeID(Array(text.utf8).span.bytes).number }
    #expect(
      number("0") == 0 && number("007") == 7 && number("18446744073709551615") == .max
        && number("9999999999999999999") == 9_999_999_999_999_999_999)
    for text in ["", "18446744073709551616", "100000000000000000000", "-1", "1.0", "a7", "7a"] {
      #expect(number(text) == nil, "\(text)")
    }
  }
}
