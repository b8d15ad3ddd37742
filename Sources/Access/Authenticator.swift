import MarketData
import Synchronization
import Transport

/// Checks tokens on every loop. Its policy can be replaced while the gateway runs.
package final class Authenticator: Sendable {
  /// The file that the policy was read from; nil: none.
  package let file: String?
  private let current: Mutex<AccessPolicy>

  package init(policy: AccessPolicy, file: String? = nil) {
    self.file = file
    current = Mutex(policy)
  }

  /// The number of entries, for the log.
  package var description: String { policy.summary }

  /// Applies another policy. Sessions keep their old grants until `AccessPolicy.renew`.
  package func replace(_ policy: AccessPolicy) { current.withLock { $0 = policy } }

  package var policy: AccessPolicy { current.withLock { $0 } }

  package func authenticate(_ token: String, now: Timestamp) -> Result<AccessPolicy.Credential, AccessError> {
    let policy = policy
    do throws(AccessError) { return .success(try policy.authenticate(token, now: now)) } catch {
      return .failure(error)
    }
  }
}
