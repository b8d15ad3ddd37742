import Access
import Bytes
import HTTP1
import MarketData
import PubSub
import Recordings
import Transport
import WebSocket

/// `/v1/replay` and the replays of other protocols: recorded time, over a WebSocket or as lines.
struct ReplayPort {
  let api: PublicAPI
  private var admission: Admission { api.admission }

  /// How a request for recorded time is read.
  struct Source {
    /// Whether its address needs a WebSocket; nil: both are served.
    let needsWebSocket: Bool?
    /// - Throws: the refusal of the request.
    let read: (Grant, _ isFramed: Bool) throws(RequestProblem) -> Result<ReplayRequest, DialectReplayRefusal>
  }

  /// The source of a request; nil: it is not for recorded time.
  private func source(of request: HTTPRequestHead) -> Source? {
    guard request.method == "GET" else { return nil }
    if request.path == Route.replay.path {
      return Source(needsWebSocket: nil) { (grant, isFramed) throws(RequestProblem) in
        let query = try RequestQuery(request, Route.replay.parameters, of: Route.replay.path)
        return .success(try ReplayRequest(query, grant, standard: isFramed ? .recorded : .fastest))
      }
    }
    guard let port = api.dialects(of: request), let replay = port.replay(request) else { return nil }
    return Source(needsWebSocket: replay.needsWebSocket) { [api] (grant, _) throws(RequestProblem) in
      replay.read(grant, api.gateway.hub.directory)
    }
  }

  /// Takes a connection over, as `upgrade` does; false, with `refused` set, if the request is refused.
  /// - Returns: nil if the request is for something else.
  func upgrade(
    _ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer
  ) -> Bool? {
    guard let source = source(of: request) else { return nil }
    let isFramed = WebSocketHandshake.isUpgrade(request)
    if let needed = source.needsWebSocket, needed, !isFramed { return false }
    api.refused = nil
    do throws(RequestProblem) {
      try start(request, source, isFramed: isFramed && source.needsWebSocket != false, on: connection, rest: rest)
      return true
    } catch {
      api.refused = error.response
      return false
    }
  }

  private func start(
    _ request: HTTPRequestHead, _ source: Source, isFramed: Bool, on connection: Connection,
    rest: UnsafeMutableRawBufferPointer
  ) throws(RequestProblem) {
    if api.gateway.isShut { throw RequestProblem(response: admission.refuse(.draining).response) }
    let address = api.client(of: connection, request)
    let permit = connection.permit as? AdmissionPermit
    if let permit, let rejection = admission.handshake(permit, from: address, now: api.moment) {
      throw RequestProblem(response: rejection.response)
    }
    // No later message can carry a token.
    guard let grant = try api.identify(request).get().grant else {
      throw RequestProblem(response: api.unauthorized("a token is needed", error: nil))
    }
    let read = try source.read(grant, isFramed)
    guard let seats = api.gateway.pastSeats else { throw RequestProblem(response: PastAnswer.noRecordings) }
    let seat: PastSeats.Seat
    do throws(PastSeats.Refusal) {
      seat = try seats.take(grant.subject.isEmpty ? "\(address)" : "key \(grant.subject)")
    } catch {
      throw RequestProblem(response: Self.refusal(error))
    }
    if let permit, api.gateway.access != nil, !admission.hold(permit, grant) {
      throw RequestProblem(response: admission.refuse(.connectionsPerKey, from: address).response)
    }
    if isFramed {
      try accept(request, source.needsWebSocket == nil ? [PublicAPI.text] : [], on: connection)
    }
    switch read {
    case .success(let replay):
      PastSession(
        self, connection, request, replay, isFramed: isFramed, seat: seat, expires: grant.expires
      ).begin(rest)
    case .failure(let refusal):
      guard isFramed else { throw RequestProblem(response: refusal.response) }
      var out = ByteBuffer(capacity: 128)
      WebSocketFrame.appendClose(
        WebSocketCloseCode(rawValue: refusal.code), reason: refusal.reason, mask: nil, to: &out)
      connection.write(out.bytes)
      connection.handler = nil
      api.answered(request, status: 101, bytes: 0, nanoseconds: 0, on: connection)
      api.ended(connection)
      connection.close()
    }
  }

