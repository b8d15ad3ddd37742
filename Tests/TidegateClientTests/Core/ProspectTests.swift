import Testing

@testable import TidegateClient

/// What passes is tried again; what cannot pass ends the client and its subscriptions, with the reason.
@Suite("Failures that pass, and those that last")
struct ProspectTests {
  enum Failure: Sendable {
    case unusable, badMessage, lost
    case status(Int)
    case code(UInt16)
  }

  private static func happen(_ failure: Failure, _ it: inout CoreHarness) -> CoreHarness.Step {
    switch failure {
    case .unusable: return it.unusable("self-signed certificate")
    case .badMessage:
      _ = it.opened()
      return it.receive("<html>")
    case .lost: return it.closed(nil, "connection refused")
    case .status(let status): return it.refused(status)
    case .code(let code):
      _ = it.opened()
      return it.closed(code, "no")
    }
  }

  /// A client at its first attempt, or at the first one after a connection to a gateway.
  private static func attempting(hasMet: Bool) -> CoreHarness {
    var it = CoreHarness()
    guard hasMet else {
      _ = it.start()
      return it
    }
    it.live()
    _ = it.closed(nil, "broken")
    _ = it.passToDeadline()
    return it
  }

  @Test(
    "where no gateway has answered yet, a server that is none ends the client; after one has answered, that passes",
    arguments: [Failure.unusable, .badMessage] + [200, 204, 301, 308, 404, 421, 501, 505].map(Failure.status))
  func onceMet(failure: Failure) throws {
    var first = Self.attempting(hasMet: false)
    let end = try #require(Self.happen(failure, &first).end)
    #expect(first.core.isOver(first.subscription) && first.core.failure == end && first.core.nextDeadline == nil)
    #expect(!end.advice.contains("by itself"))
    var later = Self.attempting(hasMet: true)
    #expect(Self.happen(failure, &later).retryIn != nil)
    #expect(later.passToDeadline().wantsConnection)
  }

  @Test(
    "a refusal of the gateway ends the client at any time",
    arguments: [400, 401, 403, 405, 407, 410, 426, 451].map(Failure.status) + [4000, 4001, 4099].map(Failure.code))
  func lasts(failure: Failure) {
    for hasMet in [false, true] {
      var it = Self.attempting(hasMet: hasMet)
      #expect(Self.happen(failure, &it).end != nil)
    }
  }

  @Test(
    "what time may heal is tried again, at the first attempt, too",
    arguments: [Failure.lost] + [408, 425, 429, 500, 502, 503, 504, 511, 599].map(Failure.status)
      + [1000, 1001, 1006, 1011, 4108, 4129, 4201].map(Failure.code))
  func passes(failure: Failure) {
    for hasMet in [false, true] {
      var it = Self.attempting(hasMet: hasMet)
      #expect(Self.happen(failure, &it).retryIn != nil)
      #expect(it.passToDeadline().wantsConnection)
    }
  }

  @Test("a server that wants to be asked later is not asked before")
  func retryAfter() {
    var it = Self.attempting(hasMet: false)
    #expect(it.refused(503, retryAfter: .seconds(7)).retryIn ?? 0 >= 7_000_000_000)
    var other = Self.attempting(hasMet: false)
    #expect(other.refused(503, retryAfter: .seconds(86_400)).retryIn ?? .max <= 600_250_000_000)
  }
}
