/// Whether a new token is needed, and requested from the app.
struct TokenRefresh: Sendable {
  /// Whether there is a source of new tokens.
  let isPossible: Bool
  /// Whether a new token has been requested and has not arrived.
  private var isAwaited = false
  /// Whether the gateway refused the last token; a second refusal in a row is final.
  private var isRefused = false

  init(isPossible: Bool) { self.isPossible = isPossible }

  /// Whether to request one now: only one is requested at a time.
  mutating func request() -> Bool {
    defer { isAwaited = true }
    return !isAwaited
  }

  /// The source has answered; false: it was not asked.
  mutating func arrive() -> Bool {
    defer { isAwaited = false }
    return isAwaited
  }

  /// The gateway has accepted the token.
  mutating func accept() { isRefused = false }

  /// Whether the connection failed for its token and a new one may help.
  mutating func helps(_ failure: ConnectionFailure) -> Bool {
    guard isPossible, !isRefused else { return false }
    switch failure {
    case .closed(4001, _), .refused(401, _):
      isRefused = true
      return true
    default: return false
    }
  }
}
