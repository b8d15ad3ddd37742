import MarketData
import Testing

@testable import Venues

extension Bybit: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.bybitSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.bybit }
  static let replaySamples = [
    VenueReplayTests.Sample("bybit", "spot", ["BTCUSDT"], ["BTC-USDT"]),
    VenueReplayTests.Sample(
      "bybit", "linear", ["BTCUSDT", "ETHPERP", "SOL-USDT-PERP"], ["BTC-USDT-PERP", "ETH-USDC-PERP", "SOL-USDT-PERP"]),
  ]
  static var marketSign: MarketSignTests.Sample? {
    .init(
      name: "bybit", live: { BybitDialectTests.live() },
      answers: [
        #"{"success":true,"ret_msg":"pong","conn_id":"a","op":"ping"}"#,
        #"{"success":true,"ret_msg":"","conn_id":"a","req_id":"9","op":"subscribe"}"#,
      ],
      market: BybitDialectTests.book("delta", 101, bids: #"["80688.1","0"]"#))
  }

  static func acknowledgements(of request: RequestText) -> [String] {
    return [
      #"{"success":true,"ret_msg":"","conn_id":"a","req_id":"\#(request.number(#""req_id":""#))","op":"subscribe"}"#
    ]
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    return (
      BybitDialectTests.live(),
      [
        BybitDialectTests.book("snapshot", 100, bids: #"["80688.1","0.591532"]"#, asks: #"["80691.5","0.2"]"#),
        BybitDialectTests.book("delta", 101, bids: #"["80688.1","0"]"#, asks: #"["80691.6","1"]"#),
        BybitDialectTests.book("snapshot", 9, bids: #"["80688.1","0.5"]"#, topic: "orderbook.1.BTCUSDT"),
        #"{"topic":"publicTrade.BTCUSDT","type":"snapshot","ts":1672304486868,"data":[{"T":1672304486865,"s":"BTCUSDT","S":"Buy","v":"0.001","p":"16578.50","i":"20f43950","BT":false}]}"#,
        #"{"topic":"tickers.BTCUSDT","ts":1673853746003,"type":"snapshot","data":{"symbol":"BTCUSDT","lastPrice":"21109.7","price24hPcnt":"0.0196"}}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let bybitSpeakers = [bybit(Bybit.spot), bybit(Bybit.linear)]

  private static func bybit(_ venue: Venue) -> Speaker {
    let isSpot = venue.part == Bybit.spot.part
    return Speaker(
      venue: venue, symbols: [isSpot ? "BTC-USDT" : "BTC-USDT-PERP"],
      begin: { feed in
        for page in isSpot ? [BybitDialectTests.spotList] : BybitDialectTests.linearPages { feed.respond(page) }
        feed.connect()
        feed.receive(BybitDialectTests.book("snapshot", 100, bids: #"["80688.1","0.5"]"#, asks: #"["80691.5","0.2"]"#))
      },
      bid: "80688.1", ask: "80691.5", exponent: "8.06881e4", absent: "70000", level: pair,
      update: { bids, asks, time in
        [
          BybitDialectTests.book("delta", 101, bids: list(bids), asks: list(asks))
            .replacing(#""ts":1790134712130"#, with: #""ts":\#(time)"#)
        ]
      },
      time: "1790134712130", yearOne: "-62135596800000",
      trade: { id in
        #"{"topic":"publicTrade.BTCUSDT","type":"snapshot","ts":1672304486868,"data":[{"T":1672304486865,"s":"BTCUSDT","S":"Buy","v":"0.001","p":"16578.50","i":"\#(id)","BT":false}]}"#
      },
      unknownType: #"{"topic":"neverheardof.BTCUSDT","type":"snapshot","ts":1,"data":[]}"#,
      late: [BybitDialectTests.book("delta", 101), BybitDialectTests.book("delta", 99)],
      outcomes: [:])
  }
}

extension CandleFormatTests {
  fileprivate static let bybit: [Sample] = [
    Sample(
      venue: "bybit", part: "spot", instrument: instrument("bybit", "BTCUSDT"),
      request: CandleRequest(
        "/v5/market/kline?category=spot&symbol=BTCUSDT&interval=60&start=1788314400000&end=1788325200000&limit=1000"),
      answer: """
        {"retCode":0,"retMsg":"OK","result":{"category":"spot","symbol":"BTCUSDT","list":[\
        ["1788318000000","78101.7","78101.7","78101.7","78101.7","0","0"],\
        ["1788314400000","78087.3","78101.8","78087.3","78101.7","1.289494","100700.1728554"]]},"time":1788350400000}
        """,
      candles: [["0", "78087.3", "78101.8", "78087.3", "78101.7", "1.289494", "100700.1728554", "-"]]),
    Sample(
      venue: "bybit", part: "linear", instrument: instrument("bybit", "BTCUSDT", .perpetual),
      request: CandleRequest(
        "/v5/market/kline?category=linear&symbol=BTCUSDT&interval=60&start=1788314400000&end=1788325200000&limit=1000"),
      answer: #"{"retCode":0,"result":{"list":[["1788314400000","1.5","2","1.25","1.75","10","17.5"]]}}"#,
      candles: [["0", "1.5", "2", "1.25", "1.75", "10", "17.5", "-"]]),
  ]
}
