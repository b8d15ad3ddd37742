import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Bitstamp's lists and subscriptions")
struct BitstampSubscriptionTests {
  // MARK: Lists

  @Test("the list of markets; perpetuals and what is not there are refused")
  func instruments() {
    let feed = EngineHarness(
      Bitstamp.venue, ["BTC-USD", "USDT-EUR", "BTC-UDS", "BTC-USD-PERP", "BTC-USD-20261225", "x"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v2/markets/"])
    feed.respond(feed.gets[0].request, 200, BitstampDialectTests.list)
    #expect(feed.engine.isPrepared)
    let instruments = feed.market.instruments.map(\.instrument)
    #expect(instruments.map(\.venueSymbol) == ["btcusd", "usdteur"])
    #expect(instruments[0].priceScale == 2 && instruments[0].sizeScale == 8)
    #expect(instruments[1].priceIncrement == Decimal64(mantissa: 1, scale: 5))
    #expect(feed.failures["BTC-UDS"] == "Bitstamp has no market BTC-UDS (did you mean BTC-USD?)")
    #expect(feed.failures["BTC-USD-PERP"]?.contains("follows only spot markets") == true)
    #expect(feed.failures.count == 4)
  }

  @Test("a list that is not where it was is asked for by its other address, in its other form")
  func olderList() {
    let feed = EngineHarness(Bitstamp.venue, ["XRP-BTC"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 503, "")
    feed.wait(1.5)
    #expect(feed.gets.map(\.path) == ["/api/v2/markets/"], "a failing server is no reason to look elsewhere")
    feed.respond(feed.gets[0].request, 404, "")
    feed.wait(2.5)
    #expect(feed.gets.map(\.path) == ["/api/v2/trading-pairs-info/"])
    feed.respond(
      feed.gets[0].request, 200,
      #"[{"base_decimals": 8, "minimum_order": "0.001 BTC", "name": "XRP/BTC", "counter_decimals": 8, "trading": "Enabled", "url_symbol": "xrpbtc", "description": "XRP / Bitcoin"}]"#
    )
    #expect(feed.engine.isPrepared && feed.market.instruments[0].instrument.venueSymbol == "xrpbtc")
  }

  @Test("the whole list with volumes, and a selection from it")
  func listing() {
    let feed = EngineHarness(Bitstamp.venue, ["*-EUR"], listing: .volumes)
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v2/ticker/"])
    feed.respond(
      feed.gets[0].request, 200,
      #"[{"last":"60000","volume":"2.50000000","vwap":"59000.00","pair":"BTC/USD"},{"last":"1.1","volume":"10","vwap":null,"market":"USDT/EUR"},{"pair":"X/Y"}]"#
    )
    feed.respond(
      feed.gets[0].request, 200,
      BitstampDialectTests.list.replacing(#""trading":"Enabled""#, with: #""trading":"Disabled""#))
    let listing = feed.engine.listing
    #expect(listing.map(\.symbol.text) == ["BTC-USD", "USDT-EUR"] && listing.map(\.state) == [.halted, .trading])
    #expect(listing.map(\.quoteVolume) == [Decimal64(mantissa: 147_500, scale: 0), Decimal64(mantissa: 11, scale: 0)])
    #expect(listing[0].priceIncrement == Decimal64(mantissa: 1, scale: 2))
    #expect(feed.market.instruments.map(\.instrument.symbol) == ["bitstamp:USDT-EUR"])
  }

  @Test("a list without decimals: the values teach the scales")
  func noDecimals() {
    let feed = EngineHarness(Bitstamp.venue, ["BTC-USD"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"[{"name":"BTC/USD","market_symbol":"btcusd"}]"#)
    feed.connect()
    feed.receive(BitstampDialectTests.update(0, bids: #"["60000.50","0.00000001"]"#))
    feed.receive(BitstampDialectTests.trade(1))
    let instrument = feed.market.instruments[0].instrument
    #expect(instrument.priceScale == 2 && instrument.sizeScale == 8 && instrument.priceIncrement == nil)
  }

  // MARK: Subscriptions

  @Test("the subscriptions, word for word: one channel each, ten at a time, within 512 bytes")
  func subscriptions() {
    let feed = BitstampDialectTests.connected()
    #expect(
      feed.sent == [
        #"{"event":"bts:subscribe","data":{"channel":"diff_order_book_btcusd"}}"#,
        #"{"event":"bts:subscribe","data":{"channel":"diff_order_book_usdteur"}}"#,
        #"{"event":"bts:subscribe","data":{"channel":"live_trades_btcusd"}}"#,
        #"{"event":"bts:subscribe","data":{"channel":"live_trades_usdteur"}}"#,
      ])
    #expect(feed.sent.allSatisfy { $0.utf8.count < 512 })
    #expect(Bitstamp.venue.symbolLimit * 2 < 1_024)
    let many = EngineHarness(Bitstamp.venue, (0..<30).map { "C\($0)-USD" })
    many.prepare()
    let entries = (0..<30).map { #"{"name":"C\#($0)/USD","market_symbol":"c\#($0)usd"}"# }
    many.respond(many.gets[0].request, 200, "[\(entries.joined(separator: ","))]")
    many.connect()
    #expect(many.sent.count == 10)
    many.wait(1.25)
    #expect(many.sent.count == 50)
  }

  @Test("refusals: of a channel, of nobody knows which, and of a live one")
  func refusals() {
    let feed = BitstampDialectTests.live()
    feed.receive(
      #"{"event":"bts:error","channel":"diff_order_book_usdteur","data":{"code":4009,"message":"Invalid channel provided."}}"#
    )
    #expect(feed.failures == ["USDT-EUR": "Invalid channel provided."])
    feed.receive(#"{"event":"bts:error","channel":"","data":{"code":null,"message":"Bad subscription string."}}"#)
    #expect(feed.error?.detail == "request: Bad subscription string." && feed.failures.isEmpty)
    feed.receive(#"{"event":"bts:error","channel":"live_trades_btcusd","data":null}"#)
    #expect(feed.error?.kind == .refused && feed.state(0) == .live)
    feed.disconnect()
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, BitstampDialectTests.list)
    feed.connect()
    #expect(feed.sent.contains { $0.contains("usdteur") }, "another connection asks for it again")
  }

  @Test("a symbol that was refused is asked for again with the list, and the others go on as they are")
  func asksAgain() {
    let feed = BitstampDialectTests.live()
    feed.receive(#"{"event":"bts:error","channel":"diff_order_book_usdteur","data":{"message":"no"}}"#)
    feed.retry(["USDT-EUR"])
    #expect(feed.gets.map(\.path) == ["/api/v2/markets/"])
    feed.respond(feed.gets[0].request, 200, BitstampDialectTests.list)
    feed.receive(BitstampDialectTests.update(1, bids: #"["0.88","1"]"#, "usdteur"))
    feed.wait(3)
    #expect(feed.gets.contains { $0.path.contains("usdteur") } && feed.state(0) == .live)
  }

  @Test("a market that is gone from the list at the next connection is not subscribed: it would be silent for ever")
  func delisted() {
    let feed = BitstampDialectTests.live()
    feed.disconnect()
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"[{"name":"BTC/USD","market_symbol":"btcusd"}]"#)
    #expect(feed.failures["USDT-EUR"] != nil)
    feed.connect()
    #expect(feed.sent.count == 2 && feed.sent.allSatisfy { $0.contains("btcusd") })
  }

  @Test("a planned reconnect is announced once")
  func reconnect() {
    let feed = BitstampDialectTests.live()
    feed.receive(#"{"event":"bts:request_reconnect","channel":"","data":null}"#)
    #expect(feed.renewals.count == 1)
    feed.receive(#"{"event":"bts:request_reconnect","channel":"","data":""}"#)
    #expect(feed.renewals.isEmpty && feed.error == nil)
  }

  @Test("a quiet connection is asked for a heartbeat")
  func keepAlive() {
    let feed = BitstampDialectTests.live()
    feed.receive(#"{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}"#)
    #expect(feed.isHeartbeat)
    feed.wait(9.5)
    #expect(!feed.sent.contains(#"{"event":"bts:heartbeat"}"#))
    feed.wait(10)
    #expect(feed.sent.count { $0 == #"{"event":"bts:heartbeat"}"# } == 1)
  }
}
