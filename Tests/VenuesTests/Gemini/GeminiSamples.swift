import MarketData
import Testing

@testable import Venues

extension Gemini: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.geminiSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.gemini }
  static let replaySamples = [
    VenueReplayTests.Sample("gemini", "mixed", ["btcusd", "ETH-USD"], ["BTC-USD", "ETH-USD"])
  ]
  static var marketSign: MarketSignTests.Sample? {
    .init(
      name: "gemini", live: { GeminiDialectTests.live() }, answers: [#"{"id":99,"status":200}"#],
      market: #"{"E":1790000000000000000,"s":"btcusd","t":7,"p":"80688.1","q":"1","m":true}"#)
  }

  static func acknowledgements(of request: RequestText) -> [String] {
    return [#"{"id":\#(request.number(#""id":"#)),"status":200}"#]
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    return (
      GeminiDialectTests.live(),
      [
        GeminiDialectTests.book(100, 100, bids: #"["80688.10","0.591"]"#, asks: #"["80691.50","0.2"]"#),
        GeminiDialectTests.book(100, 117, bids: #"["80688.10","0.000"]"#, asks: #"["80691.40","0.3"]"#),
        #"{"u":1764549594389752,"E":1783981140076872200,"s":"btcusd","b":"80688.10","B":"9.6","a":"","A":""}"#,
        #"{"E":1783981140085684200,"s":"btcusd","t":2840141014190422,"p":"62145.38","q":"0.01625222","m":true}"#,
        #"{"id":1,"status":400,"error":{"code":-1013,"msg":"Invalid stream name: ethusd@depth@100ms"}}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let geminiSpeakers = [gemini]

  private static let gemini = Speaker(
    venue: Gemini.venue, symbols: ["BTC-USD"],
    begin: { feed in
      feed.respond(GeminiDialectTests.names)
      feed.respond(GeminiDialectTests.details("BTC", "USD"))
      feed.connect()
      feed.receive(GeminiDialectTests.book(100, 100, bids: #"["80688.10","0.5"]"#, asks: #"["80691.50","0.2"]"#))
    },
    bid: "80688.10", ask: "80691.50", exponent: "8.06881e4", absent: "70000.00", level: pair,
    update: { bids, asks, time in
      [
        GeminiDialectTests.book(100, 117, bids: list(bids), asks: list(asks))
          .replacing("1789456740173524809", with: time)
      ]
    },
    time: "1789456740173524809", yearOne: "-62135596800000",
    trade: { id in #"{"E":1783981140085684200,"s":"btcusd","t":\#(id),"p":"62145.38","q":"0.0162522","m":true}"# },
    unknownType: #"{"e":"neverHeardOf","E":1784870400000,"s":"btcusd"}"#,
    late: [GeminiDialectTests.book(100, 117), GeminiDialectTests.book(90, 95)],
    outcomes: [:])
}

extension CandleFormatTests {
  fileprivate static let gemini: [Sample] = [
    Sample(
      venue: "gemini", instrument: instrument("gemini", "btcusd"),
      request: CandleRequest("/v2/candles/btcusd/1hr"),
      answer: """
        [[1788332400000,1,1,1,1,1],[1788318000000,79028.86,79035.26,79014.67,79035.26,0.00531414],\
        [1788300000000,1,1,1,1,1]]
        """,
      candles: [["1", "79028.86", "79035.26", "79014.67", "79035.26", "0.00531414", "-", "-"]])
  ]
}
