import TestSupport
import Testing

@testable import Operations

@Suite("What grew in each of the last seconds")
struct SecondCountsTests {
  @Test(
    "it is the end of a list of all differences, whatever comes, and begins anew when a total goes back",
    arguments: testSeeds(20))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var counts = SecondCounts()
    var model: [UInt32] = []
    var total: UInt64 = 5
    counts.note(total: total)
    #expect(counts.line.isEmpty && counts.rate == nil)
    for _ in 0..<200 {
      if total > 0, random.next() % 40 == 0 {
        total /= 2
        model.append(UInt32(total))
      } else {
        let growth = random.next() % 1_000
        total += growth
        model.append(UInt32(growth))
      }
      counts.note(total: total)
      #expect(counts.line == Array(model.suffix(SecondCounts.length)), "seed \(seed)")
      let last = model.suffix(SecondCounts.meanSeconds)
      #expect(counts.rate == Double(last.reduce(0) { $0 + Int($1) }) / Double(last.count), "seed \(seed)")
    }
  }

  @Test("a second that nobody can count is not more than it can hold")
  func clamp() {
    var counts = SecondCounts()
    counts.note(total: 0)
    counts.note(total: .max)
    #expect(counts.line == [.max])
  }
}
