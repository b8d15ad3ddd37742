import Foundation
import GRDB
import MarketData

/// The newest state of each instrument.
enum LatestTable {
  private static let columns = """
    time, scales, trade_id, trade_price, trade_size, trade_is_buy, trade_time, last_trades, open_minutes
    """

  static func put(_ state: LatestState, instrument: Int64, _ db: Database) throws {
    let statement = try db.cachedStatement(
      sql: """
        INSERT OR REPLACE INTO latest (instrument, \(columns))
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    try statement.execute(arguments: [
      instrument, state.time.rawValue, Int64(state.priceScale) << 8 | Int64(state.sizeScale), state.trade?.id,
      state.trade?.price, state.trade?.size, state.trade.map { $0.isBuy ? 1 : 0 }, state.trade?.time.rawValue,
      LastTrades.data(state.trades), OpenMinutes.data(state.minutes),
    ])
  }

  static func state(_ instrument: Int64, symbol: String, _ db: Database) throws -> LatestState? {
    let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM latest WHERE instrument = ?")
    guard let row = try Row.fetchOne(statement, arguments: [instrument]) else { return nil }
    let (price, size) = StoredNumber.scales(row[1])
    var state = LatestState(
      symbol: symbol, time: StoredNumber.time(row[0]), priceScale: price, sizeScale: size, trade: nil, minutes: [])
    if let id: String = row[2] {
      state.trade = LatestState.LastTrade(
        id: id, price: row[3], size: row[4], isBuy: row[5], time: StoredNumber.time(row[6]))
    }
    if let data: Data = row[7] { state.trades = LastTrades.trades(data) }
    if let data: Data = row[8] { state.minutes = OpenMinutes.minutes(data, priceScale: price, sizeScale: size) }
    return state
  }
}
