import Foundation
import MarketData
import TestTraits
import Testing

@testable import VenueSimulator

/// What single venues do with requests for candles that others do not.
@Suite("Candles by REST: traps of single venues", .longComputation)
struct CandleTrapTests {
  private func answer(
    _ venue: SimulatedVenue, _ path: String, _ query: KeyValuePairs<String, String> = [:]
  ) -> (status: Int, body: String, rows: Int) {
    let response = venue.respond(path: path, query: query.map { (name: $0.key, value: $0.value) })
    let json = CandleSheet.json(response.body)
    let object = json as? [String: Any]
    let list = json as? [Any] ?? object?["candles"] as? [Any] ?? object?["data"] as? [Any]
    return (response.status, response.body, list?.count ?? 0)
  }

  private func seconds(_ venue: SimulatedVenue) -> Int64 { venue.now.rawValue / Microseconds.second }

  @Test("Kraken has 720 bars and the one under way, however early the start; the key is a legacy name")
  func kraken() throws {
    let venue = try makeVenue("kraken", rate: 1)
    func ask(_ pair: String) throws -> (keys: [String], rows: [[Any]], last: Int?) {
      let text = answer(venue, "/0/public/OHLC", ["pair": pair, "interval": "60", "since": "1400000000"]).body
      let result = try #require(try parse(text).object("result"))
      let rows = result.first { $0.key != "last" }?.value as? [[Any]]
      return (result.keys.sorted(), rows ?? [], result.int("last"))
    }
    let bitcoin = try ask("XBTUSD")
    #expect(bitcoin.keys == ["XXBTZUSD", "last"] && bitcoin.rows.count == 721)
    #expect(bitcoin.rows[719][0] as? Int == bitcoin.last)
    #expect(try ask("BTC/USD").keys == ["BTC/USD", "last"])
    #expect(answer(venue, "/0/public/OHLC", ["pair": "NOPE"]).body == #"{"error":["EQuery:Unknown asset pair"]}"#)
    #expect(answer(venue, "/0/public/OHLC", ["pair": "XBTUSD", "interval": "7"]).body.contains("arguments:interval"))
    for _ in 0..<20 { _ = answer(venue, "/0/public/OHLC", ["pair": "XBTUSD"]) }
    #expect(answer(venue, "/0/public/OHLC", ["pair": "XBTUSD"]).body.contains("Too many requests"))
  }

  @Test("Kraken fills a quiet minute with the price before, and an average price of none")
  func krakenQuiet() throws {
    let venue = try makeVenue("kraken", rate: 0.1)
    venue.skip(to: venue.now + 20 * Microseconds.minute)
    venue.advance(to: venue.now + 30 * Microseconds.second)
    let text = answer(venue, "/0/public/OHLC", ["pair": "XBTUSD", "interval": "1"]).body
    #expect(text.contains(#","0.0","0.00000000",0]"#))
  }

  @Test("Coinbase Exchange has 350 rows without bounds, refuses 302 with them, and has no bars of four hours")
  func coinbase() throws {
    let venue = try makeVenue("coinbase", rate: 1)
    let path = "/products/BTC-USD/candles"
    #expect(answer(venue, path, ["granularity": "3600"]).rows == 350)
    #expect(answer(venue, path, ["granularity": "3600", "start": "2020-01-01T00:00:00Z"]).rows == 350)
    let now = seconds(venue) / 3_600 * 3_600
    func ask(hours: Int64) -> (status: Int, body: String, rows: Int) {
      answer(venue, path, ["granularity": "3600", "start": "\(now - hours * 3_600)", "end": "\(now)"])
    }
    #expect(ask(hours: 300).rows == 301)
    #expect(ask(hours: 301).status == 400 && ask(hours: 301).body.contains("exceeds 300"))
    #expect(answer(venue, path, ["granularity": "14400"]).body == #"{"message":"Unsupported granularity"}"#)
    #expect(answer(venue, "/products/NOPE-USD/candles").status == 404)
    #expect(Timestamp(iso8601: "2026-09-01T12:34:56Z")?.rawValue == 1_788_266_096_000_000)
  }

