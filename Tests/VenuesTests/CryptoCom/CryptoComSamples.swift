import MarketData
import Testing

@testable import Venues

extension CryptoCom: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.cryptoComSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.cryptoCom }
  static let replaySamples = [
    VenueReplayTests.Sample(
      "crypto-com", "mixed", ["BTC_USD", "BTCUSD-PERP", "ETH-USD-PERP", "BTCUSD-261225", "ETH-BTC"],
      ["BTC-USD", "BTC-USD-PERP", "ETH-USD-PERP", "BTC-USD-20261225", "ETH-BTC"])
  ]

  static func acknowledgements(of request: RequestText) -> [String] {
    let (id, method) = (
      request.number(#""id":"#), request.text.contains(#""unsubscribe""#) ? "unsubscribe" : "subscribe"
    )
    return request.list(#""channels":"#).split(separator: ",").map {
      #"{"id":\#(id),"method":"\#(method)","code":0,"channel":\#($0)}"#
    }
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    let number = 375_554_806_244_928
    return (
      CryptoComDialectTests.live(),
      [
        CryptoComDialectTests.snapshot(number),
        CryptoComDialectTests.change(number + 4_096, number, bids: #"["86235.5","0","0"]"#),
        CryptoComDialectTests.message(
          "trade", "trade.BTCUSD-PERP", CryptoComDialectTests.trade("4611686018471467093")),
        CryptoComDialectTests.message(
          "ticker", "ticker.BTCUSD-PERP",
          #"{"h":"87000.5","l":"85000.0","a":"86235.5","c":"-0.0144","b":"86235.5","k":"86236.0","v":"123899","vv":"580747.59","t":1667320303754}"#
        ),
        #"{"id":1790114291578,"method":"public/heartbeat","code":0}"#,
        #"{"id":2,"method":"subscribe","code":40003,"channel":"trade.ETH_BTC","message":"Unknown symbol"}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let cryptoComSpeakers = [cryptoCom]

  private static let cryptoCom = Speaker(
    venue: CryptoCom.venue, symbols: ["BTC-USD-PERP"],
    begin: { feed in
      feed.respond(CryptoComDialectTests.list)
      feed.connect()
      feed.wait(1.25)
      feed.receive(CryptoComDialectTests.snapshot(100, bids: #"["86235.5","0.0301","2"]"#))
    },
    bid: "86235.5", ask: "86236.0", exponent: "8.62355e4", absent: "70000",
    level: { _, price, size in #"["\#(price)","\#(size)","1"]"# },
    update: { bids, asks, time in
      [
        CryptoComDialectTests.change(132, 100, bids: list(bids), asks: list(asks))
          .replacing("1790114273659", with: time)
      ]
    },
    time: "1790114273659", yearOne: "-62135596800000",
    trade: { id in
      CryptoComDialectTests.message("trade", "trade.BTCUSD-PERP", CryptoComDialectTests.trade(id))
    },
    unknownType: CryptoComDialectTests.message("never_heard_of", "never_heard_of.BTCUSD-PERP", "{}"),
    late: [CryptoComDialectTests.change(132, 100), CryptoComDialectTests.change(120, 110)],
    outcomes: [:])
}

extension CandleFormatTests {
  fileprivate static let cryptoCom: [Sample] = [
    Sample(
      venue: "crypto-com", instrument: instrument("crypto-com", "BTCUSD-PERP", .perpetual, price: 1, size: 4),
      request: CandleRequest(
        "/exchange/v1/public/get-candlestick?instrument_name=BTCUSD-PERP&timeframe=1h&start_ts=1788314399999"
          + "&end_ts=1788328799999&count=300"),
      answer: """
        {"id":1,"method":"public/get-candlestick","code":0,"result":{"data":[{"o":"50508.500000","h":"50548.500000",\
        "l":"50172.500000","c":"50202.000000","v":"17.203200","t":1788314400000}]}}
        """,
      candles: [["0", "50508.5", "50548.5", "50172.5", "50202", "17.2032", "-", "-"]])
  ]
}
