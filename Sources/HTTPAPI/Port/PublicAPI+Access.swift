import Access
import HTTP1
import PubSub
import Transport
import WebSocket

/// Identifies the caller of a request, refuses what it may not do, and writes the access log.
extension PublicAPI {
  struct Caller {
    /// Nil: the client has sent no token.
    var grant: Grant?
    var credential: AccessPolicy.Credential?
  }

  func identify(_ request: HTTPRequestHead) -> Result<Caller, RequestProblem> {
    guard let access = gateway.access else {
      // Browsers send `Origin` with every upgrade, so an upgrade without it is no page's.
      let isForeign =
        PageOrigin.isForeign(request, origins, hosts)
        || (!WebSocketHandshake.isUpgrade(request) && isForeignHost(request))
      return .success(Caller(grant: isForeign ? .reader : .everything))
    }
    let token: String?
    do throws(BearerToken.Problem) {
      token = try BearerToken.read(request)
    } catch {
      switch error {
      case .inURL:
        return .failure(
          RequestProblem(
            response: .error(
              400, code: "token_in_url", message: "a token must not be in a URL, because logs and histories keep it",
              hint: "send it as Authorization: Bearer, or in hello; revoke this one")))
      case .malformed(let what): return .failure(RequestProblem(response: unauthorized(what, error: "invalid_request")))
      }
    }
    guard let token else { return .success(Caller(grant: access.policy.anonymous)) }
    switch access.authenticate(token, now: gateway.now()) {
    case .success(let credential): return .success(Caller(grant: credential.grant, credential: credential))
    case .failure(let error):
      return .failure(RequestProblem(response: unauthorized(error.description, error: "invalid_token")))
    }
  }

  /// The permissions of a request's caller. An open route shows the same to everybody.
  /// - Throws: the refusal of a request without a valid token, or of one too many with the same.
  func grant(
    _ request: HTTPRequestHead, _ access: Route.Access, from address: IPAddress?
  ) throws(RequestProblem) -> Grant {
    let caller = identify(request)
    guard access != .open else {
      // The answer to a token in the URL helps more than one about an unknown parameter.
      if case .failure(let problem) = caller, problem.response.status == 400 { throw problem }
      return Grant(subject: "", channels: [])
    }
    guard let grant = try caller.get().grant else {
      throw RequestProblem(response: unauthorized("a token is needed", error: nil))
    }
    if let rejection = admission.request(with: grant, from: address, now: moment) {
      throw RequestProblem(response: rejection.response)
    }
    return grant
  }

  /// Checks that a grant allows all that a route shows.
  func check(_ grant: Grant, _ route: Route) throws(RequestProblem) {
    for channel in route.channels where !grant.channels.contains(channel) {
      let part = route.whole.map { ", which is part of \($0)" } ?? ""
      throw RequestProblem(response: forbidden("the channel \(channel.rawValue)\(part)", grant))
    }
    guard case .owner(let documents) = route.access, grant.owner == nil else { return }
    throw RequestProblem(
      ProtocolError(
        .forbidden, "your token does not say who you are, so you have no \(documents)",
        hint: "use a key of your own, or a token with a `sub`"))
  }

  private var hosts: HostNames { HostNames(gateway.api.hosts) }

  /// Whether the request names a host under which the gateway shows neither its owner's documents nor the console. A
  /// gateway with tokens needs no such check: a page under a name of its own has no token.
  func isForeignHost(_ request: HTTPRequestHead) -> Bool {
    gateway.access == nil && PageOrigin.isForeignHost(request, origins, hosts)
  }

  /// 401. RFC 6750 section 3: a request without a token gets no `error`.
  package func unauthorized(_ message: String, error: String?) -> HTTPResponse {
    admission.count(.unauthorized)
    var challenge = "Bearer realm=\"tidegate\""
    if let error { challenge += ", error=\"\(error)\", error_description=\"\(message)\"" }
    return .error(
      401, code: "unauthorized", message: message, hint: "send Authorization: Bearer and a key or a token",
      fields: [HTTPField("WWW-Authenticate", challenge)])
  }

  func forbidden(_ what: String, _ grant: Grant) -> HTTPResponse {
    admission.count(.forbidden)
    return .error(
      403, code: "forbidden", message: "your token does not allow \(what)",
      hint: "it allows the channels \(grant.channels.map(\.rawValue).sorted().joined(separator: ", "))",
      fields: [HTTPResponse.insufficientScope])
  }

  // MARK: Counting and logging

  /// Counts an answer, and logs it if the access log is on.
  package func answered(
    _ request: HTTPRequestHead?, status: Int, bytes: Int, nanoseconds: UInt64, on connection: Connection
  ) {
    gateway.answered(AnsweredRequest(head: request, status: status, bytes: bytes, nanoseconds: nanoseconds)) {
      caller(request, on: connection)
    }
  }

  /// The caller, as far as it is known: an invalid token has no name.
  private func caller(_ request: HTTPRequestHead?, on connection: Connection) -> RequestCaller {
    guard let request else { return RequestCaller(address: connection.peer.address, subject: nil) }
    var subject: String?
    if let access = gateway.access, let token = try? BearerToken.read(request),
      case .success(let credential) = access.authenticate(token, now: gateway.now())
    {
      subject = credential.grant.subject
    }
    return RequestCaller(address: client(of: connection, request), subject: subject)
  }
}
