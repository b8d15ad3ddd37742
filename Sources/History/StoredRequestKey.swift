import Alerts
import Foundation
import GRDB
import MarketData

/// An idempotency key of a request that makes a rule, and that rule: a repeated request makes no second one.
package struct StoredRequestKey: Sendable, Hashable {
  /// How long a key is kept, µs.
  package static let lifetime = Microseconds.day
  /// The most keys of an owner that are kept, the newest ones.
  package static let limitOfOwner = 1_000

  package var owner: AlertOwner
  package var key: String
  /// The digest of the request: another request with the same key is a mistake.
  package var digest: [UInt8]
  package var alert: AlertID
  package var time: Timestamp

  package init(owner: AlertOwner, key: String, digest: [UInt8], alert: AlertID, time: Timestamp) {
    self.owner = owner
    self.key = key
    self.digest = digest
    self.alert = alert
    self.time = time
  }

  /// All stored keys, oldest first.
  static func load(_ db: Database) throws -> [StoredRequestKey] {
    try Row.fetchAll(db, sql: "SELECT * FROM alert_request ORDER BY time, owner, key").compactMap { row in
      guard let owner = StoredNumber.owner(row["owner"]) else { return nil }
      return StoredRequestKey(
        owner: owner, key: row["key"], digest: [UInt8](row["digest"] as Data),
        alert: AlertID(rawValue: UInt64(bitPattern: row["alert"])), time: StoredNumber.time(row["time"]))
    }
  }

  /// Adds keys, and deletes those that are too old or too many.
  static func write(_ keys: [StoredRequestKey], now: Timestamp, _ db: Database) throws {
    guard !keys.isEmpty else { return }
    for key in keys {
      try db.cachedStatement(
        sql: "INSERT OR REPLACE INTO alert_request (owner, key, digest, alert, time) VALUES (?, ?, ?, ?, ?)"
      ).execute(arguments: [
        Int64(key.owner.rawValue), key.key, Data(key.digest), Int64(bitPattern: key.alert.rawValue), key.time.rawValue,
      ])
    }
    try db.cachedStatement(sql: "DELETE FROM alert_request WHERE time < ?")
      .execute(arguments: [(now + -lifetime).rawValue])
    for owner in Set(keys.map(\.owner.rawValue)).sorted() {
      try db.cachedStatement(
        sql: """
          DELETE FROM alert_request WHERE owner = ? AND key NOT IN
          (SELECT key FROM alert_request WHERE owner = ? ORDER BY time DESC LIMIT ?)
          """
      ).execute(arguments: [Int64(owner), Int64(owner), limitOfOwner])
    }
  }
}
