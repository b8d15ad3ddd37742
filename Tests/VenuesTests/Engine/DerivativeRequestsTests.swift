import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("What venues send of derivatives on demand")
struct DerivativeRequestsTests {
  private static let linear =
    #"{"retCode":0,"result":{"category":"linear","nextPageCursor":"","list":[{"symbol":"BTCUSDT","contractType":"LinearPerpetual","status":"Trading","baseCoin":"BTC","quoteCoin":"USDT","deliveryTime":"0","priceFilter":{"tickSize":"0.10"},"lotSizeFilter":{"qtyStep":"0.001"}},{"symbol":"ETHUSDT","contractType":"LinearPerpetual","status":"Trading","baseCoin":"ETH","quoteCoin":"USDT","deliveryTime":"0","priceFilter":{"tickSize":"0.10"},"lotSizeFilter":{"qtyStep":"0.001"}}]}}"#
  private static let futures =
    #"{"rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":2400}],"symbols":[{"symbol":"BTCUSDT","status":"TRADING","contractType":"PERPETUAL","baseAsset":"BTC","quoteAsset":"USDT","marginAsset":"USDT","filters":[{"filterType":"PRICE_FILTER","tickSize":"0.10"},{"filterType":"LOT_SIZE","stepSize":"0.001"}]},{"symbol":"ETHUSDT","status":"TRADING","contractType":"PERPETUAL","baseAsset":"ETH","quoteAsset":"USDT","marginAsset":"USDT","filters":[{"filterType":"PRICE_FILTER","tickSize":"0.01"},{"filterType":"LOT_SIZE","stepSize":"0.001"}]}]}"#

