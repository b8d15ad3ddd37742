import Bytes
import MarketData
import TestSupport
import Testing

/// A market with one or more instruments, and a batch to fill.
private struct Scene: ~Copyable {
  let market: Market
  var batch = EventBatch()
  var changes = MarketChanges()
  var now = Timestamp(microseconds: 1_700_000_000_000_000)

  init(
    quotesFromBook: Bool = false, depth: Int? = nil, checksum: Market.BookChecksum? = nil, patience: Int = 1,
    crossedTolerance: Int64 = Microseconds.second, instruments: Int = 1
  ) {
    market = Market(
      configuration: .init(
        quotesFromBook: quotesFromBook, bookDepthLimit: depth, checksum: checksum, checksumPatience: patience,
        crossedTolerance: crossedTolerance))
    for index in 0..<instruments { batch.append(instrument: Self.instrument(index)) }
    apply()
  }

  static func instrument(_ index: Int, priceScale: UInt8 = 2, sizeScale: UInt8 = 4) -> Instrument {
    Instrument(
      id: .init(index), venue: "test", venueSymbol: "I\(index)", base: "B\(index)", quote: "USD",
      priceScale: priceScale,
      sizeScale: sizeScale)
  }

  mutating func apply() {
    changes.removeAll()
    market.apply(batch, now: now, into: &changes)
    batch.removeAll()
  }

  mutating func advance(_ microseconds: Int64) {
    now = now + microseconds
    changes.removeAll()
    market.advance(to: now, into: &changes)
  }

  mutating func trade(_ price: Int64, instrument: Int = 0, at offset: Int64 = 0, backlog: Bool = false) {
    batch.events.append(
      .trade(
        Trade(
          instrument: .init(instrument), id: TradeID(1), price: price, size: 10, side: .buy, time: now + offset,
          isBacklog: backlog)))
  }

  mutating func book(
    _ kind: BookEvent.Kind, bids: [(Int64, Int64)], asks: [(Int64, Int64)], checksum: UInt32? = nil, instrument: Int = 0
  ) {
    let bidStart = batch.bids.count
    let askStart = batch.asks.count
    batch.bids += bids.map { PriceLevel(price: $0.0, size: $0.1) }
    batch.asks += asks.map { PriceLevel(price: $0.0, size: $0.1) }
    batch.events.append(
      .book(
        BookEvent(
          instrument: .init(instrument), kind: kind, bidRange: bidStart..<batch.bids.count,
          askRange: askStart..<batch.asks.count, time: now, checksum: checksum)))
  }

  /// The changes in a word each.
  var words: [String] {
    changes.items.map { item in
      switch item {
      case .trades(let id, let range): "trades \(id.index) \(range.count)"
      case .tradeGap(let id, let range): "gap \(id.index) \(range.count)"
      case .tradesMissing(let id, let hole): "missing \(id.index) \(changes.holes[hole].count ?? 0)"
      case .tradesSearched(let id, let hole): "searched \(id.index) \(changes.holes[hole].found)"
      case .quote(let quote): "quote \(quote.bid)/\(quote.ask)"
      case .ticker(let id): "ticker \(id.index)"
      case .pulse(let pulse): "pulse \(pulse.price) ×\(pulse.merged)"
      case .bookSnapshot(let id): "snapshot \(id.index)"
      case .bookDelta(_, let bids, let asks, _): "delta \(bids.count)/\(asks.count)"
      case .bookState(_, .live): "live"
      case .bookState(_, .syncing(let reason)): "syncing \(reason?.description ?? "first")"
      case .bookState(_, .absent): "absent"
      case .sparkline(let id): "sparkline \(id.index)"
      case .candles(let id, let range): "candles \(id.index) \(range.count)"
      case .past(let id): "past \(id.index)"
      case .instrument(let id): "instrument \(id.index)"
      case .channel(let id, let channel, .live): "\(channel.name) \(id.index) live"
      case .channel(let id, let channel, .doubted): "\(channel.name) \(id.index) doubted"
      case .channel(let id, let channel, .silent(let attempt)): "\(channel.name) \(id.index) silent \(attempt)"
      }
    }
  }
}

