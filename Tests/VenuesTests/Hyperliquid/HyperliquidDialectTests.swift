import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Hyperliquid's feed")
struct HyperliquidDialectTests {
  static let meta =
    #"{"channel":"post","data":{"id":1,"response":{"type":"info","payload":{"type":"meta","data":{"universe":[{"name":"BTC","szDecimals":5,"maxLeverage":40,"isDelisted":null},{"name":"ETH","szDecimals":4,"maxLeverage":25},{"name":"kPEPE","szDecimals":0,"maxLeverage":10},{"name":"FTM","szDecimals":0,"maxLeverage":5,"isDelisted":true},{"name":"xyz:SP500","szDecimals":3}],"marginTables":[]}}}}}"#
  static let spotMeta =
    #"{"channel":"post","data":{"id":2,"response":{"type":"info","payload":{"type":"spotMeta","data":{"universe":[{"tokens":[1,0],"name":"PURR/USDC","index":0,"isCanonical":true},{"tokens":[150,0],"name":"@107","index":107,"isCanonical":false},{"tokens":[9,0],"name":"@9","index":9}],"tokens":[{"name":"USDC","szDecimals":8,"weiDecimals":8,"index":0,"tokenId":"0x6d","isCanonical":true},{"name":"PURR","szDecimals":0,"weiDecimals":5,"index":1},{"name":"HYPE","szDecimals":2,"weiDecimals":8,"index":150}]}}}}}"#

  static func connected(_ symbols: [String]) -> EngineHarness {
    let feed = EngineHarness(Hyperliquid.venue, symbols)
    feed.now = Timestamp(milliseconds: 1_790_232_236_546)
    feed.connect()
    for request in feed.sent { feed.receive(request.contains("spotMeta") ? spotMeta : meta) }
    return feed
  }

  static func live(_ symbols: [String] = ["BTC-USDC-PERP", "ETH-USDC-PERP"]) -> EngineHarness {
    let feed = connected(symbols)
    feed.receive(book())
    return feed
  }

  static let firstBids = #"{"px":"84143.0","sz":"10.25923","n":36},{"px":"84142.0","sz":"0.2","n":1}"#

  /// A book that came `later` ms after 1,790,232,236,546.
  static func book(
    _ later: Int64 = 0, coin: String = "BTC", bids: String = firstBids,
    asks: String = #"{"px":"84144.0","sz":"50.66449","n":18}"#
  ) -> String {
    #"{"channel":"l2Book","data":{"coin":"\#(coin)","time":\#(1_790_232_236_546 + later),"levels":[[\#(bids)],[\#(asks)]],"fast":true}}"#
  }

  static func trade(_ id: Int, _ milliseconds: Int64, _ side: String = "A", price: String = "84143.0") -> String {
    #"{"coin":"BTC","side":"\#(side)","px":"\#(price)","sz":"0.00036","time":\#(milliseconds),"hash":"0x7ab656ce","tid":\#(id),"users":["0x9aa5","0x8269"]}"#
  }

  static func acknowledgement(_ type: String, _ coin: String) -> String {
    #"{"channel":"subscriptionResponse","data":{"method":"subscribe","subscription":{"type":"\#(type)","coin":"\#(coin)","nSigFigs":null,"mantissa":null,"fast":true}}}"#
  }

  // MARK: Books

