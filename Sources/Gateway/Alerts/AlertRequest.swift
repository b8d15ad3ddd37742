import Alerts
import Bytes
import HTTP1
import MarketData
import PubSub
import Transport

/// A request to `/v1/alerts…`, unchecked.
struct AlertRequest {
  /// Header fields that pages of other origins may send.
  static let fields = "Content-Type, Idempotency-Key, If-Match"

  let head: HTTPRequestHead
  let body: [UInt8]
  /// The rule's id; nil: all rules.
  let id: String?
  /// The path after the id.
  let verb: String?

  /// - Parameter path: the path after `/v1/alerts/`.
  init(_ head: HTTPRequestHead, _ body: [UInt8], path: String) {
    self.head = head
    self.body = body
    let parts = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    id = path.isEmpty ? nil : parts[0]
    verb = parts.count > 1 ? parts[1] : nil
  }

  /// The request to the desk; nil for a request that only reads.
  func control() throws(RequestProblem) -> ControlRequest? {
    let isReading = head.method == "GET" || head.method == "HEAD"
    if isReading {
      guard verb == nil || verb == "firings" else { throw notFound }
      return nil
    }
    var request: ControlRequest
    switch (head.method, id, verb) {
    case ("POST", nil, nil): request = ControlRequest(.create)
    case ("PUT", .some, nil): request = ControlRequest(.replace)
    case ("PATCH", .some, nil): request = ControlRequest(.change)
    case ("DELETE", .some, nil): request = ControlRequest(.delete)
    case ("POST", .some, .some(let verb)):
      guard let action = ControlRequest.Action(rawValue: verb),
        [.ack, .snooze, .pause, .resume, .enable, .disable].contains(action)
      else { throw notFound }
      request = ControlRequest(action)
    default: throw notFound
    }
    request.alert = id
    request.body = body
    // A page of another site may send a form, but not this content type without a preflight.
    if !body.isEmpty { try Self.checkType(head) }
    request.revision = try revision()
    if let key = head.fields["Idempotency-Key"] {
      guard request.action == .create, (1...ControlRequest.keyLimit).contains(key.utf8.count) else {
        throw RequestProblem(
          response: .error(
            400, code: "bad_request",
            message: "Idempotency-Key belongs to POST /v1/alerts and has 1 to \(ControlRequest.keyLimit) bytes"
          ))
      }
      request.key = key
    }
    return request
  }

  /// The revision that `If-Match` names: the part of an entity tag before the point.
  private func revision() throws(RequestProblem) -> Int64? {
    guard let match = head.fields["If-Match"], match != "*" else { return nil }
    let text = match.dropFirst().prefix { $0 != "." && $0 != "\"" }
    guard match.hasPrefix("\""), match.hasSuffix("\""), !match.contains(","), let revision = Int64(text) else {
      throw RequestProblem(
        response: .error(
          412, code: "changed", message: "If-Match is not the entity tag of an alert", hint: "send its ETag"))
    }
    return revision
  }

  static func checkType(_ head: HTTPRequestHead) throws(RequestProblem) {
    let type = head.fields["Content-Type"]?.prefix { $0 != ";" }
    guard let type, ASCII.equalIgnoringCase(type, "application/json") else {
      throw RequestProblem(
        response: .error(
          415, code: "unsupported_type", message: "the body must be JSON", hint: "send Content-Type: application/json"))
    }
  }

  private var notFound: RequestProblem {
    RequestProblem(
      response: .error(
        404, code: "not_found", message: "there is no \(head.path.prefix(80))",
        hint: "use GET …/firings, or POST …/ack, snooze, pause, resume, enable, disable"))
  }
}

extension PublicAPI {
  /// The cost of a write, in the unit of `MarketAnswer.pieceCost`: the desk compiles the rule and stores it.
  private static let writeCost = 4 * MarketAnswer.pieceCost

