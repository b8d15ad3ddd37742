import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Bitfinex' feed")
struct BitfinexDialectTests {
  static let list =
    #"[["BTCUSD","BTCUST","AVAX:USD","ETHUSD","IOTUSD","TESTBTC:TESTUSD","ODD"],[["UST","USDt"],["IOT","IOTA"],["AAA","TESTAAA"]]]"#

  static func subscribed(_ channel: String, _ number: Int, _ symbol: String = "tBTCUSD") -> String {
    let book = channel == "book" ? #","prec":"P0","freq":"F0","len":"100""# : ""
    return
      #"{"event":"subscribed","channel":"\#(channel)","chanId":\#(number),"symbol":"\#(symbol)"\#(book),"pair":"\#(symbol.dropFirst())"}"#
  }

  static func connected(_ symbols: [String] = ["BTC-USD", "ETH-USD"]) -> EngineHarness {
    let feed = EngineHarness(Bitfinex.venue, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    return feed
  }

  /// BTC-USD is on the channels 10, 11 and 12, ETH-USD on 20 to 22. Both books are live; the newest count is 2.
  static func live() -> EngineHarness {
    let feed = connected()
    feed.receive(#"{"event":"info","version":2,"serverId":"fb5877a3","platform":{"status":1}}"#)
    feed.receive(#"{"event":"conf","status":"OK","flags":229376}"#)
    for (index, symbol) in ["tBTCUSD", "tETHUSD"].enumerated() {
      for (offset, channel) in ["book", "trades", "ticker"].enumerated() {
        feed.receive(subscribed(channel, 10 * (index + 1) + offset, symbol))
      }
    }
    feed.now = feed.now + 1_000_000
    feed.receive(#"[10,[[86704,1,0.03460649],[86701,2,0.07296393],[86719,1,-0.0348]],1,1775779200144]"#)
    feed.receive(#"[20,[[1797.1,3,2.5],[1797.5,1,-4]],2,1775779200145]"#)
    return feed
  }

  // MARK: Books

  @Test("a snapshot, levels set and removed on the side of the amount's sign, with the venue's time")
  func books() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live && feed.state(1) == .live)
    let book = { feed.market.instruments[0].book }
    #expect(book().bids.map(\.price) == [86_701, 86_704] && book().asks.map(\.size) == [3_480_000])
    feed.receive(#"[10,[86719,2,-0.03483509],3,1775779200200]"#)
    #expect(feed.books.map(\.kind) == [.delta] && book().bestAsk == PriceLevel(price: 86_719, size: 3_483_509))
    #expect(try #require(feed.books.first).time == Timestamp(milliseconds: 1_775_779_200_200))
    feed.receive(#"[10,[86704,0,1],4,1775779200201]"#)
    feed.receive(#"[10,[86719,0,-1],5,1775779200202]"#)
    #expect(book().bids.map(\.price) == [86_701] && book().asks.isEmpty)
    #expect(feed.engine.symbolCounts[0].sequenceOK == 3 && feed.engine.symbolCounts[0].deltas == 3)
    #expect(feed.quotes.isEmpty && feed.market.instruments[0].quote?.askSize == 0, "quotes come from the book")
  }

  @Test("removals of levels that are not there, and elements appended at the end, change nothing")
  func tolerance() {
    let feed = Self.live()
    feed.receive(#"[10,[80000,0,1],3,1775779200200]"#)
    #expect(feed.error == nil && feed.market.instruments[0].unknownDeletes == 1)
    feed.receive(#"[10,[86700,2,0.5,"new",null],4,1775779200200,"book","BTCUSD",0.5]"#)
    #expect(feed.error == nil && feed.market.instruments[0].book.bids.map(\.price) == [86_700, 86_701, 86_704])
    feed.receive(" [ 10 , [ 86700 , 0 , 1 ] , 5 , 1775779200200 ] ")
    #expect(feed.error == nil && feed.market.instruments[0].book.bids.count == 2 && feed.state(0) == .live)
  }

  @Test("exponents and five digits at any scale; the scale is learnt from the values")
  func scales() {
    let feed = Self.live()
    feed.receive(#"[10,[1.1e-7,1,1000000],3]"#)
    #expect(feed.error == nil && feed.market.instruments[0].instrument.priceScale == 8)
    #expect(feed.market.instruments[0].book.bids.map(\.price) == [11, 8_670_100_000_000, 8_670_400_000_000])
    feed.receive(#"[10,[86700,1,1e-9],4]"#)
    #expect(feed.market.instruments[0].instrument.sizeScale == 9 && feed.state(0) == .live)
  }

  @Test("a book without orders is an empty snapshot, once")
  func emptyBook() {
    let feed = Self.connected(["BTC-USD"])
    feed.receive(Self.subscribed("book", 10))
    feed.receive("[10,[],1]")
    #expect(feed.books.map(\.kind) == [.snapshot] && feed.state(0) == .live)
    feed.receive("[10,[100,1,-5],2]")
    #expect(feed.market.instruments[0].book.asks.count == 1 && feed.state(0) == .live)
  }

  @Test(
    "what cannot be a level is refused, and its book rebuilt",
    arguments: [
      "[86700,1]", "[86700,-1,1]", "[86700,1,0]", "[0,1,5]", "[-5,1,5]", #"["x",1,5]"#, #"[86700,1,"0.-10000"]"#,
      "[86700,1.5,1]", "[86700,1,1e300]", "[]",
    ])
  func badLevels(_ level: String) {
    let feed = Self.live()
    feed.receive("[10,\(level),3,1775779200200]")
    if level == "[]" {
      // An empty snapshot of a live book: the venue says that there are no orders.
      #expect(feed.error == nil && feed.market.instruments[0].book.isEmpty)
      return
    }
    #expect(feed.error != nil && feed.resets == [.malformed] && feed.state(0) == .syncing(.malformed))
    #expect(feed.state(1) == .live, "the other book goes on")
    #expect(
      feed.sent == [
        #"{"event":"unsubscribe","chanId":10}"#,
        #"{"event":"subscribe","channel":"book","symbol":"tBTCUSD","prec":"P0","freq":"F0","len":"100"}"#,
      ])
    // The count of the bad message was used up.
    feed.receive(#"[20,[1797.1,3,2.6],4,1775779200201]"#)
    #expect(feed.resets.isEmpty && feed.state(1) == .live)
  }

  // MARK: Counts

  @Test(
    "a count that does not follow: all books are rebuilt, each with one subscription, and live with the next snapshot",
    arguments: [4, 1, 900])
  func gap(_ count: Int) {
    let feed = Self.live()
    feed.receive("[10,[86700,1,9],\(count),1775779200200]")
    #expect(feed.resets == [.gap, .gap] && feed.state(0) == .syncing(.gap) && feed.state(1) == .syncing(.gap))
    #expect(feed.books.isEmpty, "the update itself is of no use")
    #expect(
      feed.sent == [
        #"{"event":"unsubscribe","chanId":10}"#,
        #"{"event":"subscribe","channel":"book","symbol":"tBTCUSD","prec":"P0","freq":"F0","len":"100"}"#,
        #"{"event":"unsubscribe","chanId":20}"#,
        #"{"event":"subscribe","channel":"book","symbol":"tETHUSD","prec":"P0","freq":"F0","len":"100"}"#,
      ])
    // What was on its way is not looked at, but it is counted.
    feed.receive("[10,[86700,1,9],\(count + 1),1775779200200]")
    #expect(feed.books.isEmpty && feed.resets.isEmpty && feed.sent.isEmpty)
    feed.receive(#"{"event":"unsubscribed","status":"OK","chanId":10}"#)
    feed.receive(Self.subscribed("book", 10))
    feed.receive("[10,[[86700,1,9],[86719,1,-1]],\(count + 2),1775779200200]")
    #expect(feed.state(0) == .live && feed.state(1) == .syncing(.gap))
    feed.receive("[10,[86701,1,9],\(count + 3),1775779200200]")
    #expect(feed.market.instruments[0].book.bids.count == 2)
    #expect(feed.engine.symbolCounts[0].gaps == 1 && feed.engine.symbolCounts[1].gaps == 1)
  }

  @Test("a gap that a heartbeat shows; a snapshot that shows one is good itself")
  func gapElsewhere() {
    let feed = Self.live()
    feed.receive(#"[22,"hb",4,1775779200200]"#)
    #expect(feed.resets == [.gap, .gap])
    let other = Self.live()
    other.receive(#"{"event":"unsubscribed","status":"OK","chanId":20}"#)
    other.receive(Self.subscribed("book", 23, "tETHUSD"))
    other.receive("[23,[[1797.1,3,2.5],[1797.5,1,-4]],9,1775779200200]")
    #expect(other.state(0) == .syncing(.gap) && other.state(1) == .live)
  }

  @Test("the last message again is nothing, of whatever kind")
  func again() {
    let feed = Self.live()
    feed.receive(#"[11,"te",[382489563,1775779200000,0.5,86700],3,1775779200200]"#)
    #expect(feed.trades.count == 1)
    feed.receive(#"[11,"te",[382489563,1775779200000,0.5,86700],3,1775779200200]"#)
    #expect(feed.events.isEmpty && feed.state(0) == .live && feed.engine.symbolCounts[0].trades == 1)
  }

  @Test("a venue that refuses the flags, or does not count, is read without")
  func uncounted() {
    let feed = Self.connected(["BTC-USD"])
    feed.receive(#"{"event":"conf","status":"FAILED","msg":"conf: unknown","code":10900}"#)
    #expect(feed.error?.kind == .refused && feed.error?.detail.contains("without their count") == true)
    feed.receive(Self.subscribed("book", 10))
    feed.receive("[10,[[100,1,5],[101,1,-5]]]")
    feed.receive("[10,[99,1,5]]")
    feed.receive("[10,[98,1,5],1775779200200]")
    #expect(feed.state(0) == .live && feed.market.instruments[0].book.bids.count == 3)
    #expect(feed.books.map(\.time) == [Timestamp(milliseconds: 1_775_779_200_200)])
    #expect(feed.engine.symbolCounts[0].sequenceOK == 0)
  }

  // MARK: Checksums

  @Test("a checksum that agrees; one that does not is borne once, the second rebuilds the book")
  func checksum() throws {
    let feed = Self.live()
    let right = try #require(
      RankedChecksum.checksum(
        of: feed.market.instruments[0].book, priceScale: 0, sizeScale: 8, hasSignedAsks: true))
    feed.receive(#"[10,"cs",\#(Int32(bitPattern: right)),3,1775779200200]"#)
    #expect(feed.state(0) == .live && feed.market.instruments[0].checksumsOK == 1)
    feed.receive(#"[10,"cs",-1330055495,4,1775779200200]"#)
    #expect(feed.state(0) == .live)
    feed.receive(#"[10,"cs",1330055495,5,1775779200200]"#)
    #expect(feed.state(0) == .syncing(.checksum) && feed.state(1) == .live)
    #expect(feed.sent.count == 2 && feed.sent[0] == #"{"event":"unsubscribe","chanId":10}"#)
    feed.receive(#"[20,"cs",4294967296,6]"#)
    #expect(feed.error?.detail.contains("more than 32 bits") == true)
  }

  // MARK: Trades and statistics

  @Test("te is the trade and tu the same again; the sign is the taker's side; ids of 20 digits are text")
  func trades() {
    let feed = Self.live()
    feed.receive(#"[11,"te",[382489563,1775779200709,0.00705845,86687.98969503],3,1775779200784]"#)
    #expect(feed.trades.map(\.side) == [.buy] && feed.trades.map(\.size) == [705_845])
    #expect(
      feed.market.instruments[0].instrument.priceScale == 8, "prices of trades may have more digits than the book's")
    feed.receive(#"[11,"tu",[382489563,1775779200709,0.00705845,86687.98969503],4,1775779200834]"#)
    #expect(feed.trades.isEmpty && feed.error == nil)
    feed.receive(#"[11,"te",[98765432109876543210,1775779200709,-2,86687],5,1775779200784]"#)
    #expect(feed.trades.map(\.side) == [.sell] && feed.trades.map(\.id.text) == ["98765432109876543210"])
    #expect(feed.trades.map(\.time) == [Timestamp(milliseconds: 1_775_779_200_709)])
    #expect(feed.engine.symbolCounts[0].trades == 2)
    // The year 0001, and no time at all.
    feed.receive(#"[11,"te",[382489565,-62135596800000,1,86687],6,1775779200784]"#)
    #expect(feed.trades.map(\.time) == [feed.now])
    feed.receive(#"[11,"te",[382489566,null,1,86687],7,1775779200784]"#)
    #expect(feed.trades.map(\.time) == [feed.now])
    for (count, bad) in zip(8..., ["[1,2,0,5]", "[1,2,1,0]", "[1,2,1,-5]", "[1,2,1]", #"["a",2,1,5]"#, "7"]) {
      feed.receive(#"[11,"te",\#(bad),\#(count),1775779200784]"#)
      #expect(feed.error != nil && feed.trades.isEmpty, "\(bad)")
      feed.receive(#"{"event":"conf","status":"OK","flags":229376}"#)
    }
    #expect(feed.state(0) == .live)
  }

  @Test("trades from before the subscription are backlog, oldest first, and once only")
  func backlog() {
    let feed = Self.live()
    feed.receive(
      "[11,[[7,1775779198700,0.5,86700],[6,1775779198600,-0.25,86699],[5,1775779198600,1,86698]],3,1775779200401]")
    #expect(feed.trades.map(\.id.text) == ["5", "6", "7"] && feed.trades.allSatisfy(\.isBacklog))
    #expect(feed.engine.symbolCounts[0].backlogTrades == 3 && feed.engine.symbolCounts[0].trades == 0)
    feed.disconnect()
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.list)
    feed.connect()
    feed.receive(Self.subscribed("trades", 9))
    feed.receive("[9,[[9,1775779198800,0.5,86700],[7,1775779198700,0.5,86700]],1,1775779200401]")
    #expect(feed.trades.map(\.id.text) == ["9"])
    feed.receive("[9,[],2]")
    #expect(feed.trades.isEmpty && feed.error == nil)
  }

  @Test("statistics; sizes in them are sums and no quote; null and appended fields")
  func ticker() throws {
    let feed = Self.live()
    feed.receive(
      "[12,[71741,0.26742262,71760,1.22665447,647,0.00909896,71754,900.8715945,73120,70434,null],3,1775779200144]")
    let ticker = try #require(feed.tickers.first)
    #expect(ticker.bid == 71_741 && ticker.ask == 71_760 && ticker.last == 71_754)
    #expect(
      ticker.high == 73_120 && ticker.low == 70_434 && ticker.volume == Decimal64(mantissa: 9_008_715_945, scale: 7))
    #expect(ticker.change == Decimal64(mantissa: 647, scale: 0))
    #expect(ticker.changePercent == Decimal64(mantissa: 909_896, scale: 6))
    #expect(ticker.time == Timestamp(milliseconds: 1_775_779_200_144) && feed.quotes.isEmpty)
    feed.receive(
      "[22,[2.271e-05,43.358118629999986,null,197418.9,-1.77e-06,-0.0177,2.276e-05,81802.4,2.453e-05,2.276e-05],4]")
    let small = try #require(feed.tickers.first)
    #expect(small.bid == 2_271 && small.ask == nil && feed.market.instruments[1].instrument.priceScale == 8)
    feed.receive("[22,[1,2,3],5]")
    #expect(feed.error?.detail == "ticker without field LOW")
    #expect(feed.state(0) == .live && feed.state(1) == .live)
  }

  // MARK: Channels and events

  @Test("what comes before its acknowledgement, and of unknown channels and kinds, is counted and passed over")
  func unknown() {
    let feed = Self.live()
    feed.receive(#"[77,"hb",3]"#)
    feed.receive("[77,[[5,5,5]],4]")
    feed.receive(#"[77,[1596124822000,null,0.896,{"a":[1]}],5]"#)
    feed.receive(#"[11,"fte",[5690221203,1734237018019,0.00991467,102550,30],6]"#)
    feed.receive(#"[0,"zz",7]"#)
    feed.receive(#"{"event":"subscribed","channel":"status","chanId":78,"key":"deriv:tBTCF0:USTF0"}"#)
    feed.receive(
      #"{"event":"subscribed","channel":"book","chanId":79,"symbol":"tBTCUSD","prec":"R0","freq":"F0","len":"25"}"#)
    feed.receive(#"[79,[34753002978,7294.7,1.54340371],8]"#)
    feed.receive(#"{"event":"auth","status":"OK"}"#)
    #expect(feed.error == nil && feed.state(0) == .live && feed.engine.counts.ignored == 5)
    feed.receive(#"[10,[86700,1,9],9]"#)
    #expect(feed.resets.isEmpty && feed.books.count == 1)
    for bad in ["[]", "[5]", #"["a",1]"#, "{}", "7", "", "nonsense", "[10,"] {
      feed.receive(bad)
      #expect(feed.error != nil, "\(bad)")
    }
  }

  @Test("a data message whose channel cannot be told may have been any book's")
  func unreadableChannel() {
    let feed = Self.live()
    feed.receive("[x10,[86700,1,9],3]")
    #expect(feed.resets == [.malformed, .malformed])
    let other = Self.live()
    other.receive("[11,[[7,17757791987")
    #expect(other.error != nil && other.resets.isEmpty, "trades are no book")
    other.receive("[10,[86700,1,9],4]")
    #expect(other.resets.isEmpty && other.state(0) == .live)
  }

  @Test("binary frames carry the same text, and bytes that are none are refused")
  func binary() {
    let feed = Self.live()
    feed.receive([0x78, 0x9C, 0x00, 0xFF])
    #expect(feed.error != nil && feed.resets.isEmpty && feed.state(0) == .live)
  }

  @Test("a number that the venue gives to another channel is no longer the first one's")
  func numberAgain() {
    let feed = Self.live()
    feed.receive(Self.subscribed("ticker", 10, "tETHUSD"))
    feed.receive("[10,[1797,1,1797.5,1,1,0.1,1797,5,1800,1700],3]")
    #expect(feed.tickers.map(\.instrument.index) == [1] && feed.books.isEmpty)
  }
}
