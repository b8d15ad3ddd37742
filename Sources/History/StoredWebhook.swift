import Alerts
import GRDB
import MarketData

/// A receiver of an owner's firings.
package struct StoredWebhook: Sendable, Hashable {
  package var id: Int64
  package var owner: AlertOwner
  package var url: String
  /// The key that signs requests. It leaves the gateway once, in the answer that creates the webhook.
  package var secret: String
  package var created: Timestamp

  package init(id: Int64, owner: AlertOwner, url: String, secret: String, created: Timestamp) {
    self.id = id
    self.owner = owner
    self.url = url
    self.secret = secret
    self.created = created
  }

  static func load(_ db: Database) throws -> [StoredWebhook] {
    try Row.fetchAll(db, sql: "SELECT * FROM alert_webhook ORDER BY id").compactMap { row in
      guard let id = StoredNumber.id(row["id"]), let owner = StoredNumber.owner(row["owner"]) else { return nil }
      return StoredWebhook(
        id: id, owner: owner, url: row["url"], secret: row["secret"], created: StoredNumber.time(row["created"]))
    }
  }
}

/// A firing that must be sent to a webhook, or was given up.
package struct StoredDelivery: Sendable, Hashable {
  /// In the order of the firings.
  package var id: Int64
  package var webhook: Int64
  package var alert: AlertID
  package var number: UInt32
  /// The JSON to send.
  package var body: String
  package var created: Timestamp
  package var attempts = 0
  /// When the next attempt is due.
  package var next: Timestamp
  /// Why the last attempt failed.
  package var reason: String?
  /// When it was given up; nil: it was not.
  package var dead: Timestamp?

  package init(
    id: Int64, webhook: Int64, alert: AlertID, number: UInt32, body: String, created: Timestamp
  ) {
    self.id = id
    self.webhook = webhook
    self.alert = alert
    self.number = number
    self.body = body
    self.created = created
    next = created
  }

  static func load(_ db: Database) throws -> [StoredDelivery] {
    try Row.fetchAll(db, sql: "SELECT * FROM alert_delivery ORDER BY id").compactMap { row in
      guard let id = StoredNumber.id(row["id"]), let webhook = StoredNumber.id(row["webhook"]) else { return nil }
      var delivery = StoredDelivery(
        id: id, webhook: webhook, alert: AlertID(rawValue: UInt64(bitPattern: row["alert"])),
        number: UInt32(clamping: row["number"] as Int64), body: row["body"],
        created: StoredNumber.time(row["created"]))
      delivery.attempts = Int(min(StoredNumber.count(row["attempts"]), 1_000_000))
      delivery.next = StoredNumber.time(row["next"])
      delivery.reason = row["reason"]
      delivery.dead = (row["dead"] as Int64?).map(StoredNumber.time)
      return delivery
    }
  }
}

/// The changes of webhooks and their deliveries in one turn.
package struct WebhookBatch: Sendable {
  package var made: [StoredWebhook] = []
  /// With all their deliveries.
  package var removed: [Int64] = []
  /// New ones, and those that failed or were given up.
  package var deliveries: [Int64: StoredDelivery] = [:]
  /// Delivered, or forgotten.
  package var done: Set<Int64> = []
  /// The next unused numbers of both; no number is used twice.
  package var nextWebhook: Int64 = 1
  package var nextDelivery: Int64 = 1

  package init() {}

  package var isEmpty: Bool { made.isEmpty && removed.isEmpty && deliveries.isEmpty && done.isEmpty }

  /// Joins a batch that could not be written with the one after it.
  package func followed(by next: WebhookBatch) -> WebhookBatch {
    var all = self
    all.made += next.made
    all.removed += next.removed
    all.deliveries.merge(next.deliveries) { _, new in new }
    all.done.formUnion(next.done)
    all.nextWebhook = max(nextWebhook, next.nextWebhook)
    all.nextDelivery = max(nextDelivery, next.nextDelivery)
    return all
  }

  func write(_ db: Database) throws {
    if !made.isEmpty || !deliveries.isEmpty {
      try db.cachedStatement(
        sql: "UPDATE alert_webhook_number SET webhook = max(webhook, ?), delivery = max(delivery, ?)"
      ).execute(arguments: [nextWebhook, nextDelivery])
    }
    for webhook in made {
      try db.cachedStatement(
        sql: "INSERT OR REPLACE INTO alert_webhook (id, owner, url, secret, created) VALUES (?, ?, ?, ?, ?)"
      ).execute(arguments: [
        webhook.id, Int64(webhook.owner.rawValue), webhook.url, webhook.secret, webhook.created.rawValue,
      ])
    }
    for (id, delivery) in deliveries.sorted(by: { $0.key < $1.key }) where !done.contains(id) {
      try db.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO alert_delivery
          (id, webhook, alert, number, body, created, attempts, next, reason, dead)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        id, delivery.webhook, Int64(bitPattern: delivery.alert.rawValue), Int64(delivery.number), delivery.body,
        delivery.created.rawValue, Int64(delivery.attempts), delivery.next.rawValue, delivery.reason,
        delivery.dead?.rawValue,
      ])
    }
    for id in done.sorted() {
      try db.cachedStatement(sql: "DELETE FROM alert_delivery WHERE id = ?").execute(arguments: [id])
    }
    for id in removed {
      try db.cachedStatement(sql: "DELETE FROM alert_webhook WHERE id = ?").execute(arguments: [id])
      try db.cachedStatement(sql: "DELETE FROM alert_delivery WHERE webhook = ?").execute(arguments: [id])
    }
  }
}
