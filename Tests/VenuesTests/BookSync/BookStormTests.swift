import MarketData
import Testing

@testable import Venues

/// A symbol whose book keeps failing, whichever way its snapshots come: no storm, no harm to the others, and it comes
/// back by itself.
@Suite("Books that keep failing")
struct BookStormTests {
  /// Binance spot with A and B, both live.
  private func binance() -> EngineHarness {
    let feed = EngineHarness(Binance.spot, ["A-USD", "B-USD"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, MarketListTests.list(["AUSD", "BUSD"]))
    feed.connect()
    return feed
  }

  private func update(_ symbol: String, _ first: Int, _ last: Int) -> String {
    #"{"stream":"x","data":{"e":"depthUpdate","E":1700000000000,"s":"\#(symbol)","U":\#(first),"u":\#(last),"b":[["1.00000000","2.00000000"]],"a":[]}}"#
  }

  private func snapshot(_ id: Int) -> String {
    #"{"lastUpdateId":\#(id),"bids":[["1.00000000","1.00000000"]],"asks":[["2.00000000","1.00000000"]]}"#
  }

  @Test("snapshots by REST: a gap a second costs a dozen requests in ten minutes, and nobody else a thing")
  func gaps() {
    let feed = binance()
    var number = 10
    var requests: [Int] = []
    var failures = 0
    var others = 0
    for second in 0..<600 {
      // Each update leaves a hole behind the one before; B's are whole.
      number += 10
      feed.receive(update("AUSD", number, number + 1))
      var gets = feed.gets
      feed.receive(update("BUSD", second + 1, second + 1))
      gets += feed.gets
      if feed.books.contains(where: { $0.instrument == InstrumentID(1) }) { others += 1 }
      feed.wait(1)
      gets += feed.gets
      for get in gets {
        if get.path.contains("AUSD") { requests.append(second) }
        feed.respond(get.request, 200, snapshot(get.path.contains("AUSD") ? number : second + 1))
      }
      if feed.engine.failure(of: InstrumentID(0)) != nil { failures += 1 }
      #expect(feed.engine.failure(of: InstrumentID(1)) == nil)
    }
    #expect(requests.count >= 10 && requests.count <= 14, "\(requests)")
    #expect(failures > 200)
    #expect(feed.state(1) == .live && others > 590)
    // The stream is whole again: it comes back by itself.
    for _ in 0..<1_000 {
      number += 1
      feed.receive(update("AUSD", number + 1, number + 1))
      let gets = feed.gets
      feed.wait(1)
      for get in gets + feed.gets { feed.respond(get.request, 200, snapshot(number + 1)) }
    }
    #expect(feed.state(0) == .live && feed.engine.failure(of: InstrumentID(0)) == nil)
  }

  @Test(
    "a snapshot from before the first update that was kept is asked for again, ever more rarely, and what was kept stays"
  )
  func stale() {
    let feed = binance()
    var requests: [Int] = []
    var number = 1_000
    for second in 0..<900 {
      number += 1
      feed.receive(update("AUSD", number, number))
      var gets = feed.gets
      feed.wait(1)
      gets += feed.gets
      for get in gets where get.path.contains("AUSD") {
        requests.append(second)
        // A cache that never gets newer.
        feed.respond(get.request, 200, snapshot(500))
        #expect(feed.state(0) != .live)
      }
    }
    let waits = zip(requests.dropFirst(), requests).map { $0 - $1 }
    #expect(waits.starts(with: [1, 2, 4, 8, 16]), "\(waits)")
    #expect(requests.count <= 13, "\(requests)")
    #expect(feed.engine.failure(of: InstrumentID(0))?.failures ?? 0 >= 10)
    // 900 updates were kept all the while: one snapshot that joins them is enough, whenever it comes.
    var isAnswered = false
    for _ in 0..<1_000 where !isAnswered {
      feed.wait(1)
      for get in feed.gets where get.path.contains("AUSD") {
        feed.respond(get.request, 200, snapshot(1_600))
        isAnswered = true
      }
    }
    #expect(feed.state(0) == .live)
    #expect(feed.books.count == 1 + (number - 1_600))
  }

  @Test("refusals of all requests say nothing of one book: no circuit opens")
  func statuses() {
    let feed = binance()
    for _ in 0..<600 {
      feed.receive(update("AUSD", 5, 6))
      let gets = feed.gets
      feed.wait(1)
      for get in gets + feed.gets { feed.respond(get.request, 503, "") }
      #expect(feed.engine.failure(of: InstrumentID(0)) == nil)
    }
  }

  @Test("snapshots in the stream: a book that is wrong at once each time is left alone; the other one goes on")
  func streamed() {
    let feed = BybitDialectTests.live()
    feed.receive(
      BybitDialectTests.book(
        "snapshot", 1, bids: #"["2000.1","1"]"#, asks: #"["2000.2","1"]"#, topic: "orderbook.200.ETHUSDT"))
    var subscriptions: [Int] = []
    var number = 100
    var other = 1
    for second in 0..<900 {
      if feed.state(0) == .live {
        number += 5
        feed.receive(BybitDialectTests.book("delta", number))
        #expect(feed.resets == [.gap])
      }
      let sent = feed.sent
      other += 1
      feed.receive(BybitDialectTests.book("delta", other, topic: "orderbook.200.ETHUSDT"))
      #expect(feed.books.count == 1)
      feed.wait(1)
      if (sent + feed.sent).contains(where: { $0.contains(#""subscribe","args":["orderbook.200.BTCUSDT"]"#) }) {
        subscriptions.append(second)
        feed.receive(BybitDialectTests.book("snapshot", number, bids: #"["80688.1","1"]"#, asks: #"["80691.5","1"]"#))
      }
    }
    #expect(subscriptions.count <= 13, "\(subscriptions)")
    #expect(feed.engine.failure(of: InstrumentID(0)) != nil && feed.engine.failure(of: InstrumentID(1)) == nil)
    #expect(feed.state(1) == .live)
  }
}
