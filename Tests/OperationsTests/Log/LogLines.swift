import Logging
import Synchronization

@testable import Operations

/// Keeps what is logged, as the lines that would be written, without their times, events and parts.
final class LogLines: Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }

  var logger: Logger {
    LogSink(levels: LogLevels(standard: .trace), microseconds: { 0 }) { [self] line in
      let words = line.dropLast().split(separator: " ").dropFirst()
      lines.withLock { lines in
        lines.append(words.filter { !$0.hasPrefix("event=") && !$0.hasPrefix("component=") }.joined(separator: " "))
      }
    }.logger
  }
}
