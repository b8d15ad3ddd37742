import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("A planned change of connection")
struct FeedHandoverTests {
  private let now = Timestamp(microseconds: 1_700_000_000_000_000)

  /// A list of OKX: pairs with USD, each with its step of prices.
  private func list(_ pairs: [(base: String, tick: String)]) -> String {
    let entries = pairs.map {
      #"{"instType":"SPOT","instId":"\#($0.base)-USD","tickSz":"\#($0.tick)","lotSz":"0.01","state":"live"}"#
    }
    return #"{"code":"0","msg":"","data":[\#(entries.joined(separator: ","))]}"#
  }

  /// Answers the request for the list that the pipeline has out.
  private func answer(_ pipeline: FeedPipeline, _ list: String) throws {
    let requests = pipeline.takeActions().compactMap { if case .get(let request, _, _) = $0 { request } else { nil } }
    let body = Array(list.utf8)
    pipeline.response(to: try #require(requests.last), status: 200, body: body.span.bytes, now: now)
  }

  private func change(_ active: FeedPipeline, _ list: String) throws {
    let next = FeedHandover(of: active, configuration: active.engine.configuration)
    next.successor.prepare(now: now)
    try answer(next.successor, list)
    next.successor.connected(now: now)
    #expect(next.takeOver(now: now))
  }

  private func trade(_ pipeline: FeedPipeline, _ id: Int, _ price: String) {
    let message = Array(
      #"{"arg":{"channel":"trades","instId":"A-USD"},"data":[{"instId":"A-USD","tradeId":"\#(id)","px":"\#(price)","sz":"1","side":"buy","ts":"1700000000000"}]}"#
        .utf8)
    pipeline.receive(message.span.bytes, now: now)
    #expect(pipeline.lastError == nil)
  }

  @Test(
    "a market that the next connection's list lacks has its old place when a later one has it, and keeps its day",
    arguments: [("0.001", UInt8(3)), ("0.01", 2), ("1", 2)])
  func returns(tick: String, scale: UInt8) throws {
    let venue = try #require(VenueRegistry.venue(named: "okx"))
    let active = FeedPipeline(venue: venue, configuration: FeedConfiguration(symbols: ["A-USD", "B-USD", "C-USD"]))
    active.prepare(now: now)
    try answer(active, list([("A", "0.01"), ("B", "0.01")]))
    active.connected(now: now)
    trade(active, 7, "12.34")
    let shown = active.market.instruments[0]
    #expect(shown.lastTrade?.price == 1234 && shown.instrument.priceScale == 2)

    try change(active, list([("B", "0.01")]))
    #expect(active.market.instruments.count == 2)
    // The venue has it again, at other steps, and one more, in one list.
    active.engine.retry(["A-USD", "C-USD"], now: now, into: &active.batch)
    try answer(active, list([("A", tick), ("C", "1")]))
    #expect(active.market.instruments.map(\.instrument.base) == ["A", "B", "C"])
    #expect(shown.instrument.priceScale == scale)
    #expect(shown.lastTrade?.price == 1234 * Int64(DecimalText.power(scale - 2)))
    // What comes is read at those scales.
    trade(active, 8, "12.5")
    #expect(shown.lastTrade?.price == 1250 * Int64(DecimalText.power(scale - 2)))

    try change(active, list([("A", "0.01"), ("B", "0.01"), ("C", "1")]))
    #expect(active.market.instruments.map(\.instrument.base) == ["A", "B", "C"])
  }
}
