import Access
import Alerts
import Bytes
import Dispatch
import HTTP1
import History
import MarketData
import PubSub
import Transport

/// Executes owners' requests about their webhooks. It belongs to the alert desk and runs on that desk's queue.
package struct WebhookDesk: Sendable {
  /// The most bytes of a URL.
  static let urlLimit = 1_000
  let desk: AlertDesk

  package init(desk: AlertDesk) { self.desk = desk }

  /// What owners get: JSON, or the reason why not.
  package typealias Reply = @Sendable (Result<[UInt8], ProtocolError>) -> Void

  /// Answers with all webhooks of an owner.
  package func list(_ subject: String, reply: @escaping Reply) {
    desk.queue.async { [desk] in
      let webhooks = desk.owners[subject].map { desk.outbox.webhooks(of: $0) } ?? []
      var writer = JSONObjectWriter(capacity: 1024)
      writer.object { writer in
        writer.array("webhooks") { writer in
          for webhook in webhooks { writer.object { WebhookText.append(webhook, desk.outbox, to: &$0) } }
        }
        writer.field("limit", Int64(desk.limits.webhooksOfOwner))
      }
      reply(.success(writer.takeBytes()))
    }
  }

  /// Answers with one webhook.
  package func read(_ id: String, of subject: String, reply: @escaping Reply) {
    desk.queue.async { [self] in
      guard let webhook = webhook(id, of: subject) else { return reply(.failure(DocumentKind.webhook.unknown(id))) }
      var writer = JSONObjectWriter(capacity: 512)
      writer.object { WebhookText.append(webhook, desk.outbox, to: &$0) }
      reply(.success(writer.takeBytes()))
    }
  }

  /// Makes a webhook. Its text has its secret, which nothing else ever shows.
  package func create(
    _ url: String, of subject: String,
    reply: @escaping @Sendable (Result<(id: Int64, text: [UInt8]), ProtocolError>) -> Void
  ) {
    desk.queue.async { [desk] in
      do throws(ProtocolError) { try desk.writes.checkAdmission() } catch { return reply(.failure(error)) }
      let owner = desk.owners.make(subject)
      guard desk.outbox.webhooks(of: owner).count < desk.limits.webhooksOfOwner else {
        desk.owners.forgetIfIdle(subject)
        return reply(
          .failure(
            ProtocolError(
              .tooManyAlerts, "you may have at most \(desk.limits.webhooksOfOwner) webhooks", hint: "delete one first"))
        )
      }
      let secret = "whsec_" + Base64URL.encode(desk.context.kernel.randomBytes(32))
      let webhook = desk.outbox.add(owner, url: url, secret: secret, now: desk.moment.wall)
      if desk.owners.store(owner) { desk.writes.draft.owners.append(owner) }
      desk.writes.wait { result in
        reply(
          result.map {
            var writer = JSONObjectWriter(capacity: 512)
            writer.object { writer in
              WebhookText.append(webhook, desk.outbox, to: &writer)
              writer.field("secret", secret)
            }
            return (webhook.id, writer.takeBytes())
          })
      }
      desk.settle()
    }
  }

  /// Deletes a webhook and its waiting deliveries.
  package func delete(
    _ id: String, of subject: String, reply: @escaping @Sendable (Result<Void, ProtocolError>) -> Void
  ) {
    desk.queue.async { [self] in
      do throws(ProtocolError) { try desk.writes.checkAdmission() } catch { return reply(.failure(error)) }
      guard let webhook = webhook(id, of: subject) else { return reply(.failure(DocumentKind.webhook.unknown(id))) }
      desk.outbox.remove(webhook.id)
      desk.writes.wait(reply)
      desk.settle()
    }
  }

  private func webhook(_ id: String, of subject: String) -> StoredWebhook? {
    guard let number = PortfolioCall.id(id), let webhook = desk.outbox.webhooks[number],
      desk.owners.subject(of: webhook.owner) == subject
    else { return nil }
    return webhook
  }

  /// Reads `{"url":"https://…"}`.
  /// - Throws: if the URL shows that webhooks may not be sent to it.
  package static func url(in body: [UInt8], _ addresses: WebhookAddresses) throws(ProtocolError) -> String {
    var url: String?
    do {
      var json = JSONScanner(body.span.bytes)
      try json.objectStart()
      while let key = try json.nextKey() {
        guard json.equals(key, "url"), json.peek() == .string else {
          throw ProtocolError(.badRequest, "a webhook has only the field `url`, a string")
        }
        let slice = try json.string()
        url = try json.decoded(slice)
      }
      try json.end()
    } catch {
      throw (error as? ProtocolError) ?? ProtocolError(.badRequest, "the body is not the JSON object that is expected")
    }
    guard let url, url.utf8.count <= urlLimit, let endpoint = EndpointURL(url), endpoint.scheme == .https else {
      throw ProtocolError(
        .invalidWebhook, "`url` must be an https URL of at most \(urlLimit) bytes, without user and fragment",
        hint: "{\"url\":\"https://push.example.com/tidegate\"}")
    }
    if let address = IPAddress(endpoint.host), !addresses.allows(address) {
      throw ProtocolError(
        .invalidWebhook, "webhooks are not sent to private addresses",
        hint: "the operator can allow them with webhooks.networks")
    }
    return url
  }
}
