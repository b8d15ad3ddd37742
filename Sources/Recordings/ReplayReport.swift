import Bytes
import MarketData
import Venues

/// The report of replays: for people a line per symbol and the problems, or one JSON document; and the exit code.
package struct ReplayReport: Sendable {
  /// How the program ends, for scripts.
  package enum ExitCode: Int32, Sendable {
    case replayed = 0
    /// A file could not be read to its end.
    case stopped = 1
    /// No book of any recording is in sync at its end.
    case nothing = 2
    /// Something was left out, unreadable, missing or out of sync.
    case flawed = 3
  }

  /// Lines of a kind that are shown of each recording.
  private static let lineLimit = 10

  package let results: [ReplayResult]
  /// What was left out, files and recordings.
  package let skipped: [RecordingError]
  package let published: (messages: Int, bytes: Int, digest: UInt64)?

  package init(
    _ results: [ReplayResult], skipped: [RecordingError],
    published: (messages: Int, bytes: Int, digest: UInt64)? = nil
  ) {
    self.results = results
    self.skipped = skipped
    self.published = published
  }

  /// - Parameter isStrict: whether what went wrong on the way counts.
  package func exitCode(isStrict: Bool) -> ExitCode {
    if results.contains(where: { $0.stoppedBy != nil }) { return .stopped }
    if results.allSatisfy(\.isDead) { return .nothing }
    return isStrict && !(skipped.isEmpty && results.allSatisfy(\.isFlawless)) ? .flawed : .replayed
  }

  private var digest: String {
    let digits = String(published?.digest ?? 0, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  // MARK: JSON

  /// `{"recordings":[…],"skipped":[{"file":…,"reason":…}],"published":{"messages":…,"bytes":…,"digest":…}}`; the last
  /// two only if there is such a thing.
  package var json: String {
    var out = ByteBuffer(capacity: 16 << 10)
    out.append("{\"recordings\": [\n")
    for (index, result) in results.enumerated() {
      if index > 0 { out.append(",\n") }
      result.append(to: &out)
    }
    out.append("]")
    for (index, error) in skipped.enumerated() {
      out.append(index > 0 ? ",\n  " : ",\n\"skipped\": [\n  ")
      out.append("{\"file\": ")
      out.append(json: error.path)
      out.append(", \"reason\": ")
      out.append(json: error.shortDescription)
      out.append("}")
    }
    if !skipped.isEmpty { out.append("]") }
    if let published {
      out.append(
        ",\n\"published\": {\"messages\": \(published.messages), \"bytes\": \(published.bytes), \"digest\": \"\(digest)\"}"
      )
    }
    out.append("}")
    return out.description
  }

  // MARK: Text

  package var text: String {
    var parts = results.map(Self.text)
    if let published {
      parts.append("published: \(published.messages) messages, \(published.bytes) bytes, digest \(digest)")
    }
    return parts.joined(separator: "\n")
  }

  private static func text(_ result: ReplayResult) -> String {
    let connections = result.connections == 1 ? "1 connection" : "\(result.connections) connections"
    var lines = ["\(result.recording): \(result.frames) frames in \(Int(result.seconds)) s on \(connections)"]
    let header = [
      "symbol", "deltas", "snapshots", "links", "gaps", "checksums", "trades", "last", "best bid", "best ask", "levels",
      "book",
    ]
    var rows = [header]
    for symbol in result.symbols {
      rows.append([
        symbol.name, "\(symbol.counts.deltas)", "\(symbol.counts.snapshots)", "\(symbol.counts.sequenceOK)",
        "\(symbol.counts.gaps)", "\(symbol.checksumsOK)", "\(symbol.counts.trades)", symbol.lastTradePrice ?? "-",
        symbol.finalBids.first?.price ?? "-", symbol.finalAsks.first?.price ?? "-",
        "\(symbol.bidLevels)+\(symbol.askLevels)",
        symbol.outOfSyncBecause.map { "out of sync: \($0)" } ?? "live",
      ])
    }
    let widths = header.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    for row in rows {
      let cells = row.enumerated().map { column, cell in
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        return column == 0 ? cell + padding : column == row.count - 1 ? cell : padding + cell
      }
      lines.append("  " + cells.joined(separator: "  "))
    }
    lines += flaws(of: result).map { "  " + $0 }
    let speed = "\(Int(result.messagesPerSecond)) messages/s, \(rounded(result.cpuSeconds)) s of CPU"
    lines.append("  \(speed), \(result.frameBytes >> 10) KB of frames")
    return lines.joined(separator: "\n")
  }

  /// Rejected messages, and why.
  private static func flaws(of result: ReplayResult) -> [String] {
    var lines: [String] = []
    let resyncs = result.symbols.filter { !$0.resyncs.isEmpty }
    lines += folded(resyncs, "books were out of sync") { symbol in
      let causes = symbol.resyncs.map { ($0.key.description, $0.value) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
      return "\(symbol.name) went out of sync: \(causes.map { "\($1) × \($0)" }.joined(separator: ", "))"
    }
    if !result.unreadable.isEmpty {
      let kinds = result.unreadable.map { "\($0.count) \($0.kind.rawValue)" }.joined(separator: ", ")
      let count = result.unreadable.reduce(0) { $0 + $1.count }
      lines.append("\(count) rejected message\(count == 1 ? "" : "s") (\(kinds)), among them:")
      lines += result.unreadableExamples.map { "  \($0)" }
    }
    if result.ignoredMessages > 0 {
      lines.append(
        "\(result.ignoredMessages) message\(result.ignoredMessages == 1 ? "" : "s") of channels that are not used here")
    }
    if result.leftOutLevels > 0 { lines.append("\(result.leftOutLevels) levels of books could not be read") }
    lines += folded(result.skipped.sorted { $0.key < $1.key }, "names left out") { "left out: \($0.value)" }
    lines += folded(result.failed.sorted { $0.key < $1.key }, "symbols refused") { "\($0.key): \($0.value)" }
    if result.lostRecords > 0 { lines.append("\(result.lostRecords) records are missing") }
    if let error = result.firstBadLine {
      lines.append(
        "\(result.badLines) line\(result.badLines == 1 ? "" : "s") left out; the first: \(error.description)")
    }
    for path in result.cutOff { lines.append("\(path) was cut off; it was replayed up to its last whole record") }
    if let error = result.stoppedBy { lines.append("STOPPED: \(error.description)") }
    if result.isClosedAtEnd { lines.append("the connection is closed at the end; books are shown as they were before") }
    if result.isDead { lines.append("NO BOOK IS IN SYNC AT THE END") }
    return lines
  }

  private static func folded<Item>(_ items: [Item], _ words: String, _ line: (Item) -> String) -> [String] {
    let lines = items.prefix(lineLimit).map(line)
    return items.count > lineLimit ? lines + ["and \(items.count - lineLimit) more \(words)"] : lines
  }

  private static func rounded(_ value: Double) -> String { "\((value * 1000).rounded() / 1000)" }
}
