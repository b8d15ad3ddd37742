import Alerts
import Bytes
import Documents
import HTTP1
import MarketData
import PubSub
import Transport

/// Answers `/v1/alerts…`: an owner's alerts and what they fired.
struct AlertAnswer: RouteAnswer {
  let request: APIRequest
  private var desk: AlertDesk { request.documents.alerts }

  init(_ request: APIRequest) { self.request = request }

  // MARK: Reading

  func list() {
    let later = request.later()
    desk.list(request.owner) { body in
      // A digest of the text: an owner's list as a whole has no revision.
      later(.success(.json(body, tag: RevisionTag.text(ofList: body))))
    }
  }

  func read() {
    // `/v1/alerts/` is the list, too.
    guard !request.name.isEmpty else { return list() }
    let later = request.later()
    desk.read(request.name, of: request.owner) { later($0.map { .json(Array($0.bytes.unsafeBytes), tag: $0.tag) }) }
  }

  func firings() {
    let later = request.later()
    desk.firings(of: request.name, subject: request.owner) { later($0.map { .json($0) }) }
  }

  // MARK: Changing

  func create() throws(RequestProblem) { try perform(.create) }
  func replace() throws(RequestProblem) { try perform(.replace) }
  func change() throws(RequestProblem) { try perform(.change) }
  func delete() throws(RequestProblem) { try perform(.delete) }

  /// Executes the action in the path.
  func act() throws(RequestProblem) {
    let actions: [ControlRequest.Action] = [.ack, .snooze, .pause, .resume, .enable, .disable]
    guard let action = ControlRequest.Action(rawValue: request.names[1]), actions.contains(action) else {
      throw RequestProblem(
        response: .error(
          404, code: "not_found", message: "there is no \(request.head.path.prefix(80))",
          hint: "use GET …/firings, or POST …/ack, snooze, pause, resume, enable, disable"))
    }
    try perform(action)
  }

  private func perform(_ action: ControlRequest.Action) throws(RequestProblem) {
    let control = try control(action)
    try request.pay()
    let call: AlertCall
    do throws(ProtocolError) {
      call = try AlertCall(control, request.grant) { request.loops.hub.refusal(ofSymbol: $0) }
    } catch {
      throw RequestProblem(error)
    }
    let later = request.later()
    desk.perform(call) { answer in later(answer.map(Self.response)) }
  }

  private func control(_ action: ControlRequest.Action) throws(RequestProblem) -> ControlRequest {
    var control = ControlRequest(action)
    if action != .create { control.alert = request.names[0] }
    control.body = request.body
    if !request.body.isEmpty { try request.checkType() }
    do throws(ProtocolError) {
      control.revision = try request.revision(of: .alert)
      control.key = try request.key()
    } catch {
      throw RequestProblem(error)
    }
    return control
  }

  @Sendable
  private static func response(_ outcome: AlertOutcome) -> HTTPResponse {
    switch outcome {
    case .alert(let text, let isNew):
      var response = HTTPResponse.json(Array(text.bytes.unsafeBytes), status: isNew ? 201 : 200)
      response.fields.append(HTTPField("ETag", text.tag))
      if isNew { response.fields.append(HTTPField("Location", "/v1/alerts/\(text.id.text)")) }
      return response
    case .removed: return HTTPResponse(status: 204, contentType: "application/json", body: [])
    }
  }
}

extension SubscriberHub {
  /// Why a rule cannot name a symbol; nil if it can.
  package func refusal(ofSymbol symbol: String) -> ProtocolError? {
    if directory.entries[symbol] != nil { return nil }
    var lookup = SymbolLookup()
    return explainMissing(symbol, &lookup)
  }
}
