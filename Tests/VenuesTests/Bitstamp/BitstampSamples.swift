import MarketData
import Testing

@testable import Venues

extension Bitstamp: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.bitstampSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.bitstamp }
  static let replaySamples = [
    VenueReplayTests.Sample("bitstamp", "spot", ["btcusd", "ETH/EUR"], ["BTC-USD", "ETH-EUR"])
  ]

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    return (
      BitstampDialectTests.live(),
      [
        BitstampDialectTests.update(
          500_000, bids: #"["59999.00","1.00000000"],["60000.00","0.00000000"]"#, asks: #"["60009.00","0.5"]"#),
        BitstampDialectTests.trade(600_000),
        #"{"event":"bts:subscription_succeeded","channel":"diff_order_book_usdteur","data":{}}"#,
        #"{"event":"bts:error","channel":"","data":{"code":null,"message":"Invalid channel provided."}}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let bitstampSpeakers = [bitstamp]

  private static let bitstamp = Speaker(
    venue: Bitstamp.venue, symbols: ["BTC-USD"],
    begin: { feed in
      feed.respond(BitstampDialectTests.list)
      feed.connect()
      feed.receive(#"{"event":"bts:subscription_succeeded","channel":"diff_order_book_btcusd","data":{}}"#)
      feed.receive(bitstampUpdate([], [], "1790000001000000"))
      feed.wait(3)
      feed.respond(
        #"{"timestamp":"1790000002","microtimestamp":"1790000002000000","bids":[["60000.00","1.00000000"]],"asks":[["60010.00","2.0"]]}"#
      )
    },
    bid: "60000.00", ask: "60010.00", exponent: "6e4", absent: "50000.00", level: pair,
    update: { bids, asks, time in [bitstampUpdate(bids, asks, time)] }, time: "1790000003000000",
    yearOne: "-62135596800000000",
    trade: { id in
      #"{"channel":"live_trades_btcusd","data":{"amount_str":"0.03271200","id":\#(id),"microtimestamp":"1790000003000007","price_str":"60553.64","timestamp":"1790000003","type":0},"event":"trade"}"#
    },
    unknownType: #"{"data":{},"channel":"never_heard_of_btcusd","event":"never_heard_of"}"#,
    late: [bitstampUpdate([], [], "1790000003900000"), bitstampUpdate([], [], "1790000003800000")],
    // The time is what orders the updates.
    outcomes: [.yearOne: .refused(.shape, losesBook: true)])

  private static func bitstampUpdate(_ bids: [String], _ asks: [String], _ time: String) -> String {
    #"{"data":{"timestamp":"\#(time.dropLast(6))","microtimestamp":"\#(time)","bids":[\#(list(bids))],"asks":[\#(list(asks))]},"channel":"diff_order_book_btcusd","event":"data"}"#
  }
}

extension CandleFormatTests {
  fileprivate static let bitstamp: [Sample] = [
    Sample(
      venue: "bitstamp", instrument: instrument("bitstamp", "btcusd"),
      request: CandleRequest(
        "/api/v2/ohlc/btcusd/?step=3600&limit=4&end=1788325200&exclude_current_candle=true"),
      answer: """
        {"data":{"pair":"BTC/USD","ohlc":[{"timestamp":"1788318000","open":"77275.58","high":"77747.28",\
        "low":"77259.43","close":"77488.56","volume":"92.78557729"},{"timestamp":"1788318000","open":"1","high":"1",\
        "low":"1","close":"1","volume":"1"}]}}
        """,
      candles: [["1", "77275.58", "77747.28", "77259.43", "77488.56", "92.78557729", "-", "-"]])
  ]
}
