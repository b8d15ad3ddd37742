import Alerts
import History
import MarketData
import PubSub

/// An idempotency key, and a digest of the request that it belongs to.
package struct RequestKey: Sendable, Hashable {
  /// 1 to `ControlRequest.keyLimit` bytes.
  package var text: String
  package var digest: [UInt8]

  package init(_ text: String, digest: [UInt8]) { (self.text, self.digest) = (text, digest) }
}

/// A key as a store has it, with what its request made.
protocol MadeByKey {
  associatedtype Owner: Hashable
  var owner: Owner { get }
  var key: String { get }
  var digest: [UInt8] { get }
  var time: Timestamp { get }
}

extension StoredRequestKey: MadeByKey {}
extension StoredPortfolioKey: MadeByKey {}

/// The idempotency keys of one kind of document: a request that is repeated within a day makes nothing twice. A value.
struct RequestKeys<Made: MadeByKey> {
  private var owners: [Made.Owner: [String: Made]] = [:]

  init(_ stored: [Made] = []) {
    for made in stored { owners[made.owner, default: [:]][made.key] = made }
  }

  /// What an earlier request with this key made; nil: there was none.
  /// - Throws: `key_reused` if that was another request.
  func made(by key: RequestKey?, of owner: Made.Owner?, now: Timestamp) throws(ProtocolError) -> Made? {
    guard let key, let owner, let made = owners[owner]?[key.text], now - made.time < StoredRequestKey.lifetime else {
      return nil
    }
    guard made.digest == key.digest else {
      throw ProtocolError(
        .keyReused, "this key was used for another request", hint: "give every new request a key of its own")
    }
    return made
  }

  /// Adds a key, and forgets the owner's oldest one beyond the limit, as the store does.
  mutating func keep(_ made: Made) {
    owners[made.owner, default: [:]][made.key] = made
    guard let all = owners[made.owner], all.count > StoredRequestKey.limitOfOwner,
      let oldest = all.values.min(by: { ($0.time, $0.key) < ($1.time, $1.key) })
    else { return }
    owners[made.owner]?[oldest.key] = nil
  }

  /// All keys, the oldest first, for a new file.
  var all: [Made] { owners.values.flatMap(\.values).sorted { ($0.time, $0.key) < ($1.time, $1.key) } }
}
