import Testing

@testable import TidegateClient
@testable import Watch

@Suite("What a connection costs, in a line")
struct TrafficLineTests {
  @Test("bytes, wake-ups and messages a minute; messages together are one wake-up")
  func text() {
    var traffic = Traffic()
    for message in 0..<20 as Range<UInt64> {
      // Two at a time, ten times a second.
      traffic.count(message % 2 == 0 ? 900 : 100, isRecord: message % 2 == 0, now: message / 2 * 100_000_000)
    }
    #expect(
      TrafficLine.text(traffic, over: .seconds(1)) == "600.0 kB, 600 wake-ups and 1200 messages a minute (600 binary)")
    #expect(
      TrafficLine.text(traffic, over: .seconds(1_200)) == "500 B, 1 wake-ups and 1 messages a minute (1 binary)")
    #expect(TrafficLine.text(Traffic(), over: .zero) == "0 B, 0 wake-ups and 0 messages a minute (0 binary)")
  }
}
