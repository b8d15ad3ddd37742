import MarketData
import TestSupport
import TestTraits
import Testing

@testable import Venues

@Suite("Damaged messages", .longComputation)
struct MutationTests {
  private static func feed(_ venue: Venue) -> (HandlerHarness, [String]) {
    switch venue.name {
    case "kraken":
      let feed = HandlerHarness(venue, ["BTC-USD", "ETH-USD"])
      feed.connect()
      feed.receive(KrakenHandlerTests.pairs)
      feed.receive(KrakenHandlerTests.ethSnapshot)
      return (
        feed,
        [
          KrakenHandlerTests.pairs, KrakenHandlerTests.ethSnapshot, KrakenHandlerTests.ethUpdate,
          #"{"channel":"trade","type":"update","data":[{"symbol":"ETH/USD","side":"buy","price":1797.20,"qty":0.00027625,"trade_id":8,"timestamp":"2023-10-06T17:35:55.440295Z"}]}"#,
          #"{"error":"Currency pair not supported","method":"subscribe","success":false,"symbol":"BTC/USD"}"#,
        ]
      )
    case "coinbase":
      let feed = HandlerHarness(venue, ["BTC-USD", "ETH-USD"])
      feed.prepare()
      feed.respond(feed.gets[0].request, 200, CoinbaseHandlerTests.products)
      feed.connect()
      return (
        feed,
        [
          #"{"type":"snapshot","product_id":"BTC-USD","asks":[["80691.53","0.20084671"]],"bids":[["80688.08","0.59153273"]]}"#,
          #"{"type":"l2update","product_id":"BTC-USD","changes":[["buy","80688.08","0.00000000"],["sell","80745.16","0.2"]],"time":"2026-08-25T03:35:57.300000Z"}"#,
          #"{"type":"match","trade_id":101,"side":"sell","size":"0.00000001","price":"80691.53","product_id":"BTC-USD","time":"2026-08-25T03:35:57.096368Z"}"#,
          #"{"type":"error","message":"Failed to subscribe","reason":"ETH-USD is delisted"}"#,
        ]
      )
    case "bybit":
      return (
        BybitHandlerTests.live(),
        [
          BybitHandlerTests.book("snapshot", 100, bids: #"["80688.1","0.591532"]"#, asks: #"["80691.5","0.2"]"#),
          BybitHandlerTests.book("delta", 101, bids: #"["80688.1","0"]"#, asks: #"["80691.6","1"]"#),
          BybitHandlerTests.book("snapshot", 9, bids: #"["80688.1","0.5"]"#, topic: "orderbook.1.BTCUSDT"),
          #"{"topic":"publicTrade.BTCUSDT","type":"snapshot","ts":1672304486868,"data":[{"T":1672304486865,"s":"BTCUSDT","S":"Buy","v":"0.001","p":"16578.50","i":"20f43950","BT":false}]}"#,
          #"{"topic":"tickers.BTCUSDT","ts":1673853746003,"type":"snapshot","data":{"symbol":"BTCUSDT","lastPrice":"21109.7","price24hPcnt":"0.0196"}}"#,
        ]
      )
    case "okx":
      return (
        OKXHandlerTests.live(),
        [
          OKXHandlerTests.book(
            "snapshot", 100, -1, bids: #"["80688.1","0.5","0","1"]"#, asks: #"["80691.5","0.2","0","1"]"#),
          OKXHandlerTests.book(
            "update", 132, 100, bids: #"["80688.1","0","0","0"]"#, asks: #"["80691.4","0.3","0","2"]"#),
          #"{"arg":{"channel":"trades","instId":"BTC-USDT"},"data":[{"instId":"BTC-USDT","tradeId":"130","px":"42219.9","sz":"0.12060306","side":"sell","ts":"1700000000500","count":"3"}]}"#,
          #"{"event":"error","code":"60018","msg":"Wrong URL or channel:books,instId:BTC-USDT-SWAP doesn't exist.","connId":"ed8c407d"}"#,
        ]
      )
    case "gate":
      return (
        GateHandlerTests.live(),
        [
          GateHandlerTests.full(100, bids: #"["80688.1","0.591532"]"#, asks: #"["80691.5","0.2"]"#),
          GateHandlerTests.change(101, 103, bids: #"["80688.1","0"]"#, asks: #"["80691.6","1"]"#),
          GateHandlerTests.update(90, 95, bids: #"["80688.1","0.5"]"#),
          #"{"time":1,"time_ms":1606292218231,"channel":"spot.trades","event":"update","result":{"id":309143071,"create_time_ms":"1606292218213.4578","side":"sell","currency_pair":"BTC_USDT","amount":"16.4700000000","price":"0.4705000000"}}"#,
          #"{"time_ms":1606293275723,"channel":"spot.book_ticker","event":"update","result":{"t":1606293275123,"u":4,"s":"BTC_USDT","b":"19177.7","B":"0.0003","a":"19179.3","A":"0.09"}}"#,
          #"{"id":5,"channel":"spot.obu","event":"subscribe","error":{"code":3,"message":"Server side error happened"},"result":{"status":"fail"}}"#,
        ]
      )
    case "kucoin":
      return (
        KuCoinHandlerTests.live(),
        [
          KuCoinHandlerTests.book("snapshot", 100, 100, bids: #"["80688.1","0.59"]"#, asks: #"["80691.5","0.2"]"#),
          KuCoinHandlerTests.book("delta", 101, 103, bids: #"["80688.1","0"]"#, asks: #"["80691.6","1"]"#),
          #"{"T":"trade.SPOT","P":1768802538491160904,"d":{"E":20631804219899904,"M":1768802538480000000,"S":"sell","p":"92525.6","q":"0.00008036","s":"BTC-USDT","ti":"20631804219899904"}}"#,
          KuCoinHandlerTests.welcome, #"{"id":"3","result":false,"reason":"exceed max topic count limitation"}"#,
          #"{"type":"pong","id":"6","ts":1790113111261396000}"#,
        ]
      )
    default:
      let feed = HandlerHarness(venue, ["BNB-BTC", "ETH-BTC"])
      feed.prepare()
      feed.respond(feed.gets[0].request, 200, BinanceHandlerTests.list)
      feed.connect()
      return (
        feed,
        [
          #"{"stream":"bnbbtc@depth@100ms","data":{"e":"depthUpdate","E":1672515782136,"s":"BNBBTC","U":157,"u":160,"b":[["0.00240000","10.00000000"]],"a":[["0.00260000","100.00000000"]]}}"#,
          #"{"u":400900217,"s":"BNBBTC","b":"25.35190000","B":"31.21000000","a":"25.36520000","A":"40.66000000"}"#,
          #"{"e":"trade","E":1672515782136,"s":"BNBBTC","t":12345,"p":"0.001","q":"100","T":1672515782136,"m":true,"M":true}"#,
          #"{"error":{"code":2,"msg":"Invalid request"},"id":1}"#,
        ]
      )
    }
  }

  @Test(
    "no damage to a message crashes a handler, and what it refuses has a reason",
    arguments: VenueRegistry.venues.map(\.name), testSeeds(3))
  func mutations(_ name: String, seed: UInt64) throws {
    let venue = try #require(VenueRegistry.venue(named: name))
    var random = SeededGenerator(seed: seed)
    let (feed, texts) = Self.feed(venue)
    let pieces = Array(#"{}[]",:\0123456789.-eEuntrue"#.utf8)
    var refused = 0
    for round in 0..<1500 {
      var bytes = Array(texts.randomElement(using: &random)!.utf8)
      for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[at] = pieces.randomElement(using: &random)!
        case 2: bytes.remove(at: at)
        case 3: bytes.insert(pieces.randomElement(using: &random)!, at: at)
        case 4: bytes.removeSubrange(at...)
        default:
          let end = Int.random(in: at...min(bytes.count, at + 20), using: &random)
          bytes.insert(contentsOf: bytes[at..<end], at: at)
        }
      }
      let before = feed.handler.counts.rejected
      feed.receive(bytes)
      if let error = feed.error {
        refused += 1
        #expect(!error.detail.isEmpty, "seed \(seed), round \(round)")
        #expect(feed.handler.counts.rejected == before + 1, "seed \(seed), round \(round)")
      }
      // What was accepted keeps the book whole.
      for state in feed.market.instruments {
        #expect(zip(state.book.bids, state.book.bids.dropFirst()).allSatisfy { $0.price < $1.price }, "seed \(seed)")
        #expect(state.book.asks.allSatisfy { $0.size > 0 }, "seed \(seed), round \(round)")
      }
      if round % 50 == 0 { feed.wait(1) }
    }
    #expect(refused > 300, "the damage was not noticed: seed \(seed)")
    #expect(feed.handler.counts.messages >= 1500)
  }
}
