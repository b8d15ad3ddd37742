import Testing

@testable import Operations

@Suite("Running out of descriptors")
struct ShedReportTests {
  @Test("is logged once a period, not once a connection, and so is the end of it")
  func report() {
    var report = ShedReport()
    // What has been shed by each second, and what is said of it.
    var counts = [0: 0, 1: 5]
    for second in 2...10 { counts[second] = 5 + 100 * second }
    for second in 11...60 { counts[second] = 1_105 }
    counts[61] = 1_106
    let said = counts.keys.sorted().compactMap { second in
      report.look(counts[second]!, now: Int64(second) * 1_000_000).map { (second, $0) }
    }
    #expect(said.map(\.0) == [1, 11, 21, 61])
    #expect(said.map(\.1) == [.exhausted(5), .exhausted(1_100), .recovered(1_105), .exhausted(1)])
  }
}
