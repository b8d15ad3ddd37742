/// Whether a failure passes by itself, which decides whether the client tries again or ends with the reason.
enum Prospect: Sendable, Equatable {
  /// Time may help: the network fails, the gateway restarts or is full.
  case passes
  /// It passes where a gateway has answered this client before: a certificate is being replaced, a proxy restarts, a
  /// hotel's network wants a sign-in. Where none ever has, the URL is wrong, its server is no gateway, or this machine
  /// cannot connect, and no attempt will succeed.
  case passesOnceMet
  /// No attempt will succeed: the gateway refuses this client.
  case lasts
}

extension ConnectionFailure {
  var prospect: Prospect {
    switch self {
    case .network, .noHeartbeat, .noAnswer, .draining: .passes
    case .unusable, .badMessage: .passesOnceMet
    case .closed(let code, _): (4000..<4100).contains(code) ? .lasts : .passes
    case .refused(let status, _): Self.prospect(ofStatus: status)
    case .noToken: .lasts
    }
  }

  /// The prospect of a handshake that was answered with a status other than 101.
  private static func prospect(ofStatus status: Int) -> Prospect {
    switch status {
    // Timeout, Too Early, Too Many Requests.
    case 408, 425, 429: .passes
    // A proxy may not know the path or the host for a moment.
    case 404, 421: .passesOnceMet
    case 400..<500: .lasts
    // Not Implemented, HTTP Version Not Supported.
    case 501, 505: .passesOnceMet
    case 500...: .passes
    // A page or a redirect, but no gateway.
    default: .passesOnceMet
    }
  }
}
