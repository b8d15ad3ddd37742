import Bytes
import Testing

@testable import Operations

@Suite("The pace of a loop")
struct LoopPaceTests {
  private static func totals(second: UInt64, frames: UInt64 = 0, messages: [UInt64] = []) -> LoopTotals {
    LoopTotals(
      uptime: second * 1_000_000_000, turns: .durations, lag: .durations, delivery: .durations, frames: frames,
      messages: messages, arrivals: [])
  }

  @Test("the busy part is the time of turns in the last second")
  func busy() {
    var pace = LoopPace()
    var totals = Self.totals(second: 100)
    totals.turns.record(90_000_000_000)
    pace.take(totals)
    totals.uptime += 1_000_000_000
    totals.turns.record(250_000_000)
    pace.take(totals)
    #expect(pace.busy == 0.25)
    // A turn that began before the second is counted in it as a whole.
    totals.uptime += 1_000_000_000
    totals.turns.record(3_000_000_000)
    pace.take(totals)
    #expect(pace.busy == 1)
  }

  @Test("a feed that joins later begins its own line, and one that has none yet has no counts")
  func feeds() {
    var pace = LoopPace()
    pace.take(Self.totals(second: 1, frames: 10, messages: [100]))
    pace.take(Self.totals(second: 2, frames: 17, messages: [105, 50]))
    pace.take(Self.totals(second: 3, frames: 17, messages: [106, 53]))
    #expect(pace.messages(of: 0).line == [5, 1])
    #expect(pace.messages(of: 1).line == [3])
    #expect(pace.messages(of: 2) == SecondCounts())
    #expect(pace.frames.line == [7, 0])
  }

  @Test("durations of the last one to two intervals are recent, also of a feed whose first trade came late")
  func recent() {
    var pace = LoopPace()
    var totals = Self.totals(second: 0)
    #expect(pace.recentArrival(totals, of: 0) == nil)
    var arrival = Histogram.arrivals
    for second in 1...UInt64(3 * LoopPace.interval) {
      totals.uptime = second * 1_000_000_000
      totals.turns.record(second)
      totals.lag.record(second)
      totals.delivery.record(second)
      if second == 15 { arrival.record(1_000_000) }
      totals.arrivals = second < 15 ? [] : [arrival]
      pace.take(totals)
      if second == 16 { #expect(pace.recentArrival(totals, of: 0)?.count == 1) }
    }
    #expect(pace.recentTurns(totals).count == UInt64(LoopPace.interval))
    #expect(pace.recentLag(totals).count == UInt64(LoopPace.interval))
    #expect(pace.recentDelivery(totals).count == UInt64(LoopPace.interval))
    #expect(pace.recentArrival(totals, of: 0)?.count == 0)
  }
}
