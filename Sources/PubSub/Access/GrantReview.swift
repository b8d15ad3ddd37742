import MarketData

/// Whether clients need a token, and the deadlines of their grants.
struct GrantReview {
  /// How long a client may stay without a grant, µs.
  static let tokenTime = 10 * Microseconds.second
  /// How long before its grant ends a client gets a notice, µs.
  static let expiryNotice = 60 * Microseconds.second

  /// Whether clients without a grant may only send `hello`, and must send it within `tokenTime`.
  var asksForTokens = false
  /// The grant of clients without a token if tokens are required; nil: none.
  var anonymousGrant: Grant?
  private var cursor = -1

  enum Verdict: Equatable {
    case fine
    /// Send the client a notice that its grant ends at this time.
    case expiring(Timestamp)
    case revoke(why: String)
  }

  /// A new client's grant, and when it is reviewed.
  func begin(_ grant: Grant?, now: Timestamp) -> (grant: Grant?, deadline: Timestamp) {
    let grant = grant ?? (asksForTokens ? anonymousGrant : .everything)
    return (grant, grant.map { Self.deadline(of: $0) } ?? now + Self.tokenTime)
  }

  static func deadline(of grant: Grant) -> Timestamp { grant.expires.map { $0 - expiryNotice } ?? .distantFuture }

  /// The slots to review now: a tenth of them at each call, so each is reviewed once a second.
  mutating func nextSlots(used: Int) -> [UInt32] {
    guard asksForTokens, used > 0 else { return [] }
    return (0..<(used / 10 + 1)).map { _ in
      cursor = cursor + 1 < used ? cursor + 1 : 0
      return UInt32(cursor)
    }
  }

  /// The action for a client whose deadline may have passed; sets the next deadline.
  func review(_ grant: Grant?, _ deadline: inout Timestamp, now: Timestamp) -> Verdict {
    guard deadline <= now else { return .fine }
    guard let grant else { return .revoke(why: "no token within \(Self.tokenTime / Microseconds.second) s") }
    guard let expires = grant.expires else {
      deadline = .distantFuture
      return .fine
    }
    guard expires > now else { return .revoke(why: "the token has expired") }
    deadline = expires
    return .expiring(expires)
  }
}
