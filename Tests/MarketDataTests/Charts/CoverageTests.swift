import TestSupport
import Testing

@testable import MarketData

@Suite struct CoverageTests {
  private func at(_ second: Int) -> Timestamp { Timestamp(microseconds: Int64(second) * Microseconds.second) }
  private func span(_ from: Int, _ to: Int) -> TimeSpan { TimeSpan(from: at(from), to: at(to)) }

  @Test("random spans, overlapping and open ones, cover what a list of seconds says", arguments: testSeeds(8))
  func againstSeconds(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var coverage = Coverage()
    var seconds = [Bool](repeating: false, count: 400)
    var openSince: Int?
    for now in stride(from: 200, to: 400, by: 3) {
      switch random.next() % 4 {
      case 0:
        coverage.begin(at: at(now))
        openSince = openSince ?? now
      case 1:
        // What was lost began a little before it was noticed.
        let end = now - Int(random.next() % 3)
        coverage.end(at: at(end))
        if let since = openSince, since < end { for second in since..<end { seconds[second] = true } }
        openSince = nil
      default:
        let from = Int(random.next() % UInt64(now))
        let to = min(now, from + Int(random.next() % 12))
        coverage.insert(span(from, to))
        for second in from..<to { seconds[second] = true }
      }
      guard coverage.spans.count < Coverage.limit else { break }
      var known = seconds
      if let since = openSince { for second in since..<400 { known[second] = true } }
      let (from, to) = (Int(random.next() % 150), now)
      let window = span(from, to)
      let start = (from...to).first { $0 < 400 && known[$0] }
      #expect(coverage.start(in: window) == start.map(at), "seed \(seed), now \(now)")
      var gaps: [TimeSpan] = []
      var missing: Int?
      for second in (start ?? to)...to {
        if second < to, !known[second] { missing = missing ?? second; continue }
        if let since = missing, second - since >= 2 { gaps.append(span(since, second)) }
        missing = nil
      }
      #expect(coverage.gaps(in: window, shortest: 2 * Microseconds.second) == gaps, "seed \(seed), now \(now)")
      let covered = span(from, from + 1 + Int(random.next() % 20))
      let isCovered = (from..<(from + Int((covered.to - covered.from) / Microseconds.second))).allSatisfy { known[$0] }
      #expect(coverage.covers(covered) == isCovered, "seed \(seed), now \(now)")
    }
  }

  @Test(
    "spans added in the order of their starts cover at every step what they cover put in one by one",
    arguments: testSeeds(8))
  func runs(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var coverage = Coverage()
    for _ in 0..<6 {
      let from = Int(random.next() % 300)
      coverage.insert(span(from, from + Int(random.next() % 20)))
    }
    var run = CoverageRun(coverage)
    var from = 0
    while from < 300 {
      let next = span(from, from + Int(random.next() % 12))
      run.add(next)
      coverage.insert(next)
      for _ in 0..<20 {
        let start = Int(random.next() % 310)
        let asked = span(start, start + 1 + Int(random.next() % 15))
        #expect(run.covers(asked) == coverage.covers(asked), "seed \(seed), \(next), \(asked)")
      }
      from += Int(random.next() % 9)
    }
    run.finish()
    #expect(run.coverage.spans == coverage.spans, "seed \(seed)")
  }

  @Test("past the bound the shortest span is forgotten, never a gap")
  func bound() {
    var coverage = Coverage()
    for index in 0..<100 { coverage.insert(span(index * 10, index * 10 + 1 + index % 7)) }
    #expect(coverage.spans.count == Coverage.limit)
    for span in coverage.spans {
      let index = Int(span.from.microseconds / Microseconds.second) / 10
      #expect(span.to - span.from == Int64(1 + index % 7) * Microseconds.second)
    }
    coverage.forget(before: at(500))
    #expect(coverage.spans.allSatisfy { $0.to > at(500) })
  }
}
