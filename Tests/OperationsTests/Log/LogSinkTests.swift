import Foundation
import Logging
import Synchronization
import Testing

@testable import Operations

@Suite("The log's levels, formats and repeats")
struct LogSinkTests {
  private final class Written: Sendable {
    let lines = Mutex<[String]>([])
    let time = Mutex<Int64>(1_787_307_300_000_042)

    func sink(_ levels: LogLevels = LogLevels(), _ format: LogFormat = .logfmt) -> LogSink {
      LogSink(levels: levels, format: format, microseconds: { [self] in time.withLock { $0 } }) { [self] line in
        lines.withLock { $0.append(line) }
      }
    }
    var all: [String] { lines.withLock { $0 } }
  }

  @Test("a line has time, level, event and message first, then its metadata in order; the event's own wins")
  func line() throws {
    let written = Written()
    var log = written.sink().logger.of(.feeds)
    log[metadataKey: "venue"] = "kraken"
    log[metadataKey: "attempt"] = "1"
    log.warning("feed lost", metadata: ["attempt": "2", "reason": "no \"answer\""])
    log.debug("not at this level")
    #expect(
      written.all == [
        "time=2026-08-21T10:15:00.000042Z level=warning event=feed_lost msg=\"feed lost\" attempt=2 component=feeds "
          + "reason=\"no \\\"answer\\\"\" venue=kraken\n"
      ])
    #expect(LogTime.text(-1) == "1969-12-31T23:59:59.999999Z")
  }

  @Test("as JSON a line is an object of strings that a parser reads back, whatever stands in them")
  func json() throws {
    let written = Written()
    let hostile = "\u{0}\u{1B}[2J\n\"}\\,\u{2028}é"
    written.sink(LogLevels(), .json).logger.error("it's over: so", metadata: ["reason": "\(hostile)", "msg": "no"])
    let line = try #require(written.all.first)
    #expect(line.filter { $0 == "\n" }.count == 1 && line.hasSuffix("}\n"))
    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
    #expect(
      object == [
        "time": "2026-08-21T10:15:00.000042Z", "level": "error", "event": "its_over", "msg": "it's over: so",
        "reason": hostile,
      ])
  }

  @Test("a part's level counts for its lines alone, and changes while its logger is in use")
  func levels() {
    let written = Written()
    let sink = written.sink(LogLevels(standard: .notice, byComponent: [.feeds: .debug, .clients: .error]))
    let logs = LogComponent.allCases.map { (part: $0, log: sink.logger.of($0)) }
    func heard(_ level: Logger.Level) -> [LogComponent] {
      logs.filter { $0.log.logLevel <= level }.map(\.part)
    }
    #expect(heard(.debug) == [.feeds])
    #expect(heard(.notice) == LogComponent.allCases.filter { $0 != .clients })
    sink.apply(LogLevels(standard: .critical, byComponent: [.clients: .trace]), .json)
    #expect(heard(.trace) == [.clients])
    logs[2].log.trace("now")
    #expect(written.all.count == 1 && written.all[0].hasPrefix("{"))
  }

  @Test("what comes again and again is written twenty times in ten seconds, and the rest is counted, also at its end")
  func folding() {
    let written = Written()
    let sink = written.sink()
    let log = sink.logger
    for _ in 0..<500 { log.warning("REST request failed") }
    log.warning("feed lost")
    #expect(written.all.count { $0.contains("event=rest_request_failed") } == LogFold.burst)
    #expect(written.all.count { $0.contains("event=feed_lost") } == 1)
    sink.tell()
    #expect(written.all.count == LogFold.burst + 1)
    written.time.withLock { $0 += LogFold.interval }
    sink.tell()
    #expect(written.all.last?.contains("event=lines_of_an_event_were_left_out") == true)
    #expect(written.all.last?.contains("count=480 of=rest_request_failed") == true)
    // The next burst begins anew, and nothing is said of events that were not folded.
    for _ in 0..<3 { log.warning("REST request failed") }
    #expect(written.all.count == LogFold.burst + 5)
  }

  @Test("however many events there are, those that are remembered are bounded")
  func bound() {
    let written = Written()
    let log = written.sink().logger
    for number in 0..<2_000 { log.warning("event \(number)") }
    #expect(written.all.count == LogFold.eventLimit + LogFold.burst)
  }

  @Test("a setting of a level names a part and a level")
  func pairs() {
    #expect(LogLevels.pair("feeds=DEBUG").map { $0.component } == .feeds)
    for text in ["feeds", "feeds=", "=debug", "fields=debug", "feeds=loud", "feeds=debug=x", ""] {
      #expect(LogLevels.pair(text) == nil, "\(text)")
    }
  }
}
