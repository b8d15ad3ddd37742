import Foundation
import MarketData

/// Makes the indexes of complete recordings, a little at a time. Used by one thread at a time.
///
/// A file is complete if another one of its connection follows, or if it has not changed for a while. A file whose
/// index cannot be made is left alone until it changes.
package final class RecordingIndexing {
  /// A newest file that has not changed for so long counts as complete, µs. A recorder writes every `flush-seconds`.
  static let quietTime = 2 * Microseconds.minute
  /// The records of one turn, beside its time.
  private static let turnRecords = 10_000

  package enum Event: Sendable {
    case indexed(RecordingIndexer.Indexed)
    case failed(RecordingError)
  }

  private let paths: [String]
  private let report: (Event) -> Void
  private var job: (indexer: RecordingIndexer, path: String)?
  /// The files that need no more work, in the state that they had.
  private var done: [String: Stamp] = [:]

  private struct Stamp: Equatable {
    var bytes: Int
    /// Of the last change, µs since 1970.
    var changed: Int64
  }

  /// - Parameter paths: recordings, or folders of them.
  package init(_ paths: [String], report: @escaping (Event) -> Void) { (self.paths, self.report) = (paths, report) }

  /// Works for `seconds` at most, or for as long as it takes to begin a file or to end it.
  /// - Parameter now: UTC.
  /// - Returns: false if nothing is left to do.
  package func turn(_ seconds: Double, at now: Timestamp) -> Bool {
    if job == nil, !begin(at: now) { return false }
    guard let (indexer, path) = job else { return true }
    let clock = ReplayClock()
    do throws(RecordingError) {
      var left = Self.turnRecords
      while left > 0, left == Self.turnRecords || clock.wallSeconds < seconds {
        left -= 500
        guard let indexed = try indexer.advance(records: 500) else { continue }
        job = nil
        done[path] = Self.stamp(path)
        report(.indexed(indexed))
        return true
      }
    } catch {
      fail(path, error)
    }
    return true
  }

  /// Looks for the next file; false if there is none.
  private func begin(at now: Timestamp) -> Bool {
    guard let plan = try? ReplayPlan(paths) else { return false }
    for track in plan.tracks {
      for (index, path) in track.paths.enumerated() {
        guard let stamp = Self.stamp(path), done[path] != stamp else { continue }
        let isLast = index + 1 == track.paths.count
        if isLast, now.microseconds - stamp.changed < Self.quietTime { continue }
        if RecordingIndex.fits(path) {
          done[path] = stamp
          continue
        }
        do throws(RecordingError) {
          job = (try RecordingIndexer(of: path, after: index > 0 ? track.paths[index - 1] : nil), path)
        } catch {
          fail(path, error)
        }
        return true
      }
    }
    done = done.filter { entry in plan.tracks.contains { $0.paths.contains(entry.key) } }
    return false
  }

  private func fail(_ path: String, _ error: RecordingError) {
    job = nil
    done[path] = Self.stamp(path)
    report(.failed(error))
  }

  private static func stamp(_ path: String) -> Stamp? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Stamp(
      bytes: Int(status.st_size),
      changed: Int64(status.st_mtim.tv_sec) * Microseconds.second + Int64(status.st_mtim.tv_nsec) / 1_000)
  }
}