  private static func feed(_ venue: Venue, _ list: String) -> EngineHarness {
    let feed = EngineHarness(venue, ["BTC-USDT-PERP", "ETH-USDT-PERP"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    return feed
  }

  private static func want(_ feed: EngineHarness, _ wishes: MarketWishes, _ index: Int = 0) {
    feed.engine.want(InstrumentID(index), wishes, now: feed.now)
  }

  private static func isContract(_ path: String) -> Bool {
    path.contains("premiumIndex") || path.contains("openInterest") || path.contains("funding")
  }

  // MARK: In the stream

  @Test("a topic on demand is subscribed while somebody wants it, on each connection, and not before")
  func topics() {
    let feed = Self.feed(Bybit.linear, Self.linear)
    #expect(feed.sent.count == 2 && !feed.sent.contains { $0.contains("allLiquidation") })
    feed.wait(5)
    #expect(!feed.sent.contains { $0.contains("allLiquidation") })
    Self.want(feed, .liquidations)
    feed.wait(0.25)
    #expect(feed.sent.filter { $0.contains("allLiquidation") }.count == 1)
    #expect(feed.sent.first?.contains(#""op":"subscribe","args":["allLiquidation.BTCUSDT"]"#) == true)
    Self.want(feed, .liquidations)
    feed.wait(30)
    #expect(!feed.sent.contains { $0.contains("allLiquidation") }, "once")
    feed.disconnect()
    feed.connect()
    let first = feed.sent
    feed.wait(1)
    #expect((first + feed.sent).filter { $0.contains("allLiquidation.BTCUSDT") }.count == 1)
    #expect(!(first + feed.sent).contains { $0.contains("allLiquidation.ETHUSDT") })
    Self.want(feed, [])
    feed.wait(0.25)
    #expect(feed.sent.contains { $0.contains(#""op":"unsubscribe","args":["allLiquidation.BTCUSDT"]"#) })
    feed.disconnect()
    feed.connect()
    #expect(!feed.sent.contains { $0.contains("allLiquidation") })
  }

  @Test("a wish before the connection is met with it, and one that ends at once sends nothing")
  func early() {
    let feed = EngineHarness(Bybit.linear, ["BTC-USDT-PERP", "ETH-USDT-PERP"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.linear)
    Self.want(feed, .liquidations)
    Self.want(feed, [.liquidations, .derivative], 1)
    Self.want(feed, [], 1)
    feed.connect()
    let first = feed.sent
    feed.wait(1)
    let topics = (first + feed.sent).filter { $0.contains("allLiquidation") }
    #expect(topics.count == 1 && topics[0].contains("BTCUSDT"))
  }

  // MARK: By REST

  @Test("a market that nobody wants costs no request")
  func nobody() {
    let feed = Self.feed(Binance.usdm, Self.futures)
    for _ in 0..<20 {
      feed.wait(60)
      #expect(!feed.gets.contains { Self.isContract($0.path) })
    }
    Self.want(feed, .liquidations)
    feed.wait(60)
    #expect(!feed.gets.contains { Self.isContract($0.path) }, "it has no other values by REST")
  }

  @Test("of a market that somebody wants each value is requested at its own pace, and of no other one")
  func paces() {
    let feed = Self.feed(Binance.usdm, Self.futures)
    Self.want(feed, .derivative, 1)
    var paths: [String: Int] = [:]
    for _ in 0..<240 {
      for get in feed.gets where Self.isContract(get.path) {
        paths[get.path, default: 0] += 1
        feed.respond(get.request, 200, get.path.contains("Info") ? "[]" : #"{"symbol":"ETHUSDT"}"#)
      }
      feed.wait(0.25)
    }
    #expect(
      paths.keys.sorted() == [
        "/fapi/v1/fundingInfo", "/fapi/v1/openInterest?symbol=ETHUSDT", "/fapi/v1/premiumIndex?symbol=ETHUSDT",
      ])
    #expect(paths["/fapi/v1/premiumIndex?symbol=ETHUSDT"] == 12, "each 5 s in a minute")
    #expect(paths["/fapi/v1/openInterest?symbol=ETHUSDT"] == 2 && paths["/fapi/v1/fundingInfo"] == 1)
    Self.want(feed, [], 1)
    feed.wait(120)
    #expect(!feed.gets.contains { Self.isContract($0.path) })
  }

  @Test("an answer is what the venue said by REST; one that comes too late is none, and one that fails says why")
  func answers() throws {
    let feed = Self.feed(Binance.usdm, Self.futures)
    Self.want(feed, .derivative)
    feed.wait(0.25)
    let gets = feed.gets.filter { Self.isContract($0.path) }
    let index = try #require(gets.first { $0.path.contains("premiumIndex") })
    let interest = try #require(gets.first { $0.path.contains("openInterest") })
    let interval = try #require(gets.first { $0.path.contains("fundingInfo") })
    feed.respond(
      index.request, 200,
      #"{"symbol":"BTCUSDT","markPrice":"11793.63104562","indexPrice":"11781.80495970","lastFundingRate":"0.00038246","nextFundingTime":1700003600000,"time":1699999999000}"#
    )
    feed.respond(interest.request, 200, #"{"openInterest":"10659.509","symbol":"BTCUSDT","time":1699999999500}"#)
    feed.respond(
      interval.request, 200,
      #"[{"symbol":"BLZUSDT","fundingIntervalHours":2},{"symbol":"BTCUSDT","fundingIntervalHours":4}]"#)
    let derivative = try #require(feed.market[InstrumentID(0)].derivative)
    #expect(derivative.mark?.value == DerivativeFormatTests.decimal("11793.63104562"))
    #expect(derivative.mark?.source == .polled && derivative.mark?.time == Timestamp(milliseconds: 1_699_999_999_000))
    #expect(derivative.fundingRate?.value == DerivativeFormatTests.decimal("0.00038246"))
    #expect(derivative.fundingInterval?.value == 4 * Microseconds.hour)
    #expect(derivative.openInterest?.value == DerivativeFormatTests.decimal("10659.509"))
    #expect(derivative.openInterestQuote?.source == .computed)
    feed.respond(index.request, 200, #"{"markPrice":"1"}"#)
    #expect(feed.events.isEmpty, "it is answered once")
    feed.wait(6)
    let again = try #require(feed.gets.first { $0.path.contains("premiumIndex") })
    feed.respond(again.request, 429, "too many")
    feed.wait(20)
    #expect(!feed.gets.contains { Self.isContract($0.path) }, "the venue asked to wait")
  }

  @Test("past settlements are requested once an hour for who wants them, and are no news of the present")
  func settlements() throws {
    let feed = Self.feed(Binance.usdm, Self.futures)
    Self.want(feed, .fundingHistory)
    feed.wait(0.25)
    let gets = feed.gets.filter { Self.isContract($0.path) }
    #expect(gets.map(\.path) == ["/fapi/v1/fundingRate?symbol=BTCUSDT&limit=1000"])
    feed.respond(
      gets[0].request, 200,
      #"[{"symbol":"BTCUSDT","fundingRate":"-0.03750000","fundingTime":1690608000000,"markPrice":"34287.54619963"},{"symbol":"BTCUSDT","fundingRate":"0.00010000","fundingTime":1690636800000,"markPrice":"34287.54619963"}]"#
    )
    let state = feed.market[InstrumentID(0)]
    let times = [1_690_608_000_000, 1_690_636_800_000].map(Timestamp.init(milliseconds:))
    #expect(state.fundingHistory.settlements.map(\.time) == times)
    let rates = ["-0.0375", "0.0001"].map(DerivativeFormatTests.decimal)
    #expect(state.fundingHistory.settlements.map(\.rate.trimmed) == rates)
    #expect(state.derivative == nil)
    feed.wait(3_500)
    #expect(!feed.gets.contains { Self.isContract($0.path) })
    feed.wait(200)
    #expect(feed.gets.count { Self.isContract($0.path) } == 1)
    Self.want(feed, [.fundingHistory, .derivative])
    feed.wait(0.25)
    #expect(feed.gets.filter { Self.isContract($0.path) }.allSatisfy { !$0.path.contains("fundingRate?") })
  }

  @Test(
    "each venue's settlements",
    arguments: [
      (
        "bybit",
        #"{"retCode":0,"result":{"category":"linear","list":[{"symbol":"X","fundingRate":"0.0001","fundingRateTimestamp":"1672041600000"}]}}"#
      ),
      (
        "okx",
        #"{"code":"0","data":[{"fundingRate":"0.0003","realizedRate":"0.0001","fundingTime":"1672041600000","instId":"X"}]}"#
      ),
      ("bitget", #"{"code":"00000","data":[{"symbol":"X","fundingRate":"0.0001","fundingTime":"1672041600000"}]}"#),
    ])
  func formats(_ venue: String, _ text: String) throws {
    let all = ["bybit": BybitDerivatives.polls, "okx": OKXDerivatives.polls, "bitget": BitgetDerivatives.polls]
    let poll = try #require(all[venue]?.polls.first { $0.wish == .fundingHistory })
    var table = InstrumentTable()
    var batch = EventBatch()
    _ = table.add(
      ListedMarket(venueSymbol: "X", symbol: FeedSymbol(base: "X", quote: "USDT", kind: .perpetual)), venue: venue,
      into: &batch)
    func read(_ text: String) throws(FeedError) -> [FundingSettlement] {
      let bytes = Array(text.utf8)
      var reader = FieldReader(bytes.span.bytes)
      var report = DerivativeReport(instrument: InstrumentID(0), time: .distantPast, source: .polled)
      try poll.read(&reader, table[0], nil, &report)
      return report.settlements
    }
    #expect(poll.path(table[0])?.contains("X") == true)
    let expected = FundingSettlement(
      time: Timestamp(milliseconds: 1_672_041_600_000), rate: DerivativeFormatTests.decimal("0.0001"))
    #expect(try read(text) == [expected])
    for (from, to) in [("0.0001", "x"), ("1672041600000", ""), ("[{", "[1,{")] {
      #expect(throws: FeedError.self) { _ = try read(text.replacing(from, with: to)) }
    }
  }

  @Test("many wanted markets share the budget: none is left out, and no minute has more than the limit")
  func budget() {
    var polls = DerivativePolls()
    polls.polls = [
      DerivativePoll(path: { "/\($0.venueSymbol)" }, every: Microseconds.second) { (_, _, _, _) throws(FeedError) in }
    ]
    polls.weightPerMinute = 30
    var requests = DerivativeRequests(polls, connections: 1)
    var table = InstrumentTable()
    var batch = EventBatch()
    for index in 0..<40 {
      _ = table.add(
        ListedMarket(venueSymbol: "M\(index)", symbol: FeedSymbol(base: "M\(index)", quote: "USD", kind: .perpetual)),
        venue: "test", into: &batch)
      requests.want(index, .derivative)
    }
    var asked: [(path: String, second: Int)] = []
    for second in 0..<240 {
      let now = Timestamp(microseconds: 1_700_000_000_000_000 + Int64(second) * Microseconds.second)
      while let next = requests.next(now: now, instruments: table, isFollowed: { $0 != 3 }) {
        asked.append((next.path, second))
        let body = Array("{}".utf8)
        _ = try? requests.answered(next.request, AnswerStatus(code: 200), body.span.bytes, table, now: now)
      }
    }
    #expect(Set(asked.map(\.path)).count == 39, "all but the one that is not followed")
    for second in 0..<180 {
      let count = asked.count { (second..<second + 60).contains($0.second) }
      #expect(count <= 30, "\(count) in the minute from \(second)")
    }
    #expect(asked.count >= 110)
  }

  @Test("an answer that says nothing without the mark is requested once the mark is known")
  func needsMark() throws {
    var polls = DerivativePolls()
    polls.polls = [
      DerivativePoll(path: { _ in "/funding" }, every: Microseconds.minute, needsMark: true) {
        (_, _, mark, report) throws(FeedError) in
        report.fundingRate = mark.map { .value($0) } ?? .nothing
      },
      DerivativePoll(path: { _ in "/mark" }, every: Microseconds.minute) { (_, _, _, report) throws(FeedError) in
        report.mark = .value(Decimal64(mantissa: 5, scale: 0))
      },
    ]
    polls.weightPerMinute = 30
    var requests = DerivativeRequests(polls, connections: 1)
    var table = InstrumentTable()
    var batch = EventBatch()
    _ = table.add(
      ListedMarket(venueSymbol: "M", symbol: FeedSymbol(base: "M", quote: "USD", kind: .perpetual)), venue: "test",
      into: &batch)
    requests.want(0, .derivative)
    let now = Timestamp(microseconds: 1_700_000_000_000_000)
    func next() -> (request: Int, path: String, bodyLimit: Int)? {
      requests.next(now: now, instruments: table, isFollowed: { _ in true })
    }
    let first = try #require(next())
    let second = next()
    #expect(first.path == "/mark" && second == nil)
    let body = Array("{}".utf8)
    _ = try requests.answered(first.request, AnswerStatus(code: 200), body.span.bytes, table, now: now)
    let third = try #require(next())
    #expect(third.path == "/funding")
    let report = try requests.answered(third.request, AnswerStatus(code: 200), body.span.bytes, table, now: now)
    #expect(report?.fundingRate.value == Decimal64(mantissa: 5, scale: 0))
  }
}
