import Bytes
import Foundation
import MarketData

/// What is in the files of a folder, one by one.
package struct RecordingSurvey: Sendable {
  package struct File: Sendable {
    package var path: String
    package var bytes: Int
    package var contents: RecordingContents
    /// What an index says about the file; nil if it has none.
    package var index: IndexState?
    /// Why no books of it were checked; nil if they were, or were not to be.
    package var notPlayed: String?
  }

  package enum IndexState: Sendable, Equatable {
    case fits
    case unusable(reason: String)
    /// It fits by size and time, but says something else than the file.
    case wrong(reason: String)
  }

  package var files: [File] = []
  /// Files that cannot be read at all, and why.
  package var unreadable: [RecordingError] = []

  /// Lists recordings by their indexes; files without one are read, without playing them.
  /// - Parameter onProgress: is called with the file that is being read, and the records so far.
  package static func list(
    _ plan: ReplayPlan, onProgress: (String, Int) -> Void = { _, _ in }
  ) -> RecordingSurvey {
    var survey = RecordingSurvey(unreadable: plan.skipped)
    for path in plan.tracks.flatMap(\.paths) {
      do throws(RecordingError) {
        var index: IndexState?
        var contents: RecordingContents?
        switch RecordingIndex.lookUp(path) {
        case .fits(let found):
          (index, contents) = (.fits, found.contents)
        case .unusable(let reason): index = .unusable(reason: reason)
        case .none: break
        }
        if contents == nil { contents = try read(path, onProgress) }
        guard let contents else { continue }
        survey.files.append(File(path: path, bytes: size(path), contents: contents, index: index))
      } catch {
        survey.unreadable.append(error)
      }
    }
    return survey
  }

  /// Reads and plays everything: the venues' links and checksums, and what indexes say.
  package static func verify(
    _ plan: ReplayPlan, onProgress: (String, Int) -> Void = { _, _ in }
  ) -> RecordingSurvey {
    var survey = RecordingSurvey(unreadable: plan.skipped)
    for track in plan.tracks {
      do throws(RecordingError) {
        let found = try RecordingIndexer(paths: track.paths, writes: false).run { onProgress($0.path, $0.records) }
        for file in found {
          survey.files.append(
            File(
              path: file.path, bytes: size(file.path), contents: file.contents, index: state(of: file)))
        }
      } catch {
        survey.readAlone(track.paths, error, onProgress)
      }
    }
    return survey
  }

  /// Files that cannot be played are read.
  private mutating func readAlone(
    _ paths: [String], _ reason: RecordingError, _ onProgress: (String, Int) -> Void
  ) {
    for path in paths {
      do throws(RecordingError) {
        files.append(
          File(
            path: path, bytes: Self.size(path), contents: try Self.read(path, onProgress),
            notPlayed: reason.shortDescription))
      } catch {
        unreadable.append(error)
      }
    }
  }

  private static func state(of file: RecordingIndexer.Indexed) -> IndexState? {
    switch RecordingIndex.lookUp(file.path) {
    case .none: nil
    case .unusable(let reason): .unusable(reason: reason)
    case .fits(let index):
      if index.checksum != file.checksum {
        .wrong(reason: "the checksum of the file is another one")
      } else if index.contents != file.contents {
        .wrong(reason: "the file has other contents")
      } else {
        .fits
      }
    }
  }

  private static func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  private static func read(
    _ path: String, _ onProgress: (String, Int) -> Void
  ) throws(RecordingError) -> RecordingContents {
    let sequence = try RecordingSequence(paths: [path])
    var contents = RecordingContents(venue: sequence.header.venue, market: sequence.header.market)
    do throws(RecordingError) {
      while let record = try sequence.next() {
        contents.note(record, bytes: sequence.payload.count)
        if contents.records % 1_000 == 0 { onProgress(path, contents.records) }
      }
    } catch {
      contents.stoppedBy = error.shortDescription
    }
    contents.isCutOff = !sequence.cutOff.isEmpty
    contents.badLines = sequence.badLines
    contents.firstBadLine = sequence.firstBadLine?.shortDescription
    return contents
  }
}

extension RecordingSurvey.File {
  /// What is wrong with the file, in words; empty if nothing is.
  package var damage: [String] {
    var lines: [String] = []
    let until = contents.last.map(RecordingTime.text) ?? "the header"
    if let stopped = contents.stoppedBy {
      lines.append("damaged: \(stopped); \(contents.records) records until \(until) are readable, the rest is lost")
    }
    if contents.isCutOff { lines.append("cut off: it ends in the middle of a record after \(until)") }
    if let bad = contents.firstBadLine {
      lines.append("\(contents.badLines) line\(contents.badLines == 1 ? " is" : "s are") no record; the first: \(bad)")
    }
    func counted(_ count: Int) -> String { count == 1 ? "1 place" : "\(count) places" }
    for symbol in contents.symbols {
      if symbol.gaps > 0 { lines.append("\(symbol.name): messages are missing at \(counted(symbol.gaps))") }
      if symbol.mismatches > 0 {
        lines.append("\(symbol.name): the venue's checksum is not that of the book at \(counted(symbol.mismatches))")
      }
    }
    if case .wrong(let reason) = index { lines.append("its index is wrong: \(reason); index it again") }
    return lines
  }

