import GRDB
import GRDBSQLite
import MarketData

/// A row of candles, read directly from SQLite's columns: a restart reads millions of them, and a `Row` would look up
/// and convert each of the eleven columns separately.
///
/// GRDB takes it for a single value, so that its fastest cursor reads it.
struct CandleRow: DatabaseValueConvertible, StatementColumnConvertible {
  /// The number of the interval, since 1970.
  let number: Int64
  /// The candle; its `start` follows from the resolution.
  let candle: StoredCandle

  /// Columns are those of `CandleTable.columns`.
  init?(sqliteStatement row: SQLiteStatement, index: CInt) {
    let scales = StoredNumber.scales(sqlite3_column_int64(row, index + 8))
    number = sqlite3_column_int64(row, index)
    candle = StoredCandle(
      start: .distantPast, open: sqlite3_column_int64(row, index + 1), high: sqlite3_column_int64(row, index + 2),
      low: sqlite3_column_int64(row, index + 3), close: sqlite3_column_int64(row, index + 4),
      volume: Self.wide(row, index + 5) ?? 0, quoteVolume: Self.wide(row, index + 6),
      trades: sqlite3_column_type(row, index + 7) == SQLITE_NULL
        ? nil : StoredNumber.trades(sqlite3_column_int64(row, index + 7)),
      priceScale: scales.price, sizeScale: scales.size,
      quality: StoredCandle.Quality(rawValue: sqlite3_column_int64(row, index + 9)) ?? .partial,
      revision: UInt32(clamping: sqlite3_column_int64(row, index + 10)))
  }

  /// As `WideInteger` writes it; nil for anything else.
  private static func wide(_ row: SQLiteStatement, _ index: CInt) -> Int128? {
    switch sqlite3_column_type(row, index) {
    case SQLITE_INTEGER: return Int128(sqlite3_column_int64(row, index))
    case SQLITE_BLOB:
      guard let bytes = sqlite3_column_blob(row, index), sqlite3_column_bytes(row, index) == 16 else { return nil }
      return StoredNumber.volume(Int128(bigEndian: bytes.loadUnaligned(as: Int128.self)))
    default: return nil
    }
  }

  // GRDB requires these; no single value converts to or from a row.
  var databaseValue: DatabaseValue { .null }
  static func fromDatabaseValue(_ dbValue: DatabaseValue) -> CandleRow? { nil }
}
