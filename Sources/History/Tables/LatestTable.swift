import Foundation
import GRDB
import MarketData

/// The newest state of each instrument.
enum LatestTable {
  private static let columns = """
    time, scales, trade_id, trade_price, trade_size, trade_is_buy, trade_time, start, open, high, low, close, volume,
    quote_volume, trades, last_trades
    """

  static func put(_ state: LatestState, instrument: Int64, _ db: Database) throws {
    let statement = try db.cachedStatement(
      sql: """
        INSERT OR REPLACE INTO latest (instrument, \(columns))
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    let minute = state.minute
    try statement.execute(arguments: [
      instrument, state.time.rawValue, Int64(state.priceScale) << 8 | Int64(state.sizeScale), state.trade?.id,
      state.trade?.price, state.trade?.size, state.trade.map { $0.isBuy ? 1 : 0 }, state.trade?.time.rawValue,
      minute?.start.rawValue, minute?.open, minute?.high, minute?.low, minute?.close,
      minute.map { WideInteger.value($0.volume) }, minute?.quoteVolume.map(WideInteger.value), minute?.trades,
      LastTrades.data(state.trades),
    ])
  }

  static func state(_ instrument: Int64, symbol: String, _ db: Database) throws -> LatestState? {
    let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM latest WHERE instrument = ?")
    guard let row = try Row.fetchOne(statement, arguments: [instrument]) else { return nil }
    let (price, size) = StoredNumber.scales(row[1])
    var state = LatestState(
      symbol: symbol, time: StoredNumber.time(row[0]), priceScale: price, sizeScale: size, trade: nil, minute: nil)
    if let id: String = row[2] {
      state.trade = LatestState.LastTrade(
        id: id, price: row[3], size: row[4], isBuy: row[5], time: StoredNumber.time(row[6]))
    }
    if let start: Int64 = row[7] {
      state.minute = StoredCandle(
        start: StoredNumber.time(start), open: row[8], high: row[9], low: row[10], close: row[11],
        volume: StoredNumber.volume(WideInteger.integer(row, 12) ?? 0),
        quoteVolume: WideInteger.integer(row, 13).map(StoredNumber.volume),
        trades: (row[14] as Int64?).map(StoredNumber.trades),
        priceScale: price, sizeScale: size, quality: .partial)
    }
    if let data: Data = row[15] { state.trades = LastTrades.trades(data) }
    return state
  }
}
