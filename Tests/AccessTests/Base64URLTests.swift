import TestSupport
import Testing

@testable import Access

@Suite("Base64URL")
struct Base64URLTests {
  @Test("the examples of RFC 4648 section 10, without padding")
  func examples() {
    for (text, encoded) in [
      ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
      ("foobar", "Zm9vYmFy"),
    ] {
      #expect(Base64URL.encode(Array(text.utf8)) == encoded)
      #expect(Base64URL.decode(encoded.utf8) == Array(text.utf8))
    }
    #expect(Base64URL.encode([0xFB, 0xFF, 0xFE]) == "-__-")
  }

  @Test("padding, other alphabets, lone characters and stray bits are refused")
  func strict() {
    for text in ["Zg==", "Zg=", "Z", "Zm9vY", "Zh", "Zm9", "+//+", "Zm 9", "Zm9v\n", "Zm9v.", "é"] {
      #expect(Base64URL.decode(text.utf8) == nil, "\(text)")
    }
  }

  @Test("there is one text for each byte string", arguments: testSeeds(10))
  func roundTrip(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for count in 0..<100 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      let text = Array(Base64URL.encode(bytes).utf8)
      #expect(Base64URL.decode(text) == bytes, "seed \(seed)")
      guard !text.isEmpty else { continue }
      var other = text
      other[Int.random(in: 0..<text.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      if other != text { #expect(Base64URL.decode(other) != bytes, "seed \(seed)") }
    }
  }
}
