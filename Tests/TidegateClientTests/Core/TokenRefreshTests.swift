import Testing

@testable import TidegateClient

@Suite("Fresh tokens")
struct TokenRefreshTests {
  private static let refusals: [ConnectionFailure] = [
    .closed(code: 4001, reason: ""), .refused(status: 401, reason: ""),
  ]

  @Test("one token is requested at a time, and only a requested one arrives")
  func requests() {
    var token = TokenRefresh(isPossible: true)
    #expect(token.arrive() == false)
    #expect(token.request() && !token.request())
    #expect(token.arrive() && !token.arrive())
    #expect(token.request() == true)
  }

  @Test("a fresh token helps after one refusal, and after a second one only if the gateway accepted one between")
  func helps() {
    for refusal in Self.refusals {
      var token = TokenRefresh(isPossible: true)
      #expect(token.helps(refusal) && !token.helps(refusal))
      token.accept()
      #expect(token.helps(refusal) == true)
    }
  }

  @Test("without a source, or for another failure, none helps")
  func others() {
    var none = TokenRefresh(isPossible: false)
    for refusal in Self.refusals { #expect(none.helps(refusal) == false) }
    var token = TokenRefresh(isPossible: true)
    let others: [ConnectionFailure] = [
      .closed(code: 4003, reason: ""), .refused(status: 403, reason: ""), .noHeartbeat, .network(""),
    ]
    for failure in others { #expect(token.helps(failure) == false) }
    #expect(token.helps(Self.refusals[0]) == true)
  }
}
