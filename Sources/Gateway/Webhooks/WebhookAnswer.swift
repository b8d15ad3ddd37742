import HTTP1
import PubSub

/// Answers `/v1/webhooks…`: an owner's webhooks.
struct WebhookAnswer: RouteAnswer {
  let request: APIRequest
  private var desk: WebhookDesk { WebhookDesk(desk: request.node.settings.alerts) }

  init(_ request: APIRequest) { self.request = request }

  func list() { desk.list(request.owner, reply: request.later()) }

  func read() {
    // `/v1/webhooks/` is the list, too.
    guard !request.name.isEmpty else { return list() }
    desk.read(request.name, of: request.owner, reply: request.later())
  }

  func create() throws(RequestProblem) {
    try request.pay()
    try request.checkType()
    let url: String
    do throws(ProtocolError) {
      let addresses = WebhookAddresses(allowed: request.node.settings.webhookNetworks)
      url = try WebhookDesk.url(in: request.body, addresses)
    } catch {
      throw RequestProblem(error)
    }
    desk.create(url, of: request.owner, reply: request.later())
  }

  func delete() throws(RequestProblem) {
    try request.pay()
    desk.delete(request.name, of: request.owner, reply: request.later())
  }
}