  @Test("Advanced Trade wants both bounds, and fewer than 351 bars between them")
  func coinbaseAdvanced() throws {
    let venue = try makeVenue("coinbase-advanced", rate: 1)
    let path = "/api/v3/brokerage/market/products/BTC-USDC/candles"
    let now = seconds(venue) / 3_600 * 3_600
    func ask(_ hours: Int64) -> (status: Int, body: String, rows: Int) {
      answer(venue, path, ["granularity": "ONE_HOUR", "start": "\(now - hours * 3_600)", "end": "\(now)"])
    }
    #expect(ask(300).rows == 300 && ask(350).rows == 350)
    #expect(ask(351).status == 400 && ask(351).body.contains("should be less than 350"))
    #expect(answer(venue, path, ["granularity": "ONE_HOUR"]).status == 400)
    #expect(answer(venue, path.replacing("BTC-USDC", with: "NOPE-USD")).body.contains("Product NOPE-USD not supported"))
  }

  @Test("Binance keeps the oldest of a range, cuts a limit on spot, refuses it on futures, and counts the weight")
  func binance() throws {
    let venue = try makeVenue("binance", rate: 1)
    let start = (seconds(venue) - 5_000 * 60) / 60 * 60_000
    func ask(_ path: String, _ limit: Int) -> SimulatedResponse {
      venue.respond(
        path: path,
        query: [("symbol", "BTCUSDT"), ("interval", "1m"), ("startTime", "\(start)"), ("limit", "\(limit)")])
    }
    let spot = ask("/api/v3/klines", 1_500)
    let rows = try #require(CandleSheet.json(spot.body) as? [[Any]])
    #expect(rows.count == 1_000 && rows[0][0] as? Int64 == start && rows[0][6] as? Int64 == start + 59_999)
    #expect(spot.fields.contains { $0.name == "X-MBX-USED-WEIGHT-1M" && $0.value == "2" })
    let futures = ask("/fapi/v1/klines", 1_500)
    #expect((CandleSheet.json(futures.body) as? [Any])?.count == 1_500)
    #expect(futures.fields.contains { $0.name == "X-MBX-USED-WEIGHT-1M" && $0.value == "10" })
    #expect(ask("/fapi/v1/klines", 1_501).body.contains("-1130"))
    #expect(answer(venue, "/api/v3/klines", ["symbol": "NOPE", "interval": "1m"]).body.contains("-1121"))
    for _ in 0..<240 { _ = ask("/fapi/v1/klines", 1_500) }
    #expect(ask("/fapi/v1/klines", 10).status == 429)
  }

  @Test("OKX takes neither bound's own bar, has 1,440 bars but in its history, and days that begin at 16:00")
  func okx() throws {
    let venue = try makeVenue("okx", rate: 1)
    let hour = seconds(venue) / 3_600 * 3_600_000
    func ask(_ path: String, _ query: KeyValuePairs<String, String>) -> [[String]] {
      let body = answer(venue, "/api/v5/market/" + path, query).body
      return (try? parse(body))?["data"] as? [[String]] ?? []
    }
    let between = ask(
      "candles",
      ["instId": "BTC-USDT", "bar": "1H", "before": "\(hour - 3 * 3_600_000)", "after": "\(hour)", "limit": "9"])
    let wanted: [Int64] = [hour - 3_600_000, hour - 7_200_000]
    #expect(between.map { $0[0] } == wanted.map { String($0) })
    // A bound alone is no place to go on from: the newest come.
    let before = ask(
      "candles", ["instId": "BTC-USDT", "bar": "1H", "before": "\(hour - 900 * 3_600_000)", "limit": "5"])
    #expect(before.first?[0] == "\(hour)" && before.count == 5)
    let old = "\(hour - 2_000 * 60_000)"
    #expect(ask("candles", ["instId": "BTC-USDT", "bar": "1m", "after": old]).isEmpty)
    #expect(ask("history-candles", ["instId": "BTC-USDT", "bar": "1m", "after": old, "limit": "500"]).count == 300)
    let day = ask("candles", ["instId": "BTC-USDT", "bar": "1D"])[1]
    #expect(try #require(Int64(day[0])) / 3_600_000 % 24 == 16)
    let swap = ask("history-candles", ["instId": "BTC-USDT-SWAP", "bar": "1H"])[1]
    // A contract is a hundredth of a bitcoin.
    #expect(try abs(#require(Double(swap[5])) - #require(Double(swap[6])) * 100) < 1e-6)
    #expect(answer(venue, "/api/v5/market/candles", ["instId": "NOPE"]).body.contains("51001"))
    #expect(answer(venue, "/api/v5/market/candles", ["instId": "BTC-USDT", "bar": "8H"]).body.contains("bar error"))
    for _ in 0..<40 { _ = ask("history-candles", ["instId": "BTC-USDT"]) }
    #expect(answer(venue, "/api/v5/market/history-candles", ["instId": "BTC-USDT"]).status == 429)
  }

