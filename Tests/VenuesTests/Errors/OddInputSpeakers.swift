import MarketData

@testable import Venues

/// How each connection says what `OddInputTests` wants said, in the formats of its tests.
extension OddInputTests {
  static let speakers: [Speaker] = [
    binance, binanceFutures, bitfinex, bitget(Bitget.spot), bitget(Bitget.usdt), bitstamp, bybit(Bybit.spot),
    bybit(Bybit.linear), coinbase,
    coinbaseAdvanced, deribit, gate, gemini, hyperliquid, kraken, kuCoin, okx,
  ]

  private static func pair(_ isAsk: Bool, _ price: String, _ size: String) -> String { #"["\#(price)","\#(size)"]"# }
  private static func list(_ levels: [String]) -> String { levels.joined(separator: ",") }

  // MARK: Binance

  private static let binance = Speaker(
    venue: Binance.spot, symbols: ["BNB-BTC"],
    begin: { feed in
      feed.respond(BinanceHandlerTests.list)
      feed.connect()
      feed.receive(spotDepth(151, 155, [#"["0.00240000","1.00000000"]"#], [#"["0.00260000","1.00000000"]"#]))
      feed.respond(#"{"lastUpdateId":155,"bids":[["0.00240000","1.00000000"]],"asks":[["0.00260000","1.00000000"]]}"#)
      feed.receive(spotDepth(156, 160))
    },
    bid: "0.00240000", ask: "0.00260000", exponent: "2.4e-3", absent: "0.00100000", level: pair,
    update: { bids, asks, time in [spotDepth(161, 162, bids, asks, time)] }, time: "1672515782136",
    yearOne: "-62135596800000",
    trade: { id in
      #"{"stream":"bnbbtc@trade","data":{"e":"trade","E":1672515782136,"s":"BNBBTC","t":\#(id),"p":"0.001","q":"100","T":1672515782136,"m":true,"M":true}}"#
    },
    unknownType: #"{"stream":"bnbbtc@neverheardof","data":{"e":"neverHeardOf","E":1,"s":"BNBBTC"}}"#,
    late: [spotDepth(161, 162), spotDepth(165, 166)],
    outcomes: [:])

  private static func spotDepth(
    _ first: Int, _ last: Int, _ bids: [String] = [], _ asks: [String] = [], _ time: String = "1672515782136"
  ) -> String {
    #"{"stream":"bnbbtc@depth@100ms","data":{"e":"depthUpdate","E":\#(time),"s":"BNBBTC","U":\#(first),"u":\#(last),"b":[\#(list(bids))],"a":[\#(list(asks))]}}"#
  }

  private static let binanceFutures = Speaker(
    venue: Binance.usdm, symbols: ["BTC-USDT-PERP"],
    begin: { feed in
      feed.respond(BinanceFuturesTests.list)
      feed.connect()
      feed.receive(futuresDepth(1000, 1200, 900))
      feed.respond(
        #"{"lastUpdateId":1100,"E":1618677448324,"T":1618677448305,"bids":[["83091.50","1.000"]],"asks":[["83091.80","2.500"]]}"#
      )
    },
    bid: "83091.50", ask: "83091.80", exponent: "8.30915e4", absent: "70000.00", level: pair,
    update: { bids, asks, time in [futuresDepth(1250, 1300, 1200, bids, asks, time)] }, time: "1791382994616",
    yearOne: "-62135596800000",
    trade: { id in
      #"{"stream":"btcusdt@trade","data":{"e":"trade","E":1723161256322,"T":1723161256322,"s":"BTCUSDT","t":\#(id),"p":"61800.30","q":"0.006","X":"MARKET","m":false}}"#
    },
    unknownType: #"{"stream":"btcusdt@neverheardof","data":{"e":"neverHeardOf","E":1,"s":"BTCUSDT"}}"#,
    late: [futuresDepth(1250, 1300, 1200), futuresDepth(1210, 1240, 1205)],
    outcomes: [:])

  private static func futuresDepth(
    _ first: Int, _ last: Int, _ previous: Int, _ bids: [String] = [], _ asks: [String] = [],
    _ time: String = "1791382994616"
  ) -> String {
    #"{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":\#(time),"T":\#(time),"s":"BTCUSDT","U":\#(first),"u":\#(last),"pu":\#(previous),"b":[\#(list(bids))],"a":[\#(list(asks))]}}"#
  }

  // MARK: Bitfinex

  private static let bitfinex = Speaker(
    venue: Bitfinex.venue, symbols: ["BTC-USD"],
    begin: { feed in
      feed.respond(BitfinexHandlerTests.list)
      feed.connect()
      feed.receive(#"{"event":"conf","status":"OK","flags":229376}"#)
      feed.receive(BitfinexHandlerTests.subscribed("book", 10))
      feed.receive(BitfinexHandlerTests.subscribed("trades", 11))
      feed.receive("[10,[[86704,1,0.5],[86719,1,-0.5]],1,1775779200144]")
    },
    bid: "86704", ask: "86719", exponent: "8.6704e4", absent: "70000",
    // One level a message; 0 orders remove it.
    level: { isAsk, price, size in
      size == "0" ? "[\(price),0,\(isAsk ? -1 : 1)]" : "[\(price),1,\(isAsk ? "-" : "")\(size)]"
    },
    update: { bids, asks, time in
      zip(2..., bids + asks).map { count, level in "[10,\(level),\(count),\(time)]" }
    },
    time: "1775779200200", yearOne: "-62135596800000",
    trade: { id in "[11,\"te\",[\(id),1775779200709,0.5,86704],2,1775779200784]" },
    unknownType: #"[11,"zz",[1],2]"#,
    late: ["[10,[86704,1,0.5],2,1775779200200]", "[10,[86704,1,0.5],1,1775779200144]"],
    texts: [.noNumber: [#"[10,[86704,1,"0.-10000"],2,1775779200200]"#]], outcomes: [:])

  // MARK: Bitstamp

  private static let bitstamp = Speaker(
    venue: Bitstamp.venue, symbols: ["BTC-USD"],
    begin: { feed in
      feed.respond(BitstampHandlerTests.list)
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

  // MARK: Bybit

  private static func bybit(_ venue: Venue) -> Speaker {
    let isSpot = venue.part == Bybit.spot.part
    return Speaker(
      venue: venue, symbols: [isSpot ? "BTC-USDT" : "BTC-USDT-PERP"],
      begin: { feed in
        for page in isSpot ? [BybitHandlerTests.spotList] : BybitHandlerTests.linearPages { feed.respond(page) }
        feed.connect()
        feed.receive(BybitHandlerTests.book("snapshot", 100, bids: #"["80688.1","0.5"]"#, asks: #"["80691.5","0.2"]"#))
      },
      bid: "80688.1", ask: "80691.5", exponent: "8.06881e4", absent: "70000", level: pair,
      update: { bids, asks, time in
        [
          BybitHandlerTests.book("delta", 101, bids: list(bids), asks: list(asks))
            .replacing(#""ts":1790134712130"#, with: #""ts":\#(time)"#)
        ]
      },
      time: "1790134712130", yearOne: "-62135596800000",
      trade: { id in
        #"{"topic":"publicTrade.BTCUSDT","type":"snapshot","ts":1672304486868,"data":[{"T":1672304486865,"s":"BTCUSDT","S":"Buy","v":"0.001","p":"16578.50","i":"\#(id)","BT":false}]}"#
      },
      unknownType: #"{"topic":"neverheardof.BTCUSDT","type":"snapshot","ts":1,"data":[]}"#,
      late: [BybitHandlerTests.book("delta", 101), BybitHandlerTests.book("delta", 99)],
      outcomes: [:])
  }

  // MARK: Coinbase

  private static let coinbase = Speaker(
    venue: Coinbase.venue, symbols: ["BTC-USD"],
    begin: { feed in
      feed.respond(CoinbaseHandlerTests.products)
      feed.connect()
      feed.receive(
        #"{"type":"snapshot","product_id":"BTC-USD","time":"2026-08-25T03:35:57Z","asks":[["80691.53","0.2"]],"bids":[["80688.08","0.5"]]}"#
      )
    },
    bid: "80688.08", ask: "80691.53", exponent: "8.068808e4", absent: "70000.00",
    level: { isAsk, price, size in #"["\#(isAsk ? "sell" : "buy")","\#(price)","\#(size)"]"# },
    update: { bids, asks, time in [coinbaseUpdate(bids + asks, time)] }, time: "2026-08-25T03:35:57.300000Z",
    yearOne: "0001-01-01T00:00:00.000000Z",
    trade: { id in
      #"{"type":"match","trade_id":\#(id),"side":"sell","size":"0.00000001","price":"80691.53","product_id":"BTC-USD","time":"2026-08-25T03:35:57.096368Z"}"#
    },
    unknownType: #"{"type":"never_heard_of","product_id":"BTC-USD"}"#,
    late: [coinbaseUpdate([], "2026-08-25T03:35:59Z"), coinbaseUpdate([], "2026-08-25T03:35:58Z")],
    outcomes: [:])

  private static func coinbaseUpdate(_ changes: [String], _ time: String) -> String {
    #"{"type":"l2update","product_id":"BTC-USD","changes":[\#(list(changes))],"time":"\#(time)"}"#
  }

  private static let coinbaseAdvanced = Speaker(
    venue: CoinbaseAdvanced.venue, symbols: ["BTC-USD"],
    begin: { feed in
      feed.respond(CoinbaseAdvancedHandlerTests.products)
      feed.connect()
      for number in 0..<4 {
        feed.receive(CoinbaseAdvancedHandlerTests.subscriptions(number))
        feed.wait(0.25)
      }
      feed.receive(
        CoinbaseAdvancedHandlerTests.book(
          "snapshot", 4,
          [
            CoinbaseAdvancedHandlerTests.level("bid", "68900.00", "1.5"),
            CoinbaseAdvancedHandlerTests.level("offer", "68901.00", "0.5"),
          ]))
    },
    bid: "68900.00", ask: "68901.00", exponent: "6.89e4", absent: "50000.00",
    level: { isAsk, price, size in CoinbaseAdvancedHandlerTests.level(isAsk ? "offer" : "bid", price, size) },
    update: { bids, asks, time in [CoinbaseAdvancedHandlerTests.book("update", 5, bids + asks, time: time)] },
    time: "2026-04-07T14:30:02Z", yearOne: "0001-01-01T00:00:00.000000Z",
    trade: { id in
      CoinbaseAdvancedHandlerTests.trades("update", 5, [CoinbaseAdvancedHandlerTests.trade(id, "BUY")])
    },
    unknownType: #"{"channel":"never_heard_of","timestamp":"2026-04-07T14:30:05Z","sequence_num":5,"events":[]}"#,
    late: [
      CoinbaseAdvancedHandlerTests.book("update", 5, []), CoinbaseAdvancedHandlerTests.book("update", 3, []),
    ],
    outcomes: [:])

  // MARK: Deribit

  private static let deribit = Speaker(
    venue: Deribit.venue, symbols: ["BTC-USDC-PERP"],
    begin: { feed in
      feed.respond(DeribitHandlerTests.list)
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
        DeribitHandlerTests.change(101, 100, bids: list(bids), asks: list(asks))
          .replacing("1790133842703", with: time)
      ]
    },
    time: "1790133842703", yearOne: "-62135596800000",
    trade: { id in
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"trades.BTC_USDC-PERPETUAL.100ms","data":[{"timestamp":1700000000500,"price":86775.8,"amount":1.0e-4,"direction":"sell","instrument_name":"BTC_USDC-PERPETUAL","trade_seq":4,"trade_id":"\#(id)"}]}}"#
    },
    unknownType:
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"never_heard_of.btc_usd","data":{}}}"#,
    late: [DeribitHandlerTests.change(132, 100), DeribitHandlerTests.change(120, 110)],
    outcomes: [:])

  // MARK: Gate

  private static let gate = Speaker(
    venue: Gate.venue, symbols: ["BTC-USDT"],
    begin: { feed in
      feed.respond(GateHandlerTests.list)
      feed.connect()
      feed.receive(GateHandlerTests.full(100, bids: #"["80688.1","0.5"]"#, asks: #"["80691.5","0.2"]"#))
    },
    bid: "80688.1", ask: "80691.5", exponent: "8.06881e4", absent: "70000", level: pair,
    update: { bids, asks, time in
      [
        GateHandlerTests.change(101, 101, bids: list(bids), asks: list(asks))
          .replacing("1747054612695", with: time)
      ]
    },
    time: "1747054612695", yearOne: "-62135596800000",
    trade: { id in
      #"{"time_ms":1606292218231,"channel":"spot.trades","event":"update","result":{"id":\#(id),"create_time_ms":"1606292218213.4578","side":"sell","currency_pair":"BTC_USDT","amount":"16.47","price":"0.4705"}}"#
    },
    unknownType: #"{"time_ms":1606292600376,"channel":"spot.never_heard_of","event":"update","result":{}}"#,
    late: [GateHandlerTests.change(101, 110), GateHandlerTests.change(102, 105)],
    outcomes: [:])

  // MARK: Gemini

  private static let gemini = Speaker(
    venue: Gemini.venue, symbols: ["BTC-USD"],
    begin: { feed in
      feed.respond(GeminiHandlerTests.names)
      feed.respond(GeminiHandlerTests.details("BTC", "USD"))
      feed.connect()
      feed.receive(GeminiHandlerTests.book(100, 100, bids: #"["80688.10","0.5"]"#, asks: #"["80691.50","0.2"]"#))
    },
    bid: "80688.10", ask: "80691.50", exponent: "8.06881e4", absent: "70000.00", level: pair,
    update: { bids, asks, time in
      [
        GeminiHandlerTests.book(100, 117, bids: list(bids), asks: list(asks))
          .replacing("1789456740173524809", with: time)
      ]
    },
    time: "1789456740173524809", yearOne: "-62135596800000",
    trade: { id in #"{"E":1783981140085684200,"s":"btcusd","t":\#(id),"p":"62145.38","q":"0.0162522","m":true}"# },
    unknownType: #"{"e":"neverHeardOf","E":1784870400000,"s":"btcusd"}"#,
    late: [GeminiHandlerTests.book(100, 117), GeminiHandlerTests.book(90, 95)],
    outcomes: [:])

  // MARK: Hyperliquid

  private static let hyperliquid = Speaker(
    venue: Hyperliquid.venue, symbols: ["BTC-USDC-PERP"],
    begin: { feed in
      feed.connect()
      feed.receive(HyperliquidHandlerTests.meta)
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

  // MARK: Kraken

  private static let kraken = Speaker(
    venue: Kraken.venue, symbols: ["ETH-USD"],
    begin: { feed in
      feed.connect()
      feed.receive(KrakenHandlerTests.pairs)
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

  // MARK: Bitget

  private static func bitget(_ part: Venue) -> Speaker {
    typealias Texts = BitgetHandlerTests
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

  // MARK: KuCoin

  private static let kuCoin = Speaker(
    venue: KuCoin.venue, symbols: ["BTC-USDT"],
    begin: { feed in
      feed.respond(KuCoinHandlerTests.list)
      feed.connect()
      feed.receive(KuCoinHandlerTests.welcome)
      feed.wait(1)
      feed.receive(
        KuCoinHandlerTests.book("snapshot", 100, 100, bids: #"["80688.1","0.5"]"#, asks: #"["80691.5","0.2"]"#))
    },
    bid: "80688.1", ask: "80691.5", exponent: "8.06881e4", absent: "70000", level: pair,
    update: { bids, asks, time in
      [
        KuCoinHandlerTests.book("delta", 101, 101, bids: list(bids), asks: list(asks))
          .replacing("1768217874986000000", with: time)
      ]
    },
    time: "1768217874986000000", yearOne: #""0001-01-01T00:00:00Z""#,
    trade: { id in
      #"{"T":"trade.SPOT","P":1768802538491160904,"d":{"E":1,"M":1768802538480000000,"S":"sell","p":"92525.6","q":"0.00008036","s":"BTC-USDT","ti":"\#(id)"}}"#
    },
    unknownType: #"{"T":"neverHeardOf.SPOT","P":1,"d":{"s":"BTC-USDT"}}"#,
    late: [KuCoinHandlerTests.book("delta", 101, 140), KuCoinHandlerTests.book("delta", 110, 120)],
    outcomes: [:])

  // MARK: OKX

  private static let okx = Speaker(
    venue: OKX.venue, symbols: ["BTC-USDT"],
    begin: { feed in
      feed.respond(OKXHandlerTests.lists["SPOT"] ?? "")
      feed.connect()
      feed.receive(
        OKXHandlerTests.book(
          "snapshot", 100, -1, bids: #"["80688.1","0.5","0","1"]"#, asks: #"["80691.5","0.2","0","1"]"#))
    },
    bid: "80688.1", ask: "80691.5", exponent: "8.06881e4", absent: "70000",
    level: { _, price, size in #"["\#(price)","\#(size)","0","1"]"# },
    update: { bids, asks, time in
      [
        OKXHandlerTests.book("update", 132, 100, bids: list(bids), asks: list(asks))
          .replacing("1790394877200", with: time)
      ]
    },
    time: "1790394877200", yearOne: "-62135596800000",
    trade: { id in
      #"{"arg":{"channel":"trades","instId":"BTC-USDT"},"data":[{"instId":"BTC-USDT","tradeId":"\#(id)","px":"42219.9","sz":"0.12060306","side":"sell","ts":"1700000000500","count":"1"}]}"#
    },
    unknownType: #"{"arg":{"channel":"never-heard-of","instId":"BTC-USDT"},"data":[]}"#,
    late: [OKXHandlerTests.book("update", 132, 100), OKXHandlerTests.book("update", 120, 110)],
    outcomes: [:])
}
