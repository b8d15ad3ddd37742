import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Lists that are read away from the loop")
struct ListReaderTests {
  private static let now = Timestamp(microseconds: 1_790_000_000_000_000)

  /// A feed that has asked for its list, and the number of that request.
  private static func asking(_ symbols: [String]) throws -> (pipeline: FeedPipeline, request: Int) {
    let venue = OKX.venue
    let pipeline = FeedPipeline(venue: venue, configuration: FeedConfiguration(symbols: symbols))
    pipeline.prepare(now: now)
    let requests = pipeline.takeActions().compactMap { action in
      if case .get(let request, _, _) = action { request } else { nil }
    }
    return (pipeline, try #require(requests.first))
  }

  private static func list(_ names: [String]) -> [UInt8] {
    let entries = names.map { #"{"instType":"SPOT","instId":"\#($0)","tickSz":"0.1","lotSz":"0.01"}"# }
    return Array(#"{"code":"0","msg":"","data":[\#(entries.joined(separator: ","))]}"#.utf8)
  }

  @Test("come to what they come to where they are read in place")
  func same() throws {
    let names = (0..<40).map { "C\($0)-USDT" }
    let body = Self.list(names)
    let wanted = ["C1-USDT", "C39-USDT", "NOPE-USDT"]
    let (inPlace, first) = try Self.asking(wanted)
    inPlace.response(to: first, status: 200, body: body.span.bytes, now: Self.now)
    let (ahead, second) = try Self.asking(wanted)
    let reader = try #require(ahead.engine.listReader(for: second))
    #expect(ahead.engine.listReader(for: second + 1) == nil)
    // What is given to the pipeline beside it is not read again.
    ahead.response(
      to: second, status: 200, body: Array("nonsense".utf8).span.bytes, now: Self.now, readAhead: reader.read(body))
    #expect(ahead.market.instruments.map(\.instrument) == inPlace.market.instruments.map(\.instrument))
    #expect(ahead.market.instruments.map(\.instrument.symbol) == ["okx:C1-USDT", "okx:C39-USDT"])
    #expect(ahead.engine.isPrepared && inPlace.engine.isPrepared)
    #expect(ahead.engine.listReader(for: second) == nil, "it has been answered")
  }

  @Test("a list that cannot be read is asked for again, and told of with its beginning")
  func unreadable() throws {
    let (pipeline, request) = try Self.asking(["C1-USDT"])
    let body = Array(#"{"code":"0","data":[{"instType":7}]}"#.utf8)
    let reader = try #require(pipeline.engine.listReader(for: request))
    pipeline.response(to: request, status: 200, body: body.span.bytes, now: Self.now, readAhead: reader.read(body))
    #expect(!pipeline.engine.isPrepared && pipeline.engine.counts.rejected == 1)
    #expect(pipeline.errors.entries.count == 1)
    pipeline.tick(now: Self.now + 31 * Microseconds.second)
    let asks = pipeline.takeActions().contains { if case .get = $0 { true } else { false } }
    #expect(asks)
  }
}
