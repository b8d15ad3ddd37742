import Bytes
import MarketData
import Testing

@testable import Venues

extension KuCoin: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.kuCoinSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.kuCoin }
  static let replaySamples = [
    VenueReplayTests.Sample("kucoin", "spot", ["BTC-USDT"], ["BTC-USDT"])
  ]

  static func acknowledgements(of request: RequestText) -> [String] {
    return [#"{"id":"\#(request.number(#""id":""#))","result":true}"#]
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    guard venue.part != "futures" else {
      return (
        KuCoinFuturesDialectTests.live(),
        [
          KuCoinFuturesDialectTests.book("snapshot", 100, 100, bids: #"["85973.3","96"]"#, asks: #"["85974","5"]"#),
          KuCoinFuturesDialectTests.book("delta", 101, 103, bids: #"["85973.3","0"]"#),
          KuCoinFuturesDialectTests.trade("1790114460671", size: "3"),
          KuCoinDialectTests.welcome, #"{"id":"3","result":false,"reason":"exceed max topic count limitation"}"#,
        ]
      )
    }
    return (
      KuCoinDialectTests.live(),
      [
        KuCoinDialectTests.book("snapshot", 100, 100, bids: #"["80688.1","0.59"]"#, asks: #"["80691.5","0.2"]"#),
        KuCoinDialectTests.book("delta", 101, 103, bids: #"["80688.1","0"]"#, asks: #"["80691.6","1"]"#),
        #"{"T":"trade.SPOT","P":1768802538491160904,"d":{"E":20631804219899904,"M":1768802538480000000,"S":"sell","p":"92525.6","q":"0.00008036","s":"BTC-USDT","ti":"20631804219899904"}}"#,
        KuCoinDialectTests.welcome, #"{"id":"3","result":false,"reason":"exceed max topic count limitation"}"#,
        #"{"type":"pong","id":"6","ts":1790113111261396000}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let kuCoinSpeakers = [kuCoin, kuCoinFutures]

  private static let kuCoin = Speaker(
    venue: KuCoin.spot, symbols: ["BTC-USDT"],
    begin: { feed in
      feed.respond(KuCoinDialectTests.list)
      feed.connect()
      feed.receive(KuCoinDialectTests.welcome)
      feed.wait(1)
      feed.receive(
        KuCoinDialectTests.book("snapshot", 100, 100, bids: #"["80688.1","0.5"]"#, asks: #"["80691.5","0.2"]"#))
    },
    bid: "80688.1", ask: "80691.5", exponent: "8.06881e4", absent: "70000", level: pair,
    update: { bids, asks, time in
      [
        KuCoinDialectTests.book("delta", 101, 101, bids: list(bids), asks: list(asks))
          .replacing("1768217874986000000", with: time)
      ]
    },
    time: "1768217874986000000", yearOne: #""0001-01-01T00:00:00Z""#,
    trade: { id in
      #"{"T":"trade.SPOT","P":1768802538491160904,"d":{"E":1,"M":1768802538480000000,"S":"sell","p":"92525.6","q":"0.00008036","s":"BTC-USDT","ti":"\#(id)"}}"#
    },
    unknownType: #"{"T":"neverHeardOf.SPOT","P":1,"d":{"s":"BTC-USDT"}}"#,
    late: [KuCoinDialectTests.book("delta", 101, 140), KuCoinDialectTests.book("delta", 110, 120)],
    outcomes: [:])
}

extension OddInputTests {
  /// Of a contract whose lots are of one base unit.
  private static func chr(_ text: String) -> String { text.replacing("XBTUSDTM", with: "CHRUSDTM") }

  private static let kuCoinFutures = Speaker(
    venue: KuCoin.futures, symbols: ["CHR-USDT-PERP"],
    begin: { feed in
      feed.respond(KuCoinFuturesDialectTests.list)
      feed.connect()
      feed.receive(KuCoinDialectTests.welcome)
      feed.wait(1)
      feed.receive(
        chr(
          KuCoinFuturesDialectTests.book("snapshot", 100, 100, bids: #"["85973.3","96"]"#, asks: #"["85974","5"]"#)))
    },
    bid: "85973.3", ask: "85974", exponent: "8.59733e4", absent: "70000", level: pair,
    update: { bids, asks, time in
      [
        chr(KuCoinFuturesDialectTests.book("delta", 101, 101, bids: list(bids), asks: list(asks)))
          .replacing("1790114459839000000", with: time)
      ]
    },
    time: "1790114459839000000", yearOne: #""0001-01-01T00:00:00Z""#,
    trade: { id in chr(KuCoinFuturesDialectTests.trade(id, size: "3")) },
    unknownType: #"{"T":"neverHeardOf.FUTURES","P":1,"d":{"s":"CHRUSDTM"}}"#,
    late: [
      chr(KuCoinFuturesDialectTests.book("delta", 101, 140)), chr(KuCoinFuturesDialectTests.book("delta", 110, 120)),
    ],
    outcomes: [:])
}

extension CandleFormatTests {
  fileprivate static let kuCoin: [Sample] = [
    Sample(
      venue: "kucoin", part: "spot", instrument: instrument("kucoin", "BTC-USDT"),
      request: CandleRequest(
        "/api/v1/market/candles?symbol=BTC-USDT&type=1hour&startAt=1788314400&endAt=1788328800"),
      answer: """
        {"code":"200000","data":[["1788318000","77295.7","77541","77757.6","77295.7","38.20409771317732464027",\
        "12383702.769437424"]]}
        """,
      candles: [["1", "77295.7", "77757.6", "77295.7", "77541", "38.20409771", "12383702.7694374240", "-"]]),
    Sample(
      venue: "kucoin", part: "futures", instrument: lots,
      request: CandleRequest(
        "/api/v1/kline/query?symbol=XBTUSDTM&granularity=60&from=1788314400000&to=1788325200000"),
      answer: """
        {"code":"200000","data":[[1788314400000,77541.2,77757.6,77295.7,77541,38204,2962311.5],\
        [1788318000000,77541,77541,77541,77541,0,0]]}
        """,
      candles: [["0", "77541.2", "77757.6", "77295.7", "77541", "38.204", "-", "-"]]),
  ]

  /// Of 0.001 base units in a lot.
  private static let lots = Instrument(
    id: InstrumentID(0), venue: "kucoin", venueSymbol: "XBTUSDTM", base: "BTC", quote: "USDT", kind: .perpetual,
    contractSize: Decimal64(mantissa: 1, scale: 3), priceScale: 1, sizeScale: 3, priceIncrement: nil, sizeIncrement: nil
  )
}
