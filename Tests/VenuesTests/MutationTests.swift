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
    case "coinbase-advanced":
      typealias Texts = CoinbaseAdvancedHandlerTests
      return (
        Texts.live(),
        [
          Texts.book("snapshot", 5, [Texts.level("bid", "68900.00", "1.5"), Texts.level("offer", "68901.00", "0.5")]),
          Texts.book("update", 6, [Texts.level("bid", "68900.00", "0"), Texts.level("offer", "68901.5", "0.2")]),
          Texts.trades("update", 7, [Texts.trade("104", "SELL"), Texts.trade("105", "BUY")]), Texts.subscriptions(8),
          #"{"channel":"ticker","sequence_num":9,"events":[{"type":"update","tickers":[{"product_id":"ETH-USD","price":"1900.50"}]}]}"#,
          #"{"type":"error","message":"ETH-USD is not a valid product"}"#,
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
    case "bitfinex":
      return (
        BitfinexHandlerTests.live(),
        [
          #"[10,[[86704,1,0.03460649],[86701,2,0.07296393],[86719,1,-0.0348]],3,1775779200144]"#,
          #"[10,[86719,2,-0.03483509],4,1775779200145]"#, #"[20,[1797.1,0,1],5,1775779200145]"#,
          #"[10,"cs",1330055495,6,1775779200145]"#,
          #"[11,"te",[382489563,1775779200709,0.00705845,10087.98969503],7,1775779200784]"#,
          BitfinexHandlerTests.subscribed("book", 10),
          #"{"channel":"book","symbol":"tETHUSD","event":"error","msg":"symbol: invalid","code":10300,"pair":"ETHUSD"}"#,
        ]
      )
    case "bitstamp":
      return (
        BitstampHandlerTests.live(),
        [
          BitstampHandlerTests.update(
            500_000, bids: #"["59999.00","1.00000000"],["60000.00","0.00000000"]"#, asks: #"["60009.00","0.5"]"#),
          BitstampHandlerTests.trade(600_000),
          #"{"event":"bts:subscription_succeeded","channel":"diff_order_book_usdteur","data":{}}"#,
          #"{"event":"bts:error","channel":"","data":{"code":null,"message":"Invalid channel provided."}}"#,
        ]
      )
    case "gemini":
      return (
        GeminiHandlerTests.live(),
        [
          GeminiHandlerTests.book(100, 100, bids: #"["80688.10","0.591"]"#, asks: #"["80691.50","0.2"]"#),
          GeminiHandlerTests.book(100, 117, bids: #"["80688.10","0.000"]"#, asks: #"["80691.40","0.3"]"#),
          #"{"u":1764549594389752,"E":1783981140076872200,"s":"btcusd","b":"80688.10","B":"9.6","a":"","A":""}"#,
          #"{"E":1783981140085684200,"s":"btcusd","t":2840141014190422,"p":"62145.38","q":"0.01625222","m":true}"#,
          #"{"id":1,"status":400,"error":{"code":-1013,"msg":"Invalid stream name: ethusd@depth@100ms"}}"#,
        ]
      )
    case "deribit":
      return (
        DeribitHandlerTests.live(),
        [
          DeribitHandlerTests.snapshot(100), DeribitHandlerTests.change(132, 100, asks: #"["delete",86776.0,0.0]"#),
          #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"quote.BTC_USDC-PERPETUAL","data":{"timestamp":1700000000500,"instrument_name":"BTC_USDC-PERPETUAL","best_ask_price":86776.0,"best_bid_price":86775.8,"best_ask_amount":0.0009,"best_bid_amount":0.216}}}"#,
          #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"trades.BTC_USDC-PERPETUAL.100ms","data":[{"timestamp":1700000000500,"price":86775.8,"amount":1.0e-4,"direction":"sell","instrument_name":"BTC_USDC-PERPETUAL","trade_seq":4,"trade_id":"403691825"}]}}"#,
          #"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"test_request"}}"#,
          #"{"jsonrpc":"2.0","id":3,"error":{"code":11050,"message":"bad_request"}}"#,
        ]
      )
    case "hyperliquid":
      return (
        HyperliquidHandlerTests.live(),
        [
          HyperliquidHandlerTests.book(),
          HyperliquidHandlerTests.book(540, asks: #"{"px":"84145.0","sz":"1.0","n":1}"#),
          #"{"channel":"trades","data":[\#(HyperliquidHandlerTests.trade(1, 1_790_232_236_600))]}"#,
          #"{"channel":"bbo","data":{"coin":"BTC","time":1790232237145,"bbo":[{"px":"84143.0","sz":"10.25923","n":36},null]}}"#,
          #"{"channel":"error","data":"Already subscribed: {\"type\":\"l2Book\",\"coin\":\"BTC\"}"}"#,
          HyperliquidHandlerTests.meta, HyperliquidHandlerTests.acknowledgement("l2Book", "BTC"),
        ]
      )
    case "bitget":
      typealias Texts = BitgetHandlerTests
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
