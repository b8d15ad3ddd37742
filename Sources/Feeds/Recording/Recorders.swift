import Foundation
import Logging
import Recordings
import Synchronization
import Venues

/// The recordings of a run: one file, or files in a folder for each connection.
package final class Recorders: Sendable {
  private let path: String?
  private let policy: RecordingPolicy
  private let log: Logger
  private let sinks = Mutex<[RecordingSink]>([])
  private let isFinished = Mutex(false)

  /// - Parameter path: a file, or a folder (ends in `/`), which is created if it does not exist; nil: nothing is
  ///   recorded.
  package init(path: String?, policy: RecordingPolicy, log: Logger) {
    self.path = path
    self.policy = policy
    self.log = log
  }

  /// The recorder of a connection; nil if it cannot be made, with the reason in the log.
  package func make(_ venue: Venue, _ configuration: FeedConfiguration) -> RecordingSink? {
    guard let path else { return nil }
    do throws(RecordingError) {
      let sink: RecordingSink
      if path.hasSuffix("/") {
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        sink = try RecordingSink(
          folder: path, suffix: suffix(of: venue), venue: venue, configuration: configuration, policy: policy, log: log)
      } else {
        guard sinks.withLock({ $0.isEmpty }) else {
          throw RecordingError(
            path: path, "records another connection already; record into a folder (its path ends in /)")
        }
        sink = try RecordingSink(path: path, venue: venue, configuration: configuration, policy: policy, log: log)
      }
      sinks.withLock { $0.append(sink) }
      return sink
    } catch {
      log.error("cannot record", metadata: ["venue": "\(venue.label)", "reason": "\(error.description)"])
      return nil
    }
  }

  /// A suffix that distinguishes a venue's connections of one market.
  private func suffix(of venue: Venue) -> String {
    let set = "\(venue.name)-\(venue.marketName)"
    let taken = sinks.withLock { sinks in sinks.map(\.figures.set) }
    var number = venue.number
    func suffix() -> String { number > 1 ? "-\(number)" : "" }
    while taken.contains(set + suffix()) { number += 1 }
    return suffix()
  }

  /// The counters of each recorder.
  package var figures: [RecordingFigures] { sinks.withLock { $0 }.map(\.figures) }

  /// Writes waiting records, completes the files, and reports their contents. Call it once.
  package func finish() async {
    let isFirst = isFinished.withLock { isFinished in
      defer { isFinished = true }
      return !isFinished
    }
    guard isFirst else { return }
    for sink in sinks.withLock({ $0 }) {
      await withCheckedContinuation { continuation in sink.finish { continuation.resume() } }
      let figures = sink.figures
      var metadata: Logger.Metadata = [
        "file": "\(figures.path)", "files": "\(figures.files)", "records": "\(figures.records)",
      ]
      if figures.lost > 0 { metadata["records_lost"] = "\(figures.lost)" }
      log.notice("recorded", metadata: metadata)
    }
  }
}
