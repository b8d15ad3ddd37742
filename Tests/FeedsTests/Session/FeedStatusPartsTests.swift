import MarketData
import PubSub
import Testing

@testable import Feeds

@Suite("A venue of several connections is one to clients")
struct FeedStatusPartsTests {
  private func status(
    _ venue: String, _ state: FeedState, reason: String? = nil, heard: Int64? = nil, since: Int64 = 1
  ) -> FeedStatus {
    var status = FeedStatus(venue: venue, state: state, since: Timestamp(microseconds: since))
    status.reason = reason
    status.lastMessage = heard.map { Timestamp(microseconds: $0) }
    return status
  }

  @Test("the worst state is told with its reason, the longest silence, and the symbols of all")
  func joined() {
    var spot = status("bybit", .live, heard: 50)
    spot.syncing = ["bybit:BTC-USDT": "sequence gap"]
    var linear = status("bybit", .reconnecting, reason: "closed by the venue (1006)", heard: 20, since: 9)
    linear.failed = ["bybit:X-USDT-PERP": "no such market"]
    linear.attempt = 3
    linear.gapFrom = Timestamp(microseconds: 20)
    for order in [[spot, linear], [linear, spot]] {
      let venues = FeedStatus.byVenue([status("kraken", .live, heard: 5)] + order)
      #expect(venues.map(\.venue) == ["kraken", "bybit"])
      let bybit = venues[1]
      #expect(bybit.state == .reconnecting && bybit.reason == "closed by the venue (1006)" && bybit.attempt == 3)
      #expect(bybit.since.microseconds == 9 && bybit.lastMessage?.microseconds == 20)
      #expect(bybit.gapFrom?.microseconds == 20 && bybit.gapTo == nil)
      #expect(bybit.syncing.keys.sorted() == ["bybit:BTC-USDT"] && bybit.failed.keys.sorted() == ["bybit:X-USDT-PERP"])
    }
  }

  @Test("a connection alone is told as it is; one that has heard nothing yet makes the venue one that has not")
  func single() {
    let kraken = status("kraken", .stale, reason: "quiet", heard: 4)
    #expect(FeedStatus.byVenue([kraken]) == [kraken])
    let both = FeedStatus.byVenue([status("bybit", .live, heard: 4), status("bybit", .connecting)])
    #expect(both.count == 1 && both[0].lastMessage == nil && both[0].state == .connecting)
  }
}
