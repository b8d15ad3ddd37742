import Bytes
import MarketData
import Testing

@testable import Venues

/// Its answers, refusals and limits.
extension BitgetDialectTests {
  @Test("a ping every 20 s whatever else is said; the bare pong is an answer and no sign of the market")
  func keepAlive() {
    let feed = Self.live()
    feed.wait(18)
    #expect(!feed.sent.contains("ping"))
    feed.receive(Self.book("update", 110, 100))
    feed.wait(40)
    #expect(feed.sent.filter { $0 == "ping" }.count == 2)
    feed.receive("pong")
    #expect(feed.isHeartbeat && feed.error == nil && feed.engine.marketHeard < feed.now)
    feed.receive(Self.book("update", 120, 110))
    #expect(feed.engine.marketHeard == feed.now)
  }

  @Test("ten symbols of the longest names are a request of less than 4,096 bytes")
  func bytes() {
    let names = (0..<12).map { "\($0 + 10)" + String(repeating: "X", count: 22) }
    let entries = names.map {
      #"{"symbol":"\#($0)USDT","baseCoin":"\#($0)","quoteCoin":"USDT","pricePlace":"1","volumePlace":"1","#
        + #""symbolType":"perpetual","symbolStatus":"normal"}"#
    }
    let feed = EngineHarness(Bitget.usdt, names.map { $0 + "-USDT-PERP" })
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"{"code":"00000","data":[\#(entries.joined(separator: ","))]}"#)
    feed.connect()
    #expect(feed.sent.count == 2 && feed.sent.allSatisfy { $0.utf8.count <= 4_096 })
  }

  @Test("a refused topic is its symbol's alone, by code and text")
  func refusals() {
    let feed = Self.connected(["BTC-USDT", "ETH-USDT"])
    let refusal =
      #","code":30001,"msg":"instType:SPOT,channel:books,instId:ETHUSDT,precision:null doesn't exist","op":"subscribe""#
    feed.receive(Self.answer("subscribe", "books", "BTCUSDT"))
    feed.receive(Self.answer("error", "books", "ETHUSDT", refusal))
    #expect(feed.failures.keys.sorted() == ["ETH-USDT"] && feed.failures["ETH-USDT"]?.contains("30001") == true)
    feed.receive(Self.book("snapshot", 100, 0, bids: #"["80688.1","3"]"#))
    #expect(feed.state(0) == .live)
    // Of a channel beside the book only that channel is; codes have been texts.
    feed.receive(
      Self.answer("error", "ticker", "BTCUSDT", #","code":"30016","msg":"Param error","op":"subscribe""#))
    #expect(feed.failures.isEmpty && feed.error?.kind == .refused && feed.state(0) == .live)
    feed.receive(#"{"event":"error","code":30002,"msg":"Unrecognized request:{","op":""}"#)
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
  }

  @Test("the end of a subscription that is refused is no refusal of the next one")
  func refusedEnd() {
    let feed = Self.live()
    feed.receive(Self.book("update", 150, 140))
    #expect(feed.sent.count == 2)
    feed.receive(
      Self.answer("error", "books", "BTCUSDT", #","code":30001,"msg":"doesn't exist","op":"unsubscribe""#))
    #expect(feed.failures.isEmpty && feed.error == nil)
    feed.receive(Self.book("snapshot", 170, 0, bids: #"["80688.1","3"]"#))
    #expect(feed.state(0) == .live)
  }

  @Test("the answer to an end is not that to the beginning behind it, which may be refused")
  func answeredEnd() {
    let feed = Self.connected(["BTC-USDT"])
    feed.wait(1)
    feed.receive(Self.book("snapshot", 100, 0, bids: #"["80688.1","3"]"#))
    feed.receive(Self.book("update", 150, 140))
    #expect(feed.sent.count == 2)
    feed.receive(Self.answer("unsubscribe", "books", "BTCUSDT"))
    feed.receive(
      Self.answer("error", "books", "BTCUSDT", #","code":30001,"msg":"doesn't exist","op":"subscribe""#))
    #expect(feed.failures.keys.sorted() == ["BTC-USDT"])
  }

  @Test("too many requests: nothing is sent for a while, and then the same again", arguments: [30_006, 30_007])
  func tooMany(_ code: Int) {
    let feed = Self.connected(["BTC-USDT"])
    feed.receive(
      Self.answer("error", "books", "BTCUSDT", #","code":\#(code),"msg":"request too many","op":"subscribe""#))
    #expect(feed.failures.isEmpty && feed.sent.isEmpty)
    feed.wait(0.5)
    #expect(feed.sent.isEmpty)
    feed.wait(10)
    #expect(feed.sent.contains { $0.contains(#""channel":"books""#) && $0.contains("subscribe") })
  }

  @Test("the requests of an hour are counted, and a new connection is made before they are used up")
  func hour() {
    let names = (0..<12).map { "C\($0)" }
    let entries = names.map {
      #"{"symbol":"\#($0)USDT","baseCoin":"\#($0)","quoteCoin":"USDT","pricePrecision":"1","#
        + #""quantityPrecision":"1","status":"online"}"#
    }
    let feed = EngineHarness(Bitget.spot, names.map { $0 + "-USDT" })
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"{"code":"00000","data":[\#(entries.joined(separator: ","))]}"#)
    feed.connect()
    var requests = feed.sent
    #expect(feed.sent.allSatisfy { $0.utf8.count <= 4_096 })
    var left = 0
    for round in 0..<12 where left == 0 {
      for name in names {
        feed.receive(Self.book("snapshot", 100, 0, bids: #"["1.1","1"]"#, symbol: name + "USDT"))
        requests += feed.sent
      }
      feed.wait(31)
      requests += feed.sent
      for name in names {
        feed.receive(Self.book("update", 300, 200, symbol: name + "USDT"))
        left += feed.renewals.count
        requests += feed.sent
      }
      feed.wait(8)
      left += feed.renewals.count
      requests += feed.sent
      #expect(round < 11)
    }
    #expect(left > 0)
    #expect(requests.count { $0 != "ping" } < 240)
  }

  @Test("a message that cannot be read costs itself and its own book")
  func malformed() {
    let feed = Self.live()
    feed.receive(Self.book("update", 110, 100, bids: #"["80688.1","0.-10000"]"#))
    #expect(feed.error?.kind == .decimal && feed.resets == [.malformed])
    feed.receive(Self.message("books", "update", "", symbol: "ETHUSDT"))
    #expect(feed.error != nil)
    feed.receive(Self.message("books15", "snapshot", ""))
    #expect(feed.error == nil && feed.engine.counts.ignored == 1)
    feed.receive(#"{"action":"update","arg":{"instType":"SPOT","channel":"books"},"data":[]}"#)
    #expect(feed.error?.detail.contains("instId") == true)
    feed.receive(Self.book("update", 1, 0, symbol: "XRPUSDT"))
    #expect(feed.error?.kind == .unknownSymbol)
    let two = #"{"asks":[],"bids":[],"ts":"1","seq":1,"pseq":0}"#
    feed.receive(Self.message("books", "snapshot", two + "," + two))
    #expect(feed.error?.kind == .shape)
  }
}