  /// Answers a request about alerts.
  func alerts(
    _ request: AlertRequest, _ grant: Grant, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    let owner = try owner(of: grant)
    guard let control = try request.control() else { return read(request, owner, reply) }
    if let refusal = charge(Self.writeCost) { return reply(refusal) }
    let call: AlertCall
    do throws(ProtocolError) {
      call = try AlertCall(control, grant) { node.alerts.find($0) }
    } catch {
      throw RequestProblem(response: Self.response(to: error))
    }
    let later = later(reply)
    node.settings.alerts.perform(call) { answer in
      later(
        answer.map { outcome -> HTTPResponse in
          switch outcome {
          case .alert(let text, let isNew):
            var response = HTTPResponse.json(Array(text.bytes.unsafeBytes), status: isNew ? 201 : 200)
            response.fields.append(HTTPField("ETag", text.tag))
            if isNew { response.fields.append(HTTPField("Location", "/v1/alerts/\(text.id.text)")) }
            return response
          case .removed: return HTTPResponse(status: 204, contentType: "application/json", body: [])
          }
        })
    }
  }

  /// Answers a request about webhooks.
  /// - Parameter id: the path after `/v1/webhooks/`; empty: all.
  func webhooks(
    _ head: HTTPRequestHead, _ body: [UInt8], _ id: String, _ grant: Grant, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    let owner = try owner(of: grant)
    let desk = WebhookDesk(desk: node.settings.alerts)
    let later = later(reply)
    if head.method == "GET" || head.method == "HEAD" {
      return id.isEmpty ? desk.list(owner, reply: later) : desk.read(id, of: owner, reply: later)
    }
    if let refusal = charge(Self.writeCost) { return reply(refusal) }
    if head.method == "DELETE" { return desk.delete(id, of: owner, reply: later) }
    try AlertRequest.checkType(head)
    do throws(ProtocolError) {
      let addresses = WebhookAddresses(allowed: node.settings.webhookNetworks)
      desk.create(try WebhookDesk.url(in: body, addresses), of: owner, reply: later)
    } catch {
      throw RequestProblem(response: Self.response(to: error))
    }
  }

  /// The owner whose alerts a grant's holder may see.
  private func owner(of grant: Grant) throws(RequestProblem) -> String {
    guard let error = ControlRequest.refusal(for: grant) else { return grant.owner ?? "" }
    guard grant.channels.contains(.alerts) else {
      throw RequestProblem(response: forbidden("the channel alerts", grant))
    }
    throw RequestProblem(response: Self.response(to: error))
  }

  private func read(_ request: AlertRequest, _ owner: String, _ reply: @escaping (HTTPResponse) -> Void) {
    let desk = node.settings.alerts
    let later = later(reply)
    guard let id = request.id else {
      return desk.list(owner) { body in
        // A digest of the text: an owner's list as a whole has no revision.
        later(.success(.json(body, tag: AlertText.tag(of: body))))
      }
    }
    guard request.verb == nil else {
      return desk.firings(of: id, subject: owner) { later($0.map { .json($0) }) }
    }
    desk.read(id, of: owner) { later($0.map { .json(Array($0.bytes.unsafeBytes), tag: $0.tag) }) }
  }

  /// Passes an answer of the desk to the connection's loop.
  private func later(
    _ reply: @escaping (HTTPResponse) -> Void
  ) -> @Sendable (Result<HTTPResponse, ProtocolError>) -> Void {
    let reply = UncheckedTransfer(value: reply)
    let loop = node.loop
    return { answer in
      loop.execute {
        switch answer {
        case .success(let response): reply.value(response)
        case .failure(let error): reply.value(Self.response(to: error))
        }
      }
    }
  }

  private static func response(to error: ProtocolError) -> HTTPResponse {
    let status =
      switch error.code {
      case .forbidden: 403
      case .unknownAlert, .unknownSymbol, .unknownWebhook: 404
      case .invalidAlert, .invalidWebhook: 422
      case .tooManyAlerts, .keyReused: 409
      case .changed: 412
      case .unavailable, .notReady: 503
      default: 400
      }
    return .error(
      status, code: error.code.rawValue, message: error.message, hint: error.hint, retry: error.retry,
      retryAfterMilliseconds: error.retryAfterMilliseconds)
  }
}