  @Test(
    "every book is whole; one sent again says nothing new; a late one is left out; twenty levels are as good as five")
  func books() throws {
    let feed = Self.live()
    let book = { feed.market.instruments[0].book }
    #expect(feed.state(0) == .live && feed.books.map(\.kind) == [.snapshot])
    #expect(
      book().bids == [PriceLevel(price: 841_420, size: 20_000), PriceLevel(price: 841_430, size: 1_025_923)])
    feed.receive(Self.book(540))
    #expect(feed.books.map(\.kind) == [.delta] && feed.bids.isEmpty && feed.asks.isEmpty)
    #expect(try #require(feed.books.first).time == Timestamp(milliseconds: 1_790_232_237_086))
    feed.receive(Self.book(1_080, bids: #"{"px":"84143.0","sz":"1.0","n":1}"#))
    #expect(book().bids == [PriceLevel(price: 841_430, size: 100_000)])
    feed.receive(Self.book(540))
    #expect(feed.books.isEmpty && feed.state(0) == .live && feed.error == nil)
    #expect(book().bids.count == 1)
    let levels = (0..<20).map { #"{"px":"\#(84_100 - $0)","sz":"1","n":1}"# }.joined(separator: ",")
    feed.receive(
      #"{"channel":"l2Book","data":{"coin":"BTC","time":1790232238086,"levels":[[\#(levels)],[{"px":"84101.0","sz":"1.0","n":1}]]}}"#
    )
    #expect(book().bids.count == 20 && book().asks.count == 1)
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.snapshots == 4 && counts.dropped == 1 && counts.gaps == 0 && counts.deltas == 0)
  }

  @Test("times that go on being older are those of a clock that was set back")
  func clockSetBack() {
    let feed = Self.live()
    feed.receive(Self.book(3_600_000, bids: ""))
    #expect(feed.state(0) == .live && feed.market.instruments[0].book.bids.isEmpty)
    for round in 0..<12 {
      feed.wait(1)
      feed.receive(Self.book(Int64(round) * 1_000))
    }
    #expect(feed.market.instruments[0].book.bids.count == 2)
  }

  @Test("a book that was lost waits for the next message, and is subscribed again only if none comes")
  func resync() {
    let feed = Self.live(["BTC-USDC-PERP"])
    feed.receive(Self.book(540).replacing("84144.0", with: "0.-10000"))
    #expect(feed.error?.kind == .decimal && feed.resets == [.malformed] && feed.sent.isEmpty)
    feed.resync(0, .crossed)
    feed.receive(Self.book(1_080))
    #expect(feed.state(0) == .live && feed.sent.isEmpty)
    feed.receive(Self.book(1_600).replacing("\"84144.0\"", with: "\"84144.0"))
    #expect(feed.state(0) == .syncing(.malformed))
    feed.wait(9)
    #expect(!feed.sent.contains { $0.contains("l2Book") })
    feed.wait(2)
    #expect(
      feed.sent.filter { $0.contains("l2Book") } == [
        #"{"method":"unsubscribe","subscription":{"type":"l2Book","coin":"BTC","fast":true}}"#,
        #"{"method":"subscribe","subscription":{"type":"l2Book","coin":"BTC","fast":true}}"#,
      ])
    var sent = 0
    for _ in 0..<120 {
      feed.wait(1)
      sent += feed.sent.count { $0.contains("l2Book") }
    }
    #expect((2...10).contains(sent), "ever more rarely: \(sent)")
  }

  /// Quiet for `seconds`, with a pong a second.
  private func quiet(_ feed: EngineHarness, _ seconds: Int) -> [String] {
    var sent: [String] = []
    for _ in 0..<seconds {
      feed.wait(1)
      sent += feed.sent
      feed.receive(#"{"channel":"pong"}"#)
    }
    return sent
  }

  @Test("a silent book is compared with one that is asked for: the same is quiet, another is dead")
  func probes() {
    let feed = Self.live(["BTC-USDC-PERP"])
    let probe = #""request":{"type":"info","payload":{"type":"l2Book","coin":"BTC"}}"#
    func answer(_ bids: String) -> String {
      #"{"channel":"post","data":{"id":9,"response":{"type":"info","payload":{"type":"l2Book","data":{"coin":"BTC","time":1790232299999,"levels":[[\#(bids)],[{"px":"84144.0","sz":"50.66449","n":18},{"px":"84145.0","sz":"1.0","n":1}]]}}}}}"#
    }
    #expect(quiet(feed, 22).filter { $0.contains(probe) }.count == 1)
    feed.receive(answer(Self.firstBids))
    #expect(feed.books.isEmpty && feed.error == nil)
    #expect(quiet(feed, 15).allSatisfy { !$0.contains("l2Book") })
    #expect(feed.state(0) == .live)
    #expect(quiet(feed, 7).contains { $0.contains(probe) })
    feed.receive(answer(#"{"px":"84143.5","sz":"10.25923","n":36}"#))
    #expect(feed.state(0) == .live, "what it says may be under way")
    let sent = quiet(feed, 7)
    #expect(feed.state(0) == .syncing(.stale))
    #expect(
      sent.filter { $0.contains("unsubscribe") }.count == 1 && sent.filter { $0.contains(#""subscribe""#) }.count == 1)
    feed.receive(Self.book(90_000))
    #expect(feed.state(0) == .live)
    // An answer that never comes.
    _ = quiet(feed, 40)
    #expect(feed.state(0) == .syncing(.stale))
  }

  @Test("while nothing at all comes no book is looked after: that is for the connection")
  func silence() {
    let feed = Self.live(["BTC-USDC-PERP"])
    for type in ["bbo", "trades", "activeAssetCtx"] { feed.receive(Self.acknowledgement(type, "BTC")) }
    feed.wait(60)
    #expect(feed.state(0) == .live && feed.sent.allSatisfy { $0 == #"{"method":"ping"}"# } && feed.sent.count == 4)
  }

  // MARK: Quotes, trades, statistics

  @Test("the quote; a side without orders is null or not there")
  func quotes() {
    let feed = Self.live()
    func quote(_ sides: String) -> String {
      #"{"channel":"bbo","data":{"coin":"BTC","time":1790232237145,"bbo":[\#(sides)]}}"#
    }
    let (bid, ask) = (#"{"px":"84143.0","sz":"10.25923","n":36}"#, #"{"px":"84144.0","sz":"50.66422","n":18}"#)
    feed.receive(quote(bid + "," + ask))
    #expect(
      feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[841_430, 1_025_923, 841_440, 5_066_422]])
    feed.receive(quote("null," + ask))
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[0, 0, 841_440, 5_066_422]])
    feed.receive(quote(bid))
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[841_430, 1_025_923, 0, 0]])
    feed.receive(quote("null,null"))
    #expect(feed.quotes.map(\.bidSize) == [0] && feed.error == nil)
  }

