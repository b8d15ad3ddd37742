import Alerts
import Bytes
import GRDB
import MarketData

/// A rule as it is stored.
package struct StoredAlert: Sendable, Hashable {
  package var id: AlertID
  package var owner: AlertOwner
  /// The name that its owner gave it.
  package var name: String
  package var rule: AlertRule
  package var progress: AlertProgress
  /// Raised by every change that the owner made.
  package var revision: Int64
  package var created: Timestamp

  package init(
    id: AlertID, owner: AlertOwner, name: String, rule: AlertRule, progress: AlertProgress, revision: Int64 = 1,
    created: Timestamp
  ) {
    self.id = id
    self.owner = owner
    self.name = name
    self.rule = rule
    self.progress = progress
    self.revision = revision
    self.created = created
  }
}

/// A firing as it is stored.
package struct StoredFiring: Sendable, Hashable {
  package var alert: AlertID
  package var number: UInt32
  package var time: Timestamp
  package var symbol: String?
  package var value: Decimal64?
  package var lateBy: Int64
  package var missed: UInt32

  package init(_ firing: AlertFiring, symbol: String?) {
    alert = firing.alert
    number = firing.number
    time = firing.time
    self.symbol = symbol
    value = firing.value
    lateBy = firing.lateBy
    missed = firing.missed
  }

  init(row: Row) {
    alert = AlertID(rawValue: UInt64(bitPattern: row["alert"]))
    number = UInt32(clamping: row["number"] as Int64)
    time = StoredNumber.time(row["time"])
    symbol = row["symbol"]
    let mantissa: Int64? = row["value"]
    value = mantissa.map { Decimal64(mantissa: $0, scale: StoredNumber.scale(row["value_scale"] as Int64? ?? 0)) }
    lateBy = StoredNumber.count(row["late_by"])
    missed = UInt32(clamping: row["missed"] as Int64)
  }
}

/// The changes of alerts in one turn. They are written in one transaction, so that the file has a firing together with
/// the phase that prevents a second one, or neither.
package struct AlertBatch: Sendable {
  /// Owners that may be new; existing ones stay unchanged.
  package var owners: [(owner: AlertOwner, subject: String)] = []
  /// New rules, and rules whose text, name or revision changed.
  package var rules: [StoredAlert] = []
  package var removed: [AlertID] = []
  package var keys: [StoredRequestKey] = []
  package var webhooks = WebhookBatch()
  package var progress: [(id: AlertID, progress: AlertProgress)] = []
  package var firings: [StoredFiring] = []
  /// Markets that are live now.
  package var live: [String] = []
  package var now: Timestamp

  package init(now: Timestamp) { self.now = now }
}

