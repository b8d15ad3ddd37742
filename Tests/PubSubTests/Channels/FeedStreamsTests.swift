import MarketData
import Testing

@testable import PubSub

@Suite("The streams of feeds")
struct FeedStreamsTests {
  private let now = Timestamp(microseconds: 1_790_000_000_000_000)

  @Test("only something other than an age is news, and the newest states are shown either way")
  func news() {
    var feeds = FeedStreams()
    var status = ["kraken", "coinbase"].map { FeedStatus(venue: $0, state: .live, since: now) }
    var news = [feeds.set(status), feeds.set(status)]
    status[0].lastMessage = now
    news.append(feeds.set(status))
    #expect(feeds.visible(to: []) == status)
    status[1].state = .reconnecting
    news += [feeds.set(status), feeds.set([status[0]]), feeds.set([])]
    #expect(news == [true, false, false, true, true, true])
  }

  @Test("a client sees the feeds of the venues that its rules cover")
  func scope() throws {
    var feeds = FeedStreams()
    _ = feeds.set(["kraken", "coinbase"].map { FeedStatus(venue: $0, state: .live, since: now) })
    let rules = try #require(SymbolRules(["coinbase:*"]))
    #expect(feeds.visible(to: [rules]).map(\.venue) == ["coinbase"])
  }
}
