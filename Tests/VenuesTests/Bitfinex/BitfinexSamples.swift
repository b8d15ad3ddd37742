import MarketData
import Testing

@testable import Venues

extension Bitfinex: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.bitfinexSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.bitfinex }
  static let replaySamples = [
    VenueReplayTests.Sample("bitfinex", "spot", ["tBTCUST", "ETH:USD"], ["BTC-USDT", "ETH-USD"])
  ]

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    return (
      BitfinexDialectTests.live(),
      [
        #"[10,[[86704,1,0.03460649],[86701,2,0.07296393],[86719,1,-0.0348]],3,1775779200144]"#,
        #"[10,[86719,2,-0.03483509],4,1775779200145]"#, #"[20,[1797.1,0,1],5,1775779200145]"#,
        #"[10,"cs",1330055495,6,1775779200145]"#,
        #"[11,"te",[382489563,1775779200709,0.00705845,10087.98969503],7,1775779200784]"#,
        BitfinexDialectTests.subscribed("book", 10),
        #"{"channel":"book","symbol":"tETHUSD","event":"error","msg":"symbol: invalid","code":10300,"pair":"ETHUSD"}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let bitfinexSpeakers = [bitfinex]

  private static let bitfinex = Speaker(
    venue: Bitfinex.venue, symbols: ["BTC-USD"],
    begin: { feed in
      feed.respond(BitfinexDialectTests.list)
      feed.connect()
      feed.receive(#"{"event":"conf","status":"OK","flags":229376}"#)
      feed.receive(BitfinexDialectTests.subscribed("book", 10))
      feed.receive(BitfinexDialectTests.subscribed("trades", 11))
      feed.receive("[10,[[86704,1,0.5],[86719,1,-0.5]],1,1775779200144]")
    },
    bid: "86704", ask: "86719", exponent: "8.6704e4", absent: "70000",
    // One level a message; 0 orders remove it.
    level: { isAsk, price, size in
      size == "0" ? "[\(price),0,\(isAsk ? -1 : 1)]" : "[\(price),1,\(isAsk ? "-" : "")\(size)]"
    },
    update: { bids, asks, time in
      zip(2..., bids + asks).map { count, level in "[10,\(level),\(count),\(time)]" }
    },
    time: "1775779200200", yearOne: "-62135596800000",
    trade: { id in "[11,\"te\",[\(id),1775779200709,0.5,86704],2,1775779200784]" },
    unknownType: #"[11,"zz",[1],2]"#,
    late: ["[10,[86704,1,0.5],2,1775779200200]", "[10,[86704,1,0.5],1,1775779200144]"],
    texts: [.noNumber: [#"[10,[86704,1,"0.-10000"],2,1775779200200]"#]], outcomes: [:])
}

extension CandleFormatTests {
  fileprivate static let bitfinex: [Sample] = [
    Sample(
      venue: "bitfinex", instrument: instrument("bitfinex", "tBTCUSD"),
      request: CandleRequest("/v2/candles/trade:1h:tBTCUSD/hist?start=1788314400000&end=1788325200000&limit=5000"),
      answer: "[[1788318000000,77368,77605,77834,77332,52.688382]]",
      candles: [["1", "77368", "77834", "77332", "77605", "52.688382", "-", "-"]])
  ]
}
