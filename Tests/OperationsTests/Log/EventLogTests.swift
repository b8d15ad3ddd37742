import Logging
import Testing

@testable import Operations

@Suite("The last notable lines")
struct EventLogTests {
  private func line(_ level: Logger.Level, _ message: String, _ fields: [(key: String, value: String)] = []) -> LogLine
  {
    LogLine(level: level, message: message, fields: fields)
  }

  @Test("the newest are kept, the newest first, however many come")
  func bound() {
    let log = EventLog()
    for number in 0..<1_000 { log.note(line(.notice, "event \(number)"), time: Int64(number)) }
    #expect(log.entries.map(\.time) == (0..<EventLog.limit).map { Int64(999 - $0) })
  }

  @Test("what is not worth a look is not kept, but for the states of feeds")
  func notable() {
    let log = EventLog()
    log.note(line(.info, "request"), time: 1)
    log.note(line(.debug, "waits for its turn to connect"), time: 2)
    log.note(LogLine(level: .info, event: "feed_state", message: "feed live"), time: 3)
    log.note(line(.warning, "feed lost"), time: 4)
    #expect(log.entries.map(\.time) == [4, 3])
  }

  @Test("long texts and many fields are cut")
  func cut() {
    let log = EventLog()
    let fields = (0..<50).map { (key: "k\($0)", value: String(repeating: "x", count: 10_000)) }
    log.note(line(.error, String(repeating: "y", count: 10_000), fields), time: 1)
    let entry = log.entries[0]
    #expect(entry.fields.count == EventLog.fieldLimit && entry.message.count == EventLog.textLimit + 1)
    #expect(entry.fields.allSatisfy { $0.value.count == EventLog.textLimit + 1 })
  }

  @Test("a sink gives it what it writes, and not what it folds or leaves out")
  func sink() {
    let sink = LogSink(levels: LogLevels(standard: .warning), microseconds: { 7 }) { _ in }
    for _ in 0..<50 { sink.logger.warning("feed lost") }
    sink.logger.notice("draining")
    #expect(sink.events.entries.map(\.event) == Array(repeating: "feed_lost", count: LogFold.burst))
  }
}
