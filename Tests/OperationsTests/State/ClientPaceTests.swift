import Testing

@testable import Operations

@Suite("How much a client is given per second")
struct ClientPaceTests {
  @Test("it is the mean of the last interval, and unknown before one is over")
  func rates() {
    var pace = ClientPace(at: 1_000_000)
    #expect(pace.rates == nil && !pace.isDue(at: 5_999_999) && pace.isDue(at: 6_000_000))
    pace.look(messages: 50, bytes: 5_000, at: 6_000_000)
    #expect(pace.rates == ClientPace.Rates(messages: 10, bytes: 1_000))
    pace.look(messages: 50, bytes: 5_020, at: 16_000_000)
    #expect(pace.rates == ClientPace.Rates(messages: 0, bytes: 2))
  }
}
