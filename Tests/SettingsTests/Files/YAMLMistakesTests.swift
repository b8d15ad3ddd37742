import Foundation
import Testing

@testable import Settings

@Suite("Mistakes in YAML")
struct YAMLMistakesTests {
  private static func lines(_ text: String) -> [String] {
    YAMLMistakes(text).found.map { "\($0.name) \($0.lines) \($0.message)" }
  }

  @Test("a key that appears twice is named with both lines, at any depth")
  func duplicates() {
    #expect(Self.lines("listen: a\nloops: 2\nlisten: b\n") == ["listen [1, 3] appears twice"])
    #expect(
      Self.lines("limits:\n  clients: 5\n  # more\n  subscriptions: 3\n  clients: 6\n")
        == ["limits.clients [2, 5] appears twice"])
    #expect(Self.lines("feeds:\n  kraken: [A-B]\n\"feeds\":\n  binance: [A-B]\n") == ["feeds [1, 3] appears twice"])
    #expect(Self.lines("a: 1\nb:\n  a: 2\nc:\n  a: 3\n") == [])
    #expect(Self.lines("- a: 1\n  b: 2\n- a: 1\n  b: 2\n") == [])
    #expect(Self.lines("- a: 1\n  a: 2\n") == ["a [1, 2] appears twice"])
    #expect(Self.lines("feeds:\n  kraken:\n    symbols: [X-Y]\n  binance:\n    symbols: [X-Y]\n") == [])
  }

  @Test(
    "a * without quotation marks is told with how to write it",
    arguments: [
      "feeds:\n  kraken: *-USD\n", "feeds:\n  kraken: [BTC-USD, *-USD]\n", "feeds:\n  kraken:\n    - *-USD\n",
      "feeds:\n  kraken: [*-USD]  # all\n",
    ])
  func star(_ text: String) throws {
    let mistake = try #require(YAMLMistakes(text).found.first)
    #expect(mistake.name == "*-USD" && mistake.allowed == "\"*-USD\"")
    #expect(YAMLMistakes(text).found.count == 1)
  }

  @Test("a selection with a rank is told whole, and each of several")
  func ranks() {
    #expect(
      YAMLMistakes("feeds:\n  kraken: [*-USD:top20, *-EUR]\n").found.map(\.allowed) == ["\"*-USD:top20\"", "\"*-EUR\""])
  }

  @Test(
    "what is right has no mistakes",
    arguments: [
      "", "\n\n# only words: a: b\n", "feeds:\n  kraken: [\"*-USD\", '*-EUR', BTC-*]\n",
      "a: \"x # y\"\nb: 'it''s: *x'\n",
      "base: &base [A-B]\nfeeds:\n  kraken: *base\n", "text: |\n  a: 1\n  a: 2\n  * x\nb: 2\n",
      "---\nlisten: 127.0.0.1:80\n",
      "url: ws://127.0.0.1:9001\nother: x\n", "a: 5 * 3\n", "feeds: kraken=BTC-USD, *-USD\n",
    ])
  func right(_ text: String) { #expect(Self.lines(text) == []) }

  @Test("a tab is told")
  func tab() { #expect(Self.lines("limits:\n\tclients: 5\n") == ["config [2] is indented with a tab"]) }

  @Test("the loader says them with file and line, and nothing else of that file")
  func loader() {
    #expect(
      ConfigurationLoaderTests.problems("listen: 127.0.0.1:1\nfeeds:\n  kraken: [*-USD]\nlisten: 127.0.0.1:2\n") == [
        "*-USD: begins with * and has no quotation marks: YAML takes it for a reference (file t.yaml, line 3); "
          + "allowed: \"*-USD\"",
        "listen: appears twice (file t.yaml, lines 1 and 4); allowed: once: put both values in one place",
      ])
  }
}
