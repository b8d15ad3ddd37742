import Alerts
import History
import MarketData
import PubSub
import Testing

@testable import Documents

@Suite("Idempotency keys")
struct RequestKeysTests {
  private let start = Timestamp(microseconds: 1_790_000_000_000_000)

  private func made(_ key: String, _ number: Int64, owner: String = "a", after: Int64 = 0) -> StoredPortfolioKey {
    StoredPortfolioKey(owner: owner, key: key, digest: [1], portfolio: number, number: nil, time: start + after)
  }

  @Test("the same request with the same key finds what it made, for a day")
  func repetition() throws {
    var keys = RequestKeys([made("k", 7)])
    let key = RequestKey("k", digest: [1])
    #expect(try keys.made(by: key, of: "a", now: start)?.portfolio == 7)
    #expect(try keys.made(by: key, of: "a", now: start + StoredRequestKey.lifetime) == nil)
    #expect(try keys.made(by: key, of: "b", now: start) == nil, "another owner's key is another")
    #expect(try keys.made(by: nil, of: "a", now: start) == nil)
    keys.keep(made("l", 8))
    #expect(try keys.made(by: RequestKey("l", digest: [1]), of: "a", now: start)?.portfolio == 8)
  }

  @Test("another request with a used key is refused")
  func reuse() {
    let keys = RequestKeys([made("k", 7)])
    #expect {
      try keys.made(by: RequestKey("k", digest: [2]), of: "a", now: start)
    } throws: {
      ($0 as? ProtocolError)?.code == .keyReused
    }
  }

  @Test("an owner's oldest key is forgotten beyond the limit, another owner's is not")
  func limit() {
    var keys = RequestKeys([made("other", 1, owner: "b")])
    let limit = StoredRequestKey.limitOfOwner
    for number in 0...limit { keys.keep(made("k\(number)", Int64(number), after: Int64(number))) }
    #expect(keys.all.count == limit + 1)
    #expect(keys.all.map(\.key).prefix(2) == ["other", "k1"] && keys.all.last?.key == "k\(limit)")
  }
}
