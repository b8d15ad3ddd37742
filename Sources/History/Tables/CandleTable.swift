import Foundation
import GRDB
import MarketData

/// The candles of one resolution. All functions are O(log n) plus what they return.
struct CandleTable {
  let resolution: Resolution

  private static let columns = """
    start, open, high, low, close, volume, quote_volume, trades, scales, quality, revision
    """

  /// Stores a candle, unless the table has a better one of the same interval (`StoredCandle.Quality`). A candle
  /// computed from a whole interval replaces any other: it follows its parts, even if one of them is now the venue's.
  func put(_ candle: StoredCandle, instrument: Int64, isComputed: Bool = false, _ db: Database) throws {
    let replaced: StoredCandle.Quality = isComputed && candle.quality > .partial ? .own : candle.quality
    let statement = try db.cachedStatement(
      sql: """
        INSERT INTO \(resolution.table) (instrument, \(Self.columns))
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
        ON CONFLICT DO UPDATE SET
          open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close,
          volume = excluded.volume, quote_volume = excluded.quote_volume, trades = excluded.trades,
          scales = excluded.scales, quality = excluded.quality, revision = excluded.revision
        WHERE quality <= ?13
        """)
    try statement.execute(arguments: [
      instrument, resolution.number(of: candle.start), candle.open, candle.high, candle.low, candle.close,
      StoredInteger128.value(candle.volume), candle.quoteVolume.map(StoredInteger128.value), candle.trades,
      Int64(candle.priceScale) << 8 | Int64(candle.sizeScale), candle.quality.rawValue, Int64(candle.revision),
      replaced.rawValue,
    ])
  }

  /// Stores the trades that an earlier run had seen of an interval, unless the interval has a better candle, or one of
  /// the same trades and later ones.
  func putUnlessGrown(_ candle: StoredCandle, instrument: Int64, _ db: Database) throws {
    let end = candle.start + resolution.length
    if let present = try candles(instrument, candle.start..<end, db).first, !candle.continues(present) { return }
    try put(candle, instrument: instrument, db)
  }

  /// The candles that begin in `range`, in order of time: at most `limit`, the oldest or the newest.
  func candles(
    _ instrument: Int64, _ range: Range<Timestamp>, limit: Int? = nil, newest: Bool = false, _ db: Database
  ) throws -> [StoredCandle] {
    var result: [StoredCandle] = []
    try forEach(instrument, range, limit: limit, isDescending: newest, db) { result.append($0) }
    if newest { result.reverse() }
    return result
  }

  /// Calls `body` with each candle that begins in `range`, one by one, so that a whole history needs no memory.
  func forEach(
    _ instrument: Int64, _ range: Range<Timestamp>, limit: Int? = nil, isDescending: Bool = false, _ db: Database,
    _ body: (StoredCandle) throws -> Void
  ) throws {
    let statement = try db.cachedStatement(
      sql: """
        SELECT \(Self.columns) FROM \(resolution.table) WHERE instrument = ? AND start >= ? AND start < ?
        ORDER BY start\(isDescending ? " DESC" : "") LIMIT ?
        """)
    // The first interval that begins in the range, and the first that begins after it.
    let first = resolution.number(of: range.lowerBound + (resolution.length - 1))
    let end = resolution.number(of: range.upperBound + (resolution.length - 1))
    let rows = try CandleRow.fetchCursor(statement, arguments: [instrument, first, end, limit ?? -1])
    while let row = try rows.next() {
      var candle = row.candle
      candle.start = resolution.start(of: row.number)
      try body(candle)
    }
  }

  /// Deletes at most `limit` candles that begin before `cut`; returns their number.
  func removeAll(_ instrument: Int64, before cut: Timestamp, limit: Int, _ db: Database) throws -> Int {
    let statement = try db.cachedStatement(
      sql: """
        DELETE FROM \(resolution.table) WHERE instrument = ?1 AND start < ?2 AND start <= coalesce(
          (SELECT start FROM \(resolution.table) WHERE instrument = ?1 ORDER BY start LIMIT 1 OFFSET ?3),
          \(Int64.max))
        """)
    try statement.execute(arguments: [instrument, resolution.number(of: cut), limit])
    return db.changesCount
  }
}

/// Sums of up to 128 bits in a column: an integer if 64 bits are enough, else 16 bytes.
enum StoredInteger128 {
  static func value(_ integer: Int128) -> DatabaseValue {
    if let small = Int64(exactly: integer) { return small.databaseValue }
    return withUnsafeBytes(of: integer.bigEndian) { Data($0) }.databaseValue
  }

  static func integer(_ row: Row, _ index: Int) -> Int128? {
    switch (row[index] as DatabaseValue).storage {
    case .int64(let value): return Int128(value)
    case .blob(let data) where data.count == 16:
      return Int128(bigEndian: data.withUnsafeBytes { $0.loadUnaligned(as: Int128.self) })
    default: return nil
    }
  }
}
