import MarketData
import Testing

@testable import Venues

extension Kraken: VenueSamples {
  static var speakers: [OddInputTests.Speaker] { OddInputTests.krakenSpeakers }
  static var candleSamples: [CandleFormatTests.Sample] { CandleFormatTests.kraken }
  static let replaySamples = [
    VenueReplayTests.Sample("kraken", "spot", ["BTC/USD", "ETH-BTC"], ["BTC-USD", "ETH-BTC"])
  ]

  static func acknowledgements(of request: RequestText) -> [String] {
    guard request.text.contains(#""method":"subscribe""#),
      let channel = request.after(#""channel":""#)?.prefix(while: { $0 != "\"" })
    else { return [] }
    return request.list(#""symbol":"#).split(separator: ",").map { symbol in
      #"{"method":"subscribe","result":{"channel":"\#(channel)","symbol":\#(symbol)},"success":true,"req_id":\#(request.number(#""req_id":"#))}"#
    }
  }

  static func toDamage(_ venue: Venue) -> (EngineHarness, [String]) {
    let feed = EngineHarness(venue, ["BTC-USD", "ETH-USD"])
    feed.connect()
    feed.receive(KrakenDialectTests.pairs)
    feed.receive(KrakenDialectTests.ethSnapshot)
    return (
      feed,
      [
        KrakenDialectTests.pairs, KrakenDialectTests.ethSnapshot, KrakenDialectTests.ethUpdate,
        #"{"channel":"trade","type":"update","data":[{"symbol":"ETH/USD","side":"buy","price":1797.20,"qty":0.00027625,"trade_id":8,"timestamp":"2023-10-06T17:35:55.440295Z"}]}"#,
        #"{"error":"Currency pair not supported","method":"subscribe","success":false,"symbol":"BTC/USD"}"#,
      ]
    )
  }
}

extension OddInputTests {
  fileprivate static let krakenSpeakers = [kraken]

  private static let kraken = Speaker(
    venue: Kraken.venue, symbols: ["ETH-USD"],
    begin: { feed in
      feed.connect()
      feed.receive(KrakenDialectTests.pairs)
      feed.receive(
        #"{"channel":"book","type":"snapshot","data":[{"symbol":"ETH/USD","bids":[{"price":1797.24,"qty":0.43393711}],"asks":[{"price":1797.25,"qty":1.40355852}],"checksum":1257516027}]}"#
      )
    },
    bid: "1797.24", ask: "1797.25", exponent: "1.79724e3", absent: "1000.00",
    level: { _, price, size in
      size.hasPrefix("0.-") ? #"{"price":\#(price),"qty":"\#(size)"}"# : #"{"price":\#(price),"qty":\#(size)}"#
    },
    update: { bids, asks, time in [krakenUpdate(bids, asks, time)] }, time: "2025-05-06T09:17:26.208075Z",
    yearOne: "0001-01-01T00:00:00Z",
    trade: { id in
      #"{"channel":"trade","type":"update","data":[{"symbol":"ETH/USD","side":"buy","price":1797.20,"qty":0.00027625,"trade_id":\#(id),"timestamp":"2023-10-06T17:35:55.440295Z"}]}"#
    },
    unknownType: #"{"channel":"never_heard_of","type":"update","data":[{"symbol":"ETH/USD"}]}"#,
    // Its checksum is that of the book before it, where the bid was 2.
    late: [
      krakenUpdate([#"{"price":1797.24,"qty":2.00000000}"#], [], "2025-05-06T09:17:26.208075Z"),
      krakenUpdate([], [], "2025-05-06T09:17:25.208075Z"),
    ],
    outcomes: [.late: .resync(.checksum), .crossed: .resync(.checksum)])

  /// With the checksum of the book that it comes to (CRC-32 by zlib).
  private static func krakenUpdate(_ bids: [String], _ asks: [String], _ time: String) -> String {
    let sums: [(part: String, sum: UInt32)] = [
      ("5e-1", 1_171_560_859), (#""qty":2"#, 4_146_212_029), ("1797.25", 3_901_245_645),
    ]
    let text = list(bids) + list(asks)
    let sum = sums.first { text.contains($0.part) }?.sum ?? 1_257_516_027
    return
      #"{"channel":"book","type":"update","data":[{"symbol":"ETH/USD","bids":[\#(list(bids))],"asks":[\#(list(asks))],"checksum":\#(sum),"timestamp":"\#(time)"}]}"#
  }
}

extension CandleFormatTests {
  fileprivate static let kraken: [Sample] = [
    Sample(
      venue: "kraken", instrument: instrument("kraken", "BTC/USD"),
      request: CandleRequest("/0/public/OHLC?pair=BTC/USD&interval=60&since=1788310800"),
      answer: """
        {"error":[],"result":{"last":1788325200,"BTC/USD":[\
        [1788310800,"1","1","1","1","1","1",1],\
        [1788314400,"83732.7","83969.8","83612.9","83765.4","83766.9","81.13696690",5879],\
        [1788318000,"106038.2","106038.2","106038.2","106038.2","0.0","0.00000000",0],\
        [1788321600,"83765.4","83765.5","83765.3","83765.3","83765.4","0.5",2]]}}
        """,
      candles: [
        ["0", "83732.7", "83969.8", "83612.9", "83765.4", "81.1369669", "-", "5879"],
        ["2", "83765.4", "83765.5", "83765.3", "83765.3", "0.5", "-", "2"],
      ])
  ]
}
