import MarketData

/// Where and how a replay begins in the middle of a recording.
struct RecordingEntry {
  /// The index of the file among those of the recording.
  var file: Int
  /// Of the record before which it begins.
  var time: Timestamp
  var restart: RestartPoint
  var frame: KeyFrame

  /// Looks for the last key frame before `time`.
  /// - Returns: nil if there is none, with the reasons why an index could not be used. Then a replay begins at the
  ///   beginning.
  static func find(_ paths: [String], before time: Timestamp) -> (entry: RecordingEntry?, notes: [String]) {
    var notes: [String] = []
    for file in paths.indices.reversed() {
      guard let header = try? RecordingReader(path: paths[file]).header, header.started < time else { continue }
      switch RecordingIndex.lookUp(paths[file]) {
      case .none:
        notes.append(
          "\(paths[file]) has no index, so it is read from its beginning; tidegate recordings index makes one")
      case .unusable(let reason):
        notes.append("\(reason), so \(paths[file]) is read from its beginning")
      case .fits(let index):
        guard let point = index.point(before: time) else { continue }
        do throws(IndexDamage) {
          let (restart, frame) = try index.entry(at: point)
          return (RecordingEntry(file: file, time: point.time, restart: restart, frame: frame), notes)
        } catch {
          notes.append("\(RecordingIndex.path(of: paths[file])) \(error.reason)")
        }
      }
    }
    return (nil, notes)
  }

  func failure(_ paths: [String], _ reason: String) -> RecordingError {
    RecordingError(path: RecordingIndex.path(of: paths[file]), reason)
  }
}
