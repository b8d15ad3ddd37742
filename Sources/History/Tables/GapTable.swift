import GRDB
import MarketData

/// A time in which the gateway did not observe an instrument.
package struct HistoryGap: Sendable, Equatable {
  package var start: Timestamp
  /// `distantFuture` while it continues.
  package var end: Timestamp
  /// The finest resolution at which a venue's candles have closed the gap, which closes all coarser ones, too; nil:
  /// none has.
  package var filled: Resolution?

  package init(start: Timestamp, end: Timestamp, filled: Resolution?) {
    self.start = start
    self.end = end
    self.filled = filled
  }

  /// Whether candles of this resolution are missing in it.
  package func isOpen(at resolution: Resolution) -> Bool { filled.map { $0 > resolution } ?? true }
}

/// Gaps by instrument. They never overlap each other.
enum GapTable {
  private static let unfilled = Int64(Resolution.allCases.count)

  /// Begins an open-ended gap, unless there is one already.
  static func open(_ instrument: Int64, at time: Timestamp, _ db: Database) throws {
    guard try last(instrument, db)?.end != .distantFuture else { return }
    // It begins after an earlier gap.
    let start = max(time, try last(instrument, db)?.end ?? .distantPast)
    try put(HistoryGap(start: start, end: .distantFuture, filled: nil), instrument, db)
  }

  /// Ends the open-ended gap, if there is one. A gap without length is deleted.
  static func close(_ instrument: Int64, at time: Timestamp, _ db: Database) throws {
    guard let gap = try last(instrument, db), gap.end == .distantFuture else { return }
    try remove(gap.start, instrument, db)
    if time > gap.start { try put(HistoryGap(start: gap.start, end: time, filled: nil), instrument, db) }
  }

  /// Adds a gap for the times in `range` that have none yet.
  static func insert(_ instrument: Int64, _ range: Range<Timestamp>, _ db: Database) throws {
    var start = range.lowerBound
    for gap in try gaps(instrument, in: range, db) {
      if start < gap.start { try put(HistoryGap(start: start, end: gap.start, filled: nil), instrument, db) }
      start = max(start, gap.end)
    }
    if start < range.upperBound {
      try put(HistoryGap(start: start, end: range.upperBound, filled: nil), instrument, db)
    }
  }

  /// Marks gaps in `range` as closed at `resolution`, and splits gaps that reach beyond it.
  static func fill(_ instrument: Int64, _ range: Range<Timestamp>, at resolution: Resolution, _ db: Database) throws {
    for gap in try gaps(instrument, in: range, db) where gap.isOpen(at: resolution) {
      try remove(gap.start, instrument, db)
      let start = max(gap.start, range.lowerBound)
      let end = min(gap.end, range.upperBound)
      if gap.start < start { try put(HistoryGap(start: gap.start, end: start, filled: gap.filled), instrument, db) }
      try put(HistoryGap(start: start, end: end, filled: resolution), instrument, db)
      if end < gap.end { try put(HistoryGap(start: end, end: gap.end, filled: gap.filled), instrument, db) }
    }
  }

  /// Deletes every gap, or part of one, in `range`, because nothing is missing there.
  static func remove(_ instrument: Int64, in range: Range<Timestamp>, _ db: Database) throws {
    for gap in try gaps(instrument, in: range, db) {
      try remove(gap.start, instrument, db)
      if gap.start < range.lowerBound {
        try put(HistoryGap(start: gap.start, end: range.lowerBound, filled: gap.filled), instrument, db)
      }
      if gap.end > range.upperBound {
        try put(HistoryGap(start: range.upperBound, end: gap.end, filled: gap.filled), instrument, db)
      }
    }
  }

  /// The gap that a moment lies in; nil if there is none. A gap that adjoins it is another one.
  static func around(_ time: Timestamp, _ instrument: Int64, _ db: Database) throws -> HistoryGap? {
    try gaps(instrument, in: time..<(time + 1), db).first
  }

  /// Whether candles of `resolution` are missing somewhere in `range`.
  static func isOpen(
    _ instrument: Int64, _ range: Range<Timestamp>, at resolution: Resolution, _ db: Database
  ) throws
    -> Bool
  {
    // Gaps do not overlap, so the last open one that begins before the end of the range reaches furthest.
    let statement = try db.cachedStatement(
      sql: "SELECT end FROM gap WHERE instrument = ? AND start < ? AND filled > ? ORDER BY start DESC LIMIT 1")
    let end = try Int64.fetchOne(
      statement, arguments: [instrument, range.upperBound.rawValue, Int64(resolution.rawValue)])
    return end.map { $0 > range.lowerBound.rawValue } ?? false
  }

  /// The gaps that touch `range`, in order of time.
  static func gaps(_ instrument: Int64, in range: Range<Timestamp>, _ db: Database) throws -> [HistoryGap] {
    let statement = try db.cachedStatement(
      sql: "SELECT start, end, filled FROM gap WHERE instrument = ? AND start < ? AND end > ? ORDER BY start")
    return try Row.fetchAll(
      statement, arguments: [instrument, range.upperBound.rawValue, range.lowerBound.rawValue]
    ).map(gap)
  }

  /// Deletes closed gaps from before `cut`.
  static func removeFilled(_ instrument: Int64, before cut: Timestamp, _ db: Database) throws {
    try db.cachedStatement(sql: "DELETE FROM gap WHERE instrument = ? AND end < ? AND filled < ?")
      .execute(arguments: [instrument, cut.rawValue, unfilled])
  }

  private static func last(_ instrument: Int64, _ db: Database) throws -> HistoryGap? {
    let statement = try db.cachedStatement(
      sql: "SELECT start, end, filled FROM gap WHERE instrument = ? ORDER BY start DESC LIMIT 1")
    return try Row.fetchOne(statement, arguments: [instrument]).map(gap)
  }

  private static func gap(_ row: Row) -> HistoryGap {
    let start = StoredNumber.time(row[0])
    let last: Int64 = row[1]
    // A gap that lasts still has no end.
    let end = last == Timestamp.distantFuture.rawValue ? .distantFuture : StoredNumber.time(last)
    let filled = Int(exactly: row[2] as Int64).flatMap { Resolution(rawValue: $0) }
    return HistoryGap(start: start, end: max(start, end), filled: filled)
  }

  private static func put(_ gap: HistoryGap, _ instrument: Int64, _ db: Database) throws {
    try db.cachedStatement(sql: "INSERT OR REPLACE INTO gap (instrument, start, end, filled) VALUES (?, ?, ?, ?)")
      .execute(arguments: [
        instrument, gap.start.rawValue, gap.end.rawValue, gap.filled.map { Int64($0.rawValue) } ?? unfilled,
      ])
  }

  private static func remove(_ start: Timestamp, _ instrument: Int64, _ db: Database) throws {
    try db.cachedStatement(sql: "DELETE FROM gap WHERE instrument = ? AND start = ?")
      .execute(arguments: [instrument, start.rawValue])
  }
}
