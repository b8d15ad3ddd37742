import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Bitget's feed")
struct BitgetDialectTests {
  static let pairs =
    #"{"code":"00000","msg":"success","requestTime":1790358000000,"data":[{"symbol":"BTCUSDT","baseCoin":"BTC","quoteCoin":"USDT","minTradeAmount":"0","pricePrecision":"2","quantityPrecision":"6","quotePrecision":"8","status":"online","openTime":"1532454360000","offTime":""},{"symbol":"ETHUSDT","baseCoin":"ETH","quoteCoin":"USDT","pricePrecision":"2","quantityPrecision":"4","status":"gray"},{"symbol":"OLDUSDT","baseCoin":"OLD","quoteCoin":"USDT","pricePrecision":"4","quantityPrecision":"2","status":"halt"}]}"#
  static let contracts =
    #"{"code":"00000","msg":"success","requestTime":1790358000000,"data":[{"symbol":"BTCUSDU26","baseCoin":"BTC","quoteCoin":"USDT","priceEndStep":"1","volumePlace":"4","pricePlace":"1","sizeMultiplier":"0.0001","symbolType":"delivery","symbolStatus":"normal"},{"symbol":"BTCUSDT","baseCoin":"BTC","quoteCoin":"USDT","minTradeNum":"0.0001","priceEndStep":"5","volumePlace":"4","pricePlace":"1","sizeMultiplier":"0.0001","symbolType":"perpetual","symbolStatus":"normal"},{"symbol":"龙虾USDT","baseCoin":"龙虾","quoteCoin":"USDT","priceEndStep":"1","volumePlace":"0","pricePlace":"5","sizeMultiplier":"1","symbolType":"perpetual","symbolStatus":"limit_open"},{"symbol":"OLDUSDT","baseCoin":"OLD","quoteCoin":"USDT","priceEndStep":"1","volumePlace":"0","pricePlace":"5","sizeMultiplier":"1","symbolType":"perpetual","symbolStatus":"off"}]}"#

  static func connected(_ symbols: [String] = ["BTC-USDT", "ETH-USDT"]) -> EngineHarness {
    let isSpot = !symbols[0].hasSuffix("-PERP")
    let feed = EngineHarness(isSpot ? Bitget.spot : Bitget.usdt, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, isSpot ? pairs : contracts)
    feed.connect()
    feed.now = feed.now + 1_000_000
    return feed
  }

