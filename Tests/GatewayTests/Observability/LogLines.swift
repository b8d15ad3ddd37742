import Logging
import Synchronization

@testable import Gateway

/// Keeps what is logged, as the lines that would be written, without their times.
final class LogLines: Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }

  var logger: Logger {
    var logger = Logger(label: "test") { _ in
      LogfmtHandler(microseconds: { 0 }) { [self] line in
        lines.withLock { $0.append(String(line.drop { $0 != " " }.dropFirst().dropLast())) }
      }
    }
    logger.logLevel = .trace
    return logger
  }
}