  @Test("Bitfinex sorts on demand, knows no four hours, and answers an unknown name with nothing")
  func bitfinex() throws {
    let venue = try makeVenue("bitfinex", rate: 1)
    func ask(_ key: String, _ query: KeyValuePairs<String, String> = [:]) -> (status: Int, body: String, rows: Int) {
      answer(venue, "/v2/candles/trade:\(key)/hist", query)
    }
    let oldest = try #require(CandleSheet.json(ask("1D:tBTCUSD", ["sort": "1"]).body) as? [[Any]])
    let newest = try #require(CandleSheet.json(ask("1D:tBTCUSD").body) as? [[Any]])
    #expect(oldest.count == 100 && newest.count == 100)
    #expect((oldest[0][0] as? Int ?? 0) < (newest[99][0] as? Int ?? 0))
    #expect(ask("1D:tBTCUSD", ["limit": "10001"]).body == #"["error",10020,"limit: invalid"]"#)
    #expect(ask("4h:tBTCUSD").status == 500 && ask("1h:tNOPE").body == "[]")
    #expect((CandleSheet.json(answer(venue, "/v2/candles/trade:1h:tBTCUSD/last").body) as? [Any])?.count == 6)
    for _ in 0..<30 { _ = ask("1h:tBTCUSD") }
    #expect(ask("1h:tBTCUSD").body == #"{"error":"ERR_RATE_LIMIT"}"#)
  }

  @Test("Bitstamp forgets the start when there is an end, and goes forward from the start alone")
  func bitstamp() throws {
    let venue = try makeVenue("bitstamp", rate: 1)
    let hour = seconds(venue) / 3_600 * 3_600
    func ask(_ query: KeyValuePairs<String, String>) throws -> [[String: Any]] {
      let body = answer(venue, "/api/v2/ohlc/btcusd/", query).body
      return try #require(try parse(body).object("data")).objects("ohlc")
    }
    let both = try ask(["step": "3600", "limit": "5", "start": "\(hour - 7_200)", "end": "\(hour)"])
    #expect(both.count == 5 && both[4].string("timestamp") == "\(hour)")
    let forward = try ask(["step": "3600", "limit": "3", "start": "\(hour - 360_000 + 5)"])
    let wanted: [Int64] = [hour - 360_000, hour - 356_400, hour - 352_800]
    #expect(forward.compactMap { $0.string("timestamp") } == wanted.map { String($0) })
    let closed = try ask(["step": "3600", "limit": "1", "exclude_current_candle": "true"])
    #expect(closed[0].string("timestamp") == "\(hour - 3_600)")
    #expect(answer(venue, "/api/v2/ohlc/btcusd/", ["step": "3600"]).status == 400)
    let unknown = answer(venue, "/api/v2/ohlc/nopeusd/", ["step": "3600", "limit": "1"])
    #expect(unknown.status == 404 && unknown.body.isEmpty)
  }

