import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("OKX's feed")
struct OKXDialectTests {
  static let lists: [String: String] = [
    "SPOT":
      #"{"code":"0","msg":"","data":[{"instType":"SPOT","instId":"BTC-USDT","baseCcy":"BTC","quoteCcy":"USDT","ctVal":"","ctMult":"","ctType":"","tickSz":"0.1","lotSz":"0.00000001","state":"live","instIdCode":10458},{"instType":"SPOT","instId":"ETH-USDT","tickSz":"0.01","lotSz":"0.000001"}]}"#,
    "SWAP":
      #"{"code":"0","msg":"","data":[{"instType":"SWAP","instId":"BTC-USDT-SWAP","baseCcy":"","quoteCcy":"","settleCcy":"USDT","ctVal":"0.01","ctMult":"1","ctType":"linear","ctValCcy":"BTC","tickSz":"0.1","lotSz":"0.01"},{"instType":"SWAP","instId":"DOGE-USDT-SWAP","ctVal":"1000","ctMult":"1","ctType":"linear","tickSz":"0.00001","lotSz":"0.01"},{"instType":"SWAP","instId":"BTC-USD-SWAP","ctVal":"100","ctMult":"1","ctType":"inverse","ctValCcy":"USD","tickSz":"0.1","lotSz":"1"}]}"#,
    "FUTURES":
      #"{"code":"0","msg":"","data":[{"instType":"FUTURES","instId":"BTC-USDT-261225","ctVal":"0.01","ctMult":"1","ctType":"linear","tickSz":"0.1","lotSz":"0.01","expTime":"1798185600000"}]}"#,
  ]

  static func connected(_ symbols: [String]) -> EngineHarness {
    let feed = EngineHarness(OKX.venue, symbols)
    feed.prepare()
    while let get = feed.gets.first {
      feed.respond(get.request, 200, lists[String(get.path.split(separator: "=").last!)]!)
    }
    feed.connect()
    feed.now = feed.now + 1_000_000
    return feed
  }

