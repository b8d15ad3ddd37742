import Bytes
import GRDB
import MarketData

/// The stored instruments.
enum StoredInstrumentTable {
  /// Adds an instrument or updates its description; returns its row.
  static func put(
    _ instrument: Instrument, as symbol: String, now: Timestamp, _ db: Database
  ) throws -> Int64 {
    var expiry: String?
    if case .future(let day) = instrument.kind { expiry = day }
    let statement = try db.cachedStatement(
      sql: """
        INSERT INTO instrument (symbol, venue, venue_symbol, base, quote, family, expiry, contract_mantissa,
          contract_scale, price_scale, size_scale, first_seen, last_seen)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12)
        ON CONFLICT (symbol) DO UPDATE SET
          venue_symbol = excluded.venue_symbol, contract_mantissa = excluded.contract_mantissa,
          contract_scale = excluded.contract_scale, price_scale = excluded.price_scale,
          size_scale = excluded.size_scale, last_seen = excluded.last_seen
        RETURNING id
        """)
    let id = try Int64.fetchOne(
      statement,
      arguments: [
        symbol, instrument.venue, instrument.venueSymbol, instrument.base, instrument.quote,
        instrument.kind.family.rawValue, expiry, instrument.contractSize.mantissa,
        Int64(instrument.contractSize.scale), Int64(instrument.priceScale), Int64(instrument.sizeScale), now.rawValue,
      ])
    guard let id else { throw DatabaseError(resultCode: .SQLITE_INTERNAL, message: "an instrument has no row") }
    return id
  }

  /// All rows by symbol.
  static func all(_ db: Database) throws -> [String: Int64] {
    var result: [String: Int64] = [:]
    let rows = try Row.fetchCursor(db, sql: "SELECT symbol, id FROM instrument")
    while let row = try rows.next() { result[row[0]] = row[1] }
    return result
  }

  /// An instrument as it was last described; nil if the symbol is unknown.
  static func instrument(_ symbol: String, _ db: Database) throws -> Instrument? {
    let row = try Row.fetchOne(
      db,
      sql: """
        SELECT venue, venue_symbol, base, quote, family, expiry, contract_mantissa, contract_scale, price_scale,
          size_scale FROM instrument WHERE symbol = ?
        """, arguments: [symbol])
    guard let row else { return nil }
    let kind: Instrument.Kind =
      switch Instrument.Kind.Family(rawValue: row[4]) {
      case .perpetual: .perpetual
      case .future: .future(expiry: row[5] ?? "")
      case .spot, nil: .spot
      }
    return Instrument(
      id: InstrumentID(0), venue: row[0], venueSymbol: row[1], base: row[2], quote: row[3], kind: kind,
      contractSize: Decimal64(mantissa: row[6], scale: StoredNumber.scale(row[7])),
      priceScale: StoredNumber.scale(row[8]), sizeScale: StoredNumber.scale(row[9]))
  }
}
