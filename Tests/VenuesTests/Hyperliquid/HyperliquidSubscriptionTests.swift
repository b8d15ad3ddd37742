import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Hyperliquid's lists and subscriptions")
struct HyperliquidSubscriptionTests {
  // MARK: Lists and subscriptions

  @Test("the lists over the connection; then one subscription a message, all books first")
  func subscribes() {
    let feed = EngineHarness(Hyperliquid.venue, ["BTC-USDC-PERP", "HYPE-USDC"])
    #expect(feed.engine.isPrepared, "nothing comes by REST")
    feed.connect()
    #expect(
      feed.sent == [
        #"{"method":"post","id":1,"request":{"type":"info","payload":{"type":"meta"}}}"#,
        #"{"method":"post","id":2,"request":{"type":"info","payload":{"type":"spotMeta"}}}"#,
      ])
    feed.receive(HyperliquidDialectTests.meta)
    #expect(feed.sent.isEmpty)
    feed.receive(HyperliquidDialectTests.spotMeta)
    #expect(
      feed.sent == [
        #"{"method":"subscribe","subscription":{"type":"l2Book","coin":"BTC","fast":true}}"#,
        #"{"method":"subscribe","subscription":{"type":"l2Book","coin":"@107","fast":true}}"#,
        #"{"method":"subscribe","subscription":{"type":"bbo","coin":"BTC"}}"#,
        #"{"method":"subscribe","subscription":{"type":"bbo","coin":"@107"}}"#,
        #"{"method":"subscribe","subscription":{"type":"trades","coin":"BTC"}}"#,
        #"{"method":"subscribe","subscription":{"type":"trades","coin":"@107"}}"#,
        #"{"method":"subscribe","subscription":{"type":"activeAssetCtx","coin":"BTC"}}"#,
        #"{"method":"subscribe","subscription":{"type":"activeAssetCtx","coin":"@107"}}"#,
      ])
    let instruments = feed.market.instruments.map(\.instrument)
    #expect(instruments.map(\.symbol) == ["hyperliquid:BTC-USDC-PERP", "hyperliquid:HYPE-USDC"])
    // 6 - 5 and 8 - 2 digits in prices.
    #expect(instruments.map(\.priceScale) == [1, 6] && instruments.map(\.sizeScale) == [5, 2])
    #expect(instruments[0].priceIncrement == nil, "it depends on the price")
    #expect(instruments[0].sizeIncrement == Decimal64(mantissa: 1, scale: 5))
  }

  @Test(
    "names are upper case in symbols; delisted markets, unknown names and dated futures are refused with what to write")
  func names() {
    let feed = HyperliquidDialectTests.connected([
      "KPEPE-USDC-PERP", "FTM-USDC-PERP", "BTC-USD-PERP", "BTC-USDC-20261225", "PURR-USDC",
    ])
    #expect(feed.market.instruments.map(\.instrument.venueSymbol) == ["kPEPE", "PURR/USDC"])
    let harness = EngineHarness(Hyperliquid.venue, ["FTM-USDC-PERP", "BTC-USD-PERP", "SP500-USDC-PERP"])
    harness.connect()
    harness.receive(HyperliquidDialectTests.meta)
    #expect(harness.failures["FTM-USDC-PERP"] == "FTM-USDC-PERP is listed at Hyperliquid but not traded")
    #expect(
      harness.failures["BTC-USD-PERP"]?.hasPrefix(
        "Hyperliquid has no market BTC-USD-PERP (did you mean BTC-USDC-PERP") == true)
    #expect(harness.failures["SP500-USDC-PERP"] != nil)
    let dated = EngineHarness(Hyperliquid.venue, ["BTC-USDC-20261225"])
    dated.connect()
    #expect(dated.failures["BTC-USDC-20261225"]?.contains("follows only perpetual and spot markets") == true)
  }

  @Test("a list that does not come is asked for again; one that is refused or cannot be read costs nothing else")
  func listFails() {
    let feed = EngineHarness(Hyperliquid.venue, ["BTC-USDC-PERP", "HYPE-USDC"])
    feed.connect()
    feed.receive(HyperliquidDialectTests.meta)
    feed.receive(
      #"{"channel":"post","data":{"id":2,"response":{"type":"error","payload":"429 Too Many Requests"}}}"#)
    #expect(feed.error?.kind == .refused && feed.error?.detail == "post: 429 Too Many Requests")
    feed.wait(16)
    #expect(feed.sent.filter { $0.contains("post") }.count == 1 && feed.sent.contains { $0.contains("spotMeta") })
    feed.receive(HyperliquidDialectTests.spotMeta)
    #expect(feed.sent.filter { $0.contains("l2Book") }.count == 2)
  }

  @Test("messages are paced: a hundred at once, five times a second, and no minute has more than the address may send")
  func pacing() {
    let names = (0..<150).map { "C\($0)" }
    let universe = names.map { #"{"name":"\#($0)","szDecimals":2}"# }.joined(separator: ",")
    let feed = EngineHarness(Hyperliquid.venue, names.map { $0 + "-USDC-PERP" })
    feed.connect()
    feed.receive(
      #"{"channel":"post","data":{"id":1,"response":{"type":"info","payload":{"type":"meta","data":{"universe":[\#(universe)]}}}}}"#
    )
    #expect(feed.sent.count == 100 && feed.sent.allSatisfy { $0.contains("l2Book") }, "books first")
    var sent = [(feed.now, 1 + feed.sent.count)]
    for name in names.prefix(100) { feed.receive(HyperliquidDialectTests.book(coin: name)) }
    feed.wait(0.25)
    #expect(feed.sent.count == 100)
    sent.append((feed.now, feed.sent.count))
    // A new connection has no new allowance.
    for _ in 0..<5 {
      for _ in 0..<80 {
        feed.wait(0.25)
        sent.append((feed.now, feed.sent.count))
      }
      feed.disconnect()
      feed.connect()
      sent.append((feed.now, feed.sent.count))
      feed.receive(
        #"{"channel":"post","data":{"id":1,"response":{"type":"info","payload":{"type":"meta","data":{"universe":[\#(universe)]}}}}}"#
      )
      sent.append((feed.now, feed.sent.count))
    }
    let heaviest = sent.map { first in
      sent.reduce(0) { $1.0 >= first.0 && $1.0 - first.0 < Microseconds.minute ? $0 + $1.1 : $0 }
    }.max()!
    #expect(heaviest > 1_400 && heaviest <= 1_510, "\(heaviest)")
  }

  // MARK: The connection

  @Test("a ping after 15 s of silence, and only then; the pong is life, and so is the greeting in plain text")
  func keepAlive() {
    let feed = HyperliquidDialectTests.live()
    feed.receive("Websocket connection established.")
    #expect(feed.isHeartbeat && feed.error == nil)
    feed.wait(14)
    #expect(!feed.sent.contains(#"{"method":"ping"}"#))
    feed.wait(2)
    #expect(feed.sent.filter { $0 == #"{"method":"ping"}"# }.count == 1)
    feed.receive(#"{"channel":"pong"}"#)
    #expect(feed.isHeartbeat && feed.error == nil)
    feed.receive("Websocket")
    #expect(feed.error?.kind == .json)
  }

  @Test("what is not acknowledged is asked for again, three times at most")
  func acknowledgements() {
    let feed = HyperliquidDialectTests.connected(["BTC-USDC-PERP"])
    feed.receive(HyperliquidDialectTests.acknowledgement("l2Book", "BTC"))
    feed.receive(HyperliquidDialectTests.acknowledgement("trades", "BTC"))
    feed.receive(#"{"channel":"error","data":"Already subscribed: {\"type\":\"activeAssetCtx\",\"coin\":\"BTC\"}"}"#)
    #expect(feed.error == nil)
    var sent: [String] = []
    for round in 0..<100 {
      feed.receive(HyperliquidDialectTests.book(Int64(round) * 1_000))
      feed.wait(1)
      sent += feed.sent
    }
    #expect(sent == Array(repeating: #"{"method":"subscribe","subscription":{"type":"bbo","coin":"BTC"}}"#, count: 2))
  }

  @Test("the venue takes no more: the symbol that was asked for is refused, the others go on")
  func full() {
    let feed = HyperliquidDialectTests.connected(["BTC-USDC-PERP", "ETH-USDC-PERP"])
    feed.receive(HyperliquidDialectTests.acknowledgement("l2Book", "BTC"))
    feed.receive(#"{"channel":"error","data":"Cannot subscribe to more than 1000 channels."}"#)
    #expect(feed.failures == ["ETH-USDC-PERP": "Cannot subscribe to more than 1000 channels."])
    feed.receive(#"{"channel":"error","data":"Error parsing JSON into valid websocket request: {}"}"#)
    #expect(feed.error?.kind == .refused)
    feed.receive(#"{"channel":"error","data":"Already unsubscribed: {\"type\":\"trades\",\"coin\":\"BTC\"}"}"#)
    #expect(feed.error == nil)
  }

  @Test(
    "a name that ends the connection: the suspects are subscribed one by one, and the one that ends it again is refused"
  )
  func bisection() {
    let feed = EngineHarness(Hyperliquid.venue, ["BTC-USDC-PERP", "ETH-USDC-PERP", "KPEPE-USDC-PERP"])
    func books(_ texts: [String]) -> [String] {
      texts.filter { $0.contains("l2Book") && $0.contains(#""subscribe""#) }
    }
    feed.connect()
    feed.receive(HyperliquidDialectTests.meta)
    #expect(books(feed.sent).count == 3)
    feed.receive(HyperliquidDialectTests.acknowledgement("l2Book", "BTC"))
    feed.now = feed.now + 100_000
    feed.disconnect()
    #expect(feed.failures.isEmpty)
    var failures: [String: String] = [:]
    for _ in 0..<3 {
      feed.now = feed.now + 1_000_000
      feed.connect()
      feed.receive(HyperliquidDialectTests.meta)
      #expect(books(feed.sent).first?.contains("BTC") == true)
      feed.receive(HyperliquidDialectTests.acknowledgement("l2Book", "BTC"))
      for _ in 0..<2 {
        var asked: [String] = []
        for _ in 0..<5 where asked.isEmpty {
          feed.wait(1)
          asked = books(feed.sent)
        }
        guard let text = asked.first else { break }
        #expect(asked.count == 1, "one at a time")
        if text.contains("kPEPE") {
          feed.now = feed.now + 200_000
          feed.receive(HyperliquidDialectTests.acknowledgement("l2Book", "kPEPE"))
          #expect(feed.sent.count == 3, "all the others of what is known")
        } else {
          feed.now = feed.now + 100_000
          break
        }
      }
      feed.disconnect()
      failures.merge(feed.failures) { $1 }
    }
    #expect(failures.keys.sorted() == ["ETH-USDC-PERP"])
    #expect(failures["ETH-USDC-PERP"]?.contains("closed the connection 3 times") == true)
    // Told again on each connection, and remembered over all of them.
    for _ in 0..<5 {
      feed.engine.forgetConnection()
      feed.connect()
      feed.receive(HyperliquidDialectTests.meta)
      #expect(books(feed.sent).count == 2 && !feed.sent.contains { $0.contains("ETH") })
      #expect(feed.failures["ETH-USDC-PERP"]?.contains("is not subscribed again for 6 h") == true)
      for coin in ["BTC", "kPEPE"] { feed.receive(HyperliquidDialectTests.acknowledgement("l2Book", coin)) }
      feed.wait(60)
      feed.retry(["ETH-USDC-PERP"])
      feed.receive(HyperliquidDialectTests.meta)
      feed.wait(5)
      #expect(!feed.sent.contains { $0.contains("ETH") }, "asking again may cost everybody the connection")
      feed.disconnect()
    }
    feed.connect()
    feed.receive(HyperliquidDialectTests.meta)
    for coin in ["BTC", "kPEPE"] { feed.receive(HyperliquidDialectTests.acknowledgement("l2Book", coin)) }
    feed.now = feed.now + 6 * Microseconds.hour
    feed.retry(["ETH-USDC-PERP"])
    feed.receive(HyperliquidDialectTests.meta)
    #expect(books(feed.sent).filter { $0.contains("ETH") }.count == 1, "after a long while, and alone")
    feed.now = feed.now + 100_000
    feed.disconnect()
    #expect(feed.failures.keys.sorted() == ["ETH-USDC-PERP"], "one end is enough then")
  }

  @Test("the end of a connection that comes long after its subscriptions is nobody's fault")
  func innocence() {
    let feed = HyperliquidDialectTests.connected(["BTC-USDC-PERP"])
    for _ in 0..<5 {
      feed.wait(5)
      feed.disconnect()
      #expect(feed.failures.isEmpty)
      feed.connect()
      feed.receive(HyperliquidDialectTests.meta)
    }
    #expect(feed.sent.count == 4)
  }
}
