import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Single trades by REST")
struct TradePagesTests {
  private static let now = Timestamp(microseconds: 1_790_000_000_000_000)

  private func table(_ name: String) -> InstrumentTable {
    var table = InstrumentTable()
    var batch = EventBatch()
    let market = ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: "BTC", quote: "USD"), priceScale: 2, sizeScale: 8)
    _ = table.add(market, venue: "v", into: &batch)
    return table
  }

  private func read(_ pages: TradePages, _ text: String) throws -> [String] {
    var table = table("BTC-USD")
    let body = Array(text.utf8)
    return try pages.read(body.span.bytes, 0, &table, now: Self.now).map {
      "\($0.id.text) \($0.price) \($0.size) \($0.side) \($0.time.microseconds)"
    }
  }

  private func path(_ pages: TradePages, _ name: String, attempt: Int = 0) -> String {
    let from = Timestamp(microseconds: 1_688_669_597_827_736)
    return pages.spell(
      TradeQuery(
        instrument: table(name)[0], first: 61_044_953, last: 61_045_052, from: from, to: from + 10_000_000,
        attempt: attempt))
  }

  @Test("Kraken: rows of a result under the pair's name, with times in seconds; the side is the taker's")
  func kraken() throws {
    let body = """
      {"error":[],"result":{"XXBTZUSD":[["30243.40","0.34507674",1688669597.8277369,"b","m","",61044952],
      ["30243.30","0.00376960",1688669598.2804112,"s","l","",61044953]],"last":"1688671969993150842"}}
      """
    #expect(
      try read(Kraken.tradePages, body) == [
        "61044952 3024340 34507674 buy 1688669597827736", "61044953 3024330 376960 sell 1688669598280411",
      ])
    #expect(path(Kraken.tradePages, "BTC/USD") == "/0/public/Trades?pair=BTC/USD&since=1688669597827735000&count=1000")
    #expect(throws: FeedError.self) { try read(Kraken.tradePages, #"{"error":["EGeneral:Too many requests"]}"#) }
  }

  @Test("Coinbase: the side is the maker's")
  func coinbase() throws {
    let body = """
      [{"trade_id":1081862675,"side":"sell","size":"0.00000001","price":"80691.53","time":"2026-08-25T03:35:57.198335Z"},
      {"trade_id":1081862674,"side":"buy","size":"1.5","price":"80691.5","time":"2026-08-25T03:35:57.096368Z"}]
      """
    #expect(
      try read(Coinbase.tradePages, body) == [
        "1081862675 8069153 1 buy 1787628957198335", "1081862674 8069150 150000000 sell 1787628957096368",
      ])
    #expect(path(Coinbase.tradePages, "BTC-USD") == "/products/BTC-USD/trades?limit=100&after=61045053")
  }

  @Test("OKX: texts")
  func okx() throws {
    let body = """
      {"code":"0","msg":"","data":[{"instId":"BTC-USDT","side":"sell","sz":"0.00001","px":"29963.2","source":"0",
      "tradeId":"242720720","ts":"1654161646974"}]}
      """
    #expect(try read(OKX.tradePages, body) == ["242720720 2996320 1000 sell 1654161646974000"])
    #expect(
      path(OKX.tradePages, "BTC-USDT")
        == "/api/v5/market/history-trades?instId=BTC-USDT&type=1&after=61045053&limit=100")
  }

  @Test("Binance: whether the buyer was the maker; the newest first, then from a number on")
  func binance() throws {
    let body = """
      [{"id":28457,"price":"4.00","qty":"12.00000000","quoteQty":"48.00","time":1499865549590,"isBuyerMaker":true,
      "isBestMatch":true}]
      """
    #expect(try read(BinanceMarket.spotTrades, body) == ["28457 400 1200000000 sell 1499865549590000"])
    #expect(path(BinanceMarket.spotTrades, "BTCUSDT") == "/api/v3/trades?symbol=BTCUSDT&limit=1000")
    #expect(
      path(BinanceMarket.spotTrades, "BTCUSDT", attempt: 1)
        == "/api/v3/historicalTrades?symbol=BTCUSDT&limit=100&fromId=61044953")
    #expect(path(BinanceMarket.futuresTrades, "BTCUSDT", attempt: 2) == "/fapi/v1/trades?symbol=BTCUSDT&limit=1000")
  }

  @Test("a row that cannot be read costs itself alone; a value with more digits than its scale says what it needs")
  func rows() throws {
    let row = #"{"id":1,"price":"4.00","qty":"1","time":1499865549590,"isBuyerMaker":true}"#
    let bad = [
      #"{"id":2}"#, "7", "null", #"{"id":2,"price":null,"qty":"1","time":1499865549590,"isBuyerMaker":true}"#,
      #"{"id":2,"price":"4","qty":"-1","time":1499865549590,"isBuyerMaker":true}"#,
      #"{"id":2,"price":"4","qty":"1","time":-5,"isBuyerMaker":true}"#,
      #"{"id":2,"price":"4","qty":"1","time":1499865549590,"isBuyerMaker":"yes"}"#,
    ]
    for bad in bad { #expect(try read(BinanceMarket.spotTrades, "[\(bad),\(row)]").count == 1, "\(bad)") }
    var table = table("BTCUSDT")
    let body = Array(#"[{"id":1,"price":"4.001","qty":"1","time":1499865549590,"isBuyerMaker":true}]"#.utf8)
    #expect(throws: FeedError.self) { try BinanceMarket.spotTrades.read(body.span.bytes, 0, &table, now: Self.now) }
    #expect(table.widening?.needed == 3)
  }
}