  @Test("Gemini has windows of its own and calls an hour 1hr")
  func gemini() throws {
    let venue = try makeVenue("gemini", rate: 1)
    for (name, count) in [("1m", 1_440), ("5m", 2_015), ("15m", 1_343), ("1hr", 1_463), ("1day", 364)] {
      #expect(answer(venue, "/v2/candles/btcusd/\(name)", ["limit": "5"]).rows == count)
    }
    #expect(answer(venue, "/v2/candles/btcusd/1h").body.contains("time_frame expects one of the following"))
    #expect(answer(venue, "/v2/candles/bla/1m").body.contains("Supplied value 'bla' is not a valid symbol."))
    #expect(answer(venue, "/v2/derivatives/candles/BTCGUSDPERP/1m").rows == 1_440)
    #expect(answer(venue, "/v2/derivatives/candles/BTCGUSDPERP/1hr").status == 400)
  }

  @Test("Deribit cuts at 5,001 bars without a word, and says no_data where there are none")
  func deribit() throws {
    let venue = try makeVenue("deribit", rate: 1)
    let now = venue.now.rawValue / 1_000
    func ask(_ from: Int64, _ to: Int64) throws -> [String: Any] {
      let body = answer(
        venue, "/api/v2/public/get_tradingview_chart_data",
        [
          "instrument_name": "BTC_USDC-PERPETUAL", "resolution": "1", "start_timestamp": "\(from)",
          "end_timestamp": "\(to)",
        ]
      ).body
      return try #require(try parse(body).object("result"))
    }
    let many = try #require(try ask(now - 9_000 * 60_000, now)["ticks"] as? [Int64])
    #expect(many.count == 5_001 && many[0] > now - 5_002 * 60_000)
    #expect(try ask(1_000_000_000_000, 1_000_000_600_000).string("status") == "no_data")
    #expect(answer(venue, "/api/v2/public/get_tradingview_chart_data").status == 400)
  }

  @Test("Hyperliquid has the newest 5,000 bars, from the one that the start is in")
  func hyperliquid() throws {
    let venue = try makeVenue("hyperliquid", rate: 4)
    // So that the bar under way has a trade.
    venue.advance(to: venue.now + 30 * Microseconds.second)
    let minute = seconds(venue) / 60 * 60
    let sheet = CandleSheet.hyperliquid
    let some = try #require(sheet.ask(venue, "1m", minute - 600 + 30, minute))
    #expect(some.first?.start == (minute - 600) * 1_000 && some.count == 11)
    #expect(try #require(sheet.ask(venue, "1m", minute - 9_000 * 60, minute)).count == 5_000)
    #expect(try #require(sheet.ask(venue, "1m", minute - 9_000 * 60, minute - 8_000 * 60)).isEmpty)
    #expect(sheet.ask(venue, "7m", minute, minute) == nil)
  }

