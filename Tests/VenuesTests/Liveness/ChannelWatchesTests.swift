import MarketData
import Testing

@testable import Venues

@Suite("Channels that promise to speak")
struct ChannelWatchesTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)

  private func facts(_ every: [Int64?], _ book: DialectFacts.Book = .streamed(nil)) -> DialectFacts {
    DialectFacts(
      channels: every.enumerated().map { index, every in
        .init(
          "channel\(index)", index == 0 ? .book : .trades,
          silence: every.map { .atLeast(every: $0) } ?? .contradicted)
      }, book: book, pacing: .init(grouping: .topic, atOnce: 1, every: 0, limit: 8), salvage: [])
  }

  private func dead(
    _ watches: inout ChannelWatches, after seconds: Int64, _ isFollowed: (Int) -> Bool = { _ in true }
  )
    -> [Int]
  {
    let now = start + seconds * Microseconds.second
    return watches.takeDead(connectionHeard: now, now: now, isFollowed)
  }

  @Test("the silent ones of the carried symbols are found dead, each once")
  func silent() {
    var watches = ChannelWatches(facts([nil, Microseconds.second]))
    watches.grow(to: 3)
    for code in 0..<6 { watches.subscribed(code, now: start) }
    watches.heard(3, now: start + 10 * Microseconds.second)
    #expect(dead(&watches, after: 16) { $0 != 5 } == [1])
    #expect(dead(&watches, after: 16) { $0 != 5 } == [])
    #expect(dead(&watches, after: 16) == [5])
  }

  @Test("of one that has not been subscribed nothing is expected, nor after the connection is gone")
  func unsubscribed() {
    var watches = ChannelWatches(facts([nil, Microseconds.second]))
    watches.grow(to: 2)
    watches.subscribed(1, now: start)
    watches.disconnected()
    #expect(dead(&watches, after: 60) == [])
  }

  @Test("where nothing is promised nothing is kept; a book that is whole in each message is looked after elsewhere")
  func none() {
    let limits = DialectFacts.WholeBooks(lateLimit: 1, probeAfter: 1, probeWithin: 1, catchUp: 1)
    for facts in [facts([nil, nil]), facts([Microseconds.second, nil], .whole(limits))] {
      var watches = ChannelWatches(facts)
      watches.grow(to: 2)
      for code in 0..<4 { watches.subscribed(code, now: start) }
      watches.heard(2, now: start)
      #expect(dead(&watches, after: 60) == [])
    }
  }
}
