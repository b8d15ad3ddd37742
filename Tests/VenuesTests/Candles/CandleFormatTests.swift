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
      return (venue.parts.first { $0.part == part } ?? venue).candles
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

  private static let samples = VenueRegistry.samples.flatMap { $0.candleSamples }

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
    for venue in VenueRegistry.connections {
      let format = venue.candles
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
    return try BinanceCandles.spot.read(bytes.span.bytes, status: status, to: query, now: now)
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
      _ = try DeribitCandles.format.read(bytes.span.bytes, status: 200, to: query, now: Self.now)
    }
  }

  @Test("pages go from the newest to the oldest that the venue has, and cover the range without a hole")
  func pages() {
    let format = CoinbaseCandles.format
    let range = (Self.now - 1_000 * Microseconds.hour)..<Self.now
    let pages = format.pages(range, .hour, now: Self.now)
    #expect(pages.first?.upperBound == Self.now - Microseconds.hour)
    #expect(pages.last?.lowerBound == range.lowerBound)
    #expect(zip(pages, pages.dropFirst()).allSatisfy { $0.lowerBound == $1.upperBound })
    #expect(pages.allSatisfy { $0.upperBound - $0.lowerBound <= 300 * Microseconds.hour })
    let short = KrakenCandles.format.pages((Self.now - 9_000 * Microseconds.hour)..<Self.now, .hour, now: Self.now)
    #expect(short.map { ($0.upperBound - $0.lowerBound) / Microseconds.hour } == [718])
    #expect(
      KrakenCandles.format.pages(
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
