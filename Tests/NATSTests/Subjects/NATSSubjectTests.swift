import TestSupport
import Testing

@testable import NATS

@Suite("Subjects")
struct NATSSubjectTests {
  @Test("a subject has tokens of visible characters, and no wildcards")
  func subjects() throws {
    for good in ["a", "a.b.c", "tg.c.f.kraken.BTC-USD.book", "$JS.API.INFO", "_INBOX.1"] {
      #expect(throws: Never.self, "\(good)") { try NATSSubject(good) }
      #expect(throws: Never.self, "\(good)") { try NATSSubjectPattern(good) }
    }
    #expect(throws: NATSSubjectError.emptyToken) { try NATSSubject("") }
    for bad in [".", ".a", "a.", "a..b"] { #expect(throws: NATSSubjectError.emptyToken) { try NATSSubject(bad) } }
    for bad in ["a b", "a\tb", "a\r\nPUB b", "a\u{0}", "ü"] {
      #expect(throws: NATSSubjectError.self) { try NATSSubject(bad) }
      #expect(throws: NATSSubjectError.self) { try NATSSubjectPattern(bad) }
    }
    for wild in ["*", ">", "a.*", "a.>", "a*"] { #expect(throws: NATSSubjectError.wildcard) { try NATSSubject(wild) } }
    let long = String(repeating: "a", count: NATSSubject.limit)
    #expect(throws: Never.self) { try NATSSubject(long) }
    #expect(throws: NATSSubjectError.tooLong(limit: NATSSubject.limit)) { try NATSSubject(long + "a") }
  }

  @Test("in a pattern, a wildcard is a whole token, and `>` the last one")
  func patterns() throws {
    for good in ["*", ">", "a.*.c", "a.>", "*.*.>"] { #expect(throws: Never.self) { try NATSSubjectPattern(good) } }
    for bad in ["a*", "*a", "a.>.b", "a>", ">.", "**"] {
      #expect(throws: NATSSubjectError.self, "\(bad)") { try NATSSubjectPattern(bad) }
    }
  }

  @Test("a pattern matches what the rules say, token by token", arguments: testSeeds(4))
  func matching(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var matches = 0
    for _ in 0..<5_000 {
      let pattern = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        ["a", "b", "ab", "*"].randomElement(using: &random)!
      }
      let ends = Int.random(in: 0..<3, using: &random) == 0
      let text = (pattern + (ends ? [">"] : [])).joined(separator: ".")
      let subject = (0..<Int.random(in: 1...5, using: &random)).map { _ in
        ["a", "b", "ab"].randomElement(using: &random)!
      }
      let naive = Self.naive(text.split(separator: ".").map(String.init), subject)
      if naive { matches += 1 }
      let found = Array(subject.joined(separator: ".").utf8).withUnsafeBytes { NATSTests.pattern(text).matches($0) }
      #expect(found == naive, "\(text) and \(subject)")
    }
    #expect(matches > 200)
  }

  /// The documentation's rules, over arrays of tokens.
  private static func naive(_ pattern: [String], _ subject: [String]) -> Bool {
    if pattern.last == ">" {
      return subject.count >= pattern.count
        && zip(pattern.dropLast(), subject).allSatisfy { $0 == "*" || $0 == $1 }
    }
    return pattern.count == subject.count && zip(pattern, subject).allSatisfy { $0 == "*" || $0 == $1 }
  }

  @Test("any text is one token, and each token one text", arguments: testSeeds(2))
  func tokens(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var seen: [[UInt8]: [UInt8]] = [:]
    for _ in 0..<3_000 {
      let text = (0..<Int.random(in: 0...6, using: &random)).map { _ in
        Bool.random(using: &random)
          ? UInt8.random(in: 0...255, using: &random) : Array(".*>= a".utf8).randomElement(using: &random)!
      }
      var token: [UInt8] = []
      NATSToken.append(text, to: &token)
      #expect(throws: Never.self) { try NATSSubject(token) }
      #expect(!token.contains(UInt8(ascii: ".")))
      #expect(NATSToken.text(token) == text)
      #expect(seen[token] == nil || seen[token] == text)
      seen[token] = text
    }
    for bad in ["=2", "=2e", "=61", "a=", "==", ""] { #expect(NATSToken.text(Array(bad.utf8)) == nil, "\(bad)") }
  }
}
