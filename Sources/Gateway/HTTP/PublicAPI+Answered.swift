import Access
import HTTP1
import PubSub
import Transport

/// What becomes of an answer beside its way to the client: it is counted, and logged where that is wanted.
extension PublicAPI {
  func answered(
    _ request: HTTPRequestHead?, status: Int, bytes: Int, nanoseconds: UInt64, on connection: Connection
  ) {
    node.metrics.http.record(request?.path, status: status, nanoseconds: request == nil ? nil : nanoseconds)
    node.settings.accessLog?.request(
      caller(request, on: connection), method: request?.method, path: request?.path, status: status, bytes: bytes,
      nanoseconds: nanoseconds)
  }

  /// Who asked, as far as is known: a token that is not good has no name.
  private func caller(_ request: HTTPRequestHead?, on connection: Connection) -> AccessLog.Client {
    guard let request else { return AccessLog.Client(peer: IPAddress(connection.peer.host)) }
    var subject: String?
    if let access = node.settings.access, let token = try? BearerToken.read(request),
      case .success(let credential) = access.authenticate(token, now: node.clock.now())
    {
      subject = credential.grant.subject
    }
    return AccessLog.Client(peer: client(of: connection, request), subject: subject)
  }
}
