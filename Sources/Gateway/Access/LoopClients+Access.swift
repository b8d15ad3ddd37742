import Access
import Logging
import MarketData
import Operations
import PubSub
import Transport

/// Tokens of streams: the hub requests a check, the authenticator verifies the token, and the admission counts
/// connections.
extension LoopClients {
  /// Answers the hub's `.authenticate`.
  func authenticate(_ token: String, of session: StreamSession, _ now: Timestamp) {
    let result = node.settings.access?.authenticate(token, now: now) ?? .failure(.unknownKey)
    switch result {
    case .success(let credential):
      guard let permit = session.connection.permit as? AdmissionPermit,
        node.settings.admission.hold(permit, credential.grant)
      else {
        node.settings.admission.count(.connectionsPerKey, from: session.address)
        hub.refuse(
          session.client, why: "this token's key is at its limit of connections", code: CloseCode.rateLimited,
          now: now, into: &node.work.actions)
        return
      }
      session.credential = credential
      hub.authorize(session.client, credential.grant, now: now, into: &node.work.actions)
    case .failure(let error):
      node.settings.admission.count(.unauthorized, from: session.address)
      node.settings.log.of(.clients).debug(
        "token refused", metadata: ["peer": "\(session.connection.peer)", "reason": "\(error.description)"])
      hub.refuse(session.client, why: error.description, now: now, into: &node.work.actions)
    }
  }

  /// Applies the new access policy. On the loop.
  func accessChanged() {
    loop.assertOnLoop()
    guard let policy = node.settings.access?.policy else { return }
    let now = node.clock.now()
    hub.anonymousGrant = policy.anonymous
    review(policy, now)
  }

  /// Applies another policy to connected clients: gives each its new grant, and ends those whose key was removed.
  func review(_ policy: AccessPolicy, _ now: Timestamp) {
    for session in sessions {
      guard let session else { continue }
      guard let credential = session.credential else {
        if hub.grant(of: session.client) == nil { continue }
        if let anonymous = policy.anonymous {
          hub.authorize(session.client, anonymous, now: now, into: &node.work.actions)
        } else {
          hub.revoke(from: session.client, why: "a token is needed now", into: &node.work.actions)
        }
        continue
      }
      do throws(AccessError) {
        let fresh = try policy.renew(credential)
        session.credential = fresh
        if fresh.grant != credential.grant {
          hub.authorize(session.client, fresh.grant, now: now, into: &node.work.actions)
        }
      } catch {
        hub.revoke(from: session.client, why: error.description, into: &node.work.actions)
      }
    }
  }
}
