import TestSupport
import Testing

@testable import MarketData

@Suite("Near names")
struct NearNamesTests {
  @Test(
    "the name that was meant is at most a third of its letters away",
    arguments: [
      ("lisetn", "listen"), ("feds", "feeds"), ("log_level", "log-level"), ("LOOPS", "loops"), ("abc", nil), ("x", nil),
      ("", nil), ("kraken:BCT-USD", "kraken:BTC-USD"),
    ])
  func nearest(name: String, meant: String?) {
    let names = ["listen", "feeds", "log-level", "loops", "kraken:BTC-USD"]
    #expect(NearNames.of(name, among: names, limit: 1).first == meant)
  }

  @Test("several are nearest first, then by name, up to the limit")
  func order() {
    #expect(NearNames.of("abcdef", among: ["abcdxx", "abcdez", "abcdey", "zzzzzz"]) == ["abcdey", "abcdez", "abcdxx"])
    #expect(NearNames.of("abcdef", among: ["abcdxx", "abcdez", "abcdey"], limit: 1) == ["abcdey"])
  }

  @Test("a question names them, or is empty")
  func question() {
    #expect(NearNames.question("krakne", among: ["kraken", "binance"]) == " (did you mean kraken?)")
    #expect(NearNames.question("x", among: ["kraken"]) == "")
  }

  @Test("the distance is that of a table of every cell, where it is within reach")
  func everyCell() {
    for seed in testSeeds(2_000) {
      var random = SeededGenerator(seed: seed)
      func word() -> [UInt8] {
        (0..<Int.random(in: 0...14, using: &random)).map { _ in UInt8.random(in: 97...100, using: &random) }
      }
      let a = word()
      var b = Bool.random(using: &random) ? word() : a
      for _ in 0..<Int.random(in: 0...3, using: &random) where b.count > 1 {
        let index = Int.random(in: 1..<b.count, using: &random)
        switch Int.random(in: 0...3, using: &random) {
        case 0: b.swapAt(index, index - 1)
        case 1: b.remove(at: index)
        case 2: b.insert(99, at: index)
        default: b[index] = 97
        }
      }
      let whole = Self.wholeTable(a, b)
      for reach in 1...4 {
        let near = NearNames.distance(
          .init(String(decoding: a, as: UTF8.self)), .init(String(decoding: b, as: UTF8.self)), atMost: reach)
        #expect(near == (whole <= reach ? whole : nil), "TIDEGATE_SEED=\(seed), reach \(reach)")
      }
    }
  }

  /// Optimal string alignment as it is defined.
  private static func wholeTable(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var table = Array(repeating: Array(repeating: 0, count: b.count + 1), count: a.count + 1)
    for i in 0...a.count {
      for j in 0...b.count {
        guard i > 0, j > 0 else {
          table[i][j] = max(i, j)
          continue
        }
        let changed = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)
        table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, changed)
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
          table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
        }
      }
    }
    return table[a.count][b.count]
  }

  @Test("a name of any length and of any letters is compared by its first 64 bytes")
  func longNames() {
    let long = String(repeating: "ä", count: 500)
    #expect(NearNames.of(long + "x", among: [long, ""]) == [long])
    #expect(NearNames.of("", among: ["", "ab", "a"]) == ["", "a"])
  }
}
