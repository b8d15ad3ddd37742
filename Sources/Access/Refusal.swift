/// Why a connection or a request was refused: the reason's name in metrics, and the text that the client gets.
package enum Refusal: String, CaseIterable, Sendable {
  case connections
  case connectionsPerAddress = "connections_per_address"
  case connectionRate = "connection_rate_per_address"
  case handshakeRate = "handshake_rate"
  case handshakeRatePerAddress = "handshake_rate_per_address"
  case workPerAddress = "work_per_address"
  case requestRate = "request_rate_per_connection"
  case requestRatePerAddress = "request_rate_per_address"
  case requestRatePerKey = "request_rate_per_key"
  case connectionsPerKey = "connections_per_key"
  case queuedBytes = "queued_bytes"
  case draining
  case origin
  case unauthorized
  case forbidden
  /// Closed without an answer, because too many refusals were already being answered.
  case unanswered

  /// 429 if one peer exceeds a limit, 503 if the gateway has no room.
  package var status: Int {
    switch self {
    case .connections, .handshakeRate, .queuedBytes, .draining, .unanswered: 503
    case .origin, .forbidden: 403
    case .unauthorized: 401
    case .connectionsPerAddress, .connectionRate, .handshakeRatePerAddress, .workPerAddress, .requestRate,
      .requestRatePerAddress, .requestRatePerKey, .connectionsPerKey:
      429
    }
  }

  package var message: String {
    switch self {
    case .connections: "the gateway has reached its limit of connections"
    case .connectionsPerAddress: "your address has reached its limit of connections"
    case .connectionRate: "your address opens connections too fast"
    case .handshakeRate: "too many streams are being opened now"
    case .handshakeRatePerAddress: "your address opens streams too fast"
    case .workPerAddress: "the streams of your address send too many requests"
    case .requestRate: "too many requests on this connection"
    case .requestRatePerAddress: "too many requests from your address"
    case .requestRatePerKey: "too many requests with this key"
    case .connectionsPerKey: "this key has reached its limit of connections"
    case .queuedBytes: "too much data is queued for slow clients now"
    case .draining: "the gateway is shutting down"
    case .origin: "pages of this origin may not connect here"
    case .unauthorized: "a valid token is required"
    case .forbidden: "the token does not allow this"
    case .unanswered: "too many connections are being refused"
    }
  }

  package var hint: String {
    switch self {
    case .connectionsPerAddress, .connectionsPerKey: "close connections that are not needed; one carries many streams"
    case .draining: "connect again: another gateway may answer"
    case .origin, .forbidden, .unauthorized: "ask the operator of the gateway"
    default: "retry after the time given"
    }
  }
}

/// A refusal, with the time of a useful retry.
package struct Rejection: Sendable, Equatable {
  package let refusal: Refusal
  /// µs until the client may try again.
  package let wait: Int64

  package init(_ refusal: Refusal, wait: Int64 = 1_000_000) {
    self.refusal = refusal
    self.wait = wait
  }
}
