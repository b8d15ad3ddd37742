import Bytes
import Testing

@testable import Operations

@Suite("What took long of late")
struct RecentTimesTests {
  @Test("what is older than two intervals is forgotten, and what is younger than one is not")
  func turns() {
    var histogram = Histogram.durations
    var times = RecentTimes(histogram)
    histogram.record(5_000_000)
    times.turn(histogram)
    histogram.record(1_000)
    #expect(times.recent(histogram).count == 2)
    times.turn(histogram)
    #expect(times.recent(histogram).count == 1)
    #expect(times.recent(histogram).quantile(0.99).map { $0 <= 1_000 } == true)
    times.turn(histogram)
    #expect(times.recent(histogram).count == 0)
  }
}
