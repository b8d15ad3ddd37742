import MarketData
import Testing

@testable import Venues

/// What the engines do when they are to ask again, that of `AskAgainTests` for the other venues: one list, then what
/// was refused, and nothing of what is carried.
extension AskAgainTests {
  private func texts(_ feed: EngineHarness, _ seconds: Double = 1) -> [String] {
    let sent = feed.sent
    feed.wait(seconds)
    return sent + feed.sent
  }

  @Test("Gate: a pair that was refused, one that was not traded and one that is new; what is live is left alone")
  func gate() {
    func pair(_ base: String, _ state: String = "tradable") -> String {
      #"{"id":"\#(base)_USDT","base":"\#(base)","quote":"USDT","amount_precision":6,"precision":1,"trade_status":"\#(state)"}"#
    }
    let feed = EngineHarness(Gate.venue, ["BTC-USDT", "ETH-USDT", "OLD-USDT", "NEW-USDT"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, "[\(pair("BTC")),\(pair("ETH")),\(pair("OLD", "untradable"))]")
    #expect(feed.failures.keys.sorted() == ["NEW-USDT", "OLD-USDT"])
    feed.connect()
    feed.receive(GateDialectTests.full(100, bids: #"["1","1"]"#, asks: #"["2","1"]"#))
    feed.receive(
      #"{"id":3,"channel":"spot.obu","event":"subscribe","error":{"code":2,"message":"unknown currency pair ETH_USDT"},"result":{"status":"fail"}}"#
    )
    #expect(feed.failures.keys.sorted() == ["ETH-USDT"])
    feed.wait(60)
    #expect(feed.sent.allSatisfy { $0.contains("spot.ping") })
    feed.retry(["ETH-USDT", "NEW-USDT", "OLD-USDT"])
    #expect(feed.gets.map(\.path) == ["/api/v4/spot/currency_pairs"])
    // The market that is live has been taken from the list meanwhile: it goes on.
    feed.respond(feed.gets[0].request, 200, "[\(pair("ETH")),\(pair("OLD")),\(pair("NEW"))]")
    #expect(feed.failures.isEmpty && feed.state(0) == .live)
    let sent = texts(feed)
    for name in ["ETH", "OLD", "NEW"] {
      #expect(sent.count { $0.contains("\"subscribe\"") && $0.contains("\(name)_USDT") } == 4)
    }
    #expect(!sent.contains { $0.contains("BTC_USDT") })
  }

  @Test("KuCoin: a symbol that was refused, and one that stayed silent; what is live is left alone")
  func kucoin() {
    let entry = { (base: String) in
      #"{"symbol":"\#(base)-USDT","baseCurrency":"\#(base)","quoteCurrency":"USDT","baseIncrement":"0.00000001","priceIncrement":"0.1"}"#
    }
    let list = #"{"code":"200000","data":[\#(["BTC", "ETH", "SOL"].map(entry).joined(separator: ","))]}"#
    let feed = EngineHarness(KuCoin.venue, ["BTC-USDT", "ETH-USDT", "SOL-USDT"])
    feed.isAnswered = { !$0.contains("ETH-USDT") || !$0.contains("obu") }
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    feed.receive(KuCoinDialectTests.welcome)
    feed.wait(1)
    feed.receive(KuCoinDialectTests.book("snapshot", 1, 1, bids: #"["1","1"]"#, asks: #"["2","1"]"#))
    feed.receive(#"{"id":"3","result":false,"message":"invalid request data"}"#)
    #expect(feed.failures.keys.sorted() == ["ETH-USDT"])
    feed.wait(62)
    #expect(feed.failures.keys.sorted() == ["SOL-USDT"])
    feed.retry(["ETH-USDT", "SOL-USDT"])
    #expect(feed.gets.count == 1)
    feed.respond(feed.gets[0].request, 200, list)
    let sent = texts(feed, 2).filter { $0.contains(#""subscribe""#) }
    #expect(sent.count == 4 && !sent.contains { $0.contains("BTC") })
    feed.wait(62)
    #expect(feed.failures.keys.sorted() == ["ETH-USDT", "SOL-USDT"], "told again")
  }

  @Test("Deribit: a future that was not subscribed, and one that is listed later; refusals end with the connection")
  func deribit() {
    func entry(_ base: String) -> String {
      #"{"instrument_name":"\#(base)_USDC-PERPETUAL","kind":"future","instrument_type":"linear","tick_size":0.1,"contract_size":0.1,"base_currency":"\#(base)","quote_currency":"USDC","settlement_currency":"USDC","settlement_period":"perpetual","min_trade_amount":0.1}"#
    }
    let feed = EngineHarness(Deribit.venue, ["BTC-USDC-PERP", "ETH-USDC-PERP", "NEW-USDC-PERP"])
    feed.isAnswered = { $0.contains("set_heartbeat") }
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"{"result":[\#(entry("BTC")),\#(entry("ETH"))]}"#)
    #expect(feed.failures.keys.sorted() == ["NEW-USDC-PERP"])
    feed.connect()
    feed.receive(
      #"{"jsonrpc":"2.0","id":3,"result":["book.BTC_USDC-PERPETUAL.100ms","quote.BTC_USDC-PERPETUAL","trades.BTC_USDC-PERPETUAL.100ms","ticker.BTC_USDC-PERPETUAL.agg2"]}"#
    )
    #expect(feed.failures.keys.sorted() == ["ETH-USDC-PERP"])
    feed.receive(DeribitDialectTests.snapshot(100))
    feed.wait(60)
    #expect(feed.sent.isEmpty)
    feed.retry(["ETH-USDC-PERP", "NEW-USDC-PERP"])
    #expect(feed.gets.count == 1)
    feed.respond(feed.gets[0].request, 200, #"{"result":[\#(entry("BTC")),\#(entry("ETH")),\#(entry("NEW"))]}"#)
    let sent = texts(feed)
    #expect(sent.count == 1 && sent[0].contains("book.ETH_USDC") && sent[0].contains("ticker.NEW_USDC"))
    #expect(!sent[0].contains("BTC_USDC"))
    feed.receive(#"{"jsonrpc":"2.0","id":5,"result":[]}"#)
    #expect(feed.failures.keys.sorted() == ["ETH-USDC-PERP", "NEW-USDC-PERP"])
    feed.disconnect()
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"{"result":[\#(entry("BTC")),\#(entry("ETH"))]}"#)
    feed.connect()
    let first = feed.sent.filter { $0.contains("public/subscribe") }
    #expect(first.count == 1 && first[0].contains("ETH_USDC") && !first[0].contains("NEW_USDC"))
  }

  @Test("Gemini: a market that was refused, one that was closed and one that is listed later")
  func gemini() {
    let feed = EngineHarness(Gemini.venue, ["BTC-USD", "ETH-USD", "OLD-USD", "NEW-USD"])
    func answer(_ names: String, open: Bool) {
      var gets = feed.gets
      var rounds = 0
      while let get = gets.first, rounds < 50 {
        rounds += 1
        let base = String(get.path.split(separator: "/").last!.dropLast(3)).uppercased()
        feed.respond(
          get.request, 200,
          get.path.hasSuffix("symbols")
            ? names : GeminiDialectTests.details(base, "USD", status: base == "OLD" && !open ? "closed" : "open"))
        gets = gets.dropFirst() + feed.gets
        sent += feed.sent
        failures.merge(feed.failures) { $1 }
      }
    }
    var sent: [String] = []
    var failures: [String: String] = [:]
    feed.prepare()
    answer(#"["btcusd","ethusd","oldusd"]"#, open: false)
    #expect(failures.keys.sorted() == ["NEW-USD", "OLD-USD"])
    feed.connect()
    feed.receive(GeminiDialectTests.book(100, 100, bids: #"["1.00","1"]"#))
    feed.receive(#"{"id":3,"status":400,"error":{"code":-1013,"msg":"Invalid stream name: ethusd@depth@100ms"}}"#)
    #expect(feed.failures.keys.sorted() == ["ETH-USD"] && feed.state(0) == .live)
    feed.now = feed.now + Microseconds.minute
    (sent, failures) = ([], [:])
    feed.retry(["ETH-USD", "NEW-USD", "OLD-USD"])
    answer(#"["btcusd","ethusd","oldusd","newusd"]"#, open: true)
    feed.wait(1)
    sent += feed.sent
    let subscribed = sent.filter { $0.contains(#""subscribe""#) }
    for name in ["ethusd", "oldusd", "newusd"] {
      #expect(subscribed.count { $0.contains("\(name)@depth@100ms") } == 1, "\(name): \(subscribed)")
    }
    #expect(!subscribed.contains { $0.contains("btcusd") } && failures.isEmpty && feed.state(0) == .live)
  }

  @Test("Coinbase Advanced Trade: a product that was refused, and one that is listed later")
  func coinbaseAdvanced() {
    func list(_ names: String...) -> String {
      let products = names.map { #"{"product_id":"\#($0)-USD","product_type":"SPOT"}"# }
      return #"{"products":[\#(products.joined(separator: ","))]}"#
    }
    let feed = EngineHarness(CoinbaseAdvanced.venue, ["BTC-USD", "ETH-USD", "NEW-USD"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list("BTC", "ETH"))
    #expect(feed.failures.keys.sorted() == ["NEW-USD"])
    feed.connect()
    feed.receive(CoinbaseAdvancedDialectTests.subscriptions(0))
    feed.wait(0.25)
    feed.receive(#"{"type":"error","message":"ETH-USD is not a valid product"}"#)
    #expect(feed.failures.keys.sorted() == ["ETH-USD"])
    for number in 1..<4 {
      feed.wait(0.25)
      feed.receive(CoinbaseAdvancedDialectTests.subscriptions(number))
    }
    feed.receive(
      CoinbaseAdvancedDialectTests.book("snapshot", 4, [CoinbaseAdvancedDialectTests.level("bid", "1.00", "1")]))
    feed.wait(60)
    #expect(feed.sent.isEmpty)
    feed.retry(["ETH-USD", "NEW-USD"])
    #expect(feed.gets.count == 1)
    feed.respond(feed.gets[0].request, 200, list("BTC", "ETH", "NEW"))
    var sent = feed.sent
    for number in 5..<9 {
      feed.receive(CoinbaseAdvancedDialectTests.subscriptions(number))
      feed.wait(0.25)
      sent += feed.sent
    }
    #expect(sent.count == 3 && sent.allSatisfy { $0.contains(#"["ETH-USD","NEW-USD"]"#) })
    #expect(feed.state(0) == .live)
  }

  @Test("Hyperliquid: a market that is listed later, and one that was one too many")
  func hyperliquid() {
    func meta(_ names: String...) -> String {
      let universe = names.map { #"{"name":"\#($0)","szDecimals":2}"# }.joined(separator: ",")
      return
        #"{"channel":"post","data":{"id":1,"response":{"type":"info","payload":{"type":"meta","data":{"universe":[\#(universe)]}}}}}"#
    }
    let feed = EngineHarness(Hyperliquid.venue, ["BTC-USDC-PERP", "ETH-USDC-PERP", "NEW-USDC-PERP"])
    feed.connect()
    feed.receive(meta("BTC", "ETH"))
    #expect(feed.failures.keys.sorted() == ["NEW-USDC-PERP"])
    for type in ["l2Book", "bbo", "trades", "activeAssetCtx"] {
      feed.receive(HyperliquidDialectTests.acknowledgement(type, "BTC"))
    }
    feed.receive(#"{"channel":"error","data":"Cannot subscribe to more than 1000 channels."}"#)
    #expect(feed.failures.keys.sorted() == ["ETH-USDC-PERP"])
    feed.receive(HyperliquidDialectTests.book())
    feed.wait(1)
    feed.retry(["ETH-USDC-PERP", "NEW-USDC-PERP"])
    #expect(feed.sent.count == 1 && feed.sent[0].contains(#""type":"meta""#))
    feed.receive(meta("BTC", "ETH", "NEW"))
    let sent = texts(feed)
    for coin in ["ETH", "NEW"] {
      #expect(sent.count { $0.contains(#""subscribe""#) && $0.contains("\"coin\":\"\(coin)\"") } == 4)
    }
    #expect(!sent.contains { $0.contains(#""coin":"BTC""#) } && feed.state(0) == .live)
  }
}
