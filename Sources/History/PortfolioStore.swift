import Bytes
import Foundation
import GRDB
import MarketData
import Portfolio

/// One change of one portfolio: all of it is written, or nothing.
package struct PortfolioBatch: Sendable {
  /// New and changed portfolios, without their transactions.
  package var heads: [StoredPortfolio] = []
  /// New and changed transactions.
  package var entries: [(portfolio: Int64, entry: StoredPortfolio.Entry)] = []
  package var removedEntries: [(portfolio: Int64, number: Int64)] = []
  package var removed: [Int64] = []
  package var keys: [StoredPortfolioKey] = []
  /// At most the next unused id, where the heads do not show it.
  package var nextID: Int64 = 1
  package var now: Timestamp

  package init(now: Timestamp) { self.now = now }
}

/// Portfolios in the data file. `load` waits for the disk.
package struct PortfolioStore: Sendable {
  /// The whole content, for a start.
  package struct Contents: Sendable {
    /// By id.
    package var portfolios: [StoredPortfolio] = []
    /// Portfolios that this version cannot read, with the reason; they stay in the file unchanged.
    package var unreadable: [(id: Int64, reason: String)] = []
    /// The oldest first.
    package var keys: [StoredPortfolioKey] = []
    package var nextID: Int64 = 1

    package init() {}
  }

  private struct Unreadable: Error {
    var what: String
  }

  package let file: DataFile

  package init(file: DataFile) { self.file = file }

  package func load() throws(DataFileError) -> Contents {
    try file.read { db in
      var contents = Contents()
      for row in try Row.fetchAll(db, sql: "SELECT * FROM portfolio ORDER BY id") {
        do {
          contents.portfolios.append(try Self.portfolio(row, db))
        } catch let error as Unreadable {
          contents.unreadable.append((row["id"], error.what))
        }
      }
      for row in try Row.fetchAll(db, sql: "SELECT * FROM portfolio_request ORDER BY time, owner, key") {
        guard let portfolio = StoredNumber.id(row["portfolio"]) else { continue }
        contents.keys.append(
          StoredPortfolioKey(
            owner: row["owner"], key: row["key"], digest: [UInt8](row["digest"] as Data), portfolio: portfolio,
            number: (row["number"] as Int64?).map(StoredNumber.count), time: StoredNumber.time(row["time"])))
      }
      contents.nextID = StoredNumber.count(try Int64.fetchOne(db, sql: "SELECT next FROM portfolio_next") ?? 1)
      return contents
    }
  }

  private static func portfolio(_ row: Row, _ db: Database) throws -> StoredPortfolio {
    let (method, positions): (String, String) = (row["method"], row["positions"])
    guard let method = CostMethod(rawValue: method) else { throw Unreadable(what: "the cost method \(method)") }
    guard let id = StoredNumber.id(row["id"]) else { throw Unreadable(what: "the id") }
    var portfolio = StoredPortfolio(
      id: id, owner: row["owner"], name: row["name"], currency: row["currency"],
      method: method,
      nextNumber: StoredNumber.count(row["next_transaction"]), revision: StoredNumber.count(row["revision"]),
      created: StoredNumber.time(row["created"]))
    do {
      portfolio.positions = try PortfolioForm.positions(Array(positions.utf8).span.bytes)
    } catch {
      throw Unreadable(what: "\(error.field): \(error.reason)")
    }
    let rows = try Row.fetchAll(
      db, sql: "SELECT * FROM portfolio_transaction WHERE portfolio = ? ORDER BY time, number",
      arguments: [row["id"] as Int64])
    for row in rows {
      let (kind, number): (String, Int64) = (row["kind"], row["number"])
      guard let kind = PortfolioTransaction.Kind(rawValue: kind), let quantity = decimal(row["quantity"]) else {
        throw Unreadable(what: "transaction \(number)")
      }
      portfolio.entries.append(
        .init(
          number: StoredNumber.count(number),
          transaction: PortfolioTransaction(
            kind, row["asset"], quantity: quantity, price: decimal(row["price"]), fee: decimal(row["fee"]),
            time: StoredNumber.time(row["time"]))))
    }
    return portfolio
  }

  private static func decimal(_ text: String?) -> Decimal64? {
    guard let text else { return nil }
    return try? DecimalText.parse(Array(text.utf8).span.bytes)
  }

  private static func text(_ value: Decimal64?) -> String? {
    value.map { WideDecimal($0).text }
  }

  /// Writes a batch without waiting. Calls `completion` on the writer's queue when the batch is in the file, or has
  /// failed.
  /// - Returns: false, without effect, if too many batches wait already.
  package func submit(
    _ batch: PortfolioBatch, completion: @escaping @Sendable (Result<Void, DataFileError>) -> Void
  ) -> Bool {
    file.submit({ try Self.write(batch, $0) }, completion: completion)
  }

  /// Writes a batch and waits for it.
  package func write(_ batch: PortfolioBatch) throws(DataFileError) { try file.write { try Self.write(batch, $0) } }

  private static func write(_ batch: PortfolioBatch, _ db: Database) throws {
    for portfolio in batch.heads {
      var positions = ByteBuffer()
      portfolio.positions.append(to: &positions)
      try db.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO portfolio
          (id, owner, name, currency, method, positions, next_transaction, revision, created)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        portfolio.id, portfolio.owner, portfolio.name, portfolio.currency, portfolio.method.rawValue,
        positions.description, portfolio.nextNumber, portfolio.revision, portfolio.created.rawValue,
      ])
    }
    // A number is never used twice, even if its portfolio was deleted.
    if let newest = batch.heads.map(\.id).max() {
      let next = max(newest + 1, batch.nextID)
      try db.execute(sql: "UPDATE portfolio_next SET next = max(next, ?)", arguments: [next])
    }
    for (portfolio, entry) in batch.entries {
      let transaction = entry.transaction
      try db.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO portfolio_transaction
          (portfolio, number, kind, asset, quantity, price, fee, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        portfolio, entry.number, transaction.kind.rawValue, transaction.asset, text(transaction.quantity),
        text(transaction.price), text(transaction.fee), transaction.time.rawValue,
      ])
    }
    for (portfolio, number) in batch.removedEntries {
      try db.cachedStatement(sql: "DELETE FROM portfolio_transaction WHERE portfolio = ? AND number = ?")
        .execute(arguments: [portfolio, number])
    }
    for id in batch.removed {
      try db.cachedStatement(sql: "DELETE FROM portfolio WHERE id = ?").execute(arguments: [id])
      try db.cachedStatement(sql: "DELETE FROM portfolio_transaction WHERE portfolio = ?").execute(arguments: [id])
    }
    try write(batch.keys, now: batch.now, db)
  }

  /// Adds keys, and deletes those that are too old or too many.
  private static func write(_ keys: [StoredPortfolioKey], now: Timestamp, _ db: Database) throws {
    guard !keys.isEmpty else { return }
    for key in keys {
      try db.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO portfolio_request (owner, key, digest, portfolio, number, time)
          VALUES (?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [key.owner, key.key, Data(key.digest), key.portfolio, key.number, key.time.rawValue])
    }
    try db.cachedStatement(sql: "DELETE FROM portfolio_request WHERE time < ?")
      .execute(arguments: [(now + -StoredRequestKey.lifetime).rawValue])
    for owner in Set(keys.map(\.owner)).sorted() {
      try db.cachedStatement(
        sql: """
          DELETE FROM portfolio_request WHERE owner = ? AND key NOT IN
          (SELECT key FROM portfolio_request WHERE owner = ? ORDER BY time DESC LIMIT ?)
          """
      ).execute(arguments: [owner, owner, StoredRequestKey.limitOfOwner])
    }
  }
}
