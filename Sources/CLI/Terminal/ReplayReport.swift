import Gateway
import Venues

/// A replay's result for people: one line per symbol, then the speed.
enum ReplayReport {
  static func text(_ result: ReplayResult) -> String {
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
        "\(symbol.bidLevels)+\(symbol.askLevels)", symbol.isLiveAtEnd ? "live" : "out of sync",
      ])
    }
    let widths = header.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    for row in rows {
      let cells = row.enumerated().map { column, cell in
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        return column == 0 ? cell + padding : padding + cell
      }
      lines.append("  " + cells.joined(separator: "  "))
    }
    for (symbol, reason) in result.failed.sorted(by: { $0.key < $1.key }) { lines.append("  \(symbol): \(reason)") }
    if result.lostRecords > 0 { lines.append("  \(result.lostRecords) records are missing") }
    for path in result.cutOff { lines.append("  \(path) was cut off; it was replayed up to its last whole record") }
    let speed = "\(Int(result.messagesPerSecond)) messages/s, \(rounded(result.cpuSeconds)) s of CPU"
    lines.append("  \(speed), \(result.frameBytes >> 10) KB of frames")
    return lines.joined(separator: "\n")
  }

  private static func rounded(_ value: Double) -> String { "\((value * 1000).rounded() / 1000)" }
}
