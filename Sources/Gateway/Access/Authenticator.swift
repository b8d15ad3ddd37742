import MarketData
import PubSub
import Synchronization
import Transport

/// Who may come in, over all loops: the policy of the key file, which can be read again while the gateway runs.
package final class Authenticator: Sendable {
  private let path: String
  private let current: Mutex<AccessPolicy>

  /// - Throws: every problem of the key file, with its line.
  package init(path: String) throws(ConfigurationProblems) {
    self.path = path
    current = Mutex(try KeyFile.load(path))
  }

  /// For tests: a policy without a file.
  init(policy: AccessPolicy) {
    path = ""
    current = Mutex(policy)
  }

  /// Entries of the file, for the log.
  package var description: String {
    let policy = policy
    return "\(policy.keys.count) keys, \(policy.issuers.count) issuers\(policy.anonymous == nil ? "" : ", anonymous")"
  }

  /// Reads the key file again; where it has problems, what was in force stays.
  package func reload() throws(ConfigurationProblems) {
    let fresh = try KeyFile.load(path)
    current.withLock { $0 = fresh }
  }

  /// Replaces the policy, as a reload does.
  func replace(_ policy: AccessPolicy) { current.withLock { $0 = policy } }

  var policy: AccessPolicy { current.withLock { $0 } }

  func authenticate(_ token: String, now: Timestamp) -> Result<AccessPolicy.Credential, AccessError> {
    let policy = policy
    do throws(AccessError) { return .success(try policy.authenticate(token, now: now)) } catch {
      return .failure(error)
    }
  }
}

/// A new API key: 256 random bits behind a prefix by which scanners for leaked secrets can know it.
package struct NewKey: Sendable {
  /// What the client sends: `tg_` and 43 characters.
  package let text: String
  /// The line of the key file that lets it in.
  package let line: String

  /// - Parameter fields: what follows the hash: `symbols=kraken:*`.
  /// - Throws: what is wrong with the name or the fields.
  package init(name: String, fields: [String] = []) throws(ConfigurationProblems) {
    text = "tg_" + Base64URL.encode(SystemRandom.bytes(32))
    let digits = Array("0123456789abcdef")
    let hash = String(Digest.sha256(Array(text.utf8)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    line = (["key", name, "sha256=\(hash)"] + fields).joined(separator: " ")
    _ = try KeyFile.parse(Array(line.utf8), path: "of the new key") { _ in nil }
  }
}
