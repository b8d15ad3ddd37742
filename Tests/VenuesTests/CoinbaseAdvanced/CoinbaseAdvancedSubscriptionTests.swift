import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Coinbase Advanced Trade's lists and subscriptions")
struct CoinbaseAdvancedSubscriptionTests {
  @Test("products first; then one request at a time, each when the one before was acknowledged")
  func subscribes() {
    let feed = EngineHarness(CoinbaseAdvanced.venue, ["BTC-USD", "ETH-USD", "BTC-UDS", "BTC-USD-PERP"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v3/brokerage/market/products?product_type=SPOT"])
    #expect(!feed.engine.isPrepared)
    feed.respond(feed.gets[0].request, 200, CoinbaseAdvancedDialectTests.products)
    #expect(feed.engine.isPrepared)
    #expect(feed.failures["BTC-UDS"]?.contains("did you mean BTC-USD") == true)
    #expect(feed.failures["BTC-USD-PERP"]?.contains("follows only spot markets") == true)
    let instruments = feed.market.instruments.map(\.instrument)
    #expect(instruments.map(\.symbol) == ["coinbase-advanced:BTC-USD", "coinbase-advanced:ETH-USD"])
    #expect(instruments[1].priceIncrement == Decimal64(mantissa: 5, scale: 2) && instruments[1].sizeScale == 3)
    feed.connect()
    #expect(feed.sent == [#"{"type":"subscribe","channel":"heartbeats"}"#])
    feed.wait(1)
    #expect(feed.sent.isEmpty, "the first is still under way")
    feed.receive(CoinbaseAdvancedDialectTests.subscriptions(0))
    #expect(feed.sent == [#"{"type":"subscribe","product_ids":["BTC-USD","ETH-USD"],"channel":"level2"}"#])
    feed.receive(CoinbaseAdvancedDialectTests.subscriptions(1))
    #expect(feed.sent.isEmpty, "five a second")
    feed.wait(0.25)
    #expect(feed.sent == [#"{"type":"subscribe","product_ids":["BTC-USD","ETH-USD"],"channel":"market_trades"}"#])
    feed.wait(3.5)
    #expect(feed.sent.isEmpty, "nothing at all has come since")
    func heartbeat(_ number: Int) -> String {
      #"{"channel":"heartbeats","sequence_num":\#(number),"events":[{"heartbeat_counter":\#(number)}]}"#
    }
    feed.receive(heartbeat(2))
    feed.wait(0.25)
    #expect(
      feed.sent == [#"{"type":"subscribe","product_ids":["BTC-USD","ETH-USD"],"channel":"ticker"}"#],
      "a reply that never comes holds nothing up")
    feed.receive(heartbeat(3))
    feed.wait(3.25)
    #expect(
      feed.sent == [#"{"type":"subscribe","product_ids":["BTC-USD","ETH-USD"],"channel":"market_trades"}"#],
      "what was not answered, again")
  }

  @Test("30 books are subscribed ten at a time, and the venue takes no more")
  func batches() {
    let names = (0..<30).map { "C\($0)-USD" }
    let list = names.map { #"{"product_id":"\#($0)","product_type":"SPOT"}"# }.joined(separator: ",")
    let feed = EngineHarness(CoinbaseAdvanced.venue, names)
    #expect(feed.engine.venue.symbolLimit == 30)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"{"products":[\#(list)]}"#)
    feed.connect()
    var sent = feed.sent
    for number in 0..<8 {
      feed.now = feed.now + 200_000
      feed.receive(CoinbaseAdvancedDialectTests.subscriptions(number))
      sent += feed.sent
    }
    #expect(sent.count == 6)
    let books = sent.filter { $0.contains("level2") }
    #expect(books.map { $0.split(separator: ",").count } == [12, 12, 12])
    #expect(books[2].contains(#"["C20-USD","#) && books[2].contains(#""C29-USD"]"#))
  }

  @Test("a book in USDC is the one in USD and is subscribed under that name; of two names one is carried")
  func aliases() {
    let one = CoinbaseAdvancedDialectTests.listed(["BTC-USDC"])
    #expect(one.market.instruments[0].instrument.symbol == "coinbase-advanced:BTC-USDC")
    one.connect()
    one.receive(CoinbaseAdvancedDialectTests.subscriptions(0))
    one.wait(0.25)
    #expect(one.sent == [#"{"type":"subscribe","product_ids":["BTC-USD"],"channel":"level2"}"#])
    one.receive(
      CoinbaseAdvancedDialectTests.book("snapshot", 1, [CoinbaseAdvancedDialectTests.level("bid", "1.00", "1")]))
    #expect(one.state(0) == .live)

    let both = CoinbaseAdvancedDialectTests.listed(["BTC-USD", "BTC-USDC"])
    #expect(both.failures["BTC-USDC"]?.contains("same book as BTC-USD") == true)
    #expect(both.market.instruments.count == 1)
    // The next list says the same, and nothing is said twice.
    both.connect()
    both.disconnect()
    both.prepare()
    both.respond(both.gets[0].request, 200, CoinbaseAdvancedDialectTests.products)
    #expect(both.actions.isEmpty && both.market.instruments.count == 1)
  }

  @Test("the listing has each book once; a rank is by what was traded in the quote currency")
  func listing() {
    func product(_ base: String, _ quote: String, _ volume: String, _ more: String = "") -> String {
      #"{"product_id":"\#(base)-\#(quote)","base_currency_id":"\#(base)","quote_currency_id":"\#(quote)","product_type":"SPOT","approximate_quote_24h_volume":"\#(volume)"\#(more)}"#
    }
    let list = [
      product("BTC", "USD", "758506771.41"), product("BTC", "USDC", "758506771.41", #","alias":"BTC-USD""#),
      product("ETH", "USD", "900000000"), product("SOL", "USD", "1", #","cancel_only":true"#),
      product("XRP", "USD", "2"),
    ].joined(separator: ",")
    let engine = CoinbaseAdvanced.venue.makeEngine(
      FeedConfiguration(symbols: ["*-USD:top2"], listing: .volumes))
    var batch = EventBatch()
    let now = Timestamp(microseconds: 1_700_000_000_000_000)
    engine.prepare(now: now, into: &batch)
    engine.response(
      to: 1, status: 200, body: Array(#"{"products":[\#(list)]}"#.utf8).span.bytes, now: now, into: &batch)
    #expect(batch.instruments.map(\.symbol) == ["coinbase-advanced:ETH-USD", "coinbase-advanced:BTC-USD"])
    #expect(engine.listing.map(\.symbol.text) == ["BTC-USD", "ETH-USD", "SOL-USD", "XRP-USD"])
    #expect(engine.listing.map(\.state) == [.trading, .trading, .halted, .trading])
    #expect(engine.listing[0].quoteVolume == Decimal64(mantissa: 75_850_677_141, scale: 2))
  }

  @Test("a refusal that names a product costs that one; the rest of its request goes again")
  func refusedByName() {
    let feed = CoinbaseAdvancedDialectTests.listed(["BTC-USD", "ETH-USD", "SOL-USD"])
    feed.connect()
    feed.receive(CoinbaseAdvancedDialectTests.subscriptions(0))
    feed.wait(0.25)
    feed.receive(#"{"type":"error","message":"ETH-USD is not a valid product (ETH-USDC is)"}"#)
    #expect(feed.failures == ["ETH-USD": "ETH-USD is not a valid product (ETH-USDC is)"])
    feed.wait(0.25)
    #expect(feed.sent == [#"{"type":"subscribe","product_ids":["BTC-USD","SOL-USD"],"channel":"level2"}"#])
    feed.receive(CoinbaseAdvancedDialectTests.subscriptions(1))
    feed.wait(0.25)
    #expect(feed.sent == [#"{"type":"subscribe","product_ids":["BTC-USD","SOL-USD"],"channel":"market_trades"}"#])
  }

  @Test("a refusal that names nothing is taken apart until the product that spoils it is alone")
  func refusedByHalves() {
    let feed = CoinbaseAdvancedDialectTests.listed(["BTC-USD", "ETH-USD", "SOL-USD"])
    feed.connect()
    feed.receive(CoinbaseAdvancedDialectTests.subscriptions(0))
    feed.wait(0.25)
    var sent: [String] = []
    var failures: [String: String] = [:]
    var number = 1
    for _ in 0..<12 {
      let isBad = sent.last?.contains("ETH-USD") ?? true
      if isBad {
        feed.receive(#"{"type":"error","message":"invalid product_ids"}"#)
      } else {
        feed.receive(CoinbaseAdvancedDialectTests.subscriptions(number))
        number += 1
      }
      failures.merge(feed.failures) { $1 }
      feed.wait(0.25)
      if feed.sent.isEmpty { break }
      sent += feed.sent
    }
    #expect(failures == ["ETH-USD": "invalid product_ids"])
    let ids = sent.map { $0.split(separator: "[")[1].split(separator: "]")[0] }
    #expect(
      ids == [
        #""BTC-USD""#, #""ETH-USD","SOL-USD""#, #""ETH-USD""#, #""SOL-USD""#, #""BTC-USD","SOL-USD""#,
        #""BTC-USD","SOL-USD""#,
      ])
    // When it is asked for again, it is so alone: a refusal may have been the venue's own trouble.
    for product in ["BTC-USD", "SOL-USD"] {
      feed.receive(
        CoinbaseAdvancedDialectTests.book(
          "snapshot", number, [CoinbaseAdvancedDialectTests.level("bid", "1.00", "1")], product: product))
      number += 1
    }
    feed.wait(60)
    #expect(feed.sent.isEmpty)
    feed.retry(["ETH-USD"])
    #expect(feed.gets.count == 1)
    feed.respond(feed.gets[0].request, 200, CoinbaseAdvancedDialectTests.products)
    #expect(feed.sent == [#"{"type":"subscribe","product_ids":["ETH-USD"],"channel":"level2"}"#])
    feed.receive(#"{"type":"error","message":"invalid product_ids"}"#)
    #expect(feed.failures.keys.sorted() == ["ETH-USD"])
    feed.wait(2)
    #expect(feed.sent.isEmpty, "what else was to be asked of it is left out")
  }

  @Test("too many requests are a pause, too many books another connection beside it; other errors cost nothing")
  func limits() {
    let feed = CoinbaseAdvancedDialectTests.listed(["BTC-USD"])
    feed.connect()
    feed.receive(CoinbaseAdvancedDialectTests.subscriptions(0))
    feed.wait(0.25)
    feed.receive(#"{"type":"error","message":"rate limit exceeded"}"#)
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
    feed.wait(4.5)
    #expect(feed.sent.isEmpty)
    feed.wait(0.75)
    #expect(feed.sent == [#"{"type":"subscribe","product_ids":["BTC-USD"],"channel":"level2"}"#])
    feed.receive(#"{"type":"error","message":"too many L2 streams requested in a single session"}"#)
    #expect(feed.renewals == ["too many L2 streams requested in a single session"])
    let quiet = CoinbaseAdvancedDialectTests.live()
    quiet.wait(4)
    quiet.receive(#"{"type":"error","message":"internal error","reason":"try later"}"#)
    #expect(quiet.error?.detail == "error: internal error: try later" && quiet.state(0) == .live && quiet.sent.isEmpty)
  }
}
