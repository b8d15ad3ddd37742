import Foundation
import TestSupport
import Testing

@testable import Operations

/// What the sources log, read from them.
@Suite("Events of the log")
struct LogEventTests {
  private struct Event: Hashable {
    let name: String
    let level: String
    let message: String
  }

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private static func events() throws -> Set<Event> {
    var events: Set<Event> = []
    let call = /[.\s](trace|debug|info|notice|warning|error|critical)\(\s*"((?:[^"\\]|\\.)*)"/
    let computed = /[lL]og(?:ger)?\??\.(?:trace|debug|info|notice|warning|error|critical)\(\s*[^"\s$].*/
    let folded = /FoldedLog\.Event\(\s*(?:level: [^,]*,\s*)?message: "([^"]*)"/
    for target in ["History", "Documents", "Feeds", "Operations", "Settings", "Gateway", "CLI"] {
      let files = FileManager.default.enumerator(
        at: root.appendingPathComponent("Sources/\(target)"), includingPropertiesForKeys: nil)
      while let file = files?.nextObject() as? URL {
        guard file.pathExtension == "swift" else { continue }
        let text = try String(contentsOf: file, encoding: .utf8)
        for match in text.matches(of: call) {
          let message = String(match.2)
          // These have an event of their own.
          if message.hasPrefix("feed \\(") { continue }
          events.insert(Event(name: LogLine.event(of: message), level: String(match.1), message: message))
        }
        // The guide could not list it.
        for match in text.matches(of: computed) { Issue.record("\(file.lastPathComponent): \(match.0)") }
        for match in text.matches(of: folded) {
          events.insert(Event(name: LogLine.event(of: String(match.1)), level: "notice", message: String(match.1)))
        }
      }
    }
    events.insert(Event(name: "feed_state", level: "info", message: "feed live"))
    events.insert(
      Event(name: "lines_of_an_event_were_left_out", level: "notice", message: "lines of an event were left out"))
    return events
  }

  @Test("an event is named by words that never change: no value stands in them")
  func constant() throws {
    let events = try Self.events()
    #expect(events.count > 50)
    for event in events {
      let name = event.message.prefix { !":;,".contains($0) }
      #expect(!name.contains("\\("), "\(event.message)")
      #expect(!event.name.isEmpty && event.name.utf8.count < 64, "\(event.message)")
    }
  }

  @Test("the guide lists every event with its level and message")
  func guide() throws {
    let events = try Self.events().sorted { ($0.name, $0.level) < ($1.name, $1.level) }
    let lines =
      ["| event | level | message |", "|---|---|---|"]
      + events.map { "| `\($0.name)` | \($0.level) | \($0.message) |" }
    let (document, code) = try GeneratedPart("events", in: "Sources/Gateway/Gateway.docc/LogsAndMetrics.md")
      .compare(with: lines)
    #expect(document == code)
  }
}
