import TestSupport
import Testing

@testable import Venues

@Suite("Text from outside, as it is shown")
struct ShownTextTests {
  private func shown(_ text: String, isCut: Bool = false) -> String {
    ShownText.make(Array(text.utf8)[...], isCut: isCut)
  }
  private func shown(_ bytes: [UInt8], isCut: Bool = false) -> String { ShownText.make(bytes[...], isCut: isCut) }

  @Test("readable text is as it was; what is not UTF-8 is bytes; what could move a terminal or turn a line is named")
  func safety() {
    #expect(shown(#"{"a":"ä€𝄞","b":[1,2]}"#) == #"{"a":"ä€𝄞","b":[1,2]}"#)
    #expect(shown([0x61, 0xFF, 0xC0, 0xAF, 0x62]) == #"a\xFF\xC0\xAFb"#)
    // A surrogate, and a sequence that lacks its end in the middle.
    #expect(shown([0xED, 0xA0, 0x80]) == #"\xED\xA0\x80"#)
    #expect(shown([0xE2, 0x82, 0x61]) == #"\xE2\x82a"#)
    #expect(shown("\u{1B}[2J\u{9B}x\u{7F}\u{202E}y\u{0}") == #"\u{1b}[2J\u{9b}x\u{7f}\u{202e}y\u{0}"#)
    #expect(shown("line\n\tnext\r") == "line\n\tnext\r")
  }

  @Test("a character that the cut went through is left out; at the end of a whole text it is bytes")
  func cut() {
    #expect(shown([0x61, 0xE2, 0x82], isCut: true) == "a")
    #expect(shown([0x61, 0xE2, 0x82]) == #"a\xE2\x82"#)
    #expect(shown([0x61, 0xE2, 0x41], isCut: true) == #"a\xE2A"#)
  }

  @Test(
    "secrets are left out, in JSON, in URLs, inside other strings, with the rest of the text as it was",
    arguments: [
      (#"{"token":"abc","x":1}"#, #"{"token":"***","x":1}"#),
      (#"{"data":{"token": "a\"b","instanceServers":[]}}"#, #"{"data":{"token": "***\"b","instanceServers":[]}}"#),
      ("GET /x?token=abc&connectId=7 HTTP", "GET /x?token=***&connectId=7 HTTP"),
      (#"{"accessToken":"abc"}"#, #"{"accessToken":"***"}"#),
      (#"{"API_KEY":12345,"b":2}"#, #"{"API_KEY":***,"b":2}"#),
      (#"{"msg":"bad {\"signature\":\"abc\",\"t\":1}"}"#, #"{"msg":"bad {\"signature\":\"***\",\"t\":1}"}"#),
      ("Authorization: Bearer abc.def.ghi next", "Authorization: *** next"),
      (#"{"listenKey":"pqia91ma"#, #"{"listenKey":"***"#),
      (#"{"token":null,"secret":{"a":1}}"#, #"{"token":null,"secret":{"a":1}}"#),
      (#"{"tokens":[1],"design":"x","side":"buy"}"#, #"{"tokens":[1],"design":"***","side":"buy"}"#),
      ("token", "token"), ("token=", "token=***"), ("=", "="),
    ])
  func secrets(_ text: String, _ expected: String) {
    #expect(shown(text) == expected)
  }

  @Test("whatever bytes come, what is shown is harmless, and no secret's value shows", arguments: testSeeds(20))
  func anything(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let words = ["token", "\"", "=", ":", "\\", "secret", "Bearer ", "{", "\u{1B}", "é", " ", "&"].map {
      Array($0.utf8)
    }
    for _ in 0..<200 {
      var bytes: [UInt8] = []
      for _ in 0..<Int(random.next() % 40) {
        if random.next() % 3 == 0 {
          bytes.append(UInt8(truncatingIfNeeded: random.next()))
        } else {
          bytes += words[Int(random.next() % UInt64(words.count))]
        }
      }
      let text = shown(bytes, isCut: random.next() % 2 == 0)
      let isHarmless = text.unicodeScalars.allSatisfy { $0.value >= 0x20 || "\t\n\r".unicodeScalars.contains($0) }
      #expect(isHarmless, "seed \(seed)")
      let marked = shown(bytes + Array(#" "token":"HIDDEN""#.utf8))
      #expect(!marked.contains("HIDDEN"), "seed \(seed): \(marked)")
    }
  }
}
