import Foundation
import TestSupport
import Testing

@testable import Operations

@Suite("Logfmt")
struct LogfmtTests {
  /// A reader of logfmt by the grammar of go-logfmt: pairs between spaces, a value bare or quoted like a JSON string.
  /// Written for this test and on nothing of the encoder.
  private static func parse(_ line: String) throws -> [(key: String, value: String)] {
    var pairs: [(key: String, value: String)] = []
    var rest = Array(line.utf8)[...]
    while true {
      rest = rest.drop { $0 <= 0x20 }
      guard !rest.isEmpty else { return pairs }
      let key = rest.prefix { $0 > 0x20 && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "\"") }
      try #require(!key.isEmpty, "no key at \(rest.count) bytes from the end of \(line)")
      rest = rest.dropFirst(key.count)
      try #require(rest.first == UInt8(ascii: "="), "no = in \(line)")
      rest = rest.dropFirst()
      if rest.first == UInt8(ascii: "\"") {
        var end = rest.startIndex + 1
        while end < rest.endIndex, rest[end] != UInt8(ascii: "\"") {
          end += rest[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        try #require(end < rest.endIndex, "an open quotation mark in \(line)")
        let value = try JSONSerialization.jsonObject(with: Data(rest[...end]), options: .fragmentsAllowed) as? String
        pairs.append((String(decoding: key, as: UTF8.self), try #require(value)))
        rest = rest[(end + 1)...]
        try #require(rest.isEmpty || rest.first == 0x20, "something after a quoted value in \(line)")
      } else {
        let value = rest.prefix { $0 > 0x20 }
        try #require(!value.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "=") }, "\(line)")
        pairs.append((String(decoding: key, as: UTF8.self), String(decoding: value, as: UTF8.self)))
        rest = rest.dropFirst(value.count)
      }
    }
  }

  private static let values = [
    "plain", "", " ", "two words", "a=b", "say \"no\"", "back\\slash", "\\", "\"", "=", "first\nsecond\r\nthird",
    "tab\tbed",
    "\u{0}\u{1}\u{7}\u{1B}[31mred\u{1B}[0m", "\u{7F}\u{85}\u{9B}2J", "größer 東京 🦀 e\u{301}",
    "\u{2028}\u{2029}\u{202E}evil",
    "time=2026-01-01 level=error msg=forged", "x\nlevel=error msg=\"forged\"", "{\"a\":[1,2]}", "\u{FEFF}bom", "100%",
    "'",
  ]

  @Test("whatever a value holds is read back, on one line, without a byte that acts on a terminal", arguments: values)
  func value(_ value: String) throws {
    var line = ""
    Logfmt.append("before", "1", to: &line)
    Logfmt.append("reason", value, to: &line)
    Logfmt.append("after", "2", to: &line)
    let pairs = try Self.parse(line)
    #expect(pairs.map(\.key) == ["before", "reason", "after"])
    // Compared by scalars: Swift takes é and e with an accent for equal.
    #expect(pairs.map { Array($0.value.unicodeScalars) } == ["1", value, "2"].map { Array($0.unicodeScalars) })
    #expect(!line.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
  }

  @Test("random values are read back", arguments: testSeeds(3))
  func random(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let alphabet = "ab =\"\\\n\r\t\u{0}\u{1B}\u{9F}\u{2029}ß🦀\u{301}{}:,".unicodeScalars.map { $0 }
    for _ in 0..<2_000 {
      var value = String.UnicodeScalarView()
      for _ in 0..<Int.random(in: 0...12, using: &generator) {
        value.append(alphabet.randomElement(using: &generator)!)
      }
      var line = ""
      Logfmt.append("k", String(value), to: &line)
      let pairs = try Self.parse(line)
      #expect(pairs.count == 1 && Array(pairs[0].value.unicodeScalars) == Array(value), "\(line)")
    }
  }

  @Test("a plain value stands without quotation marks, so that people can read and grep it")
  func plain() {
    var line = ""
    Logfmt.append("venue", "binance-usdm", to: &line)
    Logfmt.append("reason", "TLS failed", to: &line)
    Logfmt.append("path", "/v5/market?x", to: &line)
    #expect(line == "venue=binance-usdm reason=\"TLS failed\" path=/v5/market?x")
  }

  @Test("a key cannot break the line")
  func key() throws {
    var line = ""
    Logfmt.append("a b=\"c\n\u{9B}", "1", to: &line)
    Logfmt.append("", "2", to: &line)
    #expect(try Self.parse(line).map(\.key) == ["a_b__c__", "_"])
  }

  @Test(
    "a value longer than the limit is cut off and says so; one of just that length is not", arguments: ["x", "é", " "])
  func long(_ character: String) throws {
    for (count, isCut) in [(Logfmt.valueLimit, false), (Logfmt.valueLimit + 1, true), (1_000_000, true)] {
      var line = ""
      Logfmt.append("k", String(repeating: character, count: count), to: &line)
      let value = try #require(try Self.parse(line).first?.value)
      #expect(value.unicodeScalars.count == (isCut ? Logfmt.valueLimit + 1 : count))
      #expect(value.hasSuffix("…") == isCut)
    }
  }
}
