import MarketData
import Testing

@testable import Venues

extension OKX: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.okxSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.okx }
  static let replaySamples = [
    VenueReplayTests.Sample("okx", "mixed", ["BTC-USDT", "ETH-BTC"], ["BTC-USDT", "ETH-BTC"])
  ]
  static var marketSign: MarketSignTests.Sample? {
    .init(
      name: "okx", live: { OKXDialectTests.live() },
      answers: [
        "pong", #"{"id":"1","event":"subscribe","arg":{"channel":"trades","instId":"BTC-USDT"},"connId":"a"}"#,
      ],
      market: OKXDialectTests.book("update", 132, 100))
  }

  static func acknowledgements(of request: RequestText) -> [String] {
    let arguments = request.list(#""args":"#).dropFirst().dropLast().split(separator: "},{")
    return arguments.map {
      #"{"id":"\#(request.number(#""id":""#))","event":"subscribe","arg":{\#($0)},"connId":"a"}"#
    }
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    return (
      OKXDialectTests.live(),
      [
        OKXDialectTests.book(
          "snapshot", 100, -1, bids: #"["80688.1","0.5","0","1"]"#, asks: #"["80691.5","0.2","0","1"]"#),
        OKXDialectTests.book(
          "update", 132, 100, bids: #"["80688.1","0","0","0"]"#, asks: #"["80691.4","0.3","0","2"]"#),
        #"{"arg":{"channel":"trades","instId":"BTC-USDT"},"data":[{"instId":"BTC-USDT","tradeId":"130","px":"42219.9","sz":"0.12060306","side":"sell","ts":"1700000000500","count":"3"}]}"#,
        #"{"event":"error","code":"60018","msg":"Wrong URL or channel:books,instId:BTC-USDT-SWAP doesn't exist.","connId":"ed8c407d"}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let okxSpeakers = [okx]

  private static let okx = Speaker(
    venue: OKX.venue, symbols: ["BTC-USDT"],
    begin: { feed in
      feed.respond(OKXDialectTests.lists["SPOT"] ?? "")
      feed.connect()
      feed.receive(
        OKXDialectTests.book(
          "snapshot", 100, -1, bids: #"["80688.1","0.5","0","1"]"#, asks: #"["80691.5","0.2","0","1"]"#))
    },
    bid: "80688.1", ask: "80691.5", exponent: "8.06881e4", absent: "70000",
    level: { _, price, size in #"["\#(price)","\#(size)","0","1"]"# },
    update: { bids, asks, time in
      [
        OKXDialectTests.book("update", 132, 100, bids: list(bids), asks: list(asks))
          .replacing("1790394877200", with: time)
      ]
    },
    time: "1790394877200", yearOne: "-62135596800000",
    trade: { id in
      #"{"arg":{"channel":"trades","instId":"BTC-USDT"},"data":[{"instId":"BTC-USDT","tradeId":"\#(id)","px":"42219.9","sz":"0.12060306","side":"sell","ts":"1700000000500","count":"1"}]}"#
    },
    unknownType: #"{"arg":{"channel":"never-heard-of","instId":"BTC-USDT"},"data":[]}"#,
    late: [OKXDialectTests.book("update", 132, 100), OKXDialectTests.book("update", 120, 110)],
    outcomes: [:])
}

extension CandleFormatTests {
  fileprivate static let okx: [Sample] = [
    Sample(
      venue: "okx", instrument: instrument("okx", "BTC-USDT", price: 1, size: 8),
      request: CandleRequest(
        "/api/v5/market/history-candles?instId=BTC-USDT&bar=1H&before=1788314399999&after=1788328800000&limit=300"),
      answer: """
        {"code":"0","msg":"","data":[\
        ["1788318000000","69337.1","69462.5","69160.6","69400","3","208200","208200","0"],\
        ["1788314400000","69264.7","69462.5","69160.6","69337.1","333.0511483","23087731.217311397",\
        "23087731.217311397","1"]]}
        """,
      candles: [["0", "69264.7", "69462.5", "69160.6", "69337.1", "333.0511483", "23087731.217311397", "-"]]),
    Sample(
      venue: "okx", instrument: instrument("okx", "BTC-USDT-SWAP", .perpetual, price: 1, size: 4),
      request: CandleRequest(
        "/api/v5/market/history-candles?instId=BTC-USDT-SWAP&bar=1H"
          + "&before=1788314399999&after=1788328800000&limit=300"),
      answer:
        #"{"code":"0","data":[["1788314400000","69264.7","69462.5","69160.6","69337.1","33305","333.05","#
        + #""23087731.2","1"]]}"#,
      candles: [["0", "69264.7", "69462.5", "69160.6", "69337.1", "333.05", "23087731.2", "-"]]),
  ]
}