  private func accept(
    _ request: HTTPRequestHead, _ subprotocols: [String], on connection: Connection
  ) throws(RequestProblem) {
    do throws(HTTPError) {
      let accepted = try WebSocketHandshake.accept(request, subprotocols: subprotocols, origins: api.origins)
      var out = ByteBuffer(capacity: 256)
      HTTPEncoder.append(accepted.response, bodyLength: nil, keepAlive: true, date: nil, to: &out)
      connection.write(out.bytes)
    } catch {
      if error.status == 403 { admission.count(.origin) }
      throw RequestProblem(
        response: .error(error.status, code: "bad_handshake", message: error.reason, fields: error.fields))
    }
  }

  private static func refusal(_ refusal: PastSeats.Refusal) -> HTTPResponse {
    switch refusal {
    case .owner:
      .error(
        429, code: "rate_limited", message: "you follow \(PastSeats.ownerLimit) replays already, which is the limit",
        hint: "end one, and ask again", retryAfterMilliseconds: 5_000)
    case .all:
      .error(
        503, code: "not_ready", message: "all \(PastSeats.limit) replays of this gateway are in use",
        hint: "try again", retryAfterMilliseconds: 5_000)
    }
  }

  /// Answers with the head of a replay, if the request could begin one.
  func answerHead(_ request: APIRequest) throws(RequestProblem) {
    _ = try ReplayRequest(request.query, request.grant, standard: .fastest)
    var response = HTTPResponse(
      status: 200, contentType: NativeReplayVoice().contentType, body: [],
      fields: [HTTPField("Cache-Control", "no-store, no-transform")])
    response.isEndless = true
    request.reply(response)
  }

  /// Adds the fields that depend on the client.
  func finishHead(_ fields: inout HTTPFields, _ request: HTTPRequestHead) {
    var response = HTTPResponse(status: 200, contentType: "", body: [])
    api.finishing({ response = $0 }, request, nil)(response)
    for field in response.fields { fields.append(field.name, field.value) }
    response.appendGuards(to: &fields)
    guard let origin = response.allowedOrigin else { return }
    fields.append("Access-Control-Allow-Origin", origin)
    fields.append("Access-Control-Expose-Headers", HTTPResponse.exposedFields)
  }

  /// Answers a request that was taken over with a refusal.
  func writeRefusal(_ response: HTTPResponse, _ request: HTTPRequestHead, to connection: Connection) {
    var fields = HTTPFields(response.fields)
    fields.append("Content-Type", response.contentType)
    finishHead(&fields, request)
    var out = ByteBuffer(capacity: 512 + response.body.count)
    HTTPEncoder.append(
      HTTPResponseHead(status: response.status, fields: fields), bodyLength: response.body.count, keepAlive: false,
      date: api.httpDate, to: &out)
    out.append(response.body)
    connection.write(out.bytes)
  }
}

/// A request for recorded time in another protocol.
package struct DialectReplay {
  /// Whether its address is one of a WebSocket.
  package let needsWebSocket: Bool
  /// Reads the request, for a caller with these permissions, among the markets that there are.
  package let read: (Grant, Directory) -> Result<ReplayRequest, DialectReplayRefusal>

  package init(
    needsWebSocket: Bool, read: @escaping (Grant, Directory) -> Result<ReplayRequest, DialectReplayRefusal>
  ) {
    (self.needsWebSocket, self.read) = (needsWebSocket, read)
  }
}

/// Why such a request begins nothing.
package struct DialectReplayRefusal: Error {
  /// Of the close frame.
  package let code: UInt16
  package let reason: String
  /// For a client that speaks HTTP.
  package let response: HTTPResponse

  package init(code: UInt16, reason: String, response: HTTPResponse) {
    (self.code, self.reason, self.response) = (code, reason, response)
  }
}
