import Bytes
import TestSupport
import Testing

@Suite("Bytes beside a literal")
struct RawSpanTextTests {
  private static let literals: [StaticString] = [
    "", "a", "ab", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefghijklmnop", "abcdefghijklmnopq",
    "abcdefghijklmnopqrstuvwxyzab",
  ]

  @Test("are the same, or begin with it, exactly when a slow comparison says so, at every length")
  func everyLength() {
    let alphabet = Array("abcdefghijklmnopqrstuvwxyzabcdef".utf8)
    for literal in Self.literals {
      let wanted = literal.withUTF8Buffer { Array($0) }
      for length in 0...alphabet.count {
        for changed in -1..<length {
          var text = Array(alphabet[..<length])
          if changed >= 0 { text[changed] ^= 1 }
          #expect(text.span.bytes.equals(literal) == (text == wanted), "\(literal), \(length), \(changed)")
          wanted.withUnsafeBytes { #expect(text.span.bytes.equals($0) == (text == wanted), "\(literal), \(length)") }
          let begins = text.span.bytes.begins(with: literal)
          #expect(begins == text.starts(with: wanted), "\(literal), \(length), \(changed)")
        }
      }
    }
  }
}
