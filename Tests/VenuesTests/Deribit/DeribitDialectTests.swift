import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Deribit's feed")
struct DeribitDialectTests {
  /// Linear and inverse, new and old, and what is no future.
  static let list =
    #"{"jsonrpc":"2.0","result":[{"instrument_name":"BTC-PERPETUAL","kind":"future","instrument_type":"reversed","future_type":"reversed","tick_size":0.5,"tick_size_steps":[],"contract_size":10.0,"min_trade_amount":10.0,"base_currency":"BTC","quote_currency":"USD","settlement_currency":"BTC","settlement_period":"perpetual","expiration_timestamp":32503708800000,"is_active":true},{"instrument_name":"ETH-PERPETUAL","kind":"future","tick_size":0.05,"contract_size":1,"base_currency":"ETH","quote_currency":"USD","settlement_period":"perpetual","expiration_timestamp":32503708800000},{"instrument_name":"BTC_USDC-PERPETUAL","kind":"future","instrument_type":"linear","future_type":"linear","tick_size":0.1,"tick_size_steps":[],"contract_size":1.0e-4,"min_trade_amount":1.0e-4,"base_currency":"BTC","quote_currency":"USDC","settlement_currency":"USDC","settlement_period":"perpetual","expiration_timestamp":32503708800000},{"instrument_name":"BTC_USDC-25DEC26","kind":"future","future_type":"linear","tick_size":2.5,"contract_size":1.0e-4,"base_currency":"BTC","quote_currency":"USDC","settlement_period":"month","expiration_timestamp":1798185600000},{"instrument_name":"DOGE_USDC-PERPETUAL","kind":"future","instrument_type":"linear","tick_size":1e-05,"contract_size":100,"base_currency":"DOGE","quote_currency":"USDC","settlement_period":"perpetual"},{"instrument_name":"BTC-25DEC26-100000-C","kind":"option","instrument_type":"reversed","strike":100000.0,"base_currency":"BTC","quote_currency":"BTC","expiration_timestamp":1798185600000}],"usIn":1,"usOut":2,"usDiff":1,"testnet":false}"#

