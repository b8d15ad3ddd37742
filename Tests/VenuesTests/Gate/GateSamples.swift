import MarketData
import Testing

@testable import Venues

extension Gate: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.gateSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.gate }
  static let replaySamples = [
    VenueReplayTests.Sample("gate", "spot", ["BTC_USDT"], ["BTC-USDT"])
  ]

  static func acknowledgements(of request: RequestText) -> [String] {
    return [#"{"id":\#(request.number(#""id":"#)),"channel":"a","event":"subscribe","result":{"status":"success"}}"#]
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    return (
      GateDialectTests.live(),
      [
        GateDialectTests.full(100, bids: #"["80688.1","0.591532"]"#, asks: #"["80691.5","0.2"]"#),
        GateDialectTests.change(101, 103, bids: #"["80688.1","0"]"#, asks: #"["80691.6","1"]"#),
        GateDialectTests.update(90, 95, bids: #"["80688.1","0.5"]"#),
        #"{"time":1,"time_ms":1606292218231,"channel":"spot.trades","event":"update","result":{"id":309143071,"create_time_ms":"1606292218213.4578","side":"sell","currency_pair":"BTC_USDT","amount":"16.4700000000","price":"0.4705000000"}}"#,
        #"{"time_ms":1606293275723,"channel":"spot.book_ticker","event":"update","result":{"t":1606293275123,"u":4,"s":"BTC_USDT","b":"19177.7","B":"0.0003","a":"19179.3","A":"0.09"}}"#,
        #"{"id":5,"channel":"spot.obu","event":"subscribe","error":{"code":3,"message":"Server side error happened"},"result":{"status":"fail"}}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let gateSpeakers = [gate]

  private static let gate = Speaker(
    venue: Gate.venue, symbols: ["BTC-USDT"],
    begin: { feed in
      feed.respond(GateDialectTests.list)
      feed.connect()
      feed.receive(GateDialectTests.full(100, bids: #"["80688.1","0.5"]"#, asks: #"["80691.5","0.2"]"#))
    },
    bid: "80688.1", ask: "80691.5", exponent: "8.06881e4", absent: "70000", level: pair,
    update: { bids, asks, time in
      [
        GateDialectTests.change(101, 101, bids: list(bids), asks: list(asks))
          .replacing("1747054612695", with: time)
      ]
    },
    time: "1747054612695", yearOne: "-62135596800000",
    trade: { id in
      #"{"time_ms":1606292218231,"channel":"spot.trades","event":"update","result":{"id":\#(id),"create_time_ms":"1606292218213.4578","side":"sell","currency_pair":"BTC_USDT","amount":"16.47","price":"0.4705"}}"#
    },
    unknownType: #"{"time_ms":1606292600376,"channel":"spot.never_heard_of","event":"update","result":{}}"#,
    late: [GateDialectTests.change(101, 110), GateDialectTests.change(102, 105)],
    outcomes: [:])
}

extension CandleFormatTests {
  fileprivate static let gate: [Sample] = [
    Sample(
      venue: "gate", instrument: instrument("gate", "BTC_USDT"),
      request: CandleRequest(
        "/api/v4/spot/candlesticks?currency_pair=BTC_USDT&interval=1h&from=1788314400&to=1788325200"),
      answer: """
        [["1788314400","507875.46163100","83766.1","83882.6","83746.3","83770.6","6.06078800","true"],\
        ["1788318000","532272.62128430","83781.7","83798.9","83740.4","83767.9","6.35429100","false"]]
        """,
      candles: [["0", "83770.6", "83882.6", "83746.3", "83766.1", "6.060788", "507875.461631", "-"]])
  ]
}