  @Test("Gate is loud: of a range too wide or too old, and of a limit beside two bounds")
  func gate() throws {
    let venue = try makeVenue("gate", rate: 1)
    let minute = seconds(venue) / 60 * 60
    func ask(_ query: KeyValuePairs<String, String>) -> (status: Int, body: String, rows: Int) {
      var all: [(name: String, value: String)] = [("currency_pair", "BTC_USDT"), ("interval", "1m")]
      all += query.map { (name: $0.key, value: $0.value) }
      let response = venue.respond(path: "/api/v4/spot/candlesticks", query: all)
      return (response.status, response.body, (CandleSheet.json(response.body) as? [Any])?.count ?? 0)
    }
    #expect(ask([:]).rows == 100)
    #expect(ask(["from": "\(minute - 999 * 60)", "to": "\(minute)"]).rows == 1_000)
    #expect(ask(["from": "\(minute - 1_000 * 60)", "to": "\(minute)"]).body.contains("range too broad"))
    #expect(ask(["from": "\(minute - 10_001 * 60)", "to": "\(minute - 9_900 * 60)"]).body.contains("too long ago"))
    #expect(ask(["from": "\(minute - 60)", "to": "\(minute)", "limit": "2"]).status == 400)
    let forward = try #require(
      CandleSheet.json(ask(["from": "\(minute - 5_000 * 60)", "limit": "2"]).body) as? [[String]])
    let wanted: [Int64] = [minute - 300_000, minute - 299_940]
    #expect(forward.map { $0[0] } == wanted.map { String($0) })
    #expect(ask(["limit": "1001"]).status == 400)
    #expect(answer(venue, "/api/v4/spot/candlesticks", ["currency_pair": "NOTACOIN_USDT"]).body.contains("NOTACOIN"))
  }

  @Test("KuCoin has 100 rows without both bounds, 1,500 of the newest with them, and too many digits")
  func kucoin() throws {
    let venue = try makeVenue("kucoin", rate: 4)
    // So that the bar under way has a trade.
    venue.advance(to: venue.now + 30 * Microseconds.second)
    let minute = seconds(venue) / 60 * 60
    let path = "/api/v1/market/candles"
    #expect(answer(venue, path, ["symbol": "BTC-USDT", "type": "1hour", "startAt": "1"]).rows == 100)
    let sheet = CandleSheet.kucoin
    let wide = try #require(sheet.ask(venue, "1min", minute - 9_000 * 60, minute))
    #expect(wide.count == 1_500 && wide[0].start == minute * 1_000)
    #expect(answer(venue, path, ["symbol": "NOPE-USDT", "type": "1min"]).body.contains("400100"))
    let body = answer(venue, path, ["symbol": "ETH-USDT", "type": "1hour"]).body
    let rows = try #require(try parse(body)["data"] as? [[String]])
    #expect(rows[0][5].split(separator: ".")[1].count == 20)
  }

  @Test("Bybit shuts an address out that asks too often, and says too many visits when a fault has it so")
  func bybit() throws {
    let venue = try makeVenue("bybit", rate: 1)
    func ask() -> (status: Int, body: String, rows: Int) {
      answer(venue, "/v5/market/kline", ["category": "spot", "symbol": "BTCUSDT", "interval": "D", "limit": "1"])
    }
    try venue.inject(Fault(.candles, candles: .limited))
    #expect(ask().body.contains(#""retCode":10006"#))
    for _ in 0..<600 { _ = ask() }
    #expect(ask().status == 403)
    venue.advance(to: venue.now + 60 * Microseconds.second)
    #expect(ask().status == 403)
    #expect(answer(venue, "/v5/market/kline", ["category": "odd"]).status == 403)
  }

  @Test("Bitget's candles are for a month of minutes, its history for pages of 200 with an end")
  func bitget() throws {
    let venue = try makeVenue("bitget", rate: 4)
    venue.advance(to: venue.now + 30 * Microseconds.second)
    let minute = seconds(venue) / 60 * 60_000
    func ask(_ path: String, _ query: KeyValuePairs<String, String>) -> (status: Int, body: String, rows: Int) {
      answer(venue, "/api/v2/spot/market/" + path, query)
    }
    let old = "\(minute - 40 * 86_400_000)"
    let month = ask("candles", ["symbol": "BTCUSDT", "granularity": "1min", "endTime": old])
    #expect(month.status == 200 && month.rows == 0 && month.body.contains("success"))
    let history: KeyValuePairs = ["symbol": "BTCUSDT", "granularity": "1min", "endTime": old, "limit": "200"]
    #expect(ask("history-candles", history).rows == 200)
    #expect(ask("history-candles", ["symbol": "BTCUSDT", "granularity": "1min"]).body.contains("400172"))
    let many: KeyValuePairs = ["symbol": "BTCUSDT", "granularity": "1min", "endTime": old, "limit": "201"]
    #expect(ask("history-candles", many).body.contains("40053"))
    #expect(ask("candles", ["symbol": "NOTACOINUSDT", "granularity": "1min"]).body.contains("40034"))
    let days = try parse(ask("candles", ["symbol": "BTCUSDT", "granularity": "1day"]).body)["data"] as? [[String]]
    #expect(days?.last.flatMap { Int64($0[0]) }.map { $0 / 3_600_000 % 24 } == 16)
    let running = try parse(ask("candles", ["symbol": "BTCUSDT", "granularity": "1min"]).body)["data"] as? [[String]]
    #expect(running?.last?[0] == "\(minute)" && running?.count == 100)
  }
}
