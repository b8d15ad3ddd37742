import Bytes
import Foundation
import MarketData
import Venues

/// Wall and CPU time since it was made.
package struct ReplayClock: Sendable {
  private let wall = ReplayClock.read(CLOCK_MONOTONIC)
  private let cpu = ReplayClock.read(CLOCK_PROCESS_CPUTIME_ID)

  package init() {}
  var wallSeconds: Double { ReplayClock.read(CLOCK_MONOTONIC) - wall }
  /// Of the whole process.
  var cpuSeconds: Double { ReplayClock.read(CLOCK_PROCESS_CPUTIME_ID) - cpu }

  private static func read(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// What a replay counts as it goes.
struct ReplayTally {
  var recordCount = 0
  var frameBytes = 0
  var byKind: [RecordKind: Int] = [:]
  var connections: Set<Int> = []
  var first: Timestamp?
  var last: Timestamp?
  /// Symbols that the handler refused, and why.
  var failed: [String: String] = [:]
  /// Newest live trade's price and the scale it is at, by instrument.
  var lastPrices: [Int32: Decimal64] = [:]
  /// Records that gaps say are missing.
  var lost = 0
  /// Files that ended in the middle of a record.
  var cutOff: [String] = []

  mutating func note(_ record: RecordingReader.Record, bytes: Int) {
    recordCount += 1
    byKind[record.kind, default: 0] += 1
    if record.kind == .text || record.kind == .binary { frameBytes += bytes }
    if record.kind != .http, record.kind != .gap { connections.insert(record.connection) }
    first = first ?? record.time
    last = record.time
  }

  mutating func note(_ changes: borrowing MarketChanges, from start: Int, market: Market) {
    for index in start..<changes.items.count {
      guard case .trades(let id, let range) = changes.items[index] else { continue }
      lastPrices[id.rawValue] = Decimal64(
        mantissa: changes.trades[range.upperBound - 1].price, scale: market[id].instrument.priceScale)
    }
  }
}

/// What a replay added up to: counts, final books and speed.
package struct ReplayResult: Sendable {
  package struct Level: Sendable, Equatable {
    package var price: String
    package var size: String
  }

  package struct Symbol: Sendable {
    /// The venue's own name.
    package var name: String
    package var counts: SymbolCounts
    package var checksumsOK = 0
    package var unknownDeletes = 0
    /// Nil if there was no live trade.
    package var lastTradePrice: String?
    /// The best five, best first.
    package var finalBids: [Level]
    package var finalAsks: [Level]
    package var bidLevels: Int
    package var askLevels: Int
    package var isCrossedAtEnd: Bool
    package var isLiveAtEnd: Bool
  }

  /// The file's name.
  package var recording: String
  package var seconds: Double
  package var records: [RecordKind: Int]
  package var connections: Int
  package var frameBytes: Int
  package var symbols: [Symbol]
  /// Symbols that were refused, and why.
  package var failed: [String: String]
  /// Records that could not be written, as gap records say. A file that is missing or does not follow counts as one.
  package var lostRecords: Int
  /// Files that ended in the middle of a record; they were replayed up to it.
  package var cutOff: [String]
  package var wallSeconds: Double
  package var cpuSeconds: Double

  package var frames: Int { (records[.text] ?? 0) + (records[.binary] ?? 0) }
  package var messagesPerSecond: Double { wallSeconds > 0 ? Double(frames) / wallSeconds : 0 }

  init(
    path: String, tally: ReplayTally, venue: Venue, market: Market, counts: [SymbolCounts], wallSeconds: Double,
    cpuSeconds: Double
  ) {
    recording = path.split(separator: "/").last.map(String.init) ?? path
    seconds = Double((tally.last ?? .distantPast) - (tally.first ?? .distantPast)) / 1e6
    records = tally.byKind
    connections = tally.connections.count
    frameBytes = tally.frameBytes
    failed = tally.failed
    lostRecords = tally.lost
    cutOff = tally.cutOff
    self.wallSeconds = wallSeconds
    self.cpuSeconds = cpuSeconds
    symbols = market.instruments.map { state in
      let instrument = state.instrument
      func text(_ value: Int64, _ scale: UInt8) -> String {
        var buffer = ByteBuffer(capacity: 24)
        buffer.append(decimal: value, scale: scale)
        return buffer.description
      }
      func best(_ side: [PriceLevel]) -> [Level] {
        side.suffix(5).reversed().map {
          Level(price: text($0.price, instrument.priceScale), size: text($0.size, instrument.sizeScale))
        }
      }
      let index = instrument.id.index
      return Symbol(
        name: instrument.venueSymbol, counts: index < counts.count ? counts[index] : SymbolCounts(),
        checksumsOK: state.checksumsOK, unknownDeletes: state.book.unknownDeletes,
        lastTradePrice: tally.lastPrices[instrument.id.rawValue].map { text($0.mantissa, $0.scale) },
        finalBids: best(state.book.bids), finalAsks: best(state.book.asks), bidLevels: state.book.bids.count,
        askLevels: state.book.asks.count, isCrossedAtEnd: state.book.isCrossed, isLiveAtEnd: state.bookState == .live)
    }
    .sorted { $0.name < $1.name }
  }

  /// JSON: `recording`, `seconds`, `records`, `connections`, `frame_bytes`, `messages_per_second`, `cpu_seconds`, `totals`, and
  /// one object per symbol. Counts that are 0 where a venue has no such thing are left out.
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
    if lostRecords > 0 { out.append(",\n\"lost_records\": \(lostRecords)") }
    if !cutOff.isEmpty {
      out.append(",\n\"cut_off\": [")
      for (index, path) in cutOff.enumerated() {
        if index > 0 { out.append(", ") }
        out.append(json: path)
      }
      out.append("]")
    }
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
      out.append("}")
    }
    out.append("\n}")
    if !failed.isEmpty {
      out.append(",\n\"failed\": {")
      for (index, entry) in failed.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { out.append(", ") }
        out.append(json: entry.key)
        out.append(": ")
        out.append(json: entry.value)
      }
      out.append("}")
    }
    out.append("\n}\n")
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

extension SymbolCounts {
  mutating func add(_ other: SymbolCounts) {
    deltas += other.deltas
    snapshots += other.snapshots
    sequenceOK += other.sequenceOK
    gaps += other.gaps
    dropped += other.dropped
    bridged += other.bridged
    trades += other.trades
    backlogTrades += other.backlogTrades
    missedTrades += other.missedTrades
  }
}
