import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Figures of markets whose trades are in doubt")
struct FigureRequestsTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)
  private var instruments = InstrumentTable()

  init() {
    var batch = EventBatch()
    for name in ["A", "B", "C"] {
      let market = ListedMarket(venueSymbol: name, symbol: FeedSymbol(base: name, quote: "USD"))
      _ = instruments.add(market, venue: "venue", into: &batch)
    }
  }

  private func requests(perMinute: Int = 60, connections: Int = 1) -> FigureRequests {
    FigureRequests(
      .init(path: { "/figures/\($0.venueSymbol)" }, requestsPerMinute: perMinute) {
        (reader, _, ticker) throws(FeedError) in ticker.trades = try reader.int64("count")
      }, connections: connections)
  }

  private func answer(
    _ requests: inout FigureRequests, _ request: Int, _ status: AnswerStatus = .init(code: 200), _ text: String = "7"
  ) throws(FeedError) -> Ticker? {
    let bytes = Array(text.utf8)
    var table = instruments
    return try requests.answered(request, status, bytes.span.bytes, &table, now: start)
  }

  @Test("one request for a market at a time; what it says belongs to that market")
  func one() throws {
    var requests = requests()
    let request = requests.ask(instruments[1], now: start)
    let asked = try #require(request)
    #expect(asked.path == "/figures/B" && asked.request >= FigureRequests.first)
    #expect(requests.ask(instruments[1], now: start + FigureRequests.timeout - 1) == nil)
    #expect(requests.ask(instruments[2], now: start) != nil)
    let figures = try #require(try answer(&requests, asked.request))
    #expect(figures.instrument == InstrumentID(1) && figures.trades == 7)
    #expect(try answer(&requests, asked.request) == nil, "it is answered once")
  }

  @Test("one that is not answered is asked for again")
  func timeout() {
    var requests = requests()
    _ = requests.ask(instruments[0], now: start)
    #expect(requests.ask(instruments[0], now: start + FigureRequests.timeout) != nil)
  }

  @Test("a part of the venue's limit, shared by the connections of an address")
  func budget() {
    var requests = requests(perMinute: 4, connections: 2)
    let asked = (0..<3).filter { requests.ask(instruments[$0], now: start) != nil }
    #expect(asked == [0, 1])
  }

  @Test("the venue's wish to wait holds for all markets; no answer at all is none")
  func pause() throws {
    for (status, waits) in [(AnswerStatus(code: 429, retryAfter: 5_000_000), true), (.none, false)] {
      var requests = requests()
      let request = requests.ask(instruments[0], now: start)
      let asked = try #require(request)
      #expect(throws: FeedError.self) { try answer(&requests, asked.request, status) }
      #expect((requests.ask(instruments[1], now: start + 4_999_999) == nil) == waits)
      #expect(requests.ask(instruments[1], now: start + FigureRequests.timeout + 5_000_000) != nil)
    }
  }

  @Test("what was asked for on a connection that is gone, or of a symbol that is asked for anew, is no answer")
  func forgotten() throws {
    var requests = requests()
    let asked = [0, 1].compactMap { requests.ask(instruments[$0], now: start)?.request }
    requests.forget(0)
    #expect(try answer(&requests, asked[0]) == nil)
    requests.disconnected()
    #expect(try answer(&requests, asked[1]) == nil)
  }
}
