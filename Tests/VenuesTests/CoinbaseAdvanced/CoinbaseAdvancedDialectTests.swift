import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Coinbase Advanced Trade")
struct CoinbaseAdvancedDialectTests {
  static let products =
    #"{"products":[{"product_id":"BTC-USD","price":"68925.98","base_increment":"0.00000001","quote_increment":"0.01","status":"online","trading_disabled":false,"product_type":"SPOT","quote_currency_id":"USD","base_currency_id":"BTC","alias":"","alias_to":["BTC-USDC"],"price_increment":"0.01"},{"product_id":"BTC-USDC","base_increment":"0.00000001","quote_increment":"0.01","product_type":"SPOT","quote_currency_id":"USDC","base_currency_id":"BTC","alias":"BTC-USD","price_increment":"0.01"},{"product_id":"ETH-USD","base_increment":"0.001","quote_increment":"0.01","product_type":"SPOT","quote_currency_id":"USD","base_currency_id":"ETH","alias":"","price_increment":"0.05"},{"product_id":"SOL-USD","base_increment":"0.1","quote_increment":"0.01","product_type":"SPOT","alias":"","status":"online"},{"product_id":"OLD-USD","product_type":"SPOT","status":"delisted"},{"product_id":"BIP-20DEC30-CDE","product_type":"FUTURE","base_increment":"1","price_increment":"5"}],"num_products":6}"#

  static func subscriptions(_ number: Int) -> String {
    #"{"channel":"subscriptions","client_id":"","timestamp":"2026-04-07T14:30:00.000000Z","sequence_num":\#(number),"events":[{"subscriptions":{"level2":["BTC-USD"]}}]}"#
  }

  static func level(_ side: String, _ price: String, _ size: String) -> String {
    #"{"side":"\#(side)","event_time":"1970-01-01T00:00:00Z","price_level":"\#(price)","new_quantity":"\#(size)"}"#
  }

  static func book(
    _ type: String, _ number: Int, _ levels: [String], product: String = "BTC-USD",
    time: String = "2026-04-07T14:30:01.456789123Z"
  ) -> String {
    #"{"channel":"l2_data","timestamp":"\#(time)","sequence_num":\#(number),"events":[{"type":"\#(type)","product_id":"\#(product)","updates":[\#(levels.joined(separator: ","))]}]}"#
  }

  static func trade(_ id: String, _ side: String, _ time: String = "2026-04-07T14:30:02.789012Z") -> String {
    #"{"trade_id":"\#(id)","product_id":"BTC-USD","price":"68900.50","size":"0.00150000","side":"\#(side)","time":"\#(time)"}"#
  }

  static func trades(_ type: String, _ number: Int, _ trades: [String]) -> String {
    #"{"channel":"market_trades","timestamp":"2026-04-07T14:30:02.789012Z","sequence_num":\#(number),"events":[{"type":"\#(type)","trades":[\#(trades.joined(separator: ","))]}]}"#
  }

  static func listed(_ symbols: [String]) -> EngineHarness {
    let feed = EngineHarness(CoinbaseAdvanced.venue, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, products)
    return feed
  }

  /// Connected, everything subscribed and acknowledged with the numbers 0 to 3; the first book live with number 4.
  static func live(_ symbols: [String] = ["BTC-USD", "ETH-USD"]) -> EngineHarness {
    let feed = listed(symbols)
    feed.connect()
    for number in 0..<4 {
      feed.receive(subscriptions(number))
      feed.wait(0.25)
    }
    feed.receive(book("snapshot", 4, [level("bid", "68900.00", "1.50000000"), level("offer", "68901.00", "0.5")]))
    return feed
  }

  @Test("the first message of a connection is not one again, whatever its number")
  func reconnected() {
    let feed = Self.listed(["BTC-USD"])
    feed.connect()
    feed.receive(Self.subscriptions(0))
    feed.disconnect()
    feed.connect()
    feed.receive(Self.book("snapshot", 0, [Self.level("bid", "68900.00", "1.5")]))
    #expect(feed.books.map(\.kind) == [.snapshot] && feed.state(0) == .live)
  }