  static func live() -> EngineHarness {
    let feed = connected()
    feed.receive(book("snapshot", 100, 0, bids: #"["80688.1","0.5"],["80688","2"]"#, asks: #"["80691.5","0.2"]"#))
    return feed
  }

  static func message(
    _ channel: String, _ action: String, _ data: String, symbol: String = "BTCUSDT", family: String = "SPOT"
  ) -> String {
    #"{"action":"\#(action)","arg":{"instType":"\#(family)","channel":"\#(channel)","instId":"\#(symbol)"},"data":[\#(data)],"ts":1790358811401}"#
  }

  static func book(
    _ action: String, _ number: Int, _ previous: Int, bids: String = "", asks: String = "", symbol: String = "BTCUSDT",
    channel: String = "books"
  ) -> String {
    message(
      channel, action,
      #"{"asks":[\#(asks)],"bids":[\#(bids)],"ts":"1790358811400","seq":\#(number),"pseq":\#(previous)}"#,
      symbol: symbol)
  }

  static func trade(_ id: UInt64, _ side: String = "sell", _ milliseconds: Int64 = 1_790_358_780_904) -> String {
    #"{"ts":"\#(milliseconds)","price":"83715.7","size":"0.000012","side":"\#(side)","tradeId":"\#(id)"}"#
  }

  static func answer(_ event: String, _ channel: String, _ symbol: String, _ rest: String = "") -> String {
    #"{"event":"\#(event)","arg":{"instType":"SPOT","channel":"\#(channel)","instId":"\#(symbol)"}\#(rest)}"#
  }

  // MARK: Lists and requests

  @Test("pairs and perpetuals of the same name are on connections of their own, to one address")
  func connections() {
    let symbols = ["BTC-USDT", "BTC-USDT-PERP"]
    let connections = Bitget.venue.connections(for: FeedConfiguration(symbols: symbols))
    #expect(connections.map(\.venue.label) == ["bitget", "bitget-usdt"])
    #expect(connections.map(\.configuration.symbols) == symbols.map { [$0] })
    #expect(Set(connections.map(\.venue.endpoint)) == ["wss://ws.bitget.com/v2/ws/public"])
    let local = Bitget.venue.connections(for: FeedConfiguration(symbols: symbols, endpoint: "ws://127.0.0.1:9"))
    #expect(local.map(\.configuration.endpoint) == Array(repeating: "ws://127.0.0.1:9/v2/ws/public", count: 2))
    // Four channels each, and one of the canary, are less than 50.
    #expect(Bitget.venue.symbolLimit * 4 + 1 < 50)
  }

  @Test("the list, then all channels of up to ten symbols in a request; what is not traded is refused")
  func subscribes() {
    let feed = EngineHarness(Bitget.spot, ["BTC-USDT", "OLD-USDT", "BTC-USTD"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v2/spot/public/symbols"])
    feed.respond(feed.gets[0].request, 200, Self.pairs)
    #expect(feed.engine.isPrepared && feed.gets.isEmpty)
    #expect(feed.failures["BTC-USTD"] == "Bitget spot has no market BTC-USTD (did you mean BTC-USDT?)")
    #expect(feed.failures["OLD-USDT"] != nil)
    let bitcoin = feed.market.instruments[0].instrument
    #expect(bitcoin.priceIncrement == Decimal64(mantissa: 1, scale: 2) && bitcoin.priceScale == 2)
    #expect(bitcoin.sizeIncrement == Decimal64(mantissa: 1, scale: 6) && bitcoin.sizeScale == 6)
    feed.connect()
    let argument = ["books", "books1", "trade", "ticker"].map {
      #"{"instType":"SPOT","channel":"\#($0)","instId":"BTCUSDT"}"#
    }
    #expect(feed.sent == [#"{"op":"subscribe","args":[\#(argument.joined(separator: ","))]}"#])
    feed.wait(1)
    #expect(feed.sent.isEmpty, "its ticker is the canary's, which is followed already")
  }

  @Test("a contract's tick is priceEndStep of its last digit, and its sizes are in base units; dated ones are left out")
  func contracts() {
    let feed = EngineHarness(Bitget.usdt, ["BTC-USDT-PERP", "龙虾-USDT-PERP", "OLD-USDT-PERP"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v2/mix/market/contracts?productType=USDT-FUTURES"])
    feed.respond(feed.gets[0].request, 200, Self.contracts)
    #expect(feed.failures.keys.sorted() == ["OLD-USDT-PERP"])
    let bitcoin = feed.market.instruments[0].instrument
    #expect(bitcoin.venueSymbol == "BTCUSDT" && bitcoin.kind == .perpetual)
    #expect(bitcoin.priceIncrement == Decimal64(mantissa: 5, scale: 1))
    #expect(bitcoin.sizeIncrement == Decimal64(mantissa: 1, scale: 4))
    #expect(bitcoin.contractSize == Decimal64(mantissa: 1, scale: 0))
    feed.connect()
    #expect(feed.sent.first?.contains(#"{"instType":"USDT-FUTURES","channel":"books","instId":"龙虾USDT"}"#) == true)
    feed.receive(
      Self.message(
        "books", "snapshot",
        #"{"asks":[["62914","2.8221"]],"bids":[["62913.5","6.9558"]],"ts":"1785548251835","seq":793680826410,"pseq":0}"#,
        family: "USDT-FUTURES"))
    #expect(feed.state(0) == .live && feed.shownBids == ["62913.5 6.9558"])
    // The pair of that name.
    feed.receive(Self.book("update", 793680826411, 793680826410, bids: #"["1","1"]"#))
    #expect(feed.error == nil && feed.books.isEmpty && feed.state(0) == .live)
    #expect(feed.engine.counts.ignored == 1)
  }

  @Test("an answer that says another code than success is no list")
  func refusedList() {
    let feed = EngineHarness(Bitget.spot, ["BTC-USDT"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"{"code":"40034","msg":"Parameter does not exist","data":[]}"#)
    #expect(!feed.engine.isPrepared)
  }

  @Test("24 h volumes are those in the quote currency")
  func volumes() throws {
    var volumes = MarketVolumes()
    let body = Array(
      #"{"code":"00000","data":[{"symbol":"BTCUSDT","lastPr":"1","baseVolume":"2673.6","quoteVolume":"225237773.3","usdtVolume":"7"}]}"#
        .utf8)
    try Bitget.volumes(isSpot: true).read(body.span.bytes, &volumes)
    #expect(volumes.byName == ["BTCUSDT": Decimal64(mantissa: 2_252_377_733, scale: 1)])
    #expect(Bitget("usdt").facts.volumes.map(\.path) == ["/api/v2/mix/market/tickers?productType=USDT-FUTURES"])
  }

  // MARK: Books

  @Test("an update names the number before its own, which may jump; the last one again is nothing")
  func books() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live && feed.shownBids == ["80688.1 0.5", "80688 2"])
    let update = Self.book("update", 132, 100, bids: #"["80688.1","0"]"#, asks: #"["80691.4","0.3"]"#)
    feed.receive(update)
    #expect(feed.books.map(\.kind) == [.delta])
    #expect(try #require(feed.books.first).time == Timestamp(milliseconds: 1_790_358_811_400))
    #expect(feed.shownBids == ["80688 2"] && feed.shownAsks == ["80691.4 0.3", "80691.5 0.2"])
    feed.receive(update)
    #expect(feed.books.isEmpty && feed.state(0) == .live)
    feed.receive(Self.book("update", 140, 132))
    #expect(feed.state(0) == .live && feed.resets.isEmpty)
    #expect(feed.engine.symbolCounts[0].sequenceOK == 2 && feed.engine.symbolCounts[0].gaps == 0)
    // A snapshot replaces whatever is there.
    feed.receive(Self.book("snapshot", 90, 0, bids: #"["80680","1"]"#))
    #expect(feed.state(0) == .live && feed.shownBids == ["80680 1"] && feed.shownAsks == [])
  }

  @Test("the first update may begin before its snapshot and end behind it; one that ends before it is in it already")
  func joins() {
    let feed = Self.live()
    feed.receive(Self.book("update", 100, 90, bids: #"["80687","1"]"#))
    #expect(feed.books.isEmpty && feed.state(0) == .live)
    feed.receive(Self.book("update", 110, 95, bids: #"["80687","1"]"#))
    #expect(feed.books.count == 1 && feed.state(0) == .live)
    // From then on the link is strict.
    feed.receive(Self.book("update", 120, 105, bids: #"["80687","2"]"#))
    #expect(feed.resets == [.gap])
  }

  @Test("an update before the snapshot is nothing; a number before that is 0 is never the first to be applied")
  func beginnings() {
    let feed = Self.connected()
    feed.receive(Self.book("update", 100, 90, bids: #"["80688.1","3"]"#))
    #expect(feed.books.isEmpty && feed.state(0) != .live && feed.error == nil)
    feed.receive(Self.book("snapshot", 100, 0, bids: #"["80688.1","3"]"#))
    feed.receive(Self.book("update", 110, 0, bids: #"["80688.1","4"]"#))
    #expect(feed.resets == [.gap])
  }

  @Test("updates without the number before theirs are as good as their checksum, and none without")
  func checksums() {
    func update(_ size: String, _ checksum: String) -> String {
      Self.message(
        "books", "update",
        #"{"asks":[],"bids":[["80688.1","\#(size)"]],"ts":"1763528715515"\#(checksum),"seq":395681167}"#)
    }
    func checksum(_ text: String) -> Int32 {
      var crc = CRC32()
      Array(text.utf8).withUnsafeBytes { crc.update($0) }
      return Int32(bitPattern: crc.value)
    }
    let good = checksum("80688.1:0.7:80691.5:0.2:80688:2")
    let feed = Self.live()
    feed.receive(update("0.7", #","checksum":\#(good)"#))
    #expect(feed.error == nil && feed.state(0) == .live && feed.shownBids.first == "80688.1 0.7")
    // The same as an unsigned number.
    feed.receive(update("0.7", #","checksum":\#(UInt32(bitPattern: good))"#))
    #expect(feed.state(0) == .live)
    feed.receive(update("0.8", #","checksum":\#(good)"#))
    #expect(feed.state(0) == .syncing(.checksum))
    for none in ["", #","checksum":0"#] {
      let feed = Self.live()
      feed.receive(update("0.7", none))
      #expect(feed.error?.detail.contains("pseq") == true && feed.resets == [.malformed])
    }
    // One that is linked is compared all the same.
    let linked = Self.live()
    linked.receive(Self.book("update", 110, 100).replacing(#""seq""#, with: #""checksum":5,"seq""#))
    #expect(linked.state(0) == .syncing(.checksum))
  }

  @Test("a side without orders is empty, null or missing")
  func sides() {
    for none in [#""asks":[],"#, #""asks":null,"#, ""] {
      let feed = Self.connected()
      feed.receive(
        Self.message("books", "snapshot", #"{\#(none)"bids":[["80688.1","0.5"]],"ts":"1","seq":100,"pseq":0}"#))
      #expect(feed.state(0) == .live && feed.shownBids == ["80688.1 0.5"] && feed.shownAsks == [], "\(none)")
    }
  }

  @Test("a book is kept to as many levels as the venue tells of")
  func depth() {
    #expect(Bitget.window(bids: 500, asks: 500) == 500 && Bitget.window(bids: 0, asks: 17) == 500)
    #expect(Bitget.window(bids: 200, asks: 200) == 200 && Bitget.window(bids: 400, asks: 400) == 400)
    #expect(Bitget.window(bids: 200, asks: 130) == 500 && Bitget.window(bids: 110, asks: 110) == 500)
    #expect(Bitget.window(bids: 700, asks: 501) == 1_000 && Bitget.window(bids: 1_200, asks: 3) == 1_200)
    let feed = Self.connected()
    func levels(_ range: ClosedRange<Int>) -> String { range.map { #"["\#($0)","1"]"# }.joined(separator: ",") }
    feed.receive(
      Self.book("snapshot", 100, 0, bids: levels(1_000...1_199), asks: levels(2_000...2_199)))
    feed.receive(Self.book("update", 110, 100, bids: #"["1200","1"],["1201","1"]"#))
    #expect(feed.state(0) == .live && feed.market.instruments[0].book.bids.count == 200)
    #expect(feed.market.instruments[0].book.bids.first?.price == 100_200)
    // Another snapshot says it anew.
    feed.receive(Self.book("snapshot", 200, 0, bids: levels(1_000...1_499), asks: levels(2_000...2_199)))
    #expect(feed.market.instruments[0].book.bids.count == 500)
  }

  @Test("after two subscriptions of a book without a snapshot another connection is made")
  func noSnapshot() {
    let feed = Self.live()
    feed.receive(Self.book("update", 150, 140))
    #expect(feed.resets == [.gap])
    feed.wait(60)
    #expect(!feed.renewals.isEmpty)
  }

  @Test("a market that is acknowledged and has no book is told of")
  func silent() {
    let feed = Self.live()
    feed.wait(61)
    #expect(feed.failures.keys.sorted() == ["ETH-USDT"])
  }

  // MARK: Quotes, trades, figures

  @Test("books1 is the quote; a side without orders is empty")
  func quotes() {
    let feed = Self.live()
    feed.receive(
      Self.book("snapshot", 105, 0, bids: #"["80688.1","0.25"]"#, asks: #"["80691.5","0.2"]"#, channel: "books1"))
    #expect(
      feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[8_068_810, 250_000, 8_069_150, 200_000]])
    feed.receive(Self.book("snapshot", 106, 0, asks: #"["80691.5","0.2"]"#, channel: "books1"))
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[0, 0, 8_069_150, 200_000]])
    feed.receive(
      Self.book("snapshot", 107, 0, bids: #"["80688.1","0"]"#, asks: #"["80691.5","0.2"]"#, channel: "books1"))
    #expect(feed.quotes.map(\.bid) == [0])
    #expect(feed.state(0) == .live && feed.books.isEmpty)
  }

  @Test("trades: the taker's side, the oldest first whatever their order, those of the first message marked")
  func trades() {
    let feed = Self.live()
    let ids: [UInt64] = [1_478_949_857_936_523_268, 1_478_949_857_936_523_266, 1_478_949_857_936_523_264]
    feed.receive(Self.message("trade", "snapshot", Self.trade(ids[1]) + "," + Self.trade(ids[2])))
    #expect(feed.trades.map(\.isBacklog) == [true, true] && feed.trades.map(\.id.number) == [ids[2], ids[1]])
    feed.receive(Self.message("trade", "update", Self.trade(ids[0] + 5, "buy") + "," + Self.trade(ids[0])))
    #expect(feed.trades.map(\.side) == [.sell, .buy] && feed.trades.map(\.isBacklog) == [false, false])
    #expect(feed.trades.map(\.size) == [12, 12] && feed.trades.map(\.price) == [8_371_570, 8_371_570])
    // The time counts before the number.
    feed.receive(
      Self.message(
        "trade", "update", Self.trade(ids[0] + 7, "buy", 1_790_358_790_000) + "," + Self.trade(ids[0] + 9)))
    #expect(feed.trades.map(\.id.number) == [ids[0] + 9, ids[0] + 7])
  }

  @Test("a trade that came before is left out, on the next connection, too; one of an older number is not")
  func repeatedTrades() {
    let feed = Self.live()
    feed.receive(Self.message("trade", "update", Self.trade(300)))
    feed.receive(Self.message("trade", "update", Self.trade(300)))
    #expect(feed.trades.isEmpty && feed.error == nil && feed.engine.counts.ignored == 1)
    feed.receive(Self.message("trade", "update", Self.trade(301) + "," + Self.trade(300) + "," + Self.trade(299)))
    #expect(feed.trades.map(\.id.number) == [299, 301])
    feed.disconnect()
    feed.connect()
    feed.receive(Self.message("trade", "snapshot", Self.trade(302) + "," + Self.trade(301)))
    #expect(feed.trades.map(\.id.number) == [302] && feed.trades.map(\.isBacklog) == [true])
    // Another market has numbers of its own.
    feed.receive(Self.message("trade", "update", Self.trade(300), symbol: "ETHUSDT"))
    #expect(feed.trades.count == 1)
  }

  @Test("a message of trades of which one cannot be read has none of them, and may come again")
  func badTrade() {
    let feed = Self.live()
    feed.receive(
      Self.message("trade", "update", Self.trade(400) + "," + Self.trade(399).replacing("sell", with: "none")))
    #expect(feed.error != nil && feed.trades.isEmpty)
    feed.receive(Self.message("trade", "update", Self.trade(400) + "," + Self.trade(399)))
    #expect(feed.trades.count == 2)
  }

  @Test("24 h figures; a side without orders is absent")
  func tickers() throws {
    let feed = Self.live()
    func ticker(_ sides: String) -> String {
      Self.message(
        "ticker", "snapshot",
        #"{"instId":"BTCUSDT","lastPr":"83715.7","open24h":"83812.27","high24h":"85250","low24h":"83172.57","change24h":"-0.00491",\#(sides)"baseVolume":"2673.629245","quoteVolume":"225237773.321358","openUtc":"84409.37","ts":"1790358774065"}"#
      )
    }
    feed.receive(ticker(#""bidPr":"83715.69","askPr":"83715.7","bidSz":"0.074435","askSz":"2.145777","#))
    let full = try #require(feed.tickers.first)
    #expect(full.last == 8_371_570 && full.bid == 8_371_569 && full.ask == 8_371_570 && full.open == 8_381_227)
    #expect(full.high == 8_525_000 && full.low == 8_317_257)
    #expect(full.changePercent.map(\.trimmed) == Decimal64(mantissa: -491, scale: 3))
    #expect(full.volume == Decimal64(mantissa: 2_673_629_245, scale: 6))
    #expect(full.quoteVolume == Decimal64(mantissa: 225_237_773_321_358, scale: 6))
    for none in ["", #""bidPr":"","askPr":"","#, #""bidPr":"0","askPr":"0","#] {
      feed.receive(ticker(none))
      let empty = try #require(feed.tickers.first)
      #expect(empty.bid == nil && empty.ask == nil && empty.last == 8_371_570, "\(none)")
    }
  }
}
