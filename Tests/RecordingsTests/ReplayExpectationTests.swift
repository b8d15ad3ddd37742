import Bytes
import Foundation
import MarketData
import TestSupport
import TestTraits
import Testing
import Venues

@testable import Recordings

/// Recorded sessions, each with what it adds up to.
private let recordings = [
  "binance-spot-20210404-book3", "binance-spot-20210417-book10", "binance-spot-20210814-book4",
  "binance-spot-20211012-book4", "binance-spot-20240808-btcusdt", "binanceus-spot-20211012-book4",
  "binancetr-spot-20230410-book3", "coinbase-spot-20210417-book10",
  "bybit-linear-20241201-ob500", "binance-usdm-20210417-book4", "binance-usdm-20210722-book4",
  "binance-usdm-20240808-btcusdt", "bitfinex-spot-20210417-book7", "bitstamp-spot-20210417-book10",
  "bitstamp-spot-20220105-book10", "gate-spot-20210422-book10",
]

@Suite("Recorded sessions replay to what they add up to", .longComputation)
struct ReplayExpectationTests {
  struct Expected: Decodable {
    struct Symbol: Decodable {
      var deltas: Int
      var snapshots: Int
      var bridged: Int?
      var dropped: Int?
      var sequence_ok: Int
      var gaps: Int
      var unknown_deletes: Int?
      var trades: Int
      var backlog_trades: Int?
      var last_trade_price: String?
      var final_bids: [[String]]
      var final_asks: [[String]]
      var levels: [Int]
      var crossed_at_end: Bool
    }
    var seconds: Double
    var records: [String: Int]
    var connections: Int
    var frame_bytes: Int
    var symbols: [String: Symbol]
  }

  @Test(
    "every count, level and price of a recording comes out",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: recordings)
  func replays(_ name: String) throws {
    let folder = try #require(recordingsFolder)
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name).expected.json"))
    let expected = try JSONDecoder().decode(Expected.self, from: data)
    let result = try Replayer(path: "\(folder)/\(name).ndjson.gz").run()
    #expect(abs(result.seconds - expected.seconds) < 0.0011)
    #expect(result.records.reduce(into: [:]) { $0[$1.key.rawValue] = $1.value } == expected.records)
    #expect(result.connections == expected.connections)
    #expect(result.frameBytes == expected.frame_bytes)
    for (symbol, want) in expected.symbols {
      // Its only snapshot is older than the first update that came, and nothing proves that none is missing between
      // (Bitstamp).
      if name == "bitstamp-spot-20210417-book10", symbol == "gbpusd" { continue }
      let got = try #require(result.symbols.first { $0.name == symbol }, "\(symbol) was not replayed: \(result.failed)")
      #expect(got.counts.deltas == want.deltas, "deltas of \(symbol)")
      #expect(got.counts.snapshots == want.snapshots, "snapshots of \(symbol)")
      #expect(got.counts.bridged == want.bridged ?? 0, "bridged of \(symbol)")
      #expect(got.counts.dropped == want.dropped ?? 0, "dropped of \(symbol)")
      #expect(got.counts.sequenceOK == want.sequence_ok, "links of \(symbol)")
      #expect(got.counts.gaps == want.gaps, "gaps of \(symbol)")
      #expect(got.counts.trades == want.trades, "trades of \(symbol)")
      #expect(got.counts.backlogTrades == want.backlog_trades ?? 0, "backlog of \(symbol)")
      #expect(got.unknownDeletes == want.unknown_deletes ?? 0, "unknown deletes of \(symbol)")
      // Gate and Bitfinex print numbers without zeros at their end, and the book with the digits of its scales.
      let isShort = name.hasPrefix("gate-") || name.hasPrefix("bitfinex-")
      Self.expect(got.finalBids, want.final_bids, isShort: isShort, "bids of \(symbol)")
      Self.expect(got.finalAsks, want.final_asks, isShort: isShort, "asks of \(symbol)")
      #expect([got.bidLevels, got.askLevels] == want.levels, "levels of \(symbol)")
      #expect(got.isCrossedAtEnd == want.crossed_at_end)
      #expect(got.isLiveAtEnd)
      // Coinbase prints trade prices without trailing zeros and book prices with them; the value is what must be the
      // same.
      #expect(got.lastTradePrice.map(Self.value) == want.last_trade_price.map(Self.value), "last trade of \(symbol)")
    }
  }

  /// - Parameter isShort: the venue prints numbers without zeros at their end, so that their values are compared.
  static func expect(_ got: [ReplayResult.Level], _ want: [[String]], isShort: Bool, _ what: Comment) {
    let got = got.map { [$0.price, $0.size] }
    if isShort {
      #expect(got.map { $0.map(Self.value) } == want.map { $0.map(Self.value) }, what)
    } else {
      #expect(got == want, what)
    }
  }

  static func value(_ text: String) -> Decimal64? { try? DecimalText.parse(Array(text.utf8).span.bytes) }
}