  @Test("snapshot and updates: offer is the ask side, every spelling of zero removes, the message's time is the book's")
  func book() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live && feed.state(1) == .absent)
    #expect(feed.books.map(\.kind) == [.snapshot])
    #expect(feed.books[0].time == Timestamp(microseconds: 1_775_572_201_456_789))
    #expect(feed.bids == [PriceLevel(price: 6_890_000, size: 150_000_000)])
    #expect(feed.asks == [PriceLevel(price: 6_890_100, size: 50_000_000)])
    feed.receive(
      Self.book(
        "update", 5,
        [
          Self.level("bid", "68900.00", "0.00000000"), Self.level("bid", "68899.5", "0"),
          Self.level("bid", "68899.00", "2.3"), Self.level("offer", "68901.00", "0.0"),
          Self.level("offer", "68902.00", "0.8"), Self.level("offer", "68902.00", "0.7"),
        ]))
    let state = feed.market.instruments[0]
    #expect(state.book.bids == [PriceLevel(price: 6_889_900, size: 230_000_000)])
    // Of a price that comes twice the last counts.
    #expect(state.book.asks == [PriceLevel(price: 6_890_200, size: 70_000_000)])
    #expect(state.quote?.bid == 6_889_900 && state.quote?.askSize == 70_000_000)
    #expect(state.book.unknownDeletes == 1)
    feed.receive(Self.book("update", 6, [Self.level("bid", "68899.00", "0"), Self.level("offer", "68902.00", "0")]))
    #expect(state.book.isEmpty && feed.state(0) == .live, "a book may be empty")
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.snapshots == 1 && counts.deltas == 2 && counts.sequenceOK == 2 && counts.gaps == 0)
  }

  @Test("one message may carry several products, and its fields stand in any order")
  func anyOrder() {
    let feed = Self.live()
    feed.receive(
      #"{"events":[{"updates":[{"new_quantity":"3","price_level":"68890.00","side":"bid"}],"product_id":"BTC-USD","type":"update"},{"updates":[{"new_quantity":"1","price_level":"2000.00","side":"offer"}],"product_id":"ETH-USD","type":"snapshot"}],"sequence_num":"5","timestamp":"2026-04-07T14:30:02Z","channel":"l2_data"}"#
    )
    #expect(feed.error == nil)
    #expect(feed.books.map(\.kind) == [.delta, .snapshot])
    #expect(feed.state(1) == .live)
    #expect(feed.market.instruments[0].book.bids.count == 2)
  }

  @Test("a hole in the connection's numbers costs every book a new snapshot, in one request each way")
  func gap() {
    let feed = Self.live()
    feed.receive(Self.book("snapshot", 5, [Self.level("bid", "2000.00", "1")], product: "ETH-USD"))
    feed.wait(1)
    feed.receive(
      #"{"channel":"heartbeats","timestamp":"2026-04-07T14:30:10Z","sequence_num":7,"events":[{"heartbeat_counter":42}]}"#
    )
    #expect(feed.resets == [.gap, .gap] && feed.isHeartbeat)
    #expect(feed.state(0) == .syncing(.gap) && feed.state(1) == .syncing(.gap))
    #expect(feed.sent == [#"{"type":"unsubscribe","product_ids":["BTC-USD","ETH-USD"],"channel":"level2"}"#])
    feed.now = feed.now + 250_000
    feed.receive(Self.subscriptions(8))
    #expect(feed.sent == [#"{"type":"subscribe","product_ids":["BTC-USD","ETH-USD"],"channel":"level2"}"#])
    // Still on its way when the book was unsubscribed, and another hole: nothing is asked for twice.
    feed.receive(Self.book("update", 11, [Self.level("bid", "1.00", "1")]))
    #expect(feed.books.isEmpty && feed.resets.isEmpty && feed.sent.isEmpty)
    feed.receive(Self.book("snapshot", 12, [Self.level("bid", "68900.00", "1"), Self.level("offer", "68901.00", "1")]))
    #expect(feed.state(0) == .live && feed.state(1) == .syncing(.gap))
    #expect(feed.engine.symbolCounts[0].gaps == 1)
    // The next hole waits before it asks again.
    feed.receive(Self.subscriptions(13))
    feed.receive(Self.book("update", 15, [Self.level("bid", "68900.00", "2")]))
    #expect(feed.resets == [.gap] && feed.books.isEmpty && feed.sent.isEmpty)
    feed.wait(0.75)
    #expect(feed.sent.isEmpty)
    feed.wait(0.5)
    #expect(feed.sent == [#"{"type":"unsubscribe","product_ids":["BTC-USD"],"channel":"level2"}"#])
  }

  @Test("the last message again is nothing; an older one is a hole")
  func repeats() {
    let feed = Self.live()
    let update = Self.book("update", 5, [Self.level("bid", "68900.00", "2")])
    feed.receive(update)
    feed.receive(update)
    #expect(feed.events.isEmpty && feed.error == nil && feed.engine.symbolCounts[0].deltas == 1)
    feed.receive(Self.trades("update", 6, [Self.trade("1", "BUY")]))
    feed.receive(Self.trades("update", 6, [Self.trade("1", "BUY")]))
    #expect(feed.trades.isEmpty && feed.engine.symbolCounts[0].trades == 1)
    feed.receive(Self.book("update", 3, [Self.level("bid", "68900.00", "9")]))
    #expect(feed.resets == [.gap] && feed.books.isEmpty)
  }

  @Test("a snapshot behind a hole is good by itself")
  func snapshotAfterHole() {
    let feed = Self.live()
    feed.receive(Self.book("snapshot", 9, [Self.level("bid", "68800.00", "1")]))
    #expect(feed.resets == [.gap] && feed.state(0) == .live)
    #expect(feed.market.instruments[0].book.bids.count == 1)
  }

  @Test(
    "a snapshot between the end of a subscription and the new one is of the one that has ended: nothing would follow it"
  )
  func snapshotOfTheEnded() {
    let feed = Self.live()
    feed.wait(10)
    #expect(feed.sent == [#"{"type":"unsubscribe","product_ids":["ETH-USD"],"channel":"level2"}"#])
    feed.receive(Self.book("snapshot", 5, [Self.level("bid", "2000.00", "1")], product: "ETH-USD"))
    #expect(feed.books.isEmpty && feed.state(1) != .live)
    feed.receive(Self.subscriptions(6))
    #expect(feed.sent == [#"{"type":"subscribe","product_ids":["ETH-USD"],"channel":"level2"}"#])
    feed.receive(Self.book("snapshot", 7, [Self.level("bid", "2001.00", "1")], product: "ETH-USD"))
    #expect(feed.state(1) == .live)
  }

  @Test("messages without numbers are taken, and then a missing heartbeat is the hole")
  func withoutNumbers() {
    let feed = Self.live()
    feed.disconnect()
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.products)
    feed.connect()
    func beat(_ counter: String) {
      feed.receive(
        #"{"channel":"heartbeats","events":[{"current_time":"2026-04-07 14:30:10.0 +0000 UTC m=+1.5","heartbeat_counter":\#(counter)}]}"#
      )
    }
    beat("41")
    feed.receive(
      #"{"channel":"l2_data","events":[{"type":"snapshot","product_id":"BTC-USD","updates":[\#(Self.level("bid", "1.00", "1"))]}]}"#
    )
    #expect(feed.state(0) == .live && feed.books[0].time != feed.now, "the newest time of the book")
    beat("\"42\"")
    #expect(feed.isHeartbeat && feed.resets.isEmpty)
    beat("44")
    #expect(feed.resets == [.gap])
  }

  @Test("the maker's side is turned round; a snapshot is backlog; trades come in the order of execution")
  func sides() {
    let feed = Self.live()
    feed.receive(
      Self.trades(
        "snapshot", 5,
        [Self.trade("103", "BUY", "2026-04-07T10:00:02Z"), Self.trade("102", "SELL", "2026-04-07T10:00:01Z")]))
    #expect(feed.trades.map(\.isBacklog) == [true, true])
    #expect(feed.trades.map(\.id.text) == ["102", "103"] && feed.trades.map(\.side) == [.buy, .sell])
    feed.receive(
      Self.trades("update", 6, [Self.trade("104", "SELL"), Self.trade("12345678901234567890", "BUY")]))
    #expect(feed.trades.map(\.side) == [.buy, .sell] && feed.trades.map(\.isBacklog) == [false, false])
    #expect(feed.trades[1].id.text == "12345678901234567890")
    #expect(feed.trades[0].price == 6_890_050 && feed.trades[0].size == 150_000)
    #expect(feed.trades[0].time == Timestamp(microseconds: 1_775_572_202_789_012))
    let newestFirst = [Self.trade("107", "BUY"), Self.trade("106", "BUY"), Self.trade("105", "BUY")]
    feed.receive(Self.trades("update", 7, newestFirst))
    #expect(feed.trades.map(\.id.text) == ["105", "106", "107"])
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.backlogTrades == 2 && counts.trades == 5)
    feed.receive(Self.trades("update", 8, [Self.trade("108", "NEITHER")]))
    #expect(feed.error?.detail.contains("side") == true && feed.trades.isEmpty)
  }

  @Test("24 h figures; the change is in percent")
  func ticker() throws {
    let feed = Self.live()
    feed.receive(
      #"{"channel":"ticker","timestamp":"2026-04-07T14:30:03.000000Z","sequence_num":5,"events":[{"type":"snapshot","tickers":[{"type":"ticker","product_id":"BTC-USD","price":"68900.50","volume_24_h":"15328.12345678","low_24_h":"67500.00","high_24_h":"69200.00","low_52_w":"25000.00","high_52_w":"73800.00","price_percent_chg_24_h":"-4.15775596190603","best_bid":"68900.00","best_bid_quantity":"1.5","best_ask":"","best_ask_quantity":"0"},{"product_id":"SOL-USD","price":"1"}]}]}"#
    )
    let ticker = try #require(feed.tickers.first)
    #expect(feed.tickers.count == 1 && feed.engine.counts.ignored == 1, "what is not carried is passed over")
    #expect(ticker.last == 6_890_050 && ticker.high == 6_920_000 && ticker.low == 6_750_000 && ticker.open == nil)
    #expect(ticker.bid == 6_890_000 && ticker.ask == nil)
    #expect(ticker.volume == Decimal64(mantissa: 1_532_812_345_678, scale: 8))
    #expect(ticker.changePercent == Decimal64(mantissa: -415_775_596_190_603, scale: 14))
    #expect(ticker.time == Timestamp(microseconds: 1_775_572_203_000_000))
  }

  @Test("an unreadable message costs itself and its own book, and the numbers go on behind it")
  func malformed() {
    let feed = Self.live()
    feed.receive(Self.book("snapshot", 5, [Self.level("bid", "2000.00", "1")], product: "ETH-USD"))
    feed.receive(String(Self.book("update", 6, [Self.level("bid", "68900.00", "2")]).dropLast(9)))
    #expect(feed.error?.kind == .json && feed.resets == [.malformed])
    #expect(feed.state(0) == .syncing(.malformed) && feed.state(1) == .live)
    feed.receive(Self.book("update", 7, [Self.level("bid", "2000.00", "2")], product: "ETH-USD"))
    #expect(feed.state(1) == .live && feed.books.count == 1)
    feed.receive(String(Self.trades("update", 8, [Self.trade("9", "BUY")]).dropLast(4)))
    #expect(feed.error != nil && feed.state(1) == .live)
    // Cut before its number: that it had one is known.
    feed.receive(#"{"channel":"market_trades","timest"#)
    feed.receive(Self.book("update", 10, [Self.level("bid", "2000.00", "3")], product: "ETH-USD"))
    #expect(feed.state(1) == .live)
    // Cut before it says what it was: it may have been of any book.
    feed.receive(#"{"cha"#)
    #expect(feed.resets == [.malformed] && feed.state(1) == .syncing(.malformed))
  }

  @Test("channels that are not used are counted; what is no message is refused")
  func others() {
    let feed = Self.live()
    feed.receive(
      #"{"channel":"candles","timestamp":"2026-04-07T14:30:05Z","sequence_num":5,"events":[{"type":"update","candles":[]}]}"#
    )
    #expect(feed.error == nil && feed.engine.counts.ignored == 1)
    feed.receive(Self.book("update", 6, [Self.level("bid", "1.00", "1")], product: "SOL-USD"))
    #expect(feed.error == nil && feed.books.isEmpty && feed.engine.counts.ignored == 2)
    #expect(feed.state(0) == .live)
    feed.receive(
      #"{"channel":"l2_data","sequence_num":7,"events":[{"type":"partial","product_id":"BTC-USD","updates":[]}]}"#)
    #expect(feed.error?.detail.contains("neither snapshot nor update") == true)
    #expect(feed.resets == [.malformed])
    feed.receive("[]")
    #expect(feed.error != nil)
  }
}
