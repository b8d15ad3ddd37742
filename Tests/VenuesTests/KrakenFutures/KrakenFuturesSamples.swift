import MarketData
import Testing

@testable import Venues

extension KrakenFutures: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.krakenFuturesSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.krakenFutures }
  static let replaySamples = [
    VenueReplayTests.Sample(
      "kraken-futures", "mixed", ["PF_XBTUSD", "ETH-USD-PERP", "FF_XBTUSD_261225"],
      ["BTC-USD-PERP", "ETH-USD-PERP", "BTC-USD-20261225"])
  ]

  static func acknowledgements(of request: RequestText) -> [String] {
    guard let event = request.after(#""event":""#)?.prefix(while: { $0 != "\"" }),
      let feed = request.after(#""feed":""#)?.prefix(while: { $0 != "\"" })
    else { return [] }
    return request.list(#""product_ids":"#).split(separator: ",").map {
      #"{"event":"\#(event)d","feed":"\#(feed)","product_ids":[\#($0)]}"#
    }
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    return (
      KrakenFuturesDialectTests.live(),
      [
        KrakenFuturesDialectTests.snapshot(100), KrakenFuturesDialectTests.change(101, "sell", "440.0", "0.0"),
        KrakenFuturesDialectTests.trade(5_956),
        #"{"feed":"trade_snapshot","product_id":"PF_XBTUSD","trades":[\#(KrakenFuturesDialectTests.trade(5_955))]}"#,
        #"{"time":1783587648112,"product_id":"PF_XBTUSD","feed":"ticker","bid":439.5,"ask":440.0,"volume":57204.177,"last":439.5,"change":0.97,"volumeQuote":99424431.8132,"open":438.0,"high":441.5,"low":430.0}"#,
        #"{"event":"subscribed_failed","feed":"trade","product_ids":["PF_ETHUSD"],"message":"Invalid product id"}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let krakenFuturesSpeakers = [krakenFutures]

  private static let krakenFutures = Speaker(
    venue: KrakenFutures.venue, symbols: ["BTC-USD-PERP"],
    begin: { feed in
      feed.respond(KrakenFuturesDialectTests.list)
      feed.connect()
      feed.receive(KrakenFuturesDialectTests.snapshot(100, bids: #"{"price":439.5,"qty":2.5}"#))
    },
    bid: "439.5", ask: "440.0", exponent: "4.395e2", absent: "400.0",
    level: { isAsk, price, size in
      // Numbers are bare: what is none can only stand in quotes.
      let size = size.hasPrefix("0.-") ? "\"\(size)\"" : size
      return #""side":"\#(isAsk ? "sell" : "buy")","price":\#(price),"qty":\#(size)"#
    },
    update: { bids, asks, time in
      (bids + asks).enumerated().map { index, level in
        #"{"feed":"book","product_id":"PF_XBTUSD",\#(level),"seq":\#(101 + index),"timestamp":\#(time)}"#
      }
    },
    time: "1783587649744", yearOne: "-62135596800000",
    trade: { id in
      #"{"feed":"trade","product_id":"PF_XBTUSD","uid":"\#(id)","side":"buy","type":"fill","seq":5956,"time":1783587649946,"qty":0.32,"price":439.5}"#
    },
    unknownType: #"{"feed":"never_heard_of","product_id":"PF_XBTUSD"}"#,
    late: [
      KrakenFuturesDialectTests.change(101, "buy", "439.5", "1.0"),
      KrakenFuturesDialectTests.change(99, "buy", "439.5", "1.0"),
    ],
    outcomes: [:])
}

extension CandleFormatTests {
  fileprivate static let krakenFutures: [Sample] = [
    Sample(
      venue: "kraken-futures", instrument: instrument("kraken-futures", "PF_XBTUSD", .perpetual, price: 1, size: 4),
      request: CandleRequest("/api/charts/v1/trade/PF_XBTUSD/1h?from=1788314400&to=1788328799"),
      answer: """
        {"candles":[{"time":1788314400000,"open":"91069","high":"91373.5","low":"90956","close":"91045.5",\
        "volume":"319.4994"},{"time":1788318000000,"open":"91045.5","high":"91045.5","low":"91045.5",\
        "close":"91045.5","volume":"0"}],"more_candles":false}
        """,
      candles: [["0", "91069", "91373.5", "90956", "91045.5", "319.4994", "-", "-"]])
  ]
}