  @Test("trades: B bought and A sold; what the first message repeats is backlog, and nothing is told twice")
  func trades() {
    let feed = Self.live()
    let now = feed.now.microseconds / 1_000
    func trades(_ list: String...) -> String { #"{"channel":"trades","data":[\#(list.joined(separator: ","))]}"# }
    feed.receive(trades(Self.trade(1, now - 49_000), Self.trade(2, now - 1_000, "B"), Self.trade(3, now + 10)))
    #expect(feed.trades.map(\.isBacklog) == [true, true, false] && feed.trades.map(\.side) == [.sell, .buy, .sell])
    #expect(feed.trades.map(\.price) == [841_430, 841_430, 841_430] && feed.trades.map(\.size) == [36, 36, 36])
    feed.receive(trades(Self.trade(1_045_359_869_404_765, now + 20)))
    #expect(feed.trades.map(\.id.text) == ["1045359869404765"])
    // An old one that is told late is no news.
    feed.receive(trades(Self.trade(5, now - 60_000)))
    #expect(feed.trades.map(\.isBacklog) == [true])
    feed.now = feed.now + 1_000_000
    feed.receive(trades(Self.trade(6, now + 900)))
    // The same again after the connection was lost, and what was missed meanwhile.
    feed.disconnect()
    feed.now = feed.now + 10_000_000
    feed.connect()
    feed.receive(Self.meta)
    feed.receive(
      trades(
        Self.trade(2, now - 1_000, "B"), Self.trade(6, now + 900), Self.trade(7, now + 900), Self.trade(8, now + 5_000))
    )
    #expect(feed.trades.map(\.id.text) == ["7", "8"] && feed.trades.allSatisfy(\.isBacklog))
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.trades == 3 && counts.backlogTrades == 5)
    feed.receive(trades())
    #expect(feed.error == nil)
  }

