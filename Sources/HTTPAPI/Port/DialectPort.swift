import HTTP1
import PubSub
import Transport

/// Serves other people's protocols on the client port, which knows no more of them: keys, origins,
/// limits and logs are those of its own routes.
package protocol DialectPort: Sendable {
  /// Whether a path is one of theirs.
  func serves(_ path: String) -> Bool
  /// One client's side of the WebSocket that a request asks for; nil: there is none at its path.
  func stream(_ head: HTTPRequestHead) -> (any DialectSession)?
  /// A request for recorded time; nil: the path has no recorded time.
  func replay(_ head: HTTPRequestHead) -> DialectReplay?
  /// Answers any other request for such a path.
  func answer(_ request: DialectRequest)
}

/// A request in another protocol, from a caller who may make it.
package struct DialectRequest {
  package let head: HTTPRequestHead
  /// The caller's permissions.
  package let grant: Grant
  package let loops: any AnswerLoops
  /// Sends the answer. Call it once, on the API's loop.
  package let reply: (HTTPResponse) -> Void
  /// Takes a cost, in points of a sparkline, from the client's allowance; returns the refusal if too little is left.
  package let charge: (Int) -> HTTPResponse?

  /// The first value of a parameter of the query; nil if it is not given.
  package func parameter(_ name: String) -> String? { head.query.first { $0.name == name }?.value }
}

extension PublicAPI {
  /// The port of a request for another protocol; nil: it is for our own.
  func dialects(of request: HTTPRequestHead) -> (any DialectPort)? {
    guard let port = gateway.api.dialects, port.serves(request.path) else { return nil }
    return port
  }

  /// Answers a request in another protocol that opens no WebSocket.
  func answer(
    _ request: HTTPRequestHead, by port: any DialectPort, from address: IPAddress?,
    _ reply: @escaping (HTTPResponse) -> Void, charge: @escaping (Int) -> HTTPResponse?
  ) {
    let reply = finishing(reply, request, nil)
    if let refusal = HTTPResponse.refusal(of: request.method, allowed: Route.otherMethods) { return reply(refusal) }
    if request.method == "OPTIONS" { return reply(.preflight(Route.otherMethods)) }
    do throws(RequestProblem) {
      let grant = try grant(request, .granted, from: address)
      port.answer(DialectRequest(head: request, grant: grant, loops: gateway, reply: reply, charge: charge))
    } catch {
      reply(error.response)
    }
  }
}
