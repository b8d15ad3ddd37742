import Bytes
import Foundation
import Logging

/// Writes a logger's events as logfmt lines: time (UTC, µs), level, message, then the metadata in the order of its
/// keys.
package struct LogfmtHandler: LogHandler {
  package var logLevel = Logger.Level.info
  package var metadata: Logger.Metadata = [:]
  package var metadataProvider: Logger.MetadataProvider?

  private let write: @Sendable (String) -> Void
  private let microseconds: @Sendable () -> Int64

  /// - Parameters:
  ///   - write: takes a whole line, line feed included.
  ///   - microseconds: the time, µs since 1970, UTC.
  package init(
    microseconds: @escaping @Sendable () -> Int64 = LogfmtHandler.wallClock,
    write: @escaping @Sendable (String) -> Void
  ) {
    self.write = write
    self.microseconds = microseconds
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    var all = metadata
    if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
    if let own = event.metadata { all.merge(own) { $1 } }
    var line = "time=" + Self.time(microseconds())
    line += " level=\(event.level.rawValue)"
    Logfmt.append("msg", event.message.description, to: &line)
    for (key, value) in all.sorted(by: { $0.key < $1.key }) { Logfmt.append(key, value.description, to: &line) }
    write(line + "\n")
  }

  /// The system's clock, µs since 1970.
  package static let wallClock: @Sendable () -> Int64 = {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000
  }

  /// `2026-08-21T10:15:00.000042Z` (RFC 3339).
  static func time(_ microseconds: Int64) -> String { CivilTime(microseconds: microseconds).description }
}
