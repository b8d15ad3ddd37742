import MarketData
import Testing

@testable import Venues

extension Binance: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.binanceSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.binance }
  static let replaySamples = [
    VenueReplayTests.Sample("binance", "spot", ["BTCUSDT", "ETHBTC"], ["BTC-USDT", "ETH-BTC"]),
    VenueReplayTests.Sample("binance", "usdm", ["BTCUSDT", "BTCUSDT_261225"], ["BTC-USDT-PERP", "BTC-USDT-20261225"]),
  ]

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    let feed = EngineHarness(venue, ["BNB-BTC", "ETH-BTC"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, BinanceDialectTests.list)
    feed.connect()
    return (
      feed,
      [
        #"{"stream":"bnbbtc@depth@100ms","data":{"e":"depthUpdate","E":1672515782136,"s":"BNBBTC","U":157,"u":160,"b":[["0.00240000","10.00000000"]],"a":[["0.00260000","100.00000000"]]}}"#,
        #"{"u":400900217,"s":"BNBBTC","b":"25.35190000","B":"31.21000000","a":"25.36520000","A":"40.66000000"}"#,
        #"{"e":"trade","E":1672515782136,"s":"BNBBTC","t":12345,"p":"0.001","q":"100","T":1672515782136,"m":true,"M":true}"#,
        #"{"error":{"code":2,"msg":"Invalid request"},"id":1}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let binanceSpeakers = [binance, binanceFutures]

  private static let binance = Speaker(
    venue: Binance.spot, symbols: ["BNB-BTC"],
    begin: { feed in
      feed.respond(BinanceDialectTests.list)
      feed.connect()
      feed.receive(spotDepth(151, 155, [#"["0.00240000","1.00000000"]"#], [#"["0.00260000","1.00000000"]"#]))
      feed.respond(#"{"lastUpdateId":155,"bids":[["0.00240000","1.00000000"]],"asks":[["0.00260000","1.00000000"]]}"#)
      feed.receive(spotDepth(156, 160))
    },
    bid: "0.00240000", ask: "0.00260000", exponent: "2.4e-3", absent: "0.00100000", level: pair,
    update: { bids, asks, time in [spotDepth(161, 162, bids, asks, time)] }, time: "1672515782136",
    yearOne: "-62135596800000",
    trade: { id in
      #"{"stream":"bnbbtc@trade","data":{"e":"trade","E":1672515782136,"s":"BNBBTC","t":\#(id),"p":"0.001","q":"100","T":1672515782136,"m":true,"M":true}}"#
    },
    unknownType: #"{"stream":"bnbbtc@neverheardof","data":{"e":"neverHeardOf","E":1,"s":"BNBBTC"}}"#,
    late: [spotDepth(161, 162), spotDepth(165, 166)],
    outcomes: [:])

  private static func spotDepth(
    _ first: Int, _ last: Int, _ bids: [String] = [], _ asks: [String] = [], _ time: String = "1672515782136"
  ) -> String {
    #"{"stream":"bnbbtc@depth@100ms","data":{"e":"depthUpdate","E":\#(time),"s":"BNBBTC","U":\#(first),"u":\#(last),"b":[\#(list(bids))],"a":[\#(list(asks))]}}"#
  }

  private static let binanceFutures = Speaker(
    venue: Binance.usdm, symbols: ["BTC-USDT-PERP"],
    begin: { feed in
      feed.respond(BinanceFuturesTests.list)
      feed.connect()
      feed.receive(futuresDepth(1000, 1200, 900))
      feed.respond(
        #"{"lastUpdateId":1100,"E":1618677448324,"T":1618677448305,"bids":[["83091.50","1.000"]],"asks":[["83091.80","2.500"]]}"#
      )
    },
    bid: "83091.50", ask: "83091.80", exponent: "8.30915e4", absent: "70000.00", level: pair,
    update: { bids, asks, time in [futuresDepth(1250, 1300, 1200, bids, asks, time)] }, time: "1791382994616",
    yearOne: "-62135596800000",
    trade: { id in
      #"{"stream":"btcusdt@trade","data":{"e":"trade","E":1723161256322,"T":1723161256322,"s":"BTCUSDT","t":\#(id),"p":"61800.30","q":"0.006","X":"MARKET","m":false}}"#
    },
    unknownType: #"{"stream":"btcusdt@neverheardof","data":{"e":"neverHeardOf","E":1,"s":"BTCUSDT"}}"#,
    late: [futuresDepth(1250, 1300, 1200), futuresDepth(1210, 1240, 1205)],
    outcomes: [:])

  private static func futuresDepth(
    _ first: Int, _ last: Int, _ previous: Int, _ bids: [String] = [], _ asks: [String] = [],
    _ time: String = "1791382994616"
  ) -> String {
    #"{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":\#(time),"T":\#(time),"s":"BTCUSDT","U":\#(first),"u":\#(last),"pu":\#(previous),"b":[\#(list(bids))],"a":[\#(list(asks))]}}"#
  }
}

extension CandleFormatTests {
  fileprivate static let binance: [Sample] = [
    Sample(
      venue: "binance", part: "spot", instrument: instrument("binance", "BTCUSDT"),
      request: CandleRequest(
        "/api/v3/klines?symbol=BTCUSDT&interval=1h&startTime=1788314400000&endTime=1788325200000&limit=1000"),
      answer: """
        [[1788314400000,"78084.29000000","78100.00000000","78084.28000000","78100.00000000","1.98806000",1788317999999,\
        "155250.94628230",1027,"1.53664000","119998.91685940","0"]]
        """,
      candles: [["0", "78084.29", "78100", "78084.28", "78100", "1.98806", "155250.9462823", "1027"]]),
    Sample(
      venue: "binance", part: "usdm", instrument: instrument("binance", "BTCUSDT", .perpetual, price: 2, size: 3),
      request: CandleRequest(
        "/fapi/v1/klines?symbol=BTCUSDT&interval=1h&startTime=1788314400000&endTime=1788325200000&limit=499"),
      answer: """
        [[1788314400000,"16537.50","16618.80","16488.00","16610.30","105502.965",1788317999999,\
        "1746449849.73920",594299,\
        "52617.509","871082706.82390","0"]]
        """,
      candles: [["0", "16537.5", "16618.8", "16488", "16610.3", "105502.965", "1746449849.7392", "594299"]]),
  ]
}