  @Test("a subscription that reaches further back than the one before brings no trade that is older than what came")
  func reachesBack() {
    let feed = Self.live()
    let now = feed.now.microseconds / 1_000
    func receive(_ list: String...) { feed.receive(#"{"channel":"trades","data":[\#(list.joined(separator: ","))]}"#) }
    receive(Self.trade(20, now - 2_000), Self.trade(21, now + 10))
    feed.now = feed.now + 1_000_000
    feed.disconnect()
    feed.connect()
    feed.receive(Self.meta)
    receive(
      Self.trade(5, now - 60_000), Self.trade(20, now - 2_000), Self.trade(19, now - 1), Self.trade(21, now + 10),
      Self.trade(22, now + 10))
    #expect(feed.trades.map(\.id.text) == ["22"])
    // Said once more in the same subscription, it is known.
    receive(Self.trade(22, now + 10))
    #expect(feed.trades.isEmpty)
  }

  @Test(
    "24 h figures: the change is of the middle of the book; volumes with twenty digits are cut; what is null is left out"
  )
  func contexts() throws {
    let feed = Self.live()
    feed.receive(#"{"channel":"trades","data":[\#(Self.trade(1, 1_790_232_236_600))]}"#)
    feed.receive(
      #"{"channel":"activeAssetCtx","data":{"coin":"BTC","ctx":{"funding":"0.0000018952","openInterest":"36585.31848","prevDayPx":"86627.0","dayNtlVlm":"4161029539.6949653625","premium":"-0.0006413454","oraclePx":"84198.0","markPx":"84148.0","midPx":"84143.5","impactPxs":["84143.0","84144.0"],"dayBaseVlm":"49116.08533"}}}"#
    )
    let ticker = try #require(feed.tickers.first)
    #expect(ticker.open == 866_270 && ticker.last == 841_430 && ticker.high == nil)
    #expect(ticker.change == Decimal64(mantissa: -24_835, scale: 1))
    #expect(ticker.changePercent == Decimal64(mantissa: -28_669, scale: 4))
    #expect(ticker.volume == Decimal64(mantissa: 4_911_608_533, scale: 5))
    #expect(ticker.quoteVolume == Decimal64(mantissa: 4_161_029_539_694_965, scale: 6))
    feed.receive(
      #"{"channel":"activeAssetCtx","data":{"coin":"BTC","ctx":{"prevDayPx":"0.37621","dayNtlVlm":"0.0","premium":null,"markPx":"0.37621","midPx":null,"impactPxs":null}}}"#
    )
    #expect(feed.error == nil && feed.tickers.first?.change == nil && feed.tickers.first?.volume == nil)
    let spot = Self.connected(["HYPE-USDC"])
    spot.receive(
      #"{"channel":"activeSpotAssetCtx","data":{"coin":"@107","ctx":{"prevDayPx":"34.5","dayNtlVlm":"24629.86429498","markPx":"34.9","midPx":"34.968","circulatingSupply":"6879553815.3455801","coin":"@107"}}}"#
    )
    #expect(spot.error == nil && spot.tickers.first?.open == 34_500_000)
  }

  // MARK: Bad input

  @Test("a message that cannot be read costs itself, and its error says what was wrong")
  func malformed() {
    let feed = Self.live()
    feed.receive(#"{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[]]}}"#)
    #expect(feed.error?.detail == "levels without field asks" && feed.resets == [.malformed])
    feed.receive(Self.book(coin: "XYZ"))
    #expect(feed.error?.kind == .unknownSymbol && feed.resets.isEmpty)
    feed.receive(#"{"channel":"trades","data":[\#(Self.trade(1, 1).replacing("\"A\"", with: "\"C\""))]}"#)
    #expect(feed.error?.detail == "trade without field side (B or A)" && feed.trades.isEmpty)
    feed.receive(Self.book(540).replacing("10.25923", with: "-1"))
    #expect(feed.error?.detail.contains("negative size") == true)
    feed.receive(#"{"channel":"bbo"}"#)
    #expect(feed.error?.detail == "message without field data")
    feed.receive([0x1F, 0x8B, 0x08, 0x00])
    #expect(feed.error?.kind == .json)
    feed.receive(#"{"channel":"allMids","data":{"mids":{"BTC":"80868.5"}}}"#)
    #expect(feed.error == nil && feed.engine.counts.ignored == 1)
  }

  @Test("ids of twenty digits, times that are none, more digits than the list promised")
  func oddNumbers() {
    let feed = Self.live()
    feed.receive(
      #"{"channel":"trades","data":[\#(Self.trade(1, 1_790_232_236_600).replacing("\"tid\":1", with: "\"tid\":18446744073709551615"))]}"#
    )
    #expect(feed.trades.map(\.id.text) == ["18446744073709551615"])
    feed.receive(
      #"{"channel":"trades","data":[\#(Self.trade(1, 1_790_232_236_600).replacing("\"tid\":1", with: "\"tid\":184467440737095516150"))]}"#
    )
    #expect(feed.error != nil && feed.trades.isEmpty)
    feed.receive(Self.book(540).replacing("1790232237086", with: "-62135596800000"))
    #expect(feed.error == nil && feed.books.map(\.time) == [feed.now], "the year 0001 is no time")
    feed.now = feed.now + 1_000_000
    feed.receive(Self.book(1_080, bids: #"{"px":"84143.25","sz":"1e-6","n":1}"#))
    #expect(feed.error == nil && feed.state(0) == .live)
    let instrument = feed.market.instruments[0].instrument
    #expect(instrument.priceScale == 2 && instrument.sizeScale == 6)
    #expect(feed.market.instruments[0].book.bestBid == PriceLevel(price: 8_414_325, size: 1))
  }
}
