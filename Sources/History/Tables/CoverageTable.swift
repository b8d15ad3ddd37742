import GRDB
import MarketData

/// Since when an instrument's candles are complete, by resolution, except for its gaps.
enum CoverageTable {
  static func start(_ instrument: Int64, _ resolution: Resolution, _ db: Database) throws -> Timestamp? {
    let statement = try db.cachedStatement(sql: "SELECT start FROM coverage WHERE instrument = ? AND resolution = ?")
    return try Int64.fetchOne(statement, arguments: [instrument, Int64(resolution.rawValue)])
      .map(StoredNumber.time)
  }

  /// The gateway observes the instrument from here on, for the first time.
  static func begin(_ instrument: Int64, at time: Timestamp, _ db: Database) throws {
    for resolution in Resolution.allCases where try start(instrument, resolution, db) == nil {
      try set(instrument, resolution, time, db)
    }
  }

  /// A venue's candles reach back to the beginning of `range`. That counts if they adjoin stored candles of the same
  /// length, or those that this length is computed from. Minutes always count; the time between is then a gap.
  static func extend(_ instrument: Int64, _ range: Range<Timestamp>, at resolution: Resolution, _ db: Database) throws {
    for coarse in Resolution.allCases[resolution.rawValue...] {
      guard let present = try start(instrument, coarse, db) else {
        try set(instrument, coarse, range.lowerBound, db)
        continue
      }
      guard range.lowerBound < present else { continue }
      let finer = try coarse.finer.flatMap { try start(instrument, $0, db) } ?? present
      if range.upperBound < min(present, finer) {
        guard coarse == .minute else { continue }
        try GapTable.insert(instrument, range.upperBound..<present, db)
      }
      try set(instrument, coarse, range.lowerBound, db)
    }
  }

  /// Older candles were deleted.
  static func raise(_ instrument: Int64, _ resolution: Resolution, to cut: Timestamp, _ db: Database) throws {
    try db.cachedStatement(
      sql: "UPDATE coverage SET start = ?3 WHERE instrument = ?1 AND resolution = ?2 AND start < ?3"
    )
    .execute(arguments: [instrument, Int64(resolution.rawValue), cut.rawValue])
  }

  private static func set(_ instrument: Int64, _ resolution: Resolution, _ time: Timestamp, _ db: Database) throws {
    try db.cachedStatement(sql: "INSERT OR REPLACE INTO coverage (instrument, resolution, start) VALUES (?, ?, ?)")
      .execute(arguments: [instrument, Int64(resolution.rawValue), time.rawValue])
  }
}
