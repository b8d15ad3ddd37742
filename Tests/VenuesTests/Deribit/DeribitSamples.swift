import MarketData
import Testing

@testable import Venues

extension Deribit: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.deribitSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.deribit }
  static let replaySamples = [
    VenueReplayTests.Sample(
      "deribit", "mixed", ["BTC_USDC-PERPETUAL", "ETH-USDC-PERP"], ["BTC-USDC-PERP", "ETH-USDC-PERP"])
  ]
  static var marketSign: MarketSignTests.Sample? {
    .init(
      name: "deribit", live: { DeribitDialectTests.live() }, answers: [#"{"jsonrpc":"2.0","id":99,"result":"ok"}"#],
      market: #"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"heartbeat"}}"#)
  }

  static func acknowledgements(of request: RequestText) -> [String] {
    if request.text.contains("set_heartbeat") {
      return [#"{"jsonrpc":"2.0","id":\#(request.number(#""id":"#)),"result":"ok"}"#]
    }
    return [#"{"jsonrpc":"2.0","id":\#(request.number(#""id":"#)),"result":[\#(request.list(#""channels":"#))]}"#]
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    return (
      DeribitDialectTests.live(),
      [
        DeribitDialectTests.snapshot(100), DeribitDialectTests.change(132, 100, asks: #"["delete",86776.0,0.0]"#),
        #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"quote.BTC_USDC-PERPETUAL","data":{"timestamp":1700000000500,"instrument_name":"BTC_USDC-PERPETUAL","best_ask_price":86776.0,"best_bid_price":86775.8,"best_ask_amount":0.0009,"best_bid_amount":0.216}}}"#,
        #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"trades.BTC_USDC-PERPETUAL.100ms","data":[{"timestamp":1700000000500,"price":86775.8,"amount":1.0e-4,"direction":"sell","instrument_name":"BTC_USDC-PERPETUAL","trade_seq":4,"trade_id":"403691825"}]}}"#,
        #"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"test_request"}}"#,
        #"{"jsonrpc":"2.0","id":3,"error":{"code":11050,"message":"bad_request"}}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let deribitSpeakers = [deribit]

  private static let deribit = Speaker(
    venue: Deribit.venue, symbols: ["BTC-USDC-PERP"],
    begin: { feed in
      feed.respond(DeribitDialectTests.list)
      feed.connect()
      feed.receive(
        #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC_USDC-PERPETUAL.100ms","data":{"timestamp":1790133840448,"type":"snapshot","change_id":100,"instrument_name":"BTC_USDC-PERPETUAL","bids":[["new",86775.8,0.216]],"asks":[["new",86776.0,9.0e-4]]}}}"#
      )
    },
    bid: "86775.8", ask: "86776.0", exponent: "8.67758e4", absent: "50000.0",
    level: { _, price, size in
      // Numbers are bare: what is none can only stand in quotes.
      size.hasPrefix("0.-") ? #"["change",\#(price),"\#(size)"]"# : #"["change",\#(price),\#(size)]"#
    },
    update: { bids, asks, time in
      [
        DeribitDialectTests.change(101, 100, bids: list(bids), asks: list(asks))
          .replacing("1790133842703", with: time)
      ]
    },
    time: "1790133842703", yearOne: "-62135596800000",
    trade: { id in
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"trades.BTC_USDC-PERPETUAL.100ms","data":[{"timestamp":1700000000500,"price":86775.8,"amount":1.0e-4,"direction":"sell","instrument_name":"BTC_USDC-PERPETUAL","trade_seq":4,"trade_id":"\#(id)"}]}}"#
    },
    unknownType:
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"never_heard_of.btc_usd","data":{}}}"#,
    late: [DeribitDialectTests.change(132, 100), DeribitDialectTests.change(120, 110)],
    outcomes: [:])
}

extension CandleFormatTests {
  fileprivate static let deribit: [Sample] = [
    Sample(
      venue: "deribit", instrument: instrument("deribit", "BTC_USDC-PERPETUAL", .perpetual, price: 1, size: 4),
      request: CandleRequest(
        "/api/v2/public/get_tradingview_chart_data?instrument_name=BTC_USDC-PERPETUAL&resolution=60"
          + "&start_timestamp=1788310800000&end_timestamp=1788325200000"),
      answer: """
        {"jsonrpc":"2.0","result":{"status":"ok","open":[76076.5,76111.5],"ticks":[1788314400000,1788318000000],\
        "high":[76371.5,76111.5],"low":[75907.0,76111.5],"close":[76111.5,76111.5],"volume":[115.94348719,0],\
        "cost":[8.83036E6,0]},"usIn":1,"usOut":2}
        """,
      candles: [["0", "76076.5", "76371.5", "75907", "76111.5", "115.9435", "8830360", "-"]])
  ]
}
