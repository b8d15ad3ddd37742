import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Bitfinex' list and subscriptions")
struct BitfinexSubscriptionTests {
  // MARK: Before the data

  @Test("the list, with what currencies are called elsewhere; what is not there is told what to write")
  func instruments() {
    let feed = EngineHarness(
      Bitfinex.venue, ["BTC-USD", "BTC-USDT", "AVAX-USD", "IOTA-USD", "BTC-UST", "BTC-UDS", "BTC-USD-PERP", "x"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/v2/conf/pub:list:pair:exchange,pub:map:currency:sym"])
    #expect(!feed.engine.isPrepared)
    feed.respond(feed.gets[0].request, 200, BitfinexDialectTests.list)
    #expect(feed.engine.isPrepared)
    let instruments = feed.market.instruments.map(\.instrument)
    #expect(instruments.map(\.venueSymbol) == ["tBTCUSD", "tBTCUST", "tAVAX:USD", "tIOTUSD"])
    #expect(instruments[1].symbol == "bitfinex:BTC-USDT" && instruments[3].base == "IOTA")
    #expect(instruments.allSatisfy { $0.priceIncrement == nil && $0.sizeIncrement == Decimal64(mantissa: 1, scale: 8) })
    #expect(feed.failures["BTC-UST"] == "Bitfinex' tBTCUST is BTC-USDT elsewhere: write that")
    #expect(feed.failures["BTC-UDS"] == "Bitfinex has no market BTC-UDS (did you mean BTC-USD or BTC-USDT?)")
    #expect(feed.failures["BTC-USD-PERP"]?.contains("follows only spot markets") == true)
    #expect(feed.failures["x"]?.contains("is not a symbol") == true)
  }

  @Test("a list without the names of currencies does, by the names that most depends on")
  func listAlone() {
    let feed = EngineHarness(Bitfinex.venue, ["BTC-USDT", "IOT-USD"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"[["BTCUST","IOTUSD"]]"#)
    #expect(feed.market.instruments.map(\.instrument.venueSymbol) == ["tBTCUST", "tIOTUSD"])
  }

  @Test("the subscriptions, word for word, behind the flags")
  func subscriptions() {
    let feed = BitfinexDialectTests.connected(["BTC-USD", "AVAX-USD"])
    #expect(
      feed.sent == [
        #"{"event":"conf","flags":229376}"#,
        #"{"event":"subscribe","channel":"book","symbol":"tBTCUSD","prec":"P0","freq":"F0","len":"100"}"#,
        #"{"event":"subscribe","channel":"book","symbol":"tAVAX:USD","prec":"P0","freq":"F0","len":"100"}"#,
        #"{"event":"subscribe","channel":"trades","symbol":"tBTCUSD"}"#,
        #"{"event":"subscribe","channel":"trades","symbol":"tAVAX:USD"}"#,
        #"{"event":"subscribe","channel":"ticker","symbol":"tBTCUSD"}"#,
        #"{"event":"subscribe","channel":"ticker","symbol":"tAVAX:USD"}"#,
      ])
    #expect(Bitfinex.venue.symbolLimit * 3 < 25, "the venue takes 25 channels a connection")
  }

  // MARK: Refused, ended and announced

  @Test("a subscription that the venue ends is made again, and its book rebuilt")
  func endedByVenue() {
    let feed = BitfinexDialectTests.live()
    feed.receive(#"{"event":"unsubscribed","status":"OK","chanId":10}"#)
    #expect(feed.state(0) == .syncing(.venueReset) && feed.sent.count == 1)
    feed.receive(#"{"event":"unsubscribed","status":"OK","chanId":11}"#)
    feed.wait(20)
    #expect(feed.sent.contains(#"{"event":"subscribe","channel":"trades","symbol":"tBTCUSD"}"#))
    #expect(feed.state(1) == .live)
  }

  @Test("refusals: one symbol of several; a duplicate is none; the limit of channels waits a minute")
  func refusals() {
    let feed = BitfinexDialectTests.connected()
    let refusal =
      #"{"channel":"book","symbol":"tETHUSD","prec":"P0","len":"100","event":"error","msg":"symbol: invalid","code":10300,"pair":"ETHUSD"}"#
    feed.receive(refusal)
    #expect(feed.error == nil && feed.failures == ["ETH-USD": "Bitfinex refused tETHUSD: symbol: invalid"])
    feed.receive(refusal.replacing("book", with: "trades"))
    #expect(feed.error == nil && feed.failures.isEmpty)
    feed.receive(
      #"{"channel":"trades","symbol":"tBTCUSD","event":"error","msg":"subscribe: dup","code":10301,"pair":"BTCUSD"}"#)
    #expect(feed.error == nil)
    feed.receive(
      #"{"channel":"ticker","symbol":"tBTCUSD","event":"error","msg":"subscribe: limit","code":10305,"pair":"BTCUSD"}"#)
    #expect(feed.error?.detail == "ticker of tBTCUSD: subscribe: limit (code 10305)")
    feed.receive(BitfinexDialectTests.subscribed("book", 10))
    feed.receive(BitfinexDialectTests.subscribed("trades", 11))
    feed.receive("[10,[[100,1,5],[101,1,-5]],1]")
    feed.wait(59)
    #expect(feed.sent.allSatisfy { $0.contains("ping") }, "\(feed.sent)")
    feed.wait(2)
    #expect(feed.sent.contains(#"{"event":"subscribe","channel":"ticker","symbol":"tBTCUSD"}"#))
    feed.receive(#"{"event":"error","msg":"unsubscribe: invalid","code":10400}"#)
    #expect(feed.error?.kind == .refused)
    feed.disconnect()
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, BitfinexDialectTests.list)
    feed.connect()
    #expect(feed.sent.contains { $0.contains("tETHUSD") }, "another connection asks for it again")
  }

  @Test("a symbol that was refused is asked for again with the list, and the others go on as they are")
  func asksAgain() {
    let feed = BitfinexDialectTests.live()
    feed.receive(#"{"event":"unsubscribed","status":"OK","chanId":20}"#)
    feed.receive(
      #"{"channel":"book","symbol":"tETHUSD","event":"error","msg":"symbol: invalid","code":10300,"pair":"ETHUSD"}"#)
    #expect(feed.failures.keys.sorted() == ["ETH-USD"])
    feed.retry(["ETH-USD"])
    #expect(feed.gets.map(\.path) == [Bitfinex.listPath])
    feed.respond(feed.gets[0].request, 200, BitfinexDialectTests.list)
    feed.wait(0.25)
    #expect(
      feed.sent == [
        #"{"event":"subscribe","channel":"book","symbol":"tETHUSD","prec":"P0","freq":"F0","len":"100"}"#
      ])
    #expect(feed.state(0) == .live)
  }

  @Test("a restart is announced: a new connection")
  func restart() {
    let feed = BitfinexDialectTests.live()
    feed.receive(#"{"event":"info","code":20051,"msg":"Stopping. Please try to reconnect"}"#)
    #expect(feed.renewals.count == 1)
    feed.receive(#"{"event":"info","code":20051,"msg":"Stopping. Please try to reconnect"}"#)
    #expect(feed.renewals.isEmpty, "said once")
  }

  @Test("maintenance: no book is vouched for and nothing asked for until it is over; then all is subscribed anew")
  func maintenance() {
    let feed = BitfinexDialectTests.live()
    feed.receive(#"{"event":"info","code":20060,"msg":"Entering in Maintenance mode"}"#)
    #expect(feed.maintenance == [true] && feed.resets == [.venueReset, .venueReset])
    feed.wait(100)
    #expect(feed.sent.allSatisfy { $0.contains("ping") })
    feed.receive(#"{"event":"info","code":20061,"msg":"Maintenance ended"}"#)
    #expect(feed.maintenance == [false])
    #expect(
      feed.sent.count { $0.contains("unsubscribe") } == 6 && feed.sent.count { $0.contains(#""subscribe""#) } == 6)
    let begun = BitfinexDialectTests.connected()
    begun.receive(#"{"event":"info","version":2,"platform":{"status":0}}"#)
    #expect(begun.maintenance == [true])
    begun.wait(301)
    #expect(begun.maintenance == [false], "the word that it is over may be missed")
  }

  @Test("flags that were not answered before the maintenance are asked for again behind it, before all else")
  func flagsAfterMaintenance() {
    let feed = BitfinexDialectTests.connected()
    #expect(feed.sent.first?.contains(#""conf""#) == true)
    feed.receive(#"{"event":"info","code":20060,"msg":"Entering in Maintenance mode"}"#)
    feed.receive(#"{"event":"info","code":20061,"msg":"Maintenance ended"}"#)
    #expect(feed.sent.first?.contains(#""conf""#) == true, "without them no message is counted")
    let answered = BitfinexDialectTests.live()
    answered.receive(#"{"event":"info","code":20060,"msg":"Entering in Maintenance mode"}"#)
    answered.receive(#"{"event":"info","code":20061,"msg":"Maintenance ended"}"#)
    #expect(answered.sent.allSatisfy { !$0.contains(#""conf""#) })
  }

  // MARK: Quiet and dead

  @Test("a quiet channel has heartbeats; one that has none while others go on is dead and made again")
  func deadChannel() {
    let feed = BitfinexDialectTests.live()
    var count = 2
    var sent: [String] = []
    for _ in 0..<5 {
      #expect(feed.state(0) == .live && feed.state(1) == .live)
      feed.wait(15)
      sent += feed.sent.filter { !$0.contains("ping") }
      for channel in [11, 12, 20, 21] {
        count += 1
        feed.receive(#"[\#(channel),"hb",\#(count),1775779200200]"#)
        #expect(feed.isHeartbeat)
      }
    }
    #expect(feed.state(0) == .syncing(.stale) && feed.state(1) == .live)
    #expect(
      sent == [
        #"{"event":"unsubscribe","chanId":22}"#, #"{"event":"subscribe","channel":"ticker","symbol":"tETHUSD"}"#,
        #"{"event":"unsubscribe","chanId":10}"#,
        #"{"event":"subscribe","channel":"book","symbol":"tBTCUSD","prec":"P0","freq":"F0","len":"100"}"#,
      ])
  }

  @Test("a silence of the whole connection is not that of a channel; it is pinged")
  func keepAlive() {
    let feed = BitfinexDialectTests.live()
    feed.wait(100)
    #expect(feed.sent.count >= 4 && feed.sent.allSatisfy { $0.hasPrefix(#"{"event":"ping","cid":"#) })
    #expect(feed.state(0) == .live)
    feed.receive(#"{"event":"pong","ts":1511545528111,"cid":1234}"#)
    #expect(feed.isHeartbeat)
  }
}
