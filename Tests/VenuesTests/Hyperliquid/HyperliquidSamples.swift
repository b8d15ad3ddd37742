import MarketData
import Testing

@testable import Venues

extension Hyperliquid: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.hyperliquidSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.hyperliquid }
  static let replaySamples = [
    VenueReplayTests.Sample("hyperliquid", "mixed", ["BTC", "ETH-USDC-PERP"], ["BTC-USDC-PERP", "ETH-USDC-PERP"])
  ]

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    return (
      HyperliquidDialectTests.live(),
      [
        HyperliquidDialectTests.book(),
        HyperliquidDialectTests.book(540, asks: #"{"px":"84145.0","sz":"1.0","n":1}"#),
        #"{"channel":"trades","data":[\#(HyperliquidDialectTests.trade(1, 1_790_232_236_600))]}"#,
        #"{"channel":"bbo","data":{"coin":"BTC","time":1790232237145,"bbo":[{"px":"84143.0","sz":"10.25923","n":36},null]}}"#,
        #"{"channel":"error","data":"Already subscribed: {\"type\":\"l2Book\",\"coin\":\"BTC\"}"}"#,
        HyperliquidDialectTests.meta, HyperliquidDialectTests.acknowledgement("l2Book", "BTC"),
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let hyperliquidSpeakers = [hyperliquid]

  private static let hyperliquid = Speaker(
    venue: Hyperliquid.venue, symbols: ["BTC-USDC-PERP"],
    begin: { feed in
      feed.connect()
      feed.receive(HyperliquidDialectTests.meta)
      feed.receive(hyperliquidBook([#"{"px":"84143.0","sz":"1.0","n":1}"#]))
    },
    bid: "84143.0", ask: "84144.0", exponent: "8.4143e4", absent: "70000.0",
    level: { _, price, size in #"{"px":"\#(price)","sz":"\#(size)","n":1}"# },
    update: { bids, _, time in [hyperliquidBook(bids, time)] }, time: "1790000000540", yearOne: "-62135596800000",
    trade: { id in
      #"{"channel":"trades","data":[{"coin":"BTC","side":"A","px":"84143.0","sz":"0.00036","time":1790000000100,"hash":"0x7ab656ce","tid":\#(id)}]}"#
    },
    unknownType: #"{"channel":"neverHeardOf","data":{}}"#,
    // Every message is the whole book: a late one is left out, and the book goes on.
    late: [
      hyperliquidBook([#"{"px":"84143.0","sz":"2.0","n":1}"#], "1790000001000"),
      hyperliquidBook([#"{"px":"84143.0","sz":"3.0","n":1}"#], "1790000000500"),
    ],
    texts: [
      .unknownRemoval: [
        hyperliquidBook([#"{"px":"84143.0","sz":"1.0","n":1},{"px":"70000.0","sz":"0.0","n":0}"#], "1790000000540")
      ],
      .emptySide: [
        #"{"channel":"l2Book","data":{"coin":"BTC","time":1790000000540,"levels":[[{"px":"84143.0","sz":"1.0","n":1}],[]]}}"#
      ],
    ],
    outcomes: [.late: .used])

  private static func hyperliquidBook(_ bids: [String], _ time: String = "1790000000000") -> String {
    #"{"channel":"l2Book","data":{"coin":"BTC","time":\#(time),"levels":[[\#(list(bids))],[{"px":"84144.0","sz":"50.66449","n":18}]],"fast":true}}"#
  }
}

extension CandleFormatTests {
  fileprivate static let hyperliquid: [Sample] = [
    Sample(
      venue: "hyperliquid", instrument: instrument("hyperliquid", "@107", price: 1, size: 5),
      request: CandleRequest(
        "/info",
        body: #"{"type":"candleSnapshot","req":{"coin":"@107","interval":"1h","startTime":1788314400000,"#
          + #""endTime":1788325200000}}"#),
      answer: """
        [{"t":1788314400000,"T":1788317999999,"s":"@107","i":"1h","o":"83737.0","c":"83767.0","h":"83977.0",\
        "l":"83600.0","v":"910.98068","n":8461}]
        """,
      candles: [["0", "83737", "83977", "83600", "83767", "910.98068", "-", "8461"]])
  ]
}
