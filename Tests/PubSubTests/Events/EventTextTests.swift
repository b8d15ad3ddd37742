import Bytes
import TestSupport
import Testing

@testable import PubSub

@Suite("The text of server-sent events")
struct EventTextTests {
  /// What a reader makes of it (HTML standard, "Interpreting an event stream").
  private static func data(_ text: String) -> [String] {
    var events: [String] = []
    var lines: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty {
        if !lines.isEmpty { events.append(lines.joined(separator: "\n")) }
        lines = []
      } else if line.hasPrefix("data: ") {
        lines.append(String(line.dropFirst(6)))
      }
    }
    return events
  }

  @Test("a message with line ends between its tokens comes as one event, with newlines for all of them")
  func lines() {
    for (message, expected) in [
      ("{\"a\":\n1}", "{\"a\":\n1}"), ("{\r\n\"a\":1\r}", "{\n\"a\":1\n}"), ("\n\n", "\n\n"), ("{}", "{}"), ("", ""),
    ] {
      var out = ByteBuffer()
      Array(message.utf8).withUnsafeBytes { EventText.append($0, to: &out) }
      #expect(Self.data(out.description) == [expected])
    }
  }

  @Test("line ends are found wherever they stand", arguments: testSeeds(4))
  func found(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<4_000 {
      let count = Int.random(in: 0...40, using: &random)
      let bytes = (0..<count).map { _ in
        UInt8.random(in: 0...255, using: &random) == 7 ? 10 : UInt8.random(in: 9...14, using: &random)
      }
      let shifted = bytes.map { $0 == 10 && Bool.random(using: &random) ? 0x8A : $0 }
      for bytes in [bytes, shifted] {
        let isThere = bytes.contains { $0 == 10 || $0 == 13 }
        #expect(bytes.withUnsafeBytes { EventText.hasLineEnd($0) } == isThere, "seed \(seed): \(bytes)")
      }
    }
  }

  @Test("the end says why, whatever is in the reason")
  func end() {
    var out = ByteBuffer()
    EventText.appendEnd(code: 4108, reason: "over \"1\"\nbytes", to: &out)
    #expect(Self.data(out.description) == [#"{"type":"end","code":4108,"reason":"over \"1\"\nbytes"}"#])
  }
}
