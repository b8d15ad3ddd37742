import Testing

@testable import TidegateClient

@Suite("Reconnection")
struct ReconnectionTests {
  private static let drained = ConnectionFailure.closed(code: 4200, reason: "")

  private func reconnection(seed: UInt64 = 1) -> Reconnection {
    Reconnection(.milliseconds(100)...(.milliseconds(400)), seed: seed)
  }

  /// How long the client waits; throws if it ends.
  private func wait(
    _ reconnection: inout Reconnection, _ failure: ConnectionFailure = .noHeartbeat, least: UInt64 = 0, now: UInt64 = 0
  ) throws -> UInt64 {
    let wait = reconnection.wait(after: failure, notBefore: least, now: now)
    return try #require(wait)
  }

  @Test("each wait is under a limit that doubles to the last one, and a working connection begins anew")
  func backOff() throws {
    var longest = [UInt64](repeating: 0, count: 5)
    for seed in 1...200 as ClosedRange<UInt64> {
      var reconnection = reconnection(seed: seed)
      for attempt in 0..<5 {
        let wait = try wait(&reconnection, now: 7)
        #expect(reconnection.dueAt == 7 + wait)
        longest[attempt] = max(longest[attempt], wait)
      }
      reconnection.works()
      let first = try wait(&reconnection)
      #expect(first <= 100_000_000)
    }
    for (wait, limit) in zip(longest, [100, 200, 400, 400, 400] as [UInt64]) {
      #expect(wait <= limit * 1_000_000 && wait > limit * 900_000)
    }
  }

  @Test("the gateway's least wait comes before the random one")
  func least() throws {
    var reconnection = reconnection()
    let wait = try wait(&reconnection, least: 5_000_000_000)
    #expect((5_000_000_000...5_100_000_000).contains(wait))
  }

  @Test("where a gateway moves its clients, the first attempt does not wait")
  func drains() throws {
    for failure in [Self.drained, .draining] {
      var reconnection = reconnection(seed: 3)
      let waits = [try wait(&reconnection, failure), try wait(&reconnection, failure)]
      #expect(waits[0] == 0 && waits[1] > 0)
    }
  }

  @Test("a lasting failure ends it, and one of an unknown server until a gateway has answered")
  func ends() {
    var refused = reconnection()
    refused.meet()
    #expect(refused.wait(after: .noToken, notBefore: 0, now: 0) == nil)
    #expect(refused.end == .noToken && refused.dueAt == nil)
    var unknown = reconnection()
    #expect(unknown.wait(after: .unusable("page"), notBefore: 0, now: 0) == nil)
    #expect(unknown.end == .unusable("page"))
    var known = reconnection()
    known.meet()
    #expect(known.wait(after: .unusable("page"), notBefore: 0, now: 0) != nil)
    #expect(known.end == nil)
  }

  @Test("an attempt is due once, or at once when the network is back")
  func due() throws {
    var reconnection = reconnection()
    #expect(!reconnection.takeDue(.max) && !reconnection.hurry())
    _ = reconnection.wait(after: .noHeartbeat, notBefore: 50, now: 0)
    let due = try #require(reconnection.dueAt)
    #expect(!reconnection.takeDue(due - 1) && reconnection.takeDue(due) && !reconnection.takeDue(due))
    _ = reconnection.wait(after: .noHeartbeat, notBefore: 50, now: 0)
    #expect(reconnection.hurry() && reconnection.dueAt == nil)
    // The back-off begins anew.
    #expect(reconnection.wait(after: .draining, notBefore: 0, now: 0) == 0)
  }
}
