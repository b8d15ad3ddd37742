import MarketData
import Testing

@testable import Venues

extension Bitget: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.bitgetSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.bitget }
  static let replaySamples = [
    VenueReplayTests.Sample("bitget", "spot", ["BTCUSDT", "ETHBTC"], ["BTC-USDT", "ETH-BTC"]),
    VenueReplayTests.Sample("bitget", "usdt", ["BTCUSDT", "ETH-USDT-PERP"], ["BTC-USDT-PERP", "ETH-USDT-PERP"]),
  ]
  static var marketSign: MarketSignTests.Sample? {
    .init(
      name: "bitget", live: { BitgetDialectTests.live() },
      answers: ["pong", BitgetDialectTests.answer("subscribe", "trade", "BTCUSDT")],
      market: BitgetDialectTests.book("update", 132, 100))
  }

  static func acknowledgements(of request: RequestText) -> [String] {
    let arguments = request.list(#""args":"#).dropFirst().dropLast().split(separator: "},{")
    let event = request.text.contains(#""op":"unsubscribe""#) ? "unsubscribe" : "subscribe"
    return arguments.map { #"{"event":"\#(event)","arg":{\#($0)}}"# }
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    typealias Texts = BitgetDialectTests
    return (
      venue.part == "spot" ? Texts.live() : Texts.connected(["BTC-USDT-PERP"]),
      [
        Texts.book("snapshot", 100, 0, bids: #"["80688.1","0.5"]"#, asks: #"["80691.5","0.2"]"#),
        Texts.book("update", 132, 100, bids: #"["80688.1","0"]"#, asks: #"["80691.4","0.3"]"#),
        Texts.book("snapshot", 140, 0, bids: #"["80688.1","0.5"]"#, asks: "", channel: "books1"),
        Texts.message("trade", "update", Texts.trade(9) + "," + Texts.trade(8)),
        Texts.answer("error", "books", "BTCUSDT", #","code":30001,"msg":"doesn't exist","op":"subscribe""#), "pong",
      ].map { venue.part == "spot" ? $0 : $0.replacing("SPOT", with: "USDT-FUTURES") }
    )
  }
}

extension OddInputTests {
  fileprivate static let bitgetSpeakers = [bitget(Bitget.spot), bitget(Bitget.usdt)]

  private static func bitget(_ part: Venue) -> Speaker {
    typealias Texts = BitgetDialectTests
    let isSpot = part.part == "spot"
    @Sendable func own(_ text: String) -> String { isSpot ? text : text.replacing("SPOT", with: "USDT-FUTURES") }
    return Speaker(
      venue: part, symbols: [isSpot ? "BTC-USDT" : "BTC-USDT-PERP"],
      begin: { feed in
        feed.respond(isSpot ? Texts.pairs : Texts.contracts)
        feed.connect()
        feed.receive(own(Texts.book("snapshot", 100, 0, bids: #"["80688.1","0.5"]"#, asks: #"["80691.5","0.2"]"#)))
      },
      bid: "80688.1", ask: "80691.5", exponent: "8.06881e4", absent: "70000", level: pair,
      update: { bids, asks, time in
        [own(Texts.book("update", 132, 100, bids: list(bids), asks: list(asks)).replacing("1790358811400", with: time))]
      },
      time: "1790358811400", yearOne: "-62135596800000",
      trade: { id in own(Texts.message("trade", "update", Texts.trade(7).replacing(#""7""#, with: "\"\(id)\""))) },
      unknownType: own(Texts.message("never-heard-of", "snapshot", "")),
      late: [own(Texts.book("update", 132, 100)), own(Texts.book("update", 120, 110))],
      outcomes: [:])
  }
}

extension CandleFormatTests {
  fileprivate static let bitget: [Sample] = [
    Sample(
      venue: "bitget", part: "spot", instrument: instrument("bitget", "BTCUSDT"),
      request: CandleRequest(
        "/api/v2/spot/market/history-candles?symbol=BTCUSDT&granularity=1h"
          + "&startTime=1788314400000&endTime=1788325200000&limit=200"),
      answer: """
        {"code":"00000","msg":"success","requestTime":1788350400000,"data":[["1788314400000","83765.17","83770.2",\
        "83738.85","83740","0.701343","58742.42150798","58742.42150798"],\
        ["1788318000000","83740","83740","83740","83740","0","0","0"]]}
        """,
      candles: [["0", "83765.17", "83770.2", "83738.85", "83740", "0.701343", "-", "-"]]),
    Sample(
      venue: "bitget", part: "usdt", instrument: instrument("bitget", "BTCUSDT", .perpetual, price: 1, size: 4),
      request: CandleRequest(
        "/api/v2/mix/market/history-candles?productType=usdt-futures&symbol=BTCUSDT&granularity=1H"
          + "&startTime=1788314399999&endTime=1788325200000&limit=90"),
      answer:
        #"{"code":"00000","data":[["1788314400000","83733.2","83733.2","83709","83710","0.7569","63370.46146"]]}"#,
      candles: [["0", "83733.2", "83733.2", "83709", "83710", "0.7569", "63370.46146", "-"]]),
  ]
}
