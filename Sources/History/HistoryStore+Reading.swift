import GRDB
import MarketData

/// Candles of one resolution, and which times they cover.
package struct HistoryRange: Sendable, Equatable {
  /// In order of time; an interval without a trade has none.
  package var candles: [StoredCandle]
  /// Since when they are complete, except for the gaps; nil if they never were.
  package var coveredFrom: Timestamp?
  /// Times in the range whose candles are missing.
  package var gaps: [HistoryGap]
}

/// Everything that the rings of an instrument are restored from.
package struct RestoredInstrument: Sendable {
  package var symbol: String
  /// By resolution: a day of minutes, a week of quarters, 90 days of hours, all days.
  package var ranges: [Resolution: HistoryRange]
  package var latest: LatestState?
  /// The time between the run before and this one, as far as it is known; nil if there is none.
  package var gap: HistoryGap?
}

/// The stored candles of one instrument at one resolution.
package struct KeptSeries: Sendable, Equatable {
  package var symbol: String
  package var resolution: Resolution
  package var candles: Int
  package var first: Timestamp
  package var last: Timestamp
  package var coveredFrom: Timestamp?
  /// Gaps that no venue's candles have closed.
  package var openGaps: Int
}

extension HistoryStore {
  /// The candles that begin in `range`; nil if the symbol is unknown. With `limit`, the newest of them if `newest`,
  /// else the oldest. A year of days and a month of quarters take a few milliseconds.
  package func candles(
    of symbol: String, _ resolution: Resolution, in range: Range<Timestamp>, limit: Int? = nil, newest: Bool = false
  ) throws(DataFileError) -> HistoryRange? {
    guard let id = id(symbol) else { return nil }
    return try file.read { try Self.range(id, resolution, range, limit: limit, newest: newest, $0) }
  }

  /// Everything that an instrument's rings need, in one read; nil if the symbol is unknown.
  package func restore(_ symbol: String, now: Timestamp) throws(DataFileError) -> RestoredInstrument? {
    guard let id = id(symbol) else { return nil }
    return try file.read { db in
      var ranges: [Resolution: HistoryRange] = [:]
      for resolution in Resolution.allCases {
        let start =
          switch resolution {
          case .minute: now - (Microseconds.day + Microseconds.hour)
          case .quarter: now - 8 * Microseconds.day
          case .hour: now - 91 * Microseconds.day
          case .day: Timestamp(microseconds: 0)
          }
        ranges[resolution] = try Self.range(id, resolution, start..<(now + Microseconds.day), db)
      }
      return RestoredInstrument(
        symbol: symbol, ranges: ranges, latest: try LatestTable.state(id, symbol: symbol, db),
        gap: try started.flatMap { try GapTable.around($0, id, db) })
    }
  }

  /// The times in `range` without candles of this resolution from the gateway or a venue: whole intervals in order of
  /// time; all of it if the symbol is unknown.
  package func missing(
    _ symbol: String, _ resolution: Resolution, in range: Range<Timestamp>
  ) throws(DataFileError) -> [Range<Timestamp>] {
    guard let id = id(symbol) else { return [range] }
    let (coverage, gaps) = try file.read { db in
      (try CoverageTable.start(id, resolution, db), try GapTable.gaps(id, in: range, db))
    }
    var result: [Range<Timestamp>] = []
    func add(_ start: Timestamp, _ end: Timestamp) {
      let first = resolution.start(of: resolution.number(of: max(start, range.lowerBound)))
      let last = min(end, range.upperBound)
      guard first < last else { return }
      let end = resolution.start(of: resolution.number(of: last + (resolution.length - 1)))
      if let previous = result.last, previous.upperBound >= first {
        result[result.count - 1] = previous.lowerBound..<max(previous.upperBound, end)
      } else {
        result.append(first..<end)
      }
    }
    add(range.lowerBound, coverage ?? range.upperBound)
    for gap in gaps where gap.isOpen(at: resolution) { add(gap.start, gap.end) }
    return result
  }

  /// An instrument as it was last described; nil if the symbol is unknown.
  package func instrument(_ symbol: String) throws(DataFileError) -> Instrument? {
    try file.read { try StoredInstrumentTable.instrument(symbol, $0) }
  }

  /// All stored series, sorted by symbol and resolution. O(candles).
  package func kept() throws(DataFileError) -> [KeptSeries] {
    try file.read { db in
      let symbols = Dictionary(uniqueKeysWithValues: try StoredInstrumentTable.all(db).map { ($0.value, $0.key) })
      var result: [KeptSeries] = []
      for resolution in Resolution.allCases {
        let rows = try Row.fetchCursor(
          db,
          sql: "SELECT instrument, count(*), min(start), max(start) FROM \(resolution.table) GROUP BY instrument")
        while let row = try rows.next() {
          guard let symbol = symbols[row[0]] else { continue }
          let openGaps = try Int.fetchOne(
            db, sql: "SELECT count(*) FROM gap WHERE instrument = ? AND filled > ?",
            arguments: [row[0] as Int64, resolution.rawValue])
          result.append(
            KeptSeries(
              symbol: symbol, resolution: resolution, candles: row[1], first: resolution.start(of: row[2]),
              last: resolution.start(of: row[3]), coveredFrom: try CoverageTable.start(row[0], resolution, db),
              openGaps: openGaps ?? 0))
        }
      }
      return result.sorted { ($0.symbol, $0.resolution) < ($1.symbol, $1.resolution) }
    }
  }

  /// Calls `body` with each candle in order of time, without holding more than one. False if the symbol is unknown.
  package func forEachCandle(
    of symbol: String, _ resolution: Resolution, in range: Range<Timestamp>, _ body: (StoredCandle) throws -> Void
  ) throws(DataFileError) -> Bool {
    guard let id = id(symbol) else { return false }
    try file.read { try CandleTable(resolution: resolution).forEach(id, range, $0, body) }
    return true
  }

  /// Finds mistakes that SQLite cannot detect: rows without an instrument, impossible candles, overlapping gaps.
  /// O(rows).
  package func inconsistencies() throws(DataFileError) -> [String] {
    try file.read { db in
      var problems: [String] = []
      func count(_ sql: String, _ problem: String) throws {
        let count = try Int.fetchOne(db, sql: sql) ?? 0
        if count > 0 { problems.append("\(count) \(problem)") }
      }
      for resolution in Resolution.allCases {
        try count(
          "SELECT count(*) FROM \(resolution.table) WHERE instrument NOT IN (SELECT id FROM instrument)",
          "candles of \(resolution.name) belong to no instrument")
        try count(
          "SELECT count(*) FROM \(resolution.table) WHERE low > open OR low > close OR high < open OR high < close",
          "candles of \(resolution.name) have an impossible high or low")
      }
      try count(
        "SELECT count(*) FROM gap a JOIN gap b USING (instrument) WHERE b.start > a.start AND b.start < a.end",
        "gaps overlap")
      return problems
    }
  }

  static func range(
    _ id: Int64, _ resolution: Resolution, _ range: Range<Timestamp>, limit: Int? = nil, newest: Bool = false,
    _ db: Database
  ) throws -> HistoryRange {
    HistoryRange(
      candles: try CandleTable(resolution: resolution).candles(id, range, limit: limit, newest: newest, db),
      coveredFrom: try CoverageTable.start(id, resolution, db),
      gaps: try GapTable.gaps(id, in: range, db).filter { $0.isOpen(at: resolution) })
  }
}
