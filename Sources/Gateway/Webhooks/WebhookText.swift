import Alerts
import Bytes
import History
import MarketData

/// The texts for webhooks and their owners.
enum WebhookText {
  /// The body of a delivery.
  static func body(_ delivery: Int64, _ name: String, _ firing: StoredFiring, isReminder: Bool) -> String {
    var out = ByteBuffer(capacity: 256)
    out.append("{\"type\":\"firing\",\"delivery\":\"")
    out.append(integer: delivery)
    out.append("\",\"alert\":{\"id\":")
    out.append(json: firing.alert.text)
    out.append(",\"name\":")
    out.append(json: name)
    out.append("},\"firing\":{")
    firing.appendFields(to: &out)
    if isReminder { out.append(",\"reminder\":true") }
    out.append("}}")
    return out.description
  }

  /// Appends a webhook as its owner sees it, without the brace at the end.
  static func append(_ webhook: StoredWebhook, _ outbox: WebhookOutbox, to out: inout ByteBuffer) {
    out.append("{\"id\":\"")
    out.append(integer: webhook.id)
    out.append("\",\"url\":")
    out.append(json: webhook.url)
    out.append(",\"created\":")
    out.append(integer: webhook.created.microseconds)
    out.append(",\"waiting\":")
    out.append(integer: Int64(outbox.waitingCount(webhook.id)))
    if let delivery = outbox.failing(webhook.id) {
      out.append(",\"failing\":{\"delivery\":\"")
      out.append(integer: delivery.id)
      out.append("\",\"attempts\":")
      out.append(integer: Int64(delivery.attempts))
      out.append(",\"reason\":")
      out.append(json: delivery.reason ?? "")
      out.append(",\"next\":")
      out.append(integer: delivery.next.microseconds)
      out.append(UInt8(ascii: "}"))
    }
    out.append(",\"dead\":[")
    for (index, delivery) in outbox.dead(webhook).enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append("{\"delivery\":\"")
      out.append(integer: delivery.id)
      out.append("\",\"alert\":")
      out.append(json: delivery.alert.text)
      out.append(",\"number\":")
      out.append(integer: UInt64(delivery.number))
      out.append(",\"created\":")
      out.append(integer: delivery.created.microseconds)
      out.append(",\"attempts\":")
      out.append(integer: Int64(delivery.attempts))
      out.append(",\"reason\":")
      out.append(json: delivery.reason ?? "")
      out.append(UInt8(ascii: "}"))
    }
    out.append("]")
  }
}
