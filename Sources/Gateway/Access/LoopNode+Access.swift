import Access
import Logging
import MarketData
import PubSub
import Transport
import WebSocket

/// Tokens of streams: the hub asks, the authenticator knows, the admission counts.
extension LoopNode {
  /// Answers the hub's `.authenticate`.
  func authenticate(_ token: String, of session: StreamSession, _ now: Timestamp, into actions: inout [HubAction]) {
    let result = settings.access?.authenticate(token, now: now) ?? .failure(.unknownKey)
    switch result {
    case .success(let credential):
      guard let permit = session.connection.permit as? AdmissionPermit,
        settings.admission.hold(permit, credential.grant)
      else {
        settings.admission.count(.connectionsPerKey, from: session.address)
        hub.refuse(
          session.client, why: "this token's key has as many connections as it may", code: CloseCode.rateLimited,
          now: now, into: &actions)
        return
      }
      session.credential = credential
      hub.authorize(session.client, credential.grant, now: now, into: &actions)
    case .failure(let error):
      settings.admission.count(.unauthorized, from: session.address)
      settings.log.of(.clients).debug(
        "token refused", metadata: ["peer": "\(session.connection.peer)", "reason": "\(error.description)"])
      hub.refuse(session.client, why: error.description, now: now, into: &actions)
    }
  }

  /// Takes over what the key file says now. On the loop.
  func accessChanged() {
    loop.assertOnLoop()
    guard let policy = settings.access?.policy else { return }
    let now = clock.now()
    hub.anonymousGrant = policy.anonymous
    review(policy, now)
  }

  /// Applies another key file to those who are here: gives each what it may have now, ends those whose key is gone.
  func review(_ policy: AccessPolicy, _ now: Timestamp) {
    for session in sessions {
      guard let session else { continue }
      guard let credential = session.credential else {
        if hub.grant(of: session.client) == nil { continue }
        if let anonymous = policy.anonymous {
          hub.authorize(session.client, anonymous, now: now, into: &actions)
        } else {
          hub.revoke(from: session.client, why: "a token is needed now", into: &actions)
        }
        continue
      }
      do throws(AccessError) {
        let fresh = try policy.renew(credential)
        session.credential = fresh
        if fresh.grant != credential.grant {
          hub.authorize(session.client, fresh.grant, now: now, into: &actions)
        }
      } catch {
        hub.revoke(from: session.client, why: error.description, into: &actions)
      }
    }
  }

  /// Takes over a connection that has upgraded, or that reads events.
  /// - Parameter events: writes its messages as server-sent events; nil: they are WebSocket's.
  @discardableResult
  func admit(
    _ connection: Connection, deflate: PerMessageDeflate?, events: EventWriter? = nil,
    credential: AccessPolicy.Credential?, grant: Grant?,
    address: IPAddress?, rest: UnsafeMutableRawBufferPointer
  ) -> StreamSession {
    httpSessions.remove(for: connection)
    let client = hub.open(
      session: "s_" + RandomName.hex(12, from: loop.kernel), grant: grant ?? credential?.grant,
      address: address.map { ClientAddress($0.subscriber) }, now: clock.now())
    let session = StreamSession(
      client: client, connection: connection, node: self,
      limits: WebSocketLimits(messageBytes: settings.clientLimits.messageBytes), deflate: deflate, events: events)
    (session.credential, session.address) = (credential, address)
    while sessions.count <= Int(client.slot) { sessions.append(nil) }
    sessions[Int(client.slot)] = session
    connection.handler = session
    metrics.clients += 1
    metrics.clientsTotal += 1
    metrics.ends.came(isTLS: session.isTLS, session.encoding)
    if deflate != nil { metrics.compressingClients += 1 }
    session.greet()
    if rest.count > 0 { session.connection(connection, didReceive: rest) }
    return session
  }
}
