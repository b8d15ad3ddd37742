import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Candles of venues over REST")
struct CandleFormatTests {
  /// A venue's request for four hours, and its answer with rows as the venue orders them.
  struct Sample: Sendable, CustomTestStringConvertible {
    var venue: String
    var part: String?
    var instrument: Instrument
    var request: CandleRequest
    var answer: String
    /// What the answer means: hours after the window's begin, open, high, low, close, volume, quote volume, trades.
    var candles: [[String]]

    var testDescription: String { part.map { "\(venue) \($0)" } ?? venue }
    var format: CandleFormat? {
      guard let venue = VenueRegistry.venue(named: venue) else { return nil }
      return CandleFormat.format(of: venue.parts.first { $0.part == part } ?? venue)
    }
  }

  /// 2026-09-02T02:00:00Z.
  static let start = Timestamp(microseconds: 1_788_314_400_000_000)
  static let window = start..<(start + 4 * Microseconds.hour)
  static let now = start + 10 * Microseconds.hour

  static func instrument(
    _ venue: String, _ name: String, _ kind: Instrument.Kind = .spot, price: UInt8 = 2, size: UInt8 = 8
  ) -> Instrument {
    Instrument(
      id: InstrumentID(3), venue: venue, venueSymbol: name, base: "BTC", quote: "USD", kind: kind, priceScale: price,
      sizeScale: size)
  }

