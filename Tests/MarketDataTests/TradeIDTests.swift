import Bytes
import MarketData
import Testing

@Suite("Trade ids")
struct TradeIDTests {
  @Test(
    "an id is kept as it is, cut at 40 bytes, and cannot break out of a JSON string",
    arguments: [
      ("7781", "7781"), ("f07e510f-1b2c", "f07e510f-1b2c"), ("", ""), (#"a"b\c"#, "a_b_c"), ("a\u{0}\nb~", "a__b~"),
      ("é", "__"), (String(repeating: "9", count: 50), String(repeating: "9", count: 40)),
    ])
  func text(given: String, kept: String) {
    let bytes = Array(given.utf8)
    let id = TradeID(bytes.span.bytes)
    #expect(id.text == kept)
    var out = ByteBuffer()
    id.append(to: &out)
    let written = out.description
    #expect(written == kept)
  }

  @Test("a number is its decimal digits, at every length")
  func number() {
    var power: UInt64 = 1
    for digits in 1...20 {
      for number in [power - 1, power, power + 1] { #expect(TradeID(number).text == "\(number)") }
      if digits < 20 { power *= 10 }
    }
    #expect(TradeID(UInt64.max).text == "18446744073709551615")
    #expect(TradeID(7_781) == TradeID(Array("7781".utf8).span.bytes))
  }
}
