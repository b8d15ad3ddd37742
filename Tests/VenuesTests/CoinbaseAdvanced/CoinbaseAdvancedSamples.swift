import MarketData
import Testing

@testable import Venues

extension CoinbaseAdvanced: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.coinbaseAdvancedSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.coinbaseAdvanced }
  static let replaySamples = [
    VenueReplayTests.Sample("coinbase-advanced", "spot", ["BTC-USD"], ["BTC-USD"])
  ]
  static var marketSign: MarketSignTests.Sample? {
    .init(
      name: "coinbase-advanced", live: { CoinbaseAdvancedDialectTests.live() },
      answers: [CoinbaseAdvancedDialectTests.subscriptions(8)],
      market: #"{"channel":"heartbeats","sequence_num":9,"events":[{"heartbeat_counter":3}]}"#)
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    typealias Texts = CoinbaseAdvancedDialectTests
    return (
      Texts.live(),
      [
        Texts.book("snapshot", 5, [Texts.level("bid", "68900.00", "1.5"), Texts.level("offer", "68901.00", "0.5")]),
        Texts.book("update", 6, [Texts.level("bid", "68900.00", "0"), Texts.level("offer", "68901.5", "0.2")]),
        Texts.trades("update", 7, [Texts.trade("104", "SELL"), Texts.trade("105", "BUY")]), Texts.subscriptions(8),
        #"{"channel":"ticker","sequence_num":9,"events":[{"type":"update","tickers":[{"product_id":"ETH-USD","price":"1900.50"}]}]}"#,
        #"{"type":"error","message":"ETH-USD is not a valid product"}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let coinbaseAdvancedSpeakers = [coinbaseAdvanced]

  private static let coinbaseAdvanced = Speaker(
    venue: CoinbaseAdvanced.venue, symbols: ["BTC-USD"],
    begin: { feed in
      feed.respond(CoinbaseAdvancedDialectTests.products)
      feed.connect()
      for number in 0..<4 {
        feed.receive(CoinbaseAdvancedDialectTests.subscriptions(number))
        feed.wait(0.25)
      }
      feed.receive(
        CoinbaseAdvancedDialectTests.book(
          "snapshot", 4,
          [
            CoinbaseAdvancedDialectTests.level("bid", "68900.00", "1.5"),
            CoinbaseAdvancedDialectTests.level("offer", "68901.00", "0.5"),
          ]))
    },
    bid: "68900.00", ask: "68901.00", exponent: "6.89e4", absent: "50000.00",
    level: { isAsk, price, size in CoinbaseAdvancedDialectTests.level(isAsk ? "offer" : "bid", price, size) },
    update: { bids, asks, time in [CoinbaseAdvancedDialectTests.book("update", 5, bids + asks, time: time)] },
    time: "2026-04-07T14:30:02Z", yearOne: "0001-01-01T00:00:00.000000Z",
    trade: { id in
      CoinbaseAdvancedDialectTests.trades("update", 5, [CoinbaseAdvancedDialectTests.trade(id, "BUY")])
    },
    unknownType: #"{"channel":"never_heard_of","timestamp":"2026-04-07T14:30:05Z","sequence_num":5,"events":[]}"#,
    late: [
      CoinbaseAdvancedDialectTests.book("update", 5, []), CoinbaseAdvancedDialectTests.book("update", 3, []),
    ],
    outcomes: [:])
}

extension CandleFormatTests {
  fileprivate static let coinbaseAdvanced: [Sample] = [
    Sample(
      venue: "coinbase-advanced", instrument: instrument("coinbase-advanced", "BTC-USD"),
      request: CandleRequest(
        "/api/v3/brokerage/market/products/BTC-USD/candles?granularity=ONE_HOUR"
          + "&start=1788314400&end=1788325200&limit=300"
      ),
      answer: """
        {"candles":[{"start":"1788314400","low":"66055.14","high":"66331.99","open":"66312.4","close":"66181.6",\
        "volume":"355.82896243"}]}
        """,
      candles: [["0", "66312.4", "66331.99", "66055.14", "66181.6", "355.82896243", "-", "-"]])
  ]
}
