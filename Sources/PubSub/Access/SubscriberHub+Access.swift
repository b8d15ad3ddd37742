import Bytes
import MarketData

/// Who a client is and what it may have. The fan-out knows grants only; whether a token is good is found out elsewhere:
/// `HubAction.authenticate` asks, `authorize` and `refuse` answer.
extension SubscriberHub {
  /// How long a client may stay without a grant, µs.
  static let tokenTime = 10 * Microseconds.second
  /// How long before its grant ends a client is told, µs.
  static let expiryNotice = 60 * Microseconds.second

  /// Gives a client a grant: in answer to `.authenticate`, or in place of the one that it has. Subscriptions that it does not allow end,
  /// with a notice.
  package func authorize(_ client: ClientID, _ grant: Grant, now: Timestamp, into actions: inout [HubAction]) {
    guard let state = state(of: client) else { return }
    // What it did as a stranger is paid for by having been one.
    if state.grant == nil { state.allowance = ClientAllowance() }
    state.grant = grant
    state.deadline = Self.deadline(of: grant)
    endForbidden(client, state, grant, now: now, into: &actions)
    guard let greeting = state.greeting else { return }
    state.greeting = nil
    state.errorsInRow = 0
    greet(greeting.hello, greeting.id, client, state, now: now, into: &actions)
    resumeWaiting(client, state, now: now, into: &actions)
  }

  /// Says no to a token. A client that has a grant keeps it and is told; one that has none is closed.
  /// - Parameters:
  ///   - why: for the client; at most 100 bytes, and nothing of the token.
  ///   - code: 4001, or 4129 if it may come back.
  package func refuse(
    _ client: ClientID, why: String, code: UInt16 = CloseCode.unauthorized, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    guard let state = state(of: client) else { return }
    guard state.grant != nil, let greeting = state.greeting else {
      let reason = code == CloseCode.unauthorized ? "unauthorized: \(why)" : why
      return disconnect(client, code: code, reason: reason, into: &actions)
    }
    state.greeting = nil
    let isUnauthorized = code == CloseCode.unauthorized
    let error = ProtocolError(
      isUnauthorized ? .unauthorized : .rateLimited, why, hint: "what was granted before stays until it ends")
    refuse(error, greeting.id, client, state, now: now, into: &actions)
    resumeWaiting(client, state, now: now, into: &actions)
  }

  /// Takes a client's grant away and closes it with 4001.
  package func revoke(from client: ClientID, why: String, into actions: inout [HubAction]) {
    disconnect(client, code: CloseCode.unauthorized, reason: "unauthorized: \(why)", into: &actions)
  }

  /// Tells a client whose grant ends soon, closes those whose grant has ended and those that never had one. Looks at a tenth of the
  /// clients at each call, and so at each once a second.
  func advanceAccess(_ now: Timestamp, into actions: inout [HubAction]) {
    guard asksForTokens, used > 0 else { return }
    for _ in 0..<(used / 10 + 1) {
      accessCursor = accessCursor + 1 < used ? accessCursor + 1 : 0
      let slot = UInt32(accessCursor)
      guard let state = state(of: id(of: slot)), state.deadline <= now else { continue }
      let client = id(of: slot)
      guard let grant = state.grant else {
        revoke(from: client, why: "no token within \(Self.tokenTime / Microseconds.second) s", into: &actions)
        continue
      }
      guard let expires = grant.expires else {
        state.deadline = .distantFuture
        continue
      }
      guard expires > now else {
        revoke(from: client, why: "the token has expired", into: &actions)
        continue
      }
      state.deadline = expires
      send(to: client, now: now) { out in
        out.append("{\"type\":\"notice\",\"code\":\"expiring\",\"expires\":")
        out.append(integer: expires.microseconds)
        out.append(",\"in_ms\":")
        out.append(integer: (expires - now) / Microseconds.millisecond)
        out.append(UInt8(ascii: "}"))
      }
    }
  }

  /// The present grant of a client that is there.
  package func grant(of client: ClientID) -> Grant? { state(of: client)?.grant }

  static func deadline(of grant: Grant) -> Timestamp {
    grant.expires.map { $0 - Self.expiryNotice } ?? .distantFuture
  }

  func subscriptionLimit(_ state: ClientState) -> Int {
    min(limits.subscriptions, state.grant?.subscriptions ?? .max)
  }
  func requestLimit(_ state: ClientState) -> Int {
    guard let grant = state.grant else { return min(limits.requestsPerSecond, Self.strangerRequestsPerSecond) }
    return min(limits.requestsPerSecond, grant.requestsPerSecond ?? .max)
  }

  private func endForbidden(
    _ client: ClientID, _ state: ClientState, _ grant: Grant, now: Timestamp, into actions: inout [HubAction]
  ) {
    let forbidden = state.subscriptions.map(\.stream).filter { stream in
      let key = lists[stream].key
      return !grant.allows(key.channel, key.symbol) || (key.channel == .status && key.scope != grant.scope)
    }
    guard !forbidden.isEmpty else { return }
    for stream in forbidden {
      if let index = state.index(of: stream) { exit(client.slot, state, index: index, into: &actions) }
    }
    send(to: client, now: now) { out in
      out.append("{\"type\":\"notice\",\"code\":\"forbidden\",\"streams\":[")
      for (place, stream) in forbidden.enumerated() {
        if place > 0 { out.append(UInt8(ascii: ",")) }
        out.append(integer: UInt64(stream))
      }
      out.append("],\"total\":")
      out.append(integer: UInt64(state.subscriptions.count))
      out.append(UInt8(ascii: "}"))
    }
  }
}
