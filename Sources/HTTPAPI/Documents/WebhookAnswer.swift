import Documents
import HTTP1
import PubSub

/// Answers `/v1/webhooks…`: an owner's webhooks.
struct WebhookAnswer: RouteAnswer {
  let request: APIRequest
  private var desk: WebhookDesk { WebhookDesk(desk: request.documents.alerts) }

  init(_ request: APIRequest) { self.request = request }

  func list() {
    let later = request.later()
    desk.list(request.owner) { later($0.map { .json($0) }) }
  }

  func read() {
    // `/v1/webhooks/` is the list, too.
    guard !request.name.isEmpty else { return list() }
    let later = request.later()
    desk.read(request.name, of: request.owner) { later($0.map { .json($0) }) }
  }

  func create() throws(RequestProblem) {
    try request.pay()
    try request.checkType()
    let url: String
    do throws(ProtocolError) {
      let addresses = WebhookAddresses(allowed: request.documents.webhookNetworks)
      url = try WebhookDesk.url(in: request.body, addresses)
    } catch {
      throw RequestProblem(error)
    }
    let later = request.later()
    desk.create(url, of: request.owner) { answer in
      later(
        answer.map { webhook in
          var response = HTTPResponse.json(webhook.text, status: 201)
          response.fields.append(HTTPField("Location", "/v1/webhooks/\(webhook.id)"))
          return response
        })
    }
  }

  func delete() throws(RequestProblem) {
    try request.pay()
    let later = request.later()
    desk.delete(request.name, of: request.owner) { answer in
      later(answer.map { HTTPResponse(status: 204, contentType: "application/json", body: []) })
    }
  }
}