  static let samples: [Sample] = [
    Sample(
      venue: "kraken", instrument: instrument("kraken", "BTC/USD"),
      request: CandleRequest("/0/public/OHLC?pair=BTC/USD&interval=60&since=1788310800"),
      answer: """
        {"error":[],"result":{"last":1788325200,"BTC/USD":[\
        [1788310800,"1","1","1","1","1","1",1],\
        [1788314400,"83732.7","83969.8","83612.9","83765.4","83766.9","81.13696690",5879],\
        [1788318000,"106038.2","106038.2","106038.2","106038.2","0.0","0.00000000",0],\
        [1788321600,"83765.4","83765.5","83765.3","83765.3","83765.4","0.5",2]]}}
        """,
      candles: [
        ["0", "83732.7", "83969.8", "83612.9", "83765.4", "81.1369669", "-", "5879"],
        ["2", "83765.4", "83765.5", "83765.3", "83765.3", "0.5", "-", "2"],
      ]),
    Sample(
      venue: "coinbase", instrument: instrument("coinbase", "BTC-USD"),
      request: CandleRequest(
        "/products/BTC-USD/candles?granularity=3600&start=2026-09-02T02:00:00Z&end=2026-09-02T05:00:00Z"),
      answer:
        "[[1788318000,76965,77400,77277.15,77300.5,1e-3],"
        + "[1788314400, 76900, 77292.96, 76965.73, 77277.15, 214.10059464]]",
      candles: [
        ["0", "76965.73", "77292.96", "76900", "77277.15", "214.10059464", "-", "-"],
        ["1", "77277.15", "77400", "76965", "77300.5", "0.001", "-", "-"],
      ]),
    Sample(
      venue: "coinbase-advanced", instrument: instrument("coinbase-advanced", "BTC-USD"),
      request: CandleRequest(
        "/api/v3/brokerage/market/products/BTC-USD/candles?granularity=ONE_HOUR"
          + "&start=1788314400&end=1788325200&limit=300"
      ),
      answer: """
        {"candles":[{"start":"1788314400","low":"66055.14","high":"66331.99","open":"66312.4","close":"66181.6",\
        "volume":"355.82896243"}]}
        """,
      candles: [["0", "66312.4", "66331.99", "66055.14", "66181.6", "355.82896243", "-", "-"]]),
    Sample(
      venue: "binance", part: "spot", instrument: instrument("binance", "BTCUSDT"),
      request: CandleRequest(
        "/api/v3/klines?symbol=BTCUSDT&interval=1h&startTime=1788314400000&endTime=1788325200000&limit=1000"),
      answer: """
        [[1788314400000,"78084.29000000","78100.00000000","78084.28000000","78100.00000000","1.98806000",1788317999999,\
        "155250.94628230",1027,"1.53664000","119998.91685940","0"]]
        """,
      candles: [["0", "78084.29", "78100", "78084.28", "78100", "1.98806", "155250.9462823", "1027"]]),
    Sample(
      venue: "binance", part: "usdm", instrument: instrument("binance", "BTCUSDT", .perpetual, price: 2, size: 3),
      request: CandleRequest(
        "/fapi/v1/klines?symbol=BTCUSDT&interval=1h&startTime=1788314400000&endTime=1788325200000&limit=499"),
      answer: """
        [[1788314400000,"16537.50","16618.80","16488.00","16610.30","105502.965",1788317999999,\
        "1746449849.73920",594299,\
        "52617.509","871082706.82390","0"]]
        """,
      candles: [["0", "16537.5", "16618.8", "16488", "16610.3", "105502.965", "1746449849.7392", "594299"]]),
    Sample(
      venue: "bybit", part: "spot", instrument: instrument("bybit", "BTCUSDT"),
      request: CandleRequest(
        "/v5/market/kline?category=spot&symbol=BTCUSDT&interval=60&start=1788314400000&end=1788325200000&limit=1000"),
      answer: """
        {"retCode":0,"retMsg":"OK","result":{"category":"spot","symbol":"BTCUSDT","list":[\
        ["1788318000000","78101.7","78101.7","78101.7","78101.7","0","0"],\
        ["1788314400000","78087.3","78101.8","78087.3","78101.7","1.289494","100700.1728554"]]},"time":1788350400000}
        """,
      candles: [["0", "78087.3", "78101.8", "78087.3", "78101.7", "1.289494", "100700.1728554", "-"]]),
    Sample(
      venue: "bybit", part: "linear", instrument: instrument("bybit", "BTCUSDT", .perpetual),
      request: CandleRequest(
        "/v5/market/kline?category=linear&symbol=BTCUSDT&interval=60&start=1788314400000&end=1788325200000&limit=1000"),
      answer: #"{"retCode":0,"result":{"list":[["1788314400000","1.5","2","1.25","1.75","10","17.5"]]}}"#,
      candles: [["0", "1.5", "2", "1.25", "1.75", "10", "17.5", "-"]]),
    Sample(
      venue: "okx", instrument: instrument("okx", "BTC-USDT", price: 1, size: 8),
      request: CandleRequest(
        "/api/v5/market/history-candles?instId=BTC-USDT&bar=1H&before=1788314399999&after=1788328800000&limit=300"),
      answer: """
        {"code":"0","msg":"","data":[\
        ["1788318000000","69337.1","69462.5","69160.6","69400","3","208200","208200","0"],\
        ["1788314400000","69264.7","69462.5","69160.6","69337.1","333.0511483","23087731.217311397",\
        "23087731.217311397","1"]]}
        """,
      candles: [["0", "69264.7", "69462.5", "69160.6", "69337.1", "333.0511483", "23087731.217311397", "-"]]),
    Sample(
      venue: "okx", instrument: instrument("okx", "BTC-USDT-SWAP", .perpetual, price: 1, size: 4),
      request: CandleRequest(
        "/api/v5/market/history-candles?instId=BTC-USDT-SWAP&bar=1H"
          + "&before=1788314399999&after=1788328800000&limit=300"),
      answer:
        #"{"code":"0","data":[["1788314400000","69264.7","69462.5","69160.6","69337.1","33305","333.05","#
        + #""23087731.2","1"]]}"#,
      candles: [["0", "69264.7", "69462.5", "69160.6", "69337.1", "333.05", "23087731.2", "-"]]),
    Sample(
      venue: "bitget", part: "spot", instrument: instrument("bitget", "BTCUSDT"),
      request: CandleRequest(
        "/api/v2/spot/market/history-candles?symbol=BTCUSDT&granularity=1h"
          + "&startTime=1788314400000&endTime=1788325200000&limit=200"),
      answer: """
        {"code":"00000","msg":"success","requestTime":1788350400000,"data":[["1788314400000","83765.17","83770.2",\
        "83738.85","83740","0.701343","58742.42150798","58742.42150798"],\
        ["1788318000000","83740","83740","83740","83740","0","0","0"]]}
        """,
      candles: [["0", "83765.17", "83770.2", "83738.85", "83740", "0.701343", "-", "-"]]),
    Sample(
      venue: "bitget", part: "usdt", instrument: instrument("bitget", "BTCUSDT", .perpetual, price: 1, size: 4),
      request: CandleRequest(
        "/api/v2/mix/market/history-candles?productType=usdt-futures&symbol=BTCUSDT&granularity=1H"
          + "&startTime=1788314399999&endTime=1788325200000&limit=90"),
      answer:
        #"{"code":"00000","data":[["1788314400000","83733.2","83733.2","83709","83710","0.7569","63370.46146"]]}"#,
      candles: [["0", "83733.2", "83733.2", "83709", "83710", "0.7569", "63370.46146", "-"]]),
    Sample(
      venue: "bitfinex", instrument: instrument("bitfinex", "tBTCUSD"),
      request: CandleRequest("/v2/candles/trade:1h:tBTCUSD/hist?start=1788314400000&end=1788325200000&limit=5000"),
      answer: "[[1788318000000,77368,77605,77834,77332,52.688382]]",
      candles: [["1", "77368", "77834", "77332", "77605", "52.688382", "-", "-"]]),
    Sample(
      venue: "bitstamp", instrument: instrument("bitstamp", "btcusd"),
      request: CandleRequest(
        "/api/v2/ohlc/btcusd/?step=3600&limit=4&end=1788325200&exclude_current_candle=true"),
      answer: """
        {"data":{"pair":"BTC/USD","ohlc":[{"timestamp":"1788318000","open":"77275.58","high":"77747.28",\
        "low":"77259.43","close":"77488.56","volume":"92.78557729"},{"timestamp":"1788318000","open":"1","high":"1",\
        "low":"1","close":"1","volume":"1"}]}}
        """,
      candles: [["1", "77275.58", "77747.28", "77259.43", "77488.56", "92.78557729", "-", "-"]]),
    Sample(
      venue: "gemini", instrument: instrument("gemini", "btcusd"),
      request: CandleRequest("/v2/candles/btcusd/1hr"),
      answer: """
        [[1788332400000,1,1,1,1,1],[1788318000000,79028.86,79035.26,79014.67,79035.26,0.00531414],\
        [1788300000000,1,1,1,1,1]]
        """,
      candles: [["1", "79028.86", "79035.26", "79014.67", "79035.26", "0.00531414", "-", "-"]]),
    Sample(
      venue: "deribit", instrument: instrument("deribit", "BTC_USDC-PERPETUAL", .perpetual, price: 1, size: 4),
      request: CandleRequest(
        "/api/v2/public/get_tradingview_chart_data?instrument_name=BTC_USDC-PERPETUAL&resolution=60"
          + "&start_timestamp=1788310800000&end_timestamp=1788325200000"),
      answer: """
        {"jsonrpc":"2.0","result":{"status":"ok","open":[76076.5,76111.5],"ticks":[1788314400000,1788318000000],\
        "high":[76371.5,76111.5],"low":[75907.0,76111.5],"close":[76111.5,76111.5],"volume":[115.94348719,0],\
        "cost":[8.83036E6,0]},"usIn":1,"usOut":2}
        """,
      candles: [["0", "76076.5", "76371.5", "75907", "76111.5", "115.9435", "8830360", "-"]]),
    Sample(
      venue: "hyperliquid", instrument: instrument("hyperliquid", "@107", price: 1, size: 5),
      request: CandleRequest(
        "/info",
        body: #"{"type":"candleSnapshot","req":{"coin":"@107","interval":"1h","startTime":1788314400000,"#
          + #""endTime":1788325200000}}"#),
      answer: """
        [{"t":1788314400000,"T":1788317999999,"s":"@107","i":"1h","o":"83737.0","c":"83767.0","h":"83977.0",\
        "l":"83600.0","v":"910.98068","n":8461}]
        """,
      candles: [["0", "83737", "83977", "83600", "83767", "910.98068", "-", "8461"]]),
    Sample(
      venue: "gate", instrument: instrument("gate", "BTC_USDT"),
      request: CandleRequest(
        "/api/v4/spot/candlesticks?currency_pair=BTC_USDT&interval=1h&from=1788314400&to=1788325200"),
      answer: """
        [["1788314400","507875.46163100","83766.1","83882.6","83746.3","83770.6","6.06078800","true"],\
        ["1788318000","532272.62128430","83781.7","83798.9","83740.4","83767.9","6.35429100","false"]]
        """,
      candles: [["0", "83770.6", "83882.6", "83746.3", "83766.1", "6.060788", "507875.461631", "-"]]),
    Sample(
      venue: "kucoin", instrument: instrument("kucoin", "BTC-USDT"),
      request: CandleRequest(
        "/api/v1/market/candles?symbol=BTC-USDT&type=1hour&startAt=1788314400&endAt=1788328800"),
      answer: """
        {"code":"200000","data":[["1788318000","77295.7","77541","77757.6","77295.7","38.20409771317732464027",\
        "12383702.769437424"]]}
        """,
      candles: [["1", "77295.7", "77757.6", "77295.7", "77541", "38.20409771", "12383702.7694374240", "-"]]),
  ]

  private static func candle(_ fields: [String], _ instrument: Instrument) throws -> Candle {
    func number(_ text: String, _ scale: Int) throws -> Int128 {
      let bytes = Array(text.utf8)
      let value = CandleNumber.parse(bytes.span.bytes, scale: scale)
      return try #require(value)
    }
    func price(_ text: String) throws -> Int64 { Int64(try number(text, Int(instrument.priceScale))) }
    let quoteScale = Int(instrument.priceScale) + Int(instrument.sizeScale)
    return Candle(
      instrument: instrument.id, interval: .hour, time: start + (try #require(Int64(fields[0]))) * Microseconds.hour,
      open: try price(fields[1]), high: try price(fields[2]), low: try price(fields[3]), close: try price(fields[4]),
      volume: try number(fields[5], Int(instrument.sizeScale)),
      quoteVolume: fields[6] == "-" ? nil : try number(fields[6], quoteScale), trades: Int64(fields[7]),
      source: .venue, isClosed: true)
  }

  @Test("each venue is asked in its own words, and its rows are read by name", arguments: samples)
  func venues(sample: Sample) throws {
    let format = try #require(sample.format)
    let query = CandleQuery(instrument: sample.instrument, interval: .hour, window: Self.window)
    #expect(format.request(query) == sample.request)
    let bytes = Array(sample.answer.utf8)
    let answer = try format.read(bytes.span.bytes, status: 200, to: query, now: Self.now)
    #expect(answer.candles == (try sample.candles.map { try Self.candle($0, sample.instrument) }))
    #expect(answer.rejected == 0)
    #expect(answer.isComplete)
  }

  @Test("whatever a number of an answer is, the row is read, or rejected alone", arguments: samples)
  func extremes(sample: Sample) throws {
    let format = try #require(sample.format)
    let query = CandleQuery(instrument: sample.instrument, interval: .hour, window: Self.window)
    let text = Array(sample.answer.utf8)
    // No sum of the candles of a year overflows.
    let volumes: Int128 = 1 << 120
    for number in NumericExtremes.numbers(in: text) {
      for extreme in NumericExtremes.texts {
        let bytes = NumericExtremes.replacing(number, of: text, by: extreme)
        guard let answer = try? format.read(bytes.span.bytes, status: 200, to: query, now: Self.now) else { continue }
        for candle in answer.candles {
          #expect(Self.window.contains(candle.time), "\(extreme)")
          #expect(candle.volume >= 0 && candle.volume < volumes, "\(extreme)")
          #expect(candle.quoteVolume ?? 0 >= 0 && candle.quoteVolume ?? 0 < volumes, "\(extreme)")
          #expect((0...1 << 53).contains(candle.trades ?? 0), "\(extreme)")
        }
      }
    }
  }

  @Test("every venue and part has a format that covers minutes, quarters of an hour and hours")
  func all() {
    for venue in VenueRegistry.venues.flatMap({ $0.parts.isEmpty ? [$0] : $0.parts }) {
      let format = CandleFormat.format(of: venue)
      #expect(format != nil, "\(venue.label)")
      for interval in [CandleInterval.minute, .quarterHour, .hour] {
        #expect(format?.has(interval) == true, "\(venue.label)")
      }
      #expect(Self.samples.contains { $0.venue == venue.name && ($0.part == nil || $0.part == venue.part) })
    }
  }

  private func read(
    _ body: String, status: Int = 200, now: Timestamp = now
  ) throws(CandleError) -> CandleAnswer {
    let query = CandleQuery(
      instrument: Self.instrument("binance", "BTCUSDT"), interval: .hour, window: Self.window)
    let bytes = Array(body.utf8)
    return try CandleFormat.binanceSpot.read(bytes.span.bytes, status: status, to: query, now: now)
  }

  private func row(_ hour: Int, _ prices: String = #""2","3","1","2""#, volume: String = #""5""#) -> String {
    "[\(Self.start.microseconds / 1_000 + Int64(hour) * 3_600_000),\(prices),\(volume),0,\"9\",4]"
  }

  @Test("rows are sorted, doubled ones go, and so do those outside the window and the one that is open")
  func order() throws {
    let answer = try read("[\(row(2)),\(row(0)),\(row(2)),\(row(-1)),\(row(4)),\(row(1))]")
    #expect(answer.candles.map { ($0.time - Self.start) / Microseconds.hour } == [0, 1, 2])
    #expect(answer.outside == 2)
    #expect(answer.isComplete)
    let early = try read("[\(row(0)),\(row(1))]", now: Self.start + Microseconds.hour + CandleFormat.settling)
    #expect(early.candles.count == 1)
    let earlier = try read("[\(row(0))]", now: Self.start + Microseconds.hour)
    #expect(earlier.candles.isEmpty)
  }

  @Test("a venue that answers for another time has not said that nothing was traded")
  func otherWindow() throws {
    #expect(try !read("[\(row(-9)),\(row(-8))]").isComplete)
    #expect(try read("[]").isComplete)
  }

  @Test(
    "a row that cannot be costs itself alone, and the page is not complete",
    arguments: [
      #"[1788314400000,"2","3","1"]"#, #"[1788314400000,"2","3","1","5","5",0,"9",4]"#,
      #"[1788314400000,"2","3","2.5","2","5",0,"9",4]"#, #"[1788314400001,"2","3","1","2","5",0,"9",4]"#,
      #"[1788314400000,"0","3","0","2","5",0,"9",4]"#, #"[1788314400000,"2","3","1","2","-5",0,"9",4]"#,
      #"[1788314400000,"2","3","1","2","five",0,"9",4]"#, #"[1788314400000,"NaN","3","1","2","5",0,"9",4]"#,
      #"[1788314400000,null,"3","1","2","5",0,"9",4]"#, #"[9e30,"2","3","1","2","5",0,"9",4]"#,
      #"[1788314400000,"2","99999999999999999999","1","2","5",0,"9",4]"#, #"[]"#, #"{}"#,
    ])
  func impossible(bad: String) throws {
    let answer = try read("[\(bad),\(row(1))]")
    #expect(answer.candles.count == 1)
    #expect(answer.rejected == 1)
    #expect(!answer.isComplete)
  }

  @Test("refusals are told from being asked too often, and from no answer")
  func errors() {
    func kind(_ body: String, _ status: Int) -> CandleError.Kind? {
      do throws(CandleError) {
        _ = try read(body, status: status)
        return nil
      } catch {
        return error.kind
      }
    }
    #expect(kind("[]", 429) == .limited)
    #expect(kind("", 418) == .limited)
    #expect(kind(#"{"code":-1121,"msg":"Invalid symbol."}"#, 400) == .refused)
    #expect(kind("timed out", 0) == .unanswered)
    #expect(kind("<html>", 200) == .refused)
    #expect(kind(#"{"error":["EGeneral:Too many requests"]}"#, 200) == .limited)
    #expect(kind(#"["error",10020,"symbol: invalid"]"#, 200) == .refused)
    #expect(kind("[[1788314400000", 200) == .refused)
    #expect(kind("", 200) == .refused)
  }

  @Test("columns of different lengths are no candles")
  func columns() {
    let query = CandleQuery(
      instrument: Self.instrument("deribit", "X", .perpetual), interval: .hour, window: Self.window)
    let body =
      #"{"result":{"ticks":[1788314400000],"open":[1,2],"high":[1],"low":[1],"close":[1],"volume":[1],"cost":[1]}}"#
    let bytes = Array(body.utf8)
    #expect(throws: CandleError.self) {
      _ = try CandleFormat.deribit.read(bytes.span.bytes, status: 200, to: query, now: Self.now)
    }
  }

  @Test("pages go from the newest to the oldest that the venue has, and cover the range without a hole")
  func pages() {
    let format = CandleFormat.coinbase
    let range = (Self.now - 1_000 * Microseconds.hour)..<Self.now
    let pages = format.pages(range, .hour, now: Self.now)
    #expect(pages.first?.upperBound == Self.now - Microseconds.hour)
    #expect(pages.last?.lowerBound == range.lowerBound)
    #expect(zip(pages, pages.dropFirst()).allSatisfy { $0.lowerBound == $1.upperBound })
    #expect(pages.allSatisfy { $0.upperBound - $0.lowerBound <= 300 * Microseconds.hour })
    let short = CandleFormat.kraken.pages((Self.now - 9_000 * Microseconds.hour)..<Self.now, .hour, now: Self.now)
    #expect(short.map { ($0.upperBound - $0.lowerBound) / Microseconds.hour } == [718])
    #expect(
      CandleFormat.kraken.pages(
        (Self.now - 9_000 * Microseconds.hour)..<(Self.now - 800 * Microseconds.hour), .hour, now: Self.now
      ).isEmpty)
  }