  static func live() -> EngineHarness {
    let feed = connected(["BTC-USDT", "BTC-USDT-PERP"])
    feed.receive(
      book(
        "snapshot", 100, -1, bids: #"["80688.1","0.5","0","1"],["80688","2","0","3"]"#,
        asks: #"["80691.5","0.2","0","1"]"#))
    return feed
  }

  static func book(
    _ action: String, _ number: Int, _ previous: Int, bids: String = "", asks: String = "", symbol: String = "BTC-USDT"
  ) -> String {
    #"{"arg":{"channel":"books","instId":"\#(symbol)"},"action":"\#(action)","data":[{"asks":[\#(asks)],"bids":[\#(bids)],"ts":"1790394877200","checksum":0,"seqId":\#(number),"prevSeqId":\#(previous)}]}"#
  }

  @Test("the lists of the kinds that are configured, one after the other; then all subscriptions in one request")
  func subscribes() {
    let feed = EngineHarness(OKX.venue, ["BTC-USDT", "BTC-USDT-20261225", "BTC-USDT-PERP", "BTC-USTD"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v5/public/instruments?instType=SPOT"])
    feed.respond(feed.gets[0].request, 200, Self.lists["SPOT"]!)
    #expect(feed.gets.map(\.path) == ["/api/v5/public/instruments?instType=SWAP"])
    feed.respond(feed.gets[0].request, 200, Self.lists["SWAP"]!)
    #expect(feed.gets.map(\.path) == ["/api/v5/public/instruments?instType=FUTURES"] && !feed.engine.isPrepared)
    feed.respond(feed.gets[0].request, 200, Self.lists["FUTURES"]!)
    #expect(feed.engine.isPrepared)
    #expect(feed.failures["BTC-USTD"] == "OKX has no market BTC-USTD (did you mean BTC-USDT?)")
    #expect(feed.market.instruments.map(\.instrument.venueSymbol) == ["BTC-USDT", "BTC-USDT-261225", "BTC-USDT-SWAP"])
    #expect(
      feed.market.instruments.map(\.instrument.symbol) == [
        "okx:BTC-USDT", "okx:BTC-USDT-20261225", "okx:BTC-USDT-PERP",
      ])
    feed.connect()
    #expect(feed.sent.count == 1)
    #expect(
      feed.sent.first?.hasPrefix(
        #"{"id":"4","op":"subscribe","args":[{"channel":"books","instId":"BTC-USDT"},{"channel":"bbo-tbt","instId":"BTC-USDT"},{"channel":"trades","instId":"BTC-USDT"},{"channel":"tickers","instId":"BTC-USDT"},{"channel":"books","instId":"BTC-USDT-261225"}"#
      ) == true)
  }

  @Test("sizes of contracts are brought to base units, exactly; inverse contracts are refused")
  func contracts() throws {
    let feed = Self.connected(["BTC-USDT-PERP", "DOGE-USDT-PERP"])
    let bitcoin = feed.market.instruments[0].instrument
    #expect(bitcoin.contractSize == Decimal64(mantissa: 1, scale: 2) && bitcoin.sizeScale == 4)
    #expect(bitcoin.sizeIncrement == Decimal64(mantissa: 1, scale: 4))
    let doge = feed.market.instruments[1].instrument
    #expect(doge.contractSize == Decimal64(mantissa: 1000, scale: 0) && doge.sizeScale == 2)
    #expect(doge.sizeIncrement == Decimal64(mantissa: 10, scale: 0))
    feed.receive(
      Self.book(
        "snapshot", 1, -1, bids: #"["80688.1","12.34","0","1"]"#, asks: #"["80691.5","7","0","1"]"#,
        symbol: "BTC-USDT-SWAP"))
    // 12.34 contracts of a hundredth are 0.1234.
    #expect(feed.bids.map(\.size) == [1_234] && feed.asks.map(\.size) == [700])
    feed.receive(
      #"{"arg":{"channel":"trades","instId":"DOGE-USDT-SWAP"},"data":[{"instId":"DOGE-USDT-SWAP","tradeId":"9","px":"0.19352","sz":"2.05","side":"sell","ts":"1700000000500","count":"1"}]}"#
    )
    #expect(feed.trades.map(\.size) == [205_000], "2.05 contracts of a thousand are 2050.00")
    // More digits than the list promised widen the scale, contracts and all.
    feed.receive(
      #"{"arg":{"channel":"trades","instId":"BTC-USDT-SWAP"},"data":[{"instId":"BTC-USDT-SWAP","tradeId":"9","px":"80688.1","sz":"0.125","side":"buy","ts":"1700000000500"}]}"#
    )
    #expect(feed.market.instruments[0].instrument.sizeScale == 5 && feed.trades.map(\.size) == [125])
    #expect(feed.market.instruments[0].book.bestBid?.size == 12_340)
    let inverse = EngineHarness(OKX.venue, ["BTC-USD-PERP"])
    inverse.prepare()
    inverse.respond(inverse.gets[0].request, 200, Self.lists["SWAP"]!)
    #expect(inverse.failures["BTC-USD-PERP"]?.contains("inverse contract") == true)
  }

  @Test("updates are chained by the number before theirs, which may jump; the last one again is nothing")
  func books() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live)
    let update = Self.book("update", 132, 100, bids: #"["80688.1","0","0","0"]"#, asks: #"["80691.4","0.3","0","2"]"#)
    feed.receive(update)
    #expect(feed.books.map(\.kind) == [.delta])
    #expect(try #require(feed.books.first).time == Timestamp(milliseconds: 1_790_394_877_200))
    feed.receive(update)
    #expect(feed.books.isEmpty && feed.state(0) == .live)
    // A minute without a change.
    feed.receive(Self.book("update", 132, 132))
    #expect(feed.state(0) == .live && feed.resets.isEmpty)
    feed.receive(Self.book("update", 140, 132, asks: #"["80691.3","0.3","0","2"]"#))
    #expect(feed.market.instruments[0].book.bestAsk?.price == 806_913)
    #expect(feed.engine.symbolCounts[0].sequenceOK == 3 && feed.engine.symbolCounts[0].gaps == 0)
  }

  @Test(
    "a link that does not hold, and the venue's own reset: the book is subscribed again, the others are not",
    arguments: [(150, 140, ResyncReason.gap), (90, 100, .venueReset), (100, 90, .gap), (99, 98, .gap)])
  func gap(_ number: Int, _ previous: Int, _ reason: ResyncReason) {
    let feed = Self.live()
    feed.receive(Self.book("update", 100, -1))
    #expect(feed.resets.isEmpty, "the snapshot again, by its numbers")
    feed.receive(Self.book("update", number, previous, bids: #"["80688.2","1","0","1"]"#))
    #expect(feed.resets == [reason] && feed.state(0) == .syncing(reason))
    #expect(
      feed.sent == [
        #"{"id":"4","op":"unsubscribe","args":[{"channel":"books","instId":"BTC-USDT"}]}"#,
        #"{"id":"5","op":"subscribe","args":[{"channel":"books","instId":"BTC-USDT"}]}"#,
      ])
    feed.receive(Self.book("update", 160, number))
    #expect(feed.books.isEmpty && feed.sent.isEmpty)
    feed.receive(Self.book("snapshot", 170, -1, bids: #"["80688.1","3","0","1"]"#))
    #expect(feed.state(0) == .live)
  }

  @Test("bbo-tbt is the quote; a side without orders is empty")
  func quotes() {
    let feed = Self.live()
    feed.receive(
      #"{"arg":{"channel":"bbo-tbt","instId":"BTC-USDT"},"data":[{"asks":[["80691.5","0.2","0","13"]],"bids":[],"ts":"1597026383085","seqId":123456}]}"#
    )
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[0, 0, 806_915, 20_000_000]])
  }

  @Test("trades: the taker's side, aggregated fills, and the old one that comes at first")
  func trades() {
    let feed = Self.live()
    func trade(_ id: Int, _ count: Int, _ milliseconds: Int64) -> String {
      #"{"arg":{"channel":"trades","instId":"BTC-USDT"},"data":[{"instId":"BTC-USDT","tradeId":"\#(id)","px":"42219.9","sz":"0.12060306","side":"sell","ts":"\#(milliseconds)","count":"\#(count)","source":"0","seqId":1234}]}"#
    }
    let now = feed.now.microseconds / 1_000
    feed.receive(trade(130, 1, now - 3_600_000))
    #expect(feed.trades.map(\.isBacklog) == [true] && feed.trades.map(\.side) == [.sell])
    feed.receive(trade(133, 3, now))
    #expect(feed.trades.map(\.isBacklog) == [false] && feed.trades.map(\.size) == [12_060_306])
    #expect(feed.trades.map(\.id.text) == ["133"])
    feed.receive(trade(136, 1, now - 3_600_000))
    #expect(feed.trades.map(\.isBacklog) == [false])
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.trades == 2 && counts.backlogTrades == 1 && counts.missedTrades == 2)
  }

  @Test("statistics: which volume is of which unit; an empty side is absent")
  func tickers() throws {
    let feed = Self.live()
    func ticker(_ symbol: String) -> String {
      #"{"arg":{"channel":"tickers","instId":"\#(symbol)"},"data":[{"instType":"SPOT","instId":"\#(symbol)","last":"9999.9","lastSz":"0.1","askPx":"","askSz":"","bidPx":"8888.8","bidSz":"5","open24h":"9000","high24h":"10000","low24h":"8888.8","volCcy24h":"2222.5","vol24h":"77","ts":"1597026383085"}]}"#
    }
    feed.receive(ticker("BTC-USDT"))
    let spot = try #require(feed.tickers.first)
    #expect(spot.last == 99_999 && spot.bid == 88_888 && spot.ask == nil && spot.open == 90_000)
    #expect(
      spot.volume == Decimal64(mantissa: 77, scale: 0) && spot.quoteVolume == Decimal64(mantissa: 22_225, scale: 1))
    feed.receive(ticker("BTC-USDT-SWAP"))
    let swap = try #require(feed.tickers.first)
    #expect(swap.volume == Decimal64(mantissa: 22_225, scale: 1) && swap.quoteVolume == nil)
  }

  @Test("ping after 20 s of silence, and only then; the bare pong is life")
  func keepAlive() {
    let feed = Self.live()
    feed.isAnswered = { _ in false }
    feed.wait(19)
    #expect(!feed.sent.contains("ping"))
    feed.wait(2)
    #expect(feed.sent.filter { $0 == "ping" }.count == 1)
    feed.receive("pong")
    #expect(feed.isHeartbeat && feed.error == nil)
    feed.receive(#"{"id":"1","event":"subscribe","arg":{"channel":"books","instId":"BTC-USDT"},"connId":"a4d3ae55"}"#)
    #expect(feed.error == nil && feed.events.isEmpty)
  }

  @Test("a refusal costs the symbol that its text names; an announced upgrade is left before it comes")
  func refusalsAndNotices() {
    let feed = Self.live()
    let refusal =
      #"{"event":"error","code":"60018","msg":"Wrong URL or channel:books,instId:BTC-USDT-SWAP doesn't exist. Please use the correct URL, channel and parameters referring to API document.","connId":"ed8c407d"}"#
    feed.receive(refusal)
    #expect(feed.failures.keys.sorted() == ["BTC-USDT-PERP"] && feed.error == nil)
    feed.receive(refusal)
    #expect(feed.failures.isEmpty)
    feed.receive(#"{"event":"error","code":"60012","msg":"Illegal request: {}","connId":"a4d3ae55"}"#)
    #expect(feed.error?.kind == .refused)
    feed.wait(30)
    #expect(!feed.sent.contains { $0.contains("BTC-USDT-SWAP") })
    feed.receive(
      #"{"event":"notice","code":"64008","msg":"The connection will soon be closed for a service upgrade. Please reconnect.","connId":"a4d3ae55"}"#
    )
    #expect(feed.actions.contains { if case .renew = $0 { true } else { false } })
  }

  /// How many topics the last call begins and ends.
  @Test("too many requests: nothing is sent for five seconds", arguments: ["50011", "60014"])
  func tooMany(_ code: String) {
    let feed = Self.live()
    feed.wait(1)
    feed.receive(#"{"event":"error","code":"\#(code)","msg":"Requests too frequent.","connId":"a4d3ae55"}"#)
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
    feed.receive(Self.book("update", 150, 140))
    #expect(feed.resets == [.gap] && feed.sent.isEmpty)
    feed.wait(4.5)
    #expect(feed.sent.isEmpty)
    feed.wait(1)
    #expect(feed.sent.contains { $0.contains(#""channel":"books""#) })
  }

  private static func topics(of feed: EngineHarness) -> Int {
    feed.sent.reduce(0) { $0 + $1.split(separator: "channel").count - 1 }
  }

  @Test("the subscriptions of an hour are counted, and a new connection is made before they are used up")
  func operations() {
    let names = (0..<30).map { "C\($0)-USDT" }
    let entries = names.map { #"{"instType":"SPOT","instId":"\#($0)","tickSz":"0.1","lotSz":"0.1"}"# }
    let feed = EngineHarness(OKX.venue, names)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"{"code":"0","msg":"","data":[\#(entries.joined(separator: ","))]}"#)
    feed.connect()
    var rounds = 0
    var left = 0
    var asked = 0
    while rounds < 10, left == 0 {
      rounds += 1
      for name in names { feed.receive(Self.book("snapshot", 100, -1, bids: #"["1.1","1","0","1"]"#, symbol: name)) }
      feed.wait(31)
      // 120 topics at the beginning, 60 a round: the sixth would be one too many.
      for name in names {
        feed.receive(Self.book("update", 300, 200, symbol: name))
        left += feed.renewals.count
        asked += Self.topics(of: feed)
      }
      feed.wait(8)
      left += feed.renewals.count
      asked += Self.topics(of: feed)
    }
    #expect(rounds == 6 && left == 1)
    // A request of several topics is sent whole or not at all.
    #expect(asked <= 470 - 120 && asked > 470 - 120 - 60)
    // No other connection comes: the rest waits for the next hour.
    feed.wait(3_100)
    #expect(Self.topics(of: feed) == 0)
    feed.wait(400)
    #expect(Self.topics(of: feed) > 0)
  }

  @Test("a message that cannot be read costs itself and its own book")
  func malformed() {
    let feed = Self.live()
    feed.receive(Self.book("update", 101, 100, bids: #"["80688.1","0.-10000","0","1"]"#))
    #expect(feed.error?.kind == .decimal && feed.resets == [.malformed])
    feed.receive(#"{"arg":{"channel":"books"}}"#)
    #expect(feed.error != nil)
    feed.receive(#"{"arg":{"channel":"price-limit","instId":"BTC-USDT-SWAP"},"data":[]}"#)
    #expect(feed.error == nil && feed.engine.counts.ignored == 1)
  }
}
