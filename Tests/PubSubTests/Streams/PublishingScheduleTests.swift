import MarketData
import Testing

@testable import PubSub

@Suite("The schedule of a publisher")
struct PublishingScheduleTests {
  private func stream(_ interval: UInt16, _ number: UInt32 = 1) -> PublishedStream {
    PublishedStream(
      StreamStart(
        id: StreamID(rawValue: number), seq: 0,
        key: StreamKey(channel: .quote, symbol: "kraken:BTC-USD", intervalMilliseconds: interval)))
  }

  private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(microseconds: milliseconds * 1_000) }

  @Test("a stream publishes once, at the next multiple of its interval")
  func ticks() {
    var schedule = PublishingSchedule()
    let (fast, slow) = (stream(100), stream(1000, 2))
    #expect(schedule.nextDeadline == .distantFuture)
    schedule.addToTick(slow, now: at(10_010))
    schedule.addToTick(fast, now: at(10_010))
    schedule.addToTick(fast, now: at(10_020))
    #expect(fast.isDirty && slow.isDirty)
    #expect(schedule.nextDeadline == at(10_100))
    #expect(schedule.takeDue(at: at(10_099)) == nil)
    #expect(schedule.takeDue(at: at(10_100))?.map(\.id.rawValue) == [1])
    #expect(!fast.isDirty && slow.isDirty)
    #expect(schedule.nextDeadline == at(11_000))
    // On a multiple it waits for the next.
    schedule.addToTick(fast, now: at(11_000))
    #expect(schedule.takeDue(at: at(11_050))?.map(\.id.rawValue) == [2])
    #expect(schedule.takeDue(at: at(11_050)) == nil)
    #expect(schedule.takeDue(at: at(20_000))?.map(\.id.rawValue) == [1])
    #expect(schedule.nextDeadline == .distantFuture)
  }

  @Test("a class that is due comes before a slower one, and its streams in the order of their changes")
  func order() {
    var schedule = PublishingSchedule()
    schedule.addToTick(stream(1000, 9), now: at(0))
    for number: UInt32 in [3, 1, 2] { schedule.addToTick(stream(250, number), now: at(0)) }
    #expect(schedule.takeDue(at: at(5_000))?.map(\.id.rawValue) == [3, 1, 2])
    #expect(schedule.takeDue(at: at(5_000))?.map(\.id.rawValue) == [9])
  }

  @Test("a stream that waits for a tick does not wait for the batch, too, and the other way round")
  func batch() {
    var schedule = PublishingSchedule()
    let (first, second) = (stream(0), stream(100, 2))
    schedule.addToBatch(first)
    schedule.addToBatch(first)
    schedule.addToTick(second, now: at(0))
    schedule.addToBatch(second)
    #expect(schedule.batch.map(\.id.rawValue) == [1])
    schedule.endBatch()
    #expect(schedule.batch.isEmpty && !first.isDirty && second.isDirty)
    schedule.addToBatch(first)
    #expect(schedule.batch.count == 1)
  }
}
