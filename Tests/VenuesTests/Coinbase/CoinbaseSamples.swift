import MarketData
import Testing

@testable import Venues

extension Coinbase: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.coinbaseSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.coinbase }
  static let replaySamples = [
    VenueReplayTests.Sample("coinbase", "spot", ["BTC-USD"], ["BTC-USD"])
  ]

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    let feed = EngineHarness(venue, ["BTC-USD", "ETH-USD"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, CoinbaseDialectTests.products)
    feed.connect()
    return (
      feed,
      [
        #"{"type":"snapshot","product_id":"BTC-USD","asks":[["80691.53","0.20084671"]],"bids":[["80688.08","0.59153273"]]}"#,
        #"{"type":"l2update","product_id":"BTC-USD","changes":[["buy","80688.08","0.00000000"],["sell","80745.16","0.2"]],"time":"2026-08-25T03:35:57.300000Z"}"#,
        #"{"type":"match","trade_id":101,"side":"sell","size":"0.00000001","price":"80691.53","product_id":"BTC-USD","time":"2026-08-25T03:35:57.096368Z"}"#,
        #"{"type":"error","message":"Failed to subscribe","reason":"ETH-USD is delisted"}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let coinbaseSpeakers = [coinbase]

  private static let coinbase = Speaker(
    venue: Coinbase.venue, symbols: ["BTC-USD"],
    begin: { feed in
      feed.respond(CoinbaseDialectTests.products)
      feed.connect()
      feed.receive(
        #"{"type":"snapshot","product_id":"BTC-USD","time":"2026-08-25T03:35:57Z","asks":[["80691.53","0.2"]],"bids":[["80688.08","0.5"]]}"#
      )
    },
    bid: "80688.08", ask: "80691.53", exponent: "8.068808e4", absent: "70000.00",
    level: { isAsk, price, size in #"["\#(isAsk ? "sell" : "buy")","\#(price)","\#(size)"]"# },
    update: { bids, asks, time in [coinbaseUpdate(bids + asks, time)] }, time: "2026-08-25T03:35:57.300000Z",
    yearOne: "0001-01-01T00:00:00.000000Z",
    trade: { id in
      #"{"type":"match","trade_id":\#(id),"side":"sell","size":"0.00000001","price":"80691.53","product_id":"BTC-USD","time":"2026-08-25T03:35:57.096368Z"}"#
    },
    unknownType: #"{"type":"never_heard_of","product_id":"BTC-USD"}"#,
    late: [coinbaseUpdate([], "2026-08-25T03:35:59Z"), coinbaseUpdate([], "2026-08-25T03:35:58Z")],
    outcomes: [:])

  private static func coinbaseUpdate(_ changes: [String], _ time: String) -> String {
    #"{"type":"l2update","product_id":"BTC-USD","changes":[\#(list(changes))],"time":"\#(time)"}"#
  }
}

extension CandleFormatTests {
  fileprivate static let coinbase: [Sample] = [
    Sample(
      venue: "coinbase", instrument: instrument("coinbase", "BTC-USD"),
      request: CandleRequest(
        "/products/BTC-USD/candles?granularity=3600&start=2026-09-02T02:00:00Z&end=2026-09-02T05:00:00Z"),
      answer:
        "[[1788318000,76965,77400,77277.15,77300.5,1e-3],"
        + "[1788314400, 76900, 77292.96, 76965.73, 77277.15, 214.10059464]]",
      candles: [
        ["0", "76965.73", "77292.96", "76900", "77277.15", "214.10059464", "-", "-"],
        ["1", "77277.15", "77400", "76965", "77300.5", "0.001", "-", "-"],
      ])
  ]
}
