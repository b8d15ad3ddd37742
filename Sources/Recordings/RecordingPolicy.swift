import MarketData

/// A recorder's policy for files: when it begins another, which it keeps, and how much a crash may lose.
package struct RecordingPolicy: Sendable, Equatable {
  /// When written data is fsynced (fsync(2)). Without it, a crash of the program loses at most `flushSeconds`, and a
  /// crash of the machine loses the data that the system had not written yet.
  package enum Sync: Sendable, Equatable, LosslessStringConvertible {
    case none
    /// When a file is complete.
    case rotation
    /// When a file is complete, and after this number of seconds, 1…3,600.
    case seconds(Int)

    package init?(_ text: String) {
      switch text.lowercased() {
      case "none": self = .none
      case "rotation": self = .rotation
      default:
        guard let seconds = Int(text), (1...3_600).contains(seconds) else { return nil }
        self = .seconds(seconds)
      }
    }

    package var description: String {
      switch self {
      case .none: "none"
      case .rotation: "rotation"
      case .seconds(let seconds): "\(seconds)"
      }
    }
  }

  /// The size in MB (10⁶ bytes, compressed) at which the next file of a folder begins, 0 (never)…1,000,000.
  package var rotateMegabytes = 256
  /// The seconds after which the next file begins, 0 (never)…604,800.
  package var rotateSeconds = 3_600
  /// The most MB of all complete files of a connection, without the present file, 0 (no limit)…100,000,000. Beyond
  /// it, the oldest files are deleted.
  package var keepMegabytes = 0
  /// The most files of a connection, the present one included, 0 (no limit)…1,000,000.
  package var keepFiles = 0
  /// The longest time that a record waits in memory to be written, s, 1…60: the most that a crash loses.
  package var flushSeconds = 2
  package var sync = Sync.rotation
  /// Whether complete files of a folder get an index while the gateway serves.
  package var indexes = true

  package init() {}
}

/// The counts of a recorder.
package struct RecordingFigures: Sendable, Equatable {
  /// `kraken-spot`
  package var set: String
  /// The present or last file.
  package var path: String
  /// The number of records in files.
  package var records = 0
  /// Compressed bytes in files, deleted ones included.
  package var bytes = 0
  /// Files begun.
  package var files = 0
  /// Files deleted because there were too many or too large ones.
  package var filesDeleted = 0
  /// The number of records that are in no file.
  package var lost = 0
  /// The bytes that wait for the disk.
  package var queuedBytes = 0
  /// How often writing failed.
  package var failures = 0
  /// The reason why nothing is written; nil if there is no problem.
  package var pausedBy: String?
}