  /// Gaps of the recording, and messages that the venue's reader rejected. Neither is damage.
  package var holes: [String] {
    var lines: [String] = []
    if let first = contents.gaps.first {
      let gaps = contents.gapCount == 1 ? "1 gap" : "\(contents.gapCount) gaps"
      let time = RecordingTime.text(first.time)
      lines.append("\(gaps), \(contents.lost) records are missing; the first at \(time)")
    }
    if contents.rejected > 0 { lines.append("\(contents.rejected) messages were not understood; see replay") }
    return lines
  }
}

// MARK: Text and JSON

extension RecordingSurvey {
  /// A line for each file, and lines for what is wrong.
  /// - Parameter isVerified: whether the files were read for this.
  package func text(isVerified: Bool) -> String {
    let header = ["file", "venue", "from", "to", "messages", "size", "gaps", isVerified ? "checksums" : "index"]
    var rows = [header]
    for file in files {
      let contents = file.contents
      rows.append([
        file.path, "\(contents.venue) \(contents.market)", contents.first.map(RecordingTime.text) ?? "-",
        contents.last.map(RecordingTime.text) ?? "-", "\(contents.messages)", Self.size(file.bytes),
        "\(contents.gapCount)",
        isVerified ? "\(contents.symbols.reduce(0) { $0 + $1.checksums })" : file.index == .fits ? "yes" : "no",
      ])
    }
    let widths = header.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    let isRight = [false, false, false, false, true, true, true, isVerified]
    var lines = rows.map { row in
      row.enumerated().map { column, cell in
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        return isRight[column] ? padding + cell : column == row.count - 1 ? cell : cell + padding
      }.joined(separator: "  ")
    }
    for file in files {
      lines += (file.damage + file.holes).map { "\(file.path): \($0)" }
      if let reason = file.notPlayed { lines.append("\(file.path): books were not checked: \(reason)") }
      if case .unusable(let reason) = file.index { lines.append(reason) }
    }
    lines += unreadable.map { "\($0.description)" }
    return lines.joined(separator: "\n")
  }

  /// `12.3 MB` (10⁶ bytes).
  private static func size(_ bytes: Int) -> String { "\(bytes / 1_000_000).\(bytes / 100_000 % 10) MB" }

  /// `{"recordings":[{"file":…,"venue":…,"market":…,"from":…,"to":…,"records":…,"messages":…,"message_bytes":…,
  /// "bytes":…,"connections":…,"lost_records":…,"gaps":[{"time":…,"records":…}],"index":…,"damage":[…],
  /// "symbols":{…}}],"unreadable":[{"file":…,"reason":…}]}`; times are ISO 8601, and null if there is no record.
  package var json: String {
    var out = ByteBuffer(capacity: 16 << 10)
    out.append("{\"recordings\":[")
    for (index, file) in files.enumerated() {
      out.append(index > 0 ? ",\n" : "\n")
      Self.append(file, to: &out)
    }
    out.append("],\"unreadable\":[")
    for (index, error) in unreadable.enumerated() {
      out.append(index > 0 ? "," : "")
      out.append("{\"file\":")
      out.append(json: error.path)
      out.append(",\"reason\":")
      out.append(json: error.shortDescription)
      out.append("}")
    }
    out.append("]}")
    return out.description
  }

  private static func append(_ file: File, to out: inout ByteBuffer) {
    let contents = file.contents
    func text(_ key: String, _ value: String?) {
      out.append(",\"\(key)\":")
      if let value { out.append(json: value) } else { out.append("null") }
    }
    out.append("{\"file\":")
    out.append(json: file.path)
    text("venue", contents.venue)
    text("market", contents.market)
    text("from", contents.first.map(RecordingTime.text))
    text("to", contents.last.map(RecordingTime.text))
    out.append(",\"records\":\(contents.records),\"messages\":\(contents.messages)")
    out.append(",\"message_bytes\":\(contents.messageBytes),\"bytes\":\(file.bytes),\"rejected\":\(contents.rejected)")
    out.append(",\"connections\":\(contents.connections),\"lost_records\":\(contents.lost),\"gaps\":[")
    for (index, gap) in contents.gaps.enumerated() {
      out.append(index > 0 ? "," : "")
      out.append("{\"time\":\"\(RecordingTime.text(gap.time))\",\"records\":\(gap.records)}")
    }
    out.append("]")
    switch file.index {
    case .fits: text("index", "fits")
    case .unusable: text("index", "unusable")
    case .wrong: text("index", "wrong")
    case nil: text("index", nil)
    }
    out.append(",\"damage\":[")
    for (index, line) in file.damage.enumerated() {
      out.append(index > 0 ? "," : "")
      out.append(json: line)
    }
    out.append("],\"symbols\":{")
    for (index, symbol) in contents.symbols.enumerated() {
      out.append(index > 0 ? "," : "")
      out.append(json: symbol.name)
      out.append(":{\"deltas\":\(symbol.deltas),\"snapshots\":\(symbol.snapshots),\"trades\":\(symbol.trades)")
      out.append(",\"gaps\":\(symbol.gaps),\"checksums_ok\":\(symbol.checksums)")
      out.append(",\"checksums_wrong\":\(symbol.mismatches)}")
    }
    out.append("}}")
  }
}