  @Test(
    "numbers of any length are rounded half to even, and texts that are none are refused",
    arguments: [
      ("1.5", 0, 2), ("2.5", 0, 2), ("2.50000000000000000001", 0, 3), ("38.20409771317732464027", 8, 3_820_409_771),
      ("1e-3", 8, 100_000), ("1.2E2", 1, 1_200), ("0", 4, 0), ("-1.25", 1, -12), ("0.00000000000000000000000001", 8, 0),
      ("1e-99", 8, 0), (".", 2, nil), ("", 2, nil), ("1.2.3", 2, nil), ("1e", 2, nil), ("0x1", 2, nil), ("e5", 2, nil),
      ("1e999", 2, nil), ("99999999999999999999999999999999", 8, nil),
    ] as [(String, Int, Int?)])
  func numbers(text: String, scale: Int, value: Int?) {
    let bytes = Array(text.utf8)
    let parsed = CandleNumber.parse(bytes.span.bytes, scale: scale)
    #expect(parsed == value.map { Int128($0) })
  }

  @Test("moments are written as RFC 3339 has them")
  func texts() {
    #expect(CandleFormat.text(Timestamp(microseconds: 0)) == "1970-01-01T00:00:00Z")
    #expect(CandleFormat.text(Self.start + 61 * Microseconds.second) == "2026-09-02T02:01:01Z")
  }
}
