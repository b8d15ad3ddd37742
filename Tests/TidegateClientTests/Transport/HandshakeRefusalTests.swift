import Testing

@testable import TidegateClient

@Suite("A refused handshake")
struct HandshakeRefusalTests {
  static func refuse(_ it: inout CoreHarness, _ status: Int, _ retryAfter: Duration? = nil) -> CoreHarness.Step {
    it.act { $0.refused(status: status, retryAfter: retryAfter, reason: "no", now: $1, into: &$2) }
  }

  @Test("a request that is wrong is not made again", arguments: [400, 401, 403, 405, 410, 426])
  func isFinal(status: Int) {
    var it = CoreHarness()
    _ = it.start()
    #expect(Self.refuse(&it, status, .seconds(1)).end == .refused(status: status, reason: "no"))
    #expect(it.core.nextDeadline == nil)
  }

  @Test("one that may be granted later is", arguments: [408, 425, 429, 500, 502, 503])
  func isTriedAgain(status: Int) {
    var it = CoreHarness()
    _ = it.start()
    #expect(Self.refuse(&it, status).retryIn ?? .max <= 250_000_000)
    #expect(it.passToDeadline().wantsConnection)
  }

  @Test("and not before the server said, with a jitter behind it", arguments: [1, 2, 3] as [UInt64])
  func retryAfter(seed: UInt64) throws {
    var it = CoreHarness(seed: seed)
    _ = it.start()
    let wait = try #require(Self.refuse(&it, 503, .seconds(20)).retryIn)
    #expect(wait >= 20_000_000_000 && wait <= 20_250_000_000)
    #expect(it.pass(milliseconds: 19_999).isSilent)
    #expect(it.passToDeadline().wantsConnection)
    // Nobody is sent away for years.
    let longest = try #require(Self.refuse(&it, 429, .seconds(Int64.max)).retryIn)
    #expect(longest >= 600_000_000_000 && longest <= 600_500_000_000)
  }

  @Test(
    "Retry-After is a number of seconds, or a date after the answer's own",
    arguments: [
      ("7", nil, 7), ("0", nil, 1), ("99999999999999999999", nil, 3_600), ("-1", nil, nil), ("1.5", nil, nil),
      ("", nil, nil), ("Sun, 06 Nov 1994 08:49:37 GMT", nil, nil),
      ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", 30),
      ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 09:49:07 GMT", 1),
      ("Sun, 06 Nov 2094 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", 3_600),
      ("Sun, 06 Nov 1994 08:49:37 GMT", "yesterday", nil), ("7", "yesterday", 7),
    ] as [(String, String?, Int?)])
  func field(value: String, date: String?, seconds: Int?) {
    let refusal = HandshakeRefusal(status: 503, phrase: "", waits: [value], date: date, body: [])
    #expect(refusal.retryAfter == seconds.map { .seconds($0) })
  }

  @Test("the gateway's own words are the reason")
  func words() {
    let body = #"{"type":"error","code":"unauthorized","message":"this key is not known","hint":"ask the operator"}"#
    func reason(_ status: Int, _ phrase: String, _ body: String) -> String {
      HandshakeRefusal(status: status, phrase: phrase, waits: [], date: nil, body: Array(body.utf8)).reason
    }
    #expect(
      reason(401, "Unauthorized", body)
        == "the server answered 401 Unauthorized: this key is not known; ask the operator")
    #expect(reason(502, "Bad Gateway", "<html>") == "the server answered 502 Bad Gateway")
    #expect(reason(502, "", "{" + String(repeating: " ", count: 20_000)) == "the server answered 502")
  }
}