  static func prepared(_ symbols: [String]) -> EngineHarness {
    let feed = EngineHarness(Deribit.venue, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    return feed
  }

  static func connected(_ symbols: [String]) -> EngineHarness {
    let feed = prepared(symbols)
    feed.connect()
    feed.now = feed.now + 1_000_000
    return feed
  }

  static func live(_ symbols: [String] = ["BTC-USDC-PERP", "DOGE-USDC-PERP"]) -> EngineHarness {
    let feed = connected(symbols)
    feed.receive(snapshot(100))
    return feed
  }

  static func snapshot(_ number: Int, _ name: String = "BTC_USDC-PERPETUAL") -> String {
    #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.\#(name).100ms","data":{"timestamp":1790133840448,"type":"snapshot","change_id":\#(number),"instrument_name":"\#(name)","bids":[["new",86775.8,0.216],["new",86773.4,0.0477]],"asks":[["new",86776.0,9.0e-4],["new",86778.0,0.3001]]}}}"#
  }

  static func change(_ number: Int, _ previous: Int, bids: String = "", asks: String = "") -> String {
    #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC_USDC-PERPETUAL.100ms","data":{"timestamp":1790133842703,"type":"change","change_id":\#(number),"instrument_name":"BTC_USDC-PERPETUAL","bids":[\#(bids)],"asks":[\#(asks)],"prev_change_id":\#(previous)}}}"#
  }

  static func quote(_ bid: String, _ ask: String) -> String {
    #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"quote.BTC_USDC-PERPETUAL","data":{"timestamp":1700000000500,"instrument_name":"BTC_USDC-PERPETUAL","best_ask_price":\#(ask),"best_bid_price":\#(bid),"best_ask_amount":9.0e-4,"best_bid_amount":0.216}}}"#
  }

  // MARK: Instruments and subscriptions

  @Test("the list of futures; then the heartbeat and all channels, word for word")
  func subscribes() {
    let feed = Self.prepared(["BTC-USDC-PERP", "BTC-USDC-20261225"])
    #expect(feed.engine.isPrepared && feed.failures.isEmpty)
    #expect(feed.market.instruments.map(\.instrument.venueSymbol) == ["BTC_USDC-PERPETUAL", "BTC_USDC-25DEC26"])
    #expect(
      feed.market.instruments.map(\.instrument.symbol) == ["deribit:BTC-USDC-PERP", "deribit:BTC-USDC-20261225"])
    feed.connect()
    #expect(
      feed.sent == [
        #"{"jsonrpc":"2.0","id":2,"method":"public/set_heartbeat","params":{"interval":10}}"#,
        #"{"jsonrpc":"2.0","id":3,"method":"public/subscribe","params":{"channels":["book.BTC_USDC-PERPETUAL.100ms","quote.BTC_USDC-PERPETUAL","trades.BTC_USDC-PERPETUAL.100ms","ticker.BTC_USDC-PERPETUAL.agg2","book.BTC_USDC-25DEC26.100ms","quote.BTC_USDC-25DEC26","trades.BTC_USDC-25DEC26.100ms","ticker.BTC_USDC-25DEC26.agg2","platform_state"]}}"#,
      ])
  }

  @Test("increments, with exponents; amounts are in base units and are not multiplied by the contract's size")
  func sizes() {
    let feed = Self.live()
    let bitcoin = feed.market.instruments[0].instrument
    #expect(bitcoin.priceIncrement == Decimal64(mantissa: 1, scale: 1) && bitcoin.priceScale == 1)
    #expect(bitcoin.sizeIncrement == Decimal64(mantissa: 1, scale: 4) && bitcoin.sizeScale == 4)
    #expect(bitcoin.contractSize == Decimal64(mantissa: 1, scale: 0))
    let doge = feed.market.instruments[1].instrument
    #expect(doge.priceIncrement == Decimal64(mantissa: 1, scale: 5))
    #expect(doge.sizeIncrement == Decimal64(mantissa: 100, scale: 0) && doge.sizeScale == 0)
    feed.receive(
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"trades.DOGE_USDC-PERPETUAL.100ms","data":[{"timestamp":1700000000500,"price":1.9352e-1,"amount":2.2e3,"direction":"buy","instrument_name":"DOGE_USDC-PERPETUAL","trade_seq":7,"trade_id":"DOGE-7"}]}}"#
    )
    #expect(feed.trades.map(\.size) == [2_200] && feed.trades.map(\.price) == [19_352])
  }

  @Test("refused: inverse contracts with what to write instead, spot, options, and names that are not there")
  func refusals() {
    let feed = Self.prepared(["BTC-USD-PERP", "ETH-USD-PERP", "BTC-USDC", "BTC-USDC-PERP", "BTX-USDC-PERP"])
    #expect(
      feed.failures["BTC-USD-PERP"]
        == "BTC-PERPETUAL is an inverse contract, or its size is not listed: what is traded has no exact value in BTC: write BTC-USDC-PERP"
    )
    #expect(feed.failures["ETH-USD-PERP"]?.contains("ETH-PERPETUAL is an inverse contract") == true)
    #expect(
      feed.failures["BTX-USDC-PERP"]?.hasPrefix("Deribit has no market BTX-USDC-PERP (did you mean BTC-USDC-PERP")
        == true)
    #expect(feed.market.instruments.count == 1)
    let others = EngineHarness(Deribit.venue, ["BTC-USDC", "BTC-USD-20261225-100000-C"])
    others.prepare()
    #expect(others.gets.isEmpty, "of no kind that is carried: nothing is asked for")
    #expect(
      others.failures["BTC-USDC"]?.contains("the gateway follows only future and perpetual markets of Deribit") == true)
    #expect(others.failures["BTC-USD-20261225-100000-C"]?.contains("is not a symbol") == true)
  }

  // MARK: Books

  @Test(
    "changes are chained by the number before theirs; an amount of 0 and the word delete both remove; the last one again is nothing"
  )
  func books() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live)
    let book = { feed.market.instruments[0].book }
    let first = Self.change(
      193_809_634_213, 100, bids: #"["delete",86775.8,0.0],["delete",1.0,0.0]"#,
      asks: #"["new",86775.9,1.0],["change",86776.0,2.2e3],["delete",86778.0,0.3001]"#)
    feed.receive(first)
    #expect(feed.books.map(\.kind) == [.delta])
    #expect(try #require(feed.books.first).time == Timestamp(milliseconds: 1_790_133_842_703))
    #expect(book().bids == [PriceLevel(price: 867_734, size: 477)])
    #expect(
      book().asks == [PriceLevel(price: 867_760, size: 22_000_000), PriceLevel(price: 867_759, size: 10_000)])
    #expect(book().unknownDeletes == 1)
    feed.receive(first)
    #expect(feed.books.isEmpty && feed.resets.isEmpty && feed.state(0) == .live)
    feed.receive(Self.change(193_809_634_214, 193_809_634_213, bids: #"["new",86775.0,1.0],["change",86775.0,3.0]"#))
    #expect(book().bestBid == PriceLevel(price: 867_750, size: 30_000), "of a price that comes twice the last counts")
    feed.receive(Self.change(193_809_634_999, 193_809_634_214, bids: #"["change",86775.0,0.0]"#))
    #expect(book().bestBid?.price == 867_734)
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.snapshots == 1 && counts.deltas == 4 && counts.sequenceOK == 3 && counts.gaps == 0)
  }

  @Test("many books that are lost at once are subscribed again in one pair of requests a second, within the credits")
  func pacing() {
    let names = (0..<150).map { "C\($0)" }
    let entries = names.map {
      #"{"instrument_name":"\#($0)_USDC-PERPETUAL","kind":"future","instrument_type":"linear","tick_size":0.1,"contract_size":0.1,"base_currency":"\#($0)","quote_currency":"USDC","settlement_period":"perpetual"}"#
    }
    let feed = EngineHarness(Deribit.venue, names.map { $0 + "-USDC-PERP" })
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"{"result":[\#(entries.joined(separator: ","))]}"#)
    feed.connect()
    // The heartbeat, and two requests of at most 400 channels and the platform's: two in a second.
    #expect(feed.sent.count == 2)
    feed.wait(1)
    #expect(feed.sent.count == 1)
    for name in names { feed.receive(Self.snapshot(100, name + "_USDC-PERPETUAL")) }
    var sent = 0
    for name in names {
      feed.receive(
        Self.snapshot(100, name + "_USDC-PERPETUAL").replacing(#""type":"snapshot""#, with: #""type":"change""#)
          .replacing("]}}}", with: #"],"prev_change_id":7}}}"#))
      sent += feed.sent.count
    }
    feed.wait(10)
    sent += feed.sent.count
    #expect(sent == 4, "two pairs, of 100 and of 50 books: \(sent)")
  }

  @Test("a quote that moves while its book stays as it is: the book has died, and is subscribed again")
  func frozen() {
    let feed = Self.live(["BTC-USDC-PERP"])
    feed.receive(Self.quote("86775.8", "86776.0"))
    feed.wait(60)
    feed.receive(#"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"heartbeat"}}"#)
    feed.tick()
    #expect(feed.state(0) == .live, "quiet is not dead")
    feed.receive(Self.quote("86775.9", "86776.0"))
    feed.receive(Self.change(101, 100, bids: #"["new",86775.9,0.216]"#))
    feed.wait(20)
    feed.receive(#"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"heartbeat"}}"#)
    feed.tick()
    #expect(feed.state(0) == .live, "the book followed its quote")
    feed.receive(Self.quote("86775.8", "86776.0"))
    feed.wait(20)
    #expect(feed.state(0) == .live, "nothing at all was heard")
    feed.receive(Self.quote("86775.8", "86776.0"))
    feed.wait(0.25)
    #expect(feed.state(0) == .syncing(.stale) && feed.sent.count == 2)
  }

  @Test("empty sides, a number before a snapshot that is null or anything, a grouped book")
  func oddBooks() {
    let feed = Self.live()
    feed.receive(
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC_USDC-PERPETUAL.100ms","data":{"type":"snapshot","instrument_name":"BTC_USDC-PERPETUAL","timestamp":1699999999000,"change_id":5,"prev_change_id":null,"bids":[],"asks":[]}}}"#
    )
    #expect(feed.error == nil && feed.state(0) == .live && feed.market.instruments[0].book.isEmpty)
    feed.receive(
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC_USDC-PERPETUAL.100ms","data":{"type":"snapshot","timestamp":1654041599955,"instrument_name":"BTC_USDC-PERPETUAL","prev_change_id":20,"change_id":1232767964,"bids":[["new",7.5,34]],"asks":[]}}}"#
    )
    #expect(feed.market.instruments[0].book.bestBid == PriceLevel(price: 75, size: 340_000))
    feed.receive(
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC_USDC-PERPETUAL.none.10.100ms","data":{"instrument_name":"BTC_USDC-PERPETUAL","timestamp":1769246173071,"change_id":136725664747,"bids":[[89532.5,254900.0]],"asks":[]}}}"#
    )
    #expect(feed.error == nil && feed.books.isEmpty && feed.engine.counts.ignored == 1)
  }

  // MARK: Quotes, trades, statistics

  @Test("the quote; a side without orders is empty, however that is said")
  func quotes() {
    let feed = Self.live()
    feed.receive(Self.quote("86775.8", "86776.0"))
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[867_758, 2_160, 867_760, 9]])
    feed.receive(Self.quote("null", "0.0"))
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[0, 0, 0, 0]])
  }

  @Test("the first message of trades may be of trades from before; no later one is")
  func oldTrades() {
    let feed = Self.live()
    func trade(_ id: Int, _ milliseconds: Int64) -> String {
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"trades.BTC_USDC-PERPETUAL.100ms","data":[{"timestamp":\#(milliseconds),"price":92294.5,"amount":0.1,"direction":"sell","instrument_name":"BTC_USDC-PERPETUAL","trade_id":"\#(id)"}]}}"#
    }
    let now = feed.now.microseconds / 1_000
    feed.receive(trade(1, now - 3_600_000))
    #expect(feed.trades.map(\.isBacklog) == [true])
    feed.receive(trade(2, now - 3_600_000))
    #expect(feed.trades.map(\.isBacklog) == [false])
  }

  @Test("a change that names no number before it cannot be read, and costs the book")
  func unlinked() {
    let feed = Self.live()
    feed.receive(Self.change(101, 100).replacing(#""prev_change_id":100"#, with: #""prev_change_id":null"#))
    #expect(feed.error?.detail.contains("prev_change_id") == true && feed.resets == [.malformed])
  }

  @Test("trades: several in a message, the taker's side, text ids; block trades are no price, legs of combos are")
  func trades() {
    let feed = Self.live()
    feed.receive(
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"trades.BTC_USDC-PERPETUAL.100ms","data":[{"timestamp":1700000000500,"price":92294.5,"amount":0.1,"direction":"sell","index_price":92276.75,"instrument_name":"BTC_USDC-PERPETUAL","trade_seq":271252854,"combo_trade_id":"43","trade_id":"ETH-403691824"},{"timestamp":1700000000501,"price":92288.5,"amount":0.75,"direction":"buy","instrument_name":"BTC_USDC-PERPETUAL","trade_seq":271252855,"liquidation":"MT","trade_id":"403691825"},{"timestamp":1700000000501,"price":90000.0,"amount":75.0,"direction":"buy","instrument_name":"BTC_USDC-PERPETUAL","trade_seq":271252856,"block_trade_id":"BLOCK-1","trade_id":"403691826"}]}}"#
    )
    #expect(feed.trades.map(\.side) == [.sell, .buy] && feed.trades.map(\.price) == [922_945, 922_885])
    #expect(feed.trades.map(\.id.text) == ["ETH-403691824", "403691825"] && feed.trades.allSatisfy { !$0.isBacklog })
    #expect(feed.trades.map(\.time) == [500, 501].map { Timestamp(milliseconds: 1_700_000_000_000 + $0) })
    #expect(feed.engine.symbolCounts[0].trades == 2)
    feed.receive(
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"trades.BTC_USDC-PERPETUAL.100ms","data":[]}}"#)
    #expect(feed.error == nil && feed.trades.isEmpty)
  }

  @Test("statistics, of which any may be missing or null")
  func tickers() throws {
    let feed = Self.live()
    func ticker(_ stats: String) -> String {
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"ticker.BTC_USDC-PERPETUAL.agg2","data":{"timestamp":1765541474086,"state":"open","stats":\#(stats),"index_price":92263.55,"instrument_name":"BTC_USDC-PERPETUAL","last_price":92283.5,"mark_price":92281.78,"interest_value":0.0028213400122472977,"best_ask_price":92284.0,"best_bid_price":0.0,"funding_8h":1.742e-05}}}"#
    }
    feed.receive(
      ticker(
        #"{"high":93612.0,"low":89277.5,"price_change":2.3275,"volume":11897.27640428,"volume_usd":1092371540.0,"volume_notional":1.09e9}"#
      ))
    let full = try #require(feed.tickers.first)
    #expect(full.last == 922_835 && full.high == 936_120 && full.low == 892_775 && full.ask == 922_840)
    #expect(full.bid == nil && full.changePercent == Decimal64(mantissa: 23_275, scale: 4))
    #expect(full.volume == Decimal64(mantissa: 1_189_727_640_428, scale: 8))
    #expect(full.quoteVolume == Decimal64(mantissa: 1_090_000_000, scale: 0))
    feed.receive(ticker(#"{"volume":null,"price_change":null,"low":null,"high":null}"#))
    let empty = try #require(feed.tickers.first)
    #expect(feed.error == nil && empty.high == nil && empty.volume == nil && empty.last == 922_835)
    feed.receive(ticker("null"))
    #expect(feed.error == nil && feed.tickers.count == 1)
  }

  // MARK: The connection

  @Test("every test request is answered at once, whatever waits to be sent; heartbeats are life")
  func keepAlive() {
    let feed = Self.live()
    feed.receive(#"{"params":{"type":"heartbeat"},"method":"heartbeat","jsonrpc":"2.0"}"#)
    #expect(feed.isHeartbeat && feed.sent.isEmpty && feed.error == nil)
    feed.receive(#"{"params":{"type":"test_request"},"method":"heartbeat","jsonrpc":"2.0"}"#)
    #expect(feed.isHeartbeat)
    #expect(feed.sent == [#"{"jsonrpc":"2.0","id":0,"method":"public/test","params":{}}"#])
    feed.receive(
      #"{"jsonrpc":"2.0","id":0,"result":{"version":"1.2.26"},"usIn":1,"usOut":2,"usDiff":1,"testnet":false}"#)
    feed.receive(#"{"jsonrpc":"2.0","id":2,"result":"ok"}"#)
    #expect(feed.error == nil && feed.events.isEmpty)
    feed.receive(Self.change(150, 140))
    feed.receive(#"{"params":{"type":"test_request"},"method":"heartbeat","jsonrpc":"2.0"}"#)
    #expect(feed.sent.count == 1)
  }

  @Test("what an acknowledgement does not list is refused, and nothing else; its order says nothing")
  func acknowledgements() {
    let feed = Self.connected(["BTC-USDC-PERP", "DOGE-USDC-PERP", "BTC-USDC-20261225"])
    feed.receive(
      #"{"jsonrpc":"2.0","id":3,"result":["platform_state","ticker.BTC_USDC-PERPETUAL.agg2","book.DOGE_USDC-PERPETUAL.100ms","book.BTC_USDC-PERPETUAL.100ms"],"usIn":1,"usOut":2,"usDiff":1,"testnet":false}"#
    )
    #expect(feed.failures.keys.sorted() == ["BTC-USDC-20261225"])
    #expect(feed.failures["BTC-USDC-20261225"]?.contains("not listed, or has expired") == true)
    feed.receive(Self.snapshot(1))
    feed.receive(Self.snapshot(1, "DOGE_USDC-PERPETUAL"))
    feed.wait(120)
    #expect(!feed.sent.contains { $0.contains("25DEC26") }, "what is refused is not asked for again")
    #expect(feed.sent.contains { $0.contains("quote.BTC_USDC-PERPETUAL") }, "what is missing beside a book is")
    #expect(feed.state(0) == .live && feed.state(1) == .live)
  }

  @Test("a rate limit: the same request again, later")
  func rateLimit() {
    let feed = Self.connected(["BTC-USDC-PERP"])
    feed.receive(#"{"jsonrpc":"2.0","id":3,"error":{"code":10028,"message":"too_many_requests","data":null}}"#)
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
    feed.wait(4)
    #expect(feed.sent.isEmpty)
    feed.wait(2)
    #expect(feed.sent.count == 1 && feed.sent[0].contains(#""id":4,"method":"public/subscribe""#))
    #expect(feed.sent[0].contains("trades.BTC_USDC-PERPETUAL.100ms"))
  }

  @Test("a request that is refused as a whole is asked for in halves, until it is known whom it was about")
  func bisection() {
    let feed = Self.connected(["BTC-USDC-PERP", "DOGE-USDC-PERP"])
    feed.isAnswered = { _ in false }
    feed.receive(#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Invalid params"},"usIn":1}"#)
    #expect(feed.failures.isEmpty && feed.error?.kind == .refused)
    feed.wait(1)
    #expect(feed.sent.count == 2)
    feed.receive(#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"Invalid params"}}"#)
    #expect(feed.failures == ["BTC-USDC-PERP": "code -32602: Invalid params"])
    feed.receive(#"{"jsonrpc":"2.0","id":5,"result":["book.DOGE_USDC-PERPETUAL.100ms"]}"#)
    #expect(feed.failures.isEmpty)
    feed.receive(#"{"jsonrpc":"2.0","error":{"code":11050,"message":"bad_request"}}"#)
    #expect(feed.error?.kind == .refused && feed.error?.detail == "request: code 11050: bad_request")
  }

  @Test("maintenance is told; the first acknowledgement after it ends it")
  func maintenance() {
    let feed = Self.live()
    func state(_ actions: [FeedAction]) -> [Bool] {
      actions.compactMap { if case .maintenance(let isOn) = $0 { isOn } else { nil } }
    }
    let text =
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"platform_state","data":{"maintenance":true}}}"#
    feed.receive(text)
    #expect(state(feed.actions) == [true])
    feed.receive(text)
    feed.receive(
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"platform_state","data":{"price_index":"sol_usdc","locked":true}}}"#
    )
    #expect(state(feed.actions).isEmpty && feed.error == nil && feed.engine.counts.ignored == 1)
    feed.disconnect()
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.list)
    feed.connect()
    feed.receive(
      #"{"jsonrpc":"2.0","id":6,"result":["book.BTC_USDC-PERPETUAL.100ms","book.DOGE_USDC-PERPETUAL.100ms"]}"#)
    #expect(state(feed.actions) == [false] && feed.failures.isEmpty)
  }

  // MARK: Bad input

  @Test("a message that cannot be read costs itself and its own book, and its error says what was wrong")
  func malformed() {
    let feed = Self.live()
    feed.receive(Self.change(101, 100, bids: #"["new",86775.8,"0.-10000"]"#))
    #expect(feed.error?.kind == .decimal && feed.resets == [.malformed])
    feed.receive(Self.snapshot(200))
    feed.receive(Self.change(201, 200, bids: #"["new",86775.8,-1.0]"#))
    #expect(feed.error?.detail.contains("negative size") == true && feed.resets == [.malformed])
    feed.receive(#"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.X.100ms"}}"#)
    #expect(feed.error?.detail == "subscription without field data")
    feed.receive(Self.snapshot(1, "XYZ_USDC-PERPETUAL"))
    #expect(feed.error?.kind == .unknownSymbol)
    feed.receive(#"{"jsonrpc":"2.0"}"#)
    #expect(feed.error?.kind == .shape)
    feed.receive([0x1F, 0x8B, 0x08, 0x00])
    #expect(feed.error?.kind == .json)
    feed.receive(
      #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"deribit_volatility_index.btc_usd","data":{"volatility":129.36}}}"#
    )
    #expect(feed.error == nil && feed.engine.counts.ignored == 1)
  }

  @Test("numbers beyond 64 bits, times that are none, more digits than the list promised")
  func oddNumbers() {
    let feed = Self.live()
    feed.receive(Self.change(101, 100).replacing("101", with: "12345678901234567890123"))
    #expect(feed.error != nil)
    feed.receive(Self.snapshot(200).replacing("1790133840448", with: "-62135596800000"))
    #expect(feed.error == nil && feed.books.map(\.time) == [feed.now], "the year 0001 is no time")
    feed.receive(Self.change(201, 200, bids: #"["new",86775.85,1.0e-6]"#))
    #expect(feed.error == nil && feed.state(0) == .live)
    let instrument = feed.market.instruments[0].instrument
    #expect(instrument.priceScale == 2 && instrument.sizeScale == 6)
    #expect(feed.market.instruments[0].book.bestBid == PriceLevel(price: 8_677_585, size: 1))
  }
}
