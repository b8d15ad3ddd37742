import Bytes
import MarketData
import Venues

extension ReplayResult {
  /// JSON: `recording`, `seconds`, `records`, `connections`, `frame_bytes`, `messages_per_second`, `cpu_seconds`,
  /// `totals`, and one object per symbol. Counts that are 0 where a venue has no such thing are left out. What was of
  /// no use stands in `skipped`, `failed`, `unreadable`, `ignored`, `left_out_levels`, `bad_lines`, `lost_records`,
  /// `cut_off` and `stopped`, each only if there is any.
  package func append(to out: inout ByteBuffer) {
    out.append("{\n\"recording\": ")
    out.append(json: recording)
    out.append(",\n\"seconds\": ")
    out.append(Self.fixed(seconds, 3))
    out.append(",\n\"records\": {")
    for (index, entry) in records.sorted(by: { $0.key.rawValue < $1.key.rawValue }).enumerated() {
      if index > 0 { out.append(", ") }
      out.append("\"\(entry.key.rawValue)\": \(entry.value)")
    }
    out.append("},\n\"connections\": \(connections),\n\"frame_bytes\": \(frameBytes)")
    appendFlaws(to: &out)
    out.append(",\n\"messages_per_second\": \(Int(messagesPerSecond)),\n\"cpu_seconds\": \(Self.fixed(cpuSeconds, 3))")
    out.append(",\n\"totals\": {")
    var total = SymbolCounts()
    for symbol in symbols { total.add(symbol.counts) }
    Self.append(
      total, checksumsOK: symbols.reduce(0) { $0 + $1.checksumsOK },
      unknownDeletes: symbols.reduce(0) { $0 + $1.unknownDeletes }, to: &out)
    out.append(", \"crossed_at_end\": \(symbols.count { $0.isCrossedAtEnd })")
    out.append(", \"levels\": \(symbols.reduce(0) { $0 + $1.bidLevels + $1.askLevels })},\n\"symbols\": {")
    for (index, symbol) in symbols.enumerated() {
      out.append(index > 0 ? ",\n  " : "\n  ")
      out.append(json: symbol.name)
      out.append(": {")
      Self.append(symbol.counts, checksumsOK: symbol.checksumsOK, unknownDeletes: symbol.unknownDeletes, to: &out)
      out.append(", \"final_bids\": ")
      Self.append(symbol.finalBids, to: &out)
      out.append(", \"final_asks\": ")
      Self.append(symbol.finalAsks, to: &out)
      out.append(
        ", \"levels\": [\(symbol.bidLevels), \(symbol.askLevels)], \"crossed_at_end\": \(symbol.isCrossedAtEnd)")
      out.append(", \"last_trade_price\": ")
      if let price = symbol.lastTradePrice { out.append(json: price) } else { out.append("null") }
      out.append(", \"in_sync_at_end\": \(symbol.isLiveAtEnd)")
      if let reason = symbol.outOfSyncBecause {
        out.append(", \"out_of_sync_because\": ")
        out.append(json: reason)
      }
      if !symbol.resyncs.isEmpty {
        out.append(", \"resyncs\": ")
        Self.append(symbol.resyncs.map { ($0.key.description, $0.value) }, to: &out)
      }
      out.append("}")
    }
    out.append("\n}")
    out.append("\n}\n")
  }

  private func appendFlaws(to out: inout ByteBuffer) {
    func texts(_ key: StaticString, _ entries: [String: String]) {
      guard !entries.isEmpty else { return }
      out.append(key)
      for (index, entry) in entries.sorted(by: { $0.key < $1.key }).enumerated() {
        out.append(index > 0 ? ", " : "{")
        out.append(json: entry.key)
        out.append(": ")
        out.append(json: entry.value)
      }
      out.append("}")
    }
    func list(_ key: StaticString, _ texts: [String]) {
      guard !texts.isEmpty else { return }
      out.append(key)
      for (index, text) in texts.enumerated() {
        out.append(index > 0 ? ", " : "[")
        out.append(json: text)
      }
      out.append("]")
    }
    if isClosedAtEnd { out.append(",\n\"closed_at_end\": true") }
    if lostRecords > 0 { out.append(",\n\"lost_records\": \(lostRecords)") }
    if badLines > 0 { out.append(",\n\"bad_lines\": \(badLines)") }
    if let error = firstBadLine {
      out.append(",\n\"first_bad_line\": ")
      out.append(json: error.description)
    }
    if let error = stoppedBy {
      out.append(",\n\"stopped\": ")
      out.append(json: error.description)
    }
    list(",\n\"cut_off\": ", cutOff)
    texts(",\n\"skipped\": ", skipped)
    texts(",\n\"failed\": ", failed)
    if !unreadable.isEmpty {
      out.append(",\n\"unreadable\": ")
      Self.append(unreadable.map { ($0.kind.rawValue, $0.count) }, to: &out)
      list(",\n\"unreadable_examples\": ", unreadableExamples)
    }
    if ignoredMessages > 0 { out.append(",\n\"ignored\": \(ignoredMessages)") }
    if leftOutLevels > 0 { out.append(",\n\"left_out_levels\": \(leftOutLevels)") }
  }

  /// An object of counts, by name.
  private static func append(_ counts: [(name: String, count: Int)], to out: inout ByteBuffer) {
    for (index, entry) in counts.sorted(by: { $0.name < $1.name }).enumerated() {
      out.append(index > 0 ? ", " : "{")
      out.append(json: entry.name)
      out.append(": \(entry.count)")
    }
    out.append("}")
  }

  private static func append(_ counts: SymbolCounts, checksumsOK: Int, unknownDeletes: Int, to out: inout ByteBuffer) {
    out.append("\"deltas\": \(counts.deltas), \"snapshots\": \(counts.snapshots)")
    if counts.bridged > 0 { out.append(", \"bridged\": \(counts.bridged)") }
    if counts.dropped > 0 { out.append(", \"dropped\": \(counts.dropped)") }
    out.append(", \"sequence_ok\": \(counts.sequenceOK), \"gaps\": \(counts.gaps), \"checksums_ok\": \(checksumsOK)")
    if unknownDeletes > 0 { out.append(", \"unknown_deletes\": \(unknownDeletes)") }
    out.append(", \"trades\": \(counts.trades)")
    if counts.backlogTrades > 0 { out.append(", \"backlog_trades\": \(counts.backlogTrades)") }
    if counts.missedTrades > 0 { out.append(", \"missed_trades\": \(counts.missedTrades)") }
  }

  private static func append(_ levels: [Level], to out: inout ByteBuffer) {
    out.append("[")
    for (index, level) in levels.enumerated() {
      if index > 0 { out.append(", ") }
      out.append("[")
      out.append(json: level.price)
      out.append(", ")
      out.append(json: level.size)
      out.append("]")
    }
    out.append("]")
  }

  private static func fixed(_ value: Double, _ digits: UInt8) -> String {
    var buffer = ByteBuffer(capacity: 24)
    let power = Int64(DecimalText.power(digits))
    buffer.append(decimal: Int64((value * Double(power)).rounded()), scale: digits)
    return buffer.description
  }
}
