import MarketData
import Testing

@testable import Gateway

@Suite("The ticks of a loop")
struct TickCountTests {
  private static let start = Timestamp(microseconds: 1_790_000_000_030_000)

  /// The ticks of a loop that wakes when it should, up to `late` µs later each time.
  private func ticks(_ count: Int, late: Int64 = 0) -> [TickCount.Beginning] {
    var ticks = TickCount(at: Self.start)
    var now = Self.start
    return (0..<count).map { _ in
      now = now + TickCount.wait(from: now) + late
      return ticks.take(at: now)
    }
  }

  @Test("they fall on the moments of pulses: ten a second, of which one begins a second and half are of the feeds")
  func second() {
    let perSecond = Int(Microseconds.second / PulseMerger.interval)
    #expect((Self.start + TickCount.wait(from: Self.start)).microseconds % PulseMerger.interval == 0)
    // A moment on a tick is that tick's: the next one is a whole interval away.
    #expect(TickCount.wait(from: Timestamp(microseconds: 0)) == PulseMerger.interval)
    let all = ticks(perSecond * 10)
    #expect(all.count(where: \.isSecond) == 10)
    #expect(all.indices.filter { all[$0].isSecond } == (1...10).map { $0 * perSecond - 1 })
    // The first tick is one of the feeds in any case.
    #expect((perSecond * 5...perSecond * 5 + 1).contains(all.count(where: \.isOfFeeds)))
  }

  @Test("a loop that wakes late leaves ticks out, but no second and no tick of the feeds")
  func late() {
    // Each tick comes two intervals after the one before.
    let all = ticks(100, late: PulseMerger.interval * 3 / 2)
    #expect(all.count(where: \.isSecond) == 20)
    #expect(all.allSatisfy { $0.isOfFeeds })
  }

  @Test("a clock that jumps ahead begins one second, not all that it left out")
  func jump() {
    var ticks = TickCount(at: Self.start)
    let later = Self.start + 3_600 * Microseconds.second
    #expect(ticks.take(at: later).isSecond)
    #expect(!ticks.take(at: later + PulseMerger.interval).isSecond)
  }
}