/// Rules, their progress and their firings in the data file. All functions but `submit` wait for the disk.
package struct AlertStore: Sendable {
  /// The most firings of a rule that are kept, the newest ones; the rule still counts older unacknowledged ones.
  package static let firingLimit: Int64 = 100

  /// The whole content, for a start.
  package struct Contents: Sendable {
    package var owners: [(owner: AlertOwner, subject: String)] = []
    /// By id.
    package var alerts: [StoredAlert] = []
    /// Rules that this version cannot read, with the reason; they stay in the file unchanged.
    package var unreadable: [(id: AlertID, reason: String)] = []
    package var liveUntil: [String: Timestamp] = [:]
    /// The newest firing of each rule that has one.
    package var newest: [AlertID: StoredFiring] = [:]
    /// The oldest first.
    package var keys: [StoredRequestKey] = []
    /// By id.
    package var webhooks: [StoredWebhook] = []
    package var deliveries: [StoredDelivery] = []
    /// The next unused numbers of both.
    package var nextWebhook: Int64 = 1
    package var nextDelivery: Int64 = 1
    /// For `AlertEngine.init`.
    package var nextGeneration: UInt32 = 1

    package init() {}
  }

  package let file: DataFile

  package init(file: DataFile) { self.file = file }

  package func load() throws(DataFileError) -> Contents {
    try file.read { db in
      var contents = Contents()
      for row in try Row.fetchAll(db, sql: "SELECT id, subject FROM alert_owner ORDER BY id") {
        if let owner = StoredNumber.owner(row[0]) { contents.owners.append((owner, row[1])) }
      }
      for row in try Row.fetchAll(db, sql: "SELECT * FROM alert_rule ORDER BY id") {
        let id = AlertID(rawValue: UInt64(bitPattern: row["id"]))
        let (rule, progress): (String, String) = (row["rule"], row["progress"])
        guard let owner = StoredNumber.owner(row["owner"]) else {
          contents.unreadable.append((id, "it has no owner"))
          continue
        }
        do {
          contents.alerts.append(
            StoredAlert(
              id: id, owner: owner, name: row["name"],
              rule: try AlertRule(json: Array(rule.utf8).span.bytes),
              progress: try AlertProgress(json: Array(progress.utf8).span.bytes),
              revision: StoredNumber.count(row["revision"]),
              created: StoredNumber.time(row["created"])))
        } catch {
          contents.unreadable.append((id, "\(error)"))
        }
      }
      for row in try Row.fetchAll(db, sql: "SELECT symbol, live_until FROM alert_source") {
        contents.liveUntil[row[0]] = StoredNumber.time(row[1])
      }
      for row in try Row.fetchAll(db, sql: "SELECT *, max(number) FROM alert_firing GROUP BY alert") {
        let firing = StoredFiring(row: row)
        contents.newest[firing.alert] = firing
      }
      contents.keys = try StoredRequestKey.load(db)
      contents.webhooks = try StoredWebhook.load(db)
      contents.deliveries = try StoredDelivery.load(db)
      if let row = try Row.fetchOne(db, sql: "SELECT webhook, delivery FROM alert_webhook_number") {
        (contents.nextWebhook, contents.nextDelivery) = (StoredNumber.count(row[0]), StoredNumber.count(row[1]))
      }
      let next = try Int64.fetchOne(db, sql: "SELECT next FROM alert_generation") ?? 1
      contents.nextGeneration = UInt32(min(StoredNumber.count(next), Int64(AlertEngine.generationLimit)))
      return contents
    }
  }

  /// The owner of a subject, made if it does not exist.
  package func owner(of subject: String) throws(DataFileError) -> AlertOwner {
    try file.write { db in
      try db.execute(sql: "INSERT OR IGNORE INTO alert_owner (subject) VALUES (?)", arguments: [subject])
      let id = try Int64.fetchOne(db, sql: "SELECT id FROM alert_owner WHERE subject = ?", arguments: [subject]) ?? 0
      return AlertOwner(rawValue: UInt32(clamping: id))
    }
  }

  /// The firings of a rule, the newest first.
  package func firings(of id: AlertID, limit: Int = 100) throws(DataFileError) -> [StoredFiring] {
    try file.read { db in
      try Row.fetchAll(
        db, sql: "SELECT * FROM alert_firing WHERE alert = ? ORDER BY number DESC LIMIT ?",
        arguments: [Int64(bitPattern: id.rawValue), limit]
      ).map(StoredFiring.init(row:))
    }
  }

  /// Writes a batch: all of it or nothing. Report no firing before this has returned.
  package func write(_ batch: AlertBatch) throws(DataFileError) {
    try file.write { try Self.write(batch, $0) }
  }

  /// Writes a batch without waiting. Calls `completion` on the writer's queue when the batch is in the file, or has
  /// failed.
  /// - Returns: false, without effect, if too many batches wait already.
  package func submit(
    _ batch: AlertBatch, completion: @escaping @Sendable (Result<Void, DataFileError>) -> Void
  ) -> Bool {
    file.submit({ try Self.write(batch, $0) }, completion: completion)
  }

  private static func write(_ batch: AlertBatch, _ db: Database) throws {
    for (owner, subject) in batch.owners {
      // A subject whose row was left out gets another.
      try db.cachedStatement(sql: "INSERT OR REPLACE INTO alert_owner (id, subject) VALUES (?, ?)")
        .execute(arguments: [Int64(owner.rawValue), subject])
    }
    for alert in batch.rules {
      let statement = try db.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO alert_rule (id, owner, name, rule, progress, revision, created)
          VALUES (?, ?, ?, ?, ?, ?, ?)
          """)
      try statement.execute(arguments: [
        Int64(bitPattern: alert.id.rawValue), Int64(alert.owner.rawValue), alert.name, alert.rule.json,
        alert.progress.json, alert.revision, alert.created.rawValue,
      ])
    }
    // A number is never used twice, even if its rule was deleted.
    if let newest = batch.rules.map(\.id.generation).max() {
      try db.execute(sql: "UPDATE alert_generation SET next = max(next, ?)", arguments: [Int64(newest) + 1])
    }
    for (id, progress) in batch.progress {
      let statement = try db.cachedStatement(sql: "UPDATE alert_rule SET progress = ? WHERE id = ?")
      try statement.execute(arguments: [progress.json, Int64(bitPattern: id.rawValue)])
    }
    for firing in batch.firings {
      let statement = try db.cachedStatement(
        sql: """
          INSERT INTO alert_firing (alert, number, time, symbol, value, value_scale, late_by, missed)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)
          """)
      let alert = Int64(bitPattern: firing.alert.rawValue)
      try statement.execute(arguments: [
        alert, Int64(firing.number), firing.time.rawValue, firing.symbol, firing.value?.mantissa,
        firing.value.map { Int64($0.scale) }, firing.lateBy, Int64(firing.missed),
      ])
      try db.cachedStatement(sql: "DELETE FROM alert_firing WHERE alert = ? AND number <= ?")
        .execute(arguments: [alert, Int64(firing.number) - firingLimit])
    }
    try StoredRequestKey.write(batch.keys, now: batch.now, db)
    try batch.webhooks.write(db)
    for id in batch.removed {
      let id = Int64(bitPattern: id.rawValue)
      try db.cachedStatement(sql: "DELETE FROM alert_rule WHERE id = ?").execute(arguments: [id])
      try db.cachedStatement(sql: "DELETE FROM alert_firing WHERE alert = ?").execute(arguments: [id])
    }
    for symbol in batch.live {
      try db.cachedStatement(sql: "INSERT OR REPLACE INTO alert_source (symbol, live_until) VALUES (?, ?)")
        .execute(arguments: [symbol, batch.now.rawValue])
    }
  }
}