@Suite struct MarketTests {
  @Test("trades of one instrument that stand together make one change, one pulse and one point of the line")
  func tradesMerge() {
    var scene = Scene(instruments: 2)
    for price in [100, 101, 102] as [Int64] { scene.trade(price) }
    scene.trade(7, instrument: 1)
    scene.trade(103)
    scene.apply()
    #expect(
      scene.words == [
        "trades 0 3", "pulse 100 ×1", "sparkline 0", "ticker 0", "trades 1 1", "pulse 7 ×1", "sparkline 1", "ticker 1",
        "trades 0 1", "sparkline 0",
      ])
    #expect(scene.changes.trades.map(\.price) == [100, 101, 102, 7, 103])
    scene.advance(100 * Microseconds.millisecond)
    #expect(scene.words == ["pulse 103 ×3"])
  }

  @Test("backlog fills the line and the last trade, but is no news and makes no pulse")
  func backlog() {
    var scene = Scene()
    scene.trade(90, at: -3 * Microseconds.hour, backlog: true)
    scene.trade(95, at: -2 * Microseconds.hour, backlog: true)
    scene.trade(85, at: -4 * Microseconds.hour, backlog: true)
    scene.apply()
    #expect(scene.words == ["sparkline 0", "ticker 0"])
    #expect(scene.market[.init(0)].lastTrade?.price == 95)
    let line = scene.market[.init(0)].sparkline(points: 24, now: scene.now)
    #expect(line.points == [85, 90, 95, 95, 95])
    #expect(scene.market.clockWarnings == 0)
  }

  @Test("backlog does not displace a newer last trade")
  func backlogOlder() {
    var scene = Scene()
    scene.trade(100)
    scene.apply()
    scene.trade(90, at: -Microseconds.minute, backlog: true)
    scene.apply()
    #expect(scene.market[.init(0)].lastTrade?.price == 100)
  }

  @Test("a venue clock that is off is held within 5 s and counted")
  func clock() {
    var scene = Scene()
    scene.trade(100, at: Microseconds.day)
    scene.trade(101, at: -Microseconds.day)
    scene.trade(102, at: 4 * Microseconds.second)
    scene.apply()
    #expect(scene.market.clockWarnings == 2)
    #expect(scene.market[.init(0)].clockWarnings == 2)
    #expect(scene.market[.init(0)].dayFigures(now: scene.now).trades == 3)
    #expect(scene.changes.trades[0].time == scene.now + Microseconds.day, "the trade keeps the venue's time")
  }

  @Test("a snapshot makes the book live, then deltas are published with their levels")
  func bookLife() {
    var scene = Scene()
    scene.book(.delta, bids: [(99, 1)], asks: [])
    scene.apply()
    #expect(scene.words.isEmpty)
    #expect(scene.market[.init(0)].ignoredDeltas == 1)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(100, 0), (99, 5)], asks: [(102, 2)])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "delta 2/1"])
    #expect(scene.changes.bids == [PriceLevel(price: 100, size: 0), PriceLevel(price: 99, size: 5)])
    #expect(scene.market[.init(0)].book.bids.map(\.price) == [99])
    scene.book(.snapshot, bids: [(98, 1)], asks: [(101, 1)])
    scene.apply()
    #expect(scene.words == ["snapshot 0"])
    #expect(scene.market[.init(0)].book.asks.count == 1)
  }

  @Test("levels that the depth limit drops are published as removed")
  func depth() {
    var scene = Scene(depth: 1)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(105, 1)])
    scene.book(.delta, bids: [(101, 1)], asks: [])
    scene.apply()
    #expect(scene.changes.bids == [PriceLevel(price: 101, size: 1), PriceLevel(price: 100, size: 0)])
  }

  @Test("quotes come from the book's top only when it changed")
  func quotes() {
    var scene = Scene(quotesFromBook: true)
    scene.book(.snapshot, bids: [(100, 1), (90, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(90, 2)], asks: [])
    scene.book(.delta, bids: [(100, 0)], asks: [])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "quote 100/101", "delta 1/0", "delta 1/0", "quote 90/101"])
    scene.batch.events.append(.bookReset(.init(0), .gap))
    scene.apply()
    #expect(scene.words == ["syncing sequence gap"])
    #expect(scene.market[.init(0)].quote == nil)
  }

  @Test("a venue's quote is published when it changed, whatever its time")
  func venueQuotes() {
    var scene = Scene()
    for bid in [100, 100, 101] as [Int64] {
      scene.batch.events.append(
        .quote(Quote(instrument: .init(0), bid: bid, bidSize: 1, ask: 105, askSize: 1, time: scene.now + bid)))
    }
    scene.apply()
    #expect(scene.words == ["quote 100/105", "quote 101/105"])
  }

  @Test("a failed checksum clears the book and is published instead of the change")
  func checksum() {
    var scene = Scene(checksum: { book, _, _ in UInt32(book.bids.count) })
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)], checksum: 1)
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0"])
    scene.book(.delta, bids: [(99, 1)], asks: [(102, 1)], checksum: 7)
    scene.book(.delta, bids: [(98, 1)], asks: [])
    scene.apply()
    #expect(scene.words == ["syncing checksum mismatch"])
    #expect(scene.changes.bids.isEmpty)
    #expect(scene.changes.asks.isEmpty)
    #expect(scene.market[.init(0)].book.isEmpty)
    #expect(scene.market[.init(0)].ignoredDeltas == 1)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)], checksum: 9)
    scene.apply()
    #expect(scene.words == ["syncing checksum mismatch"], "a second failure asks for a snapshot again")
  }

  @Test("with patience it takes two checksums in a row that differ; one that says nothing does not count")
  func patientChecksum() {
    // Of a book with three bids the rule says nothing.
    var scene = Scene(checksum: { book, _, _ in book.bids.count == 3 ? nil : UInt32(book.bids.count) }, patience: 2)
    func live() -> Bool { scene.market[.init(0)].bookState == .live }
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [], asks: [], checksum: 7)
    scene.book(.delta, bids: [], asks: [], checksum: 1)
    scene.book(.delta, bids: [], asks: [], checksum: 7)
    scene.apply()
    #expect(live() && scene.market[.init(0)].checksumsOK == 1)
    scene.book(.delta, bids: [(99, 1), (98, 1)], asks: [], checksum: 7)
    scene.apply()
    #expect(live())
    scene.book(.delta, bids: [(98, 0)], asks: [], checksum: 7)
    scene.apply()
    #expect(scene.words == ["syncing checksum mismatch"])
    // The count begins anew with the next snapshot.
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)], checksum: 7)
    scene.apply()
    #expect(live())
  }

  @Test("a crossed book is not live for a moment, and is rebuilt if it stays crossed for the tolerance")
  func crossed() {
    var scene = Scene(quotesFromBook: true)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(102, 1)], asks: [])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "quote 100/101", "syncing crossed book"])
    #expect(scene.market[.init(0)].isCrossedForNow && scene.market[.init(0)].quote == nil)
    #expect(scene.market.nextDeadline == scene.now + Microseconds.second)
    scene.advance(Microseconds.second - 1)
    #expect(scene.words.isEmpty)
    scene.advance(1)
    #expect(scene.words == ["syncing crossed book"], "told again: now it has to be rebuilt")
    #expect(scene.market[.init(0)].bookState == .syncing(.crossed) && !scene.market[.init(0)].isCrossedForNow)
    #expect(scene.market.nextDeadline == .distantFuture)
    scene.book(.delta, bids: [(102, 0)], asks: [])
    scene.apply()
    #expect(scene.words.isEmpty, "only a snapshot helps from here on")
  }

  @Test("a book that uncrosses in time is shown whole again, and being crossed again counts anew")
  func uncrossed() {
    var scene = Scene(quotesFromBook: true)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(102, 1)], asks: [])
    scene.apply()
    scene.advance(Microseconds.second / 2)
    scene.book(.delta, bids: [(99, 5)], asks: [])
    scene.book(.delta, bids: [(102, 0)], asks: [])
    scene.book(.delta, bids: [(98, 1)], asks: [])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "quote 100/101", "delta 1/0"])
    #expect(scene.market[.init(0)].book.bids.map(\.price) == [98, 99, 100])
    scene.book(.delta, bids: [(103, 1)], asks: [])
    scene.apply()
    #expect(scene.words == ["syncing crossed book"])
    scene.advance(Microseconds.second / 2)
    #expect(scene.words.isEmpty)
    #expect(scene.market[.init(0)].isCrossedForNow)
    scene.advance(Microseconds.second / 2)
    #expect(scene.words == ["syncing crossed book"])
  }

  @Test("a snapshot that is crossed makes no book live; the delta that uncrosses it does")
  func crossedSnapshot() {
    var scene = Scene()
    scene.book(.snapshot, bids: [(100, 1), (102, 1)], asks: [(101, 1)])
    scene.apply()
    #expect(scene.words == ["syncing crossed book"])
    scene.book(.delta, bids: [(102, 0)], asks: [])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0"])
  }

  @Test("a connection that is lost while a book is crossed takes it out of sync for good")
  func disconnectedWhileCrossed() {
    var scene = Scene()
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(102, 1)], asks: [])
    scene.apply()
    scene.changes.removeAll()
    scene.market.disconnect(into: &scene.changes)
    #expect(scene.words == ["syncing connection lost"] && !scene.market[.init(0)].isKept)
  }

  @Test(
    "trades at a price or size of zero or less are left out: no trade, no pulse, no point of a line",
    arguments: [
      (0, 10), (-5, 10), (100, 0), (100, -1),
    ])
  func impossibleTrade(_ price: Int64, _ size: Int64) {
    var scene = Scene()
    scene.trade(100)
    scene.apply()
    for isBacklog in [false, true] {
      scene.batch.events.append(
        .trade(
          Trade(
            instrument: .init(0), id: TradeID(2), price: price, size: size, side: .buy, time: scene.now,
            isBacklog: isBacklog)))
    }
    scene.apply()
    #expect(scene.words.isEmpty && scene.market.refusedValues == 2)
    #expect(scene.market[.init(0)].lastTrade?.price == 100)
  }

  @Test("a book with a price of zero or less is out of sync", arguments: [-1, 0])
  func impossibleLevel(_ price: Int64) {
    var scene = Scene()
    scene.book(.snapshot, bids: [(100, 1), (price, 1)], asks: [(101, 1)])
    scene.apply()
    #expect(scene.words == ["syncing unreadable message"])
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [], asks: [(price, 1)])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "syncing unreadable message"])
    #expect(scene.market[.init(0)].book.isEmpty)
  }

  @Test(
    "a quote whose bid is not below its ask, or with an impossible side, is left out; an empty side is not",
    arguments: [
      (101, 1, 101, 1, false), (102, 1, 101, 1, false), (-1, 1, 101, 1, false), (100, 1, 0, 1, false),
      (100, -1, 101, 1, false), (100, 1, 101, 1, true), (0, 0, 101, 1, true), (100, 1, 0, 0, true), (0, 0, 0, 0, true),
    ])
  func impossibleQuote(_ bid: Int64, _ bidSize: Int64, _ ask: Int64, _ askSize: Int64, _ isPublished: Bool) {
    var scene = Scene()
    scene.batch.events.append(
      .quote(
        Quote(instrument: .init(0), bid: bid, bidSize: bidSize, ask: ask, askSize: askSize, time: scene.now)))
    scene.apply()
    #expect(scene.words.count == (isPublished ? 1 : 0) && scene.market.refusedValues == (isPublished ? 0 : 1))
  }

  @Test("without tolerance a crossed book is out of sync at once")
  func crossedAtOnce() {
    var scene = Scene(crossedTolerance: 0)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(101, 1)], asks: [])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "syncing crossed book"])
  }

  @Test("a lost connection takes every live book out of sync")
  func disconnect() {
    var scene = Scene(instruments: 3)
    scene.book(.snapshot, bids: [(100, 1)], asks: [], instrument: 0)
    scene.book(.snapshot, bids: [(100, 1)], asks: [], instrument: 2)
    scene.apply()
    scene.changes.removeAll()
    scene.market.disconnect(into: &scene.changes)
    #expect(scene.words == ["syncing connection lost", "syncing connection lost"])
    #expect(scene.market[.init(1)].bookState == .absent)
  }

  @Test("wider scales multiply book, last trade, quote, ticker, line and pulse once")
  func widened() {
    var scene = Scene(quotesFromBook: true)
    scene.trade(100)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    var ticker = Ticker(instrument: .init(0), time: scene.now)
    ticker.high = 120
    scene.batch.events.append(.ticker(ticker))
    scene.apply()
    scene.batch.append(instrument: Scene.instrument(0, priceScale: 4, sizeScale: 5))
    scene.batch.append(instrument: Scene.instrument(0, priceScale: 4, sizeScale: 5))
    scene.apply()
    let state = scene.market[.init(0)]
    #expect(scene.words == ["instrument 0"])
    #expect(state.book.bestBid == PriceLevel(price: 10_000, size: 10))
    #expect(state.bookState == .live)
    #expect(state.lastTrade?.price == 10_000)
    #expect(state.lastTrade?.size == 100)
    #expect(state.quote?.ask == 10_100)
    #expect(state.quote?.askSize == 10)
    #expect(state.ticker?.high == 12_000)
    #expect(state.sparkline(points: 24, now: scene.now).points == [10_000])
    #expect(state.pulse.published == 10_000)
  }

  @Test("a book whose values do not fit at a wider scale is rebuilt")
  func widenedTooFar() {
    var scene = Scene()
    scene.book(.snapshot, bids: [(.max / 2, 1)], asks: [])
    scene.apply()
    scene.batch.append(instrument: Scene.instrument(0, priceScale: 4))
    scene.apply()
    #expect(scene.words == ["syncing unreadable message", "instrument 0"])
  }

  @Test("where the venue has no ticker, the gateway's own comes at most once a second")
  func ownTicker() {
    var scene = Scene()
    scene.trade(100)
    scene.apply()
    #expect(scene.words.last == "ticker 0")
    for _ in 0..<5 {
      scene.advance(10 * Microseconds.millisecond)
      scene.trade(100)
      scene.apply()
      #expect(!scene.words.contains("ticker 0"))
    }
    scene.advance(949 * Microseconds.millisecond)
    #expect(scene.words.isEmpty)
    scene.advance(Microseconds.millisecond)
    #expect(scene.words == ["ticker 0"])
    #expect(scene.market[.init(0)].ticker(now: scene.now).trades == 6)
  }

  @Test("where the venue has a ticker, it is published and served, with the gateway's own figures where it has none")
  func venueTicker() {
    var scene = Scene()
    var ticker = Ticker(instrument: .init(0), time: scene.now)
    ticker.volume = Decimal64(mantissa: 5, scale: 0)
    scene.batch.events.append(.ticker(ticker))
    scene.trade(100)
    scene.apply()
    #expect(scene.words == ["ticker 0", "trades 0 1", "pulse 100 ×1", "sparkline 0"])
    #expect(scene.market[.init(0)].ticker(now: scene.now).volume == Decimal64(mantissa: 5, scale: 0))
  }

  @Test("the windows roll at the minute, also without trades")
  func roll() {
    var scene = Scene()
    #expect(scene.market.nextDeadline == .distantFuture)
    scene.trade(100)
    scene.apply()
    let minute = Timestamp(microseconds: (scene.now.microseconds / Microseconds.minute + 1) * Microseconds.minute)
    #expect(scene.market.nextDeadline == minute)
    scene.advance(minute - scene.now)
    #expect(scene.words == ["sparkline 0", "ticker 0"])
    #expect(scene.market.nextDeadline == minute + Chart.grace, "then the candles close")
    scene.advance(Chart.grace)
    #expect(scene.market.nextDeadline == minute + Microseconds.minute)
  }

  /// A scene at the beginning of an hour, with a trade at `price`.
  private func hour(_ price: Int64) -> Scene {
    var scene = Scene()
    let length = Microseconds.hour
    scene.now = Timestamp(microseconds: (scene.now.microseconds / length + 1) * length)
    scene.trade(price)
    scene.apply()
    return scene
  }

  @Test("a candle closes once, a second after its interval, whether or not a trade came")
  func candlesClose() {
    var scene = hour(100)
    scene.advance(Microseconds.minute)
    #expect(scene.changes.candles.isEmpty)
    scene.advance(Chart.grace - 1)
    #expect(scene.words.isEmpty)
    scene.advance(1)
    #expect(scene.words == ["candles 0 1"])
    #expect(scene.changes.candles[0].trades == 1)
    #expect(scene.changes.candles[0].isClosed && scene.changes.candles[0].source == .own)
    for minute in 2...15 {
      scene.advance(Microseconds.minute)
      let candles = scene.changes.candles
      let intervals: [CandleInterval] =
        minute % 15 == 0
        ? [.minute, .fiveMinutes, .quarterHour] : minute % 5 == 0 ? [.minute, .fiveMinutes] : [.minute]
      #expect(candles.map(\.interval) == intervals)
      #expect(candles[0].volume == 0 && candles[0].trades == 0, "a quiet minute")
      #expect([candles[0].open, candles[0].high, candles[0].low, candles[0].close] == [100, 100, 100, 100])
    }
    #expect(scene.changes.candles[1].volume == 0)
    #expect(scene.changes.candles[2].volume == 10)
  }

  @Test("late trades issue a closed candle again once, a second later, with a higher revision")
  func lateTrades() {
    var scene = hour(100)
    scene.advance(Microseconds.minute + Chart.grace)
    #expect(scene.changes.candles.map(\.rev) == [0])
    scene.advance(Microseconds.second)
    scene.trade(120, at: -3 * Microseconds.second)
    scene.trade(90, at: -4 * Microseconds.second)
    scene.apply()
    #expect(scene.changes.candles.isEmpty)
    scene.advance(Market.reissueInterval)
    #expect(scene.changes.candles.map(\.rev) == [1])
    #expect(scene.changes.candles[0].high == 120 && scene.changes.candles[0].low == 90)
    #expect(scene.changes.candles[0].close == 120 && scene.changes.candles[0].trades == 3)
    scene.advance(Microseconds.second)
    #expect(scene.changes.candles.isEmpty)
  }

  @Test("what came while the connection was gone is a gap, and no candle is made of it")
  func interrupted() {
    var scene = hour(100)
    let start = scene.now
    scene.advance(90 * Microseconds.second)
    scene.batch.events.append(.heartbeat)
    scene.apply()
    scene.advance(5 * Microseconds.second)
    scene.market.disconnect(into: &scene.changes)
    for _ in 0..<4 { scene.advance(Microseconds.minute) }
    scene.trade(110)
    scene.apply()
    let line = scene.market[.init(0)].sparkline(.hour, points: 360, now: scene.now)
    #expect(line.coveredFrom == start)
    #expect(line.gaps == [TimeSpan(from: start + 90 * Microseconds.second, to: scene.now)])
    let candles = scene.market[.init(0)].candles(
      .minute, from: start, to: .distantFuture, limit: 100, now: scene.now)
    #expect(candles.map { ($0.time - start) / Microseconds.minute } == [0, 1, 5])
    #expect(candles.map(\.source) == [.own, .partial, .partial])
  }

  @Test("after the machine slept nothing is said to have been observed meanwhile")
  func slept() {
    var scene = hour(100)
    let start = scene.now
    scene.advance(3 * Microseconds.hour)
    scene.trade(110)
    scene.apply()
    let line = scene.market[.init(0)].sparkline(points: 24, now: scene.now)
    #expect(line.gaps == [TimeSpan(from: start + Chart.grace, to: scene.now)])
    #expect(scene.market[.init(0)].candles(.hour, from: start, to: .distantFuture, limit: 9, now: scene.now).count == 2)
  }

  @Test("restored candles are the past of an instrument before its first trade")
  func restored() {
    var scene = Scene()
    let hour = CandleInterval.hour.start(of: scene.now)
    let candles = (1...3).map { number in
      Candle(
        instrument: .init(0), interval: .hour, time: hour - Int64(number) * Microseconds.hour, open: 90, high: 99,
        low: 80,
        close: 100 - Int64(number), volume: 5, quoteVolume: nil, trades: nil, source: .venue, isClosed: true)
    }
    let restored = scene.market.restore(candles, of: .init(0), now: scene.now, into: &scene.changes)
    #expect(restored == 3)
    #expect(scene.words.last == "past 0")
    #expect(scene.market[.init(0)].lastPrice == 99)
    #expect(scene.market[.init(0)].sparkline(.month, points: 720, now: scene.now).points == [97, 98, 99, 99])
    #expect(scene.market.restore(candles, of: .init(7), now: scene.now, into: &scene.changes) == 0)
  }

  @Test("events of an instrument that was never announced have no effect")
  func unknownInstrument() {
    var scene = Scene()
    scene.trade(100, instrument: 9)
    scene.book(.snapshot, bids: [], asks: [], instrument: -1)
    scene.batch.append(instrument: Scene.instrument(5))
    scene.batch.events.append(.instrument(index: 77))
    scene.apply()
    #expect(scene.words.isEmpty)
    #expect(scene.market.ignoredEvents == 4)
  }

  @Test("random trades on many instruments give each the pulses of a merger of its own", arguments: testSeeds(4))
  func pulsesOfMany(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var scene = Scene(instruments: 20)
    var mergers = (0..<20).map { PulseMerger(instrument: .init($0)) }
    var expected: [Pulse] = []
    var got: [Pulse] = []
    func pulses(_ changes: borrowing MarketChanges) -> [Pulse] {
      changes.items.compactMap { if case .pulse(let pulse) = $0 { pulse } else { nil } }
    }
    for _ in 0..<1_500 {
      let target = scene.now + Int64(random.next() % 20_000)
      while scene.market.nextDeadline <= target {
        scene.advance(max(0, scene.market.nextDeadline - scene.now))
        got += pulses(scene.changes)
      }
      scene.now = target
      for index in mergers.indices where mergers[index].deadline <= target {
        if let pulse = mergers[index].advance(to: mergers[index].deadline) { expected.append(pulse) }
      }
      let index = Int(random.next() % 20)
      let price = Int64(100 + random.next() % 3)
      scene.trade(price, instrument: index)
      scene.apply()
      got += pulses(scene.changes)
      if let pulse = mergers[index].price(price, now: target) { expected.append(pulse) }
    }
    func order(_ a: Pulse, _ b: Pulse) -> Bool {
      (a.time, a.instrument.index) < (b.time, b.instrument.index)
    }
    #expect(got.count > 200)
    #expect(got.sorted(by: order) == expected.sorted(by: order), "seed \(seed)")
  }
}
