import Testing

@testable import Operations

@Suite("Repeated lines of the log")
struct LogFoldTests {
  @Test("a burst of an event is written, the rest is counted, and the next interval begins with their number")
  func burst() {
    var fold = LogFold()
    let taken = (0..<50).map { fold.take("feed_lost", at: Int64($0)) }
    #expect(taken.map(\.isWritten) == (0..<50).map { $0 < LogFold.burst })
    #expect(taken.allSatisfy { $0.summary == nil })
    let next = fold.take("feed_lost", at: LogFold.interval)
    #expect(next.isWritten)
    #expect(next.summary?.fields.map(\.value) == ["30", "feed_lost", "10"])
    #expect(fold.take("feed_lost", at: LogFold.interval).summary == nil)
  }

  @Test("a clock that steps back begins an interval, so that no event is silent until it catches up")
  func stepBack() {
    var fold = LogFold()
    for _ in 0...LogFold.burst { _ = fold.take("feed_lost", at: 1_000_000_000) }
    let next = fold.take("feed_lost", at: 1)
    #expect(next.isWritten && next.summary != nil)
  }

  @Test("what ended without another line is reported once, by event")
  func end() {
    var fold = LogFold()
    for event in ["b", "a", "quiet"] {
      for _ in 0..<(event == "quiet" ? 1 : LogFold.burst + 2) { _ = fold.take(event, at: 0) }
    }
    #expect(fold.end(at: LogFold.interval - 1).isEmpty)
    #expect(fold.end(at: LogFold.interval).map { $0.fields[1].value } == ["a", "b"])
    #expect(fold.end(at: LogFold.interval).isEmpty)
  }

  @Test("events beyond the limit share one burst")
  func bound() {
    var fold = LogFold()
    let written = (0..<1_000).filter { fold.take("event_\($0)", at: 0).isWritten }
    #expect(written.count == LogFold.eventLimit + LogFold.burst)
  }
}
