import Alerts
import Bytes
import History
import MarketData

/// The texts for webhooks and their owners.
enum WebhookText {
  /// The body of a delivery.
  static func body(_ delivery: Int64, _ name: String, _ firing: StoredFiring, isReminder: Bool) -> String {
    var out = ByteBuffer(capacity: 256)
    out.appendObject { writer in
      writer.field("type", "firing")
      writer.field("delivery", String(delivery))
      writer.object("alert") { writer in
        writer.field("id", firing.alert.text)
        writer.field("name", name)
      }
      writer.object("firing") { writer in
        firing.appendFields(to: &writer)
        if isReminder { writer.field("reminder", true) }
      }
    }
    return out.description
  }

  /// Appends the fields of a webhook as its owner sees it.
  static func append(_ webhook: StoredWebhook, _ outbox: WebhookOutbox, to writer: inout JSONObjectWriter) {
    writer.field("id", String(webhook.id))
    writer.field("url", webhook.url)
    writer.field("created", webhook.created.microseconds)
    writer.field("waiting", Int64(outbox.waitingCount(webhook.id)))
    if let delivery = outbox.failing(webhook.id) {
      writer.object("failing") { writer in
        writer.field("delivery", String(delivery.id))
        writer.field("attempts", Int64(delivery.attempts))
        writer.field("reason", delivery.reason ?? "")
        writer.field("next", delivery.next.microseconds)
      }
    }
    writer.array("dead") { writer in
      for delivery in outbox.dead(webhook) {
        writer.object { writer in
          writer.field("delivery", String(delivery.id))
          writer.field("alert", delivery.alert.text)
          writer.field("number", UInt64(delivery.number))
          writer.field("created", delivery.created.microseconds)
          writer.field("attempts", Int64(delivery.attempts))
          writer.field("reason", delivery.reason ?? "")
        }
      }
    }
  }
}
