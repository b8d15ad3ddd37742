import Access
import Bytes
import HTTP1
import PubSub
import Transport

/// `/v1/events`: the stream for HTTP clients. The gateway turns the request into the messages of a WebSocket client,
/// and the connection into that client's. So streams, limits, rates, rights and the end are the same.
extension PublicAPI {
  /// Takes a connection over, as `upgrade` does; false, with `refused` set, if the request is refused.
  func beginEvents(
    _ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer
  ) -> Bool {
    refused = nil
    do throws(RequestProblem) {
      try startEvents(request, on: connection, rest: rest)
      return true
    } catch {
      refused = error.response
      return false
    }
  }

  private func startEvents(
    _ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer
  ) throws(RequestProblem) {
    if gateway.isShut { throw RequestProblem(response: admission.refuse(.draining).response) }
    let address = client(of: connection, request)
    let permit = connection.permit as? AdmissionPermit
    if let permit, let rejection = admission.handshake(permit, from: address, now: moment) {
      throw RequestProblem(response: rejection.response)
    }
    if !gateway.admits(address) {
      throw RequestProblem(response: admission.refuse(.workPerAddress, wait: 2_000_000, from: address).response)
    }
    let caller = try identify(request).get()
    // No later message can carry a token.
    guard let grant = caller.grant else {
      throw RequestProblem(response: unauthorized("a token is needed", error: nil))
    }
    let events = try events(RequestQuery(request, Route.events.parameters, of: Route.events.path), request)
    if let permit, gateway.access != nil, !admission.hold(permit, grant) {
      throw RequestProblem(response: admission.refuse(.connectionsPerKey, from: address).response)
    }
    writeHead(to: connection, request)
    let stream = NewStream(
      path: request.path, events: events, dialect: nil, deflate: nil, isBinary: false, credential: caller.credential,
      grant: grant,
      address: address)
    gateway.admit(stream, on: connection, rest: rest)
  }

  private func events(
    _ query: RequestQuery, _ request: HTTPRequestHead
  ) throws(RequestProblem) -> EventsRequest {
    do throws(ProtocolError) {
      return try EventsRequest(
        streams: query.texts("streams"), heartbeat: query.text("heartbeat_s"),
        lastEventID: request.fields["Last-Event-ID"])
    } catch {
      throw RequestProblem(error)
    }
  }

  /// Answers with the head of a stream, if the request could begin one.
  func answerEventsHead(_ request: APIRequest) throws(RequestProblem) {
    _ = try events(request.query, request.head)
    var response = Self.head
    response.isEndless = true
    request.reply(response)
  }

  /// No proxy may store, buffer or change the answer.
  private static var head: HTTPResponse {
    HTTPResponse(
      status: 200, contentType: "text/event-stream", body: [],
      fields: [HTTPField("Cache-Control", "no-store, no-transform"), HTTPField("X-Accel-Buffering", "no")])
  }

  /// The body ends with the connection (RFC 9112 section 6.3): a stream has no length, and its last event says that it
  /// is the last.
  private func writeHead(to connection: Connection, _ request: HTTPRequestHead) {
    var response = Self.head
    finishing({ response = $0 }, request, Route.events)(response)
    var fields = HTTPFields(response.fields)
    fields.append("Content-Type", response.contentType)
    response.appendGuards(to: &fields)
    if let origin = response.allowedOrigin {
      fields.append("Access-Control-Allow-Origin", origin)
      fields.append("Access-Control-Expose-Headers", HTTPResponse.exposedFields)
    }
    var out = ByteBuffer(capacity: 512)
    HTTPEncoder.append(
      HTTPResponseHead(status: 200, fields: fields), bodyLength: nil, keepAlive: false, date: httpDate, to: &out)
    out.append(EventText.opening)
    connection.write(out.bytes)
  }
}
