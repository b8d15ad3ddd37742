import Foundation
import Testing

@testable import Settings

@Suite("Mistakes in JSON")
struct JSONMistakesTests {
  private static func lines(_ text: String) -> [String] {
    JSONMistakes(Array(text.utf8)).found.map { "\($0.name) \($0.lines) \($0.message)" }
  }

  @Test("a key that appears twice is named with both lines, at any depth")
  func duplicates() {
    #expect(Self.lines("{\"listen\": 1,\n\"loops\": 2,\n\"listen\": 3}") == ["listen [1, 3] appears twice"])
    #expect(
      Self.lines("{\"limits\":\n{\"clients\": 5,\n\"keys\": [{\"a\": 1}, {\"a\": 2}], \"clients\": 6}}")
        == ["limits.clients [2, 3] appears twice"])
    #expect(Self.lines("{\"a\": {\"x\": 1}, \"b\": {\"x\": 1}}") == [])
    // Another spelling of the same key.
    #expect(Self.lines("{\"a\": 1, \"\\u0061\": 2}") == ["a [1, 1] appears twice"])
  }

  @Test("a text that is no JSON is left to the parser", arguments: ["", "{", "{\"a\":1,\"a\":2", "[1,]", "{\"a\" 1}"])
  func unreadable(text: String) {
    #expect(Self.lines(text) == [])
  }

  @Test("a file as large as may be, of keys alone or of brackets alone, is read in linear time")
  func hostile() {
    let keys = (0..<100_000).map { "\"\($0)\":1" }.joined(separator: ",\n")
    #expect(Self.lines("{\(keys),\"7\":2}") == ["7 [8, 100000] appears twice"])
    #expect(Self.lines(String(repeating: "[", count: 500_000)) == [])
  }

  @Test("the loader reports them and takes nothing of the file")
  func loader() {
    #expect(
      ConfigurationLoaderTests.problems("{\"loops\": 2, \"loops\": 3}", json: true) == [
        "loops: appears twice (file t.json, lines 1 and 1); allowed: once: put both values in one place"
      ])
  }
}
