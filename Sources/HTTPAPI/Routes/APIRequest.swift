import Access
import Bytes
import Documents
import HTTP1
import PubSub
import Transport

/// A request to a route, from a caller who may make it: what the route's handler gets.
package struct APIRequest {
  package let api: PublicAPI
  /// Its route, and the names in its path.
  let match: RouteTable.Match
  package let head: HTTPRequestHead
  package let body: [UInt8]
  package let query: RequestQuery
  /// The caller's permissions; empty on an open route.
  package let grant: Grant
  /// Sends the answer. Call it once, on the API's loop.
  package let reply: (HTTPResponse) -> Void
  /// Takes a cost, in points of a sparkline, from the client's allowance; returns the refusal if too little is left.
  let charge: (Int) -> HTTPResponse?

  package var route: Route { match.route }
  package var loops: any AnswerLoops { api.gateway }
  /// The desks of what is not about markets.
  var documents: DocumentDesks { api.gateway.documents }
  /// The symbol in the path; the same as the name.
  package var symbol: String { match.names }
  /// The name in the path; two names have a slash between them.
  package var name: String { match.names }
  /// The names in the path.
  package var names: [String] {
    match.names.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
  }
  /// The entity tags that the client has.
  package var known: [String] { head.fields.values("If-None-Match") }
  /// The caller, on a route of owners.
  package var owner: String { grant.owner ?? "" }

  /// Takes a cost from the client's allowance.
  /// - Throws: the refusal, if too little is left.
  package func pay(_ cost: Int) throws(RequestProblem) {
    if let refusal = charge(cost) { throw RequestProblem(response: refusal) }
  }

  /// Takes the cost that the route states for the request's method.
  package func pay() throws(RequestProblem) {
    let cost = route.change(head.method)?.cost ?? route.reading?.cost ?? 0
    if cost > 0 { try pay(cost) }
  }

  /// The `Idempotency-Key`; nil: the request has none.
  func key() throws(ProtocolError) -> String? {
    guard let key = head.fields["Idempotency-Key"] else { return nil }
    guard route.change(head.method)?.takesKey ?? false, (1...ControlRequest.keyLimit).contains(key.utf8.count) else {
      throw ProtocolError(
        .badRequest, "Idempotency-Key belongs to POST and has 1 to \(ControlRequest.keyLimit) bytes")
    }
    return key
  }

  /// The revision that `If-Match` demands; nil: any.
  func revision(of kind: DocumentKind) throws(ProtocolError) -> Int64? {
    try kind.revision(ifMatch: head.fields["If-Match"])
  }

  /// Checks that the body is JSON.
  func checkType() throws(RequestProblem) {
    if let refusal = HTTPResponse.refusal(ofTypeIn: head, what: "the body") { throw RequestProblem(response: refusal) }
  }

  /// Sends an answer that another queue made.
  package func later() -> @Sendable (Result<HTTPResponse, ProtocolError>) -> Void {
    let reply = UncheckedTransfer(value: reply)
    let loop = loops.loop
    return { answer in
      loop.execute {
        switch answer {
        case .success(let response): reply.value(response)
        case .failure(let error): reply.value(.error(error))
        }
      }
    }
  }
}

/// A request that cannot be served, with the answer that says why.
package struct RequestProblem: Error {
  package let response: HTTPResponse

  package init(response: HTTPResponse) { self.response = response }

  package init(_ error: ProtocolError) { response = .error(error) }
}
