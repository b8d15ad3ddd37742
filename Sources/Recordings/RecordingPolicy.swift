import MarketData

/// A recorder's policy for files: when it begins another, which it keeps, and how much a crash may lose.
package struct RecordingPolicy: Sendable, Equatable {
  /// When written data is fsynced (fsync(2)). Without it, a crash of the program loses at most `flushSeconds`, and a
  /// crash of the machine loses the data that the system had not written yet.
  package enum Sync: Sendable, Equatable, LosslessStringConvertible {
    case none
    /// When a file is complete.
    case rotation
    /// When a file is complete, and every so many seconds, 1…3,600.
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

  /// MB (10⁶ bytes, compressed) from which the next file of a folder is begun, 0 (never)…1,000,000.
  package var rotateMegabytes = 256
  /// Seconds after which it is begun, 0 (never)…604,800.
  package var rotateSeconds = 3_600
  /// MB that the complete files of one connection may take beside the file that is being written, 0 (no
  /// bound)…100,000,000. Beyond, the oldest are deleted.
  package var keepMegabytes = 0
  /// Files of one connection, the one that is being written included, 0 (no bound)…1,000,000.
  package var keepFiles = 0
  /// The longest time that a record waits in memory to be written, s, 1…60: the most that a crash loses.
  package var flushSeconds = 2
  package var sync = Sync.rotation

  package init() {}
}

/// What a recorder has done so far.
package struct RecordingFigures: Sendable, Equatable {
  /// `kraken-spot`
  package var set: String
  /// The file that is written now, or was last.
  package var path: String
  /// Records in files.
  package var records = 0
  /// Compressed bytes in files, deleted ones included.
  package var bytes = 0
  /// Files begun.
  package var files = 0
  /// Files deleted because there were too many or too large ones.
  package var filesDeleted = 0
  /// Records that are in no file.
  package var lost = 0
  /// Bytes that wait for the disk.
  package var queuedBytes = 0
  /// Times that writing failed.
  package var failures = 0
  /// Why nothing is being written; nil while all is well.
  package var pausedBy: String?
}
