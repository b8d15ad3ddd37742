import Bytes
import Testing

@testable import MarketData

/// A channel of trades, quotes or tickers that dies alone, and markets that are merely quiet.
@Suite("Channels that die alone")
struct ChannelDoubtsTests {
  private final class Scene {
    let market: Market
    var now = Timestamp(microseconds: 1_700_000_000_000_000)
    /// What was said of channels, in order.
    private(set) var told: [String] = []
    /// Live trades.
    private(set) var published = 0
    private let id = InstrumentID(0)
    private var ticker: Ticker

    init(tickerInterval: Int64? = Microseconds.second, hasWitness: Bool = false) {
      market = Market(
        configuration: .init(
          quotesFromBook: hasWitness, bookDepthLimit: nil, checksum: nil, tickerInterval: tickerInterval,
          hasWitness: hasWitness))
      ticker = Ticker(instrument: id, time: now)
      ticker.last = 100
      ticker.volume = Decimal64(mantissa: 1_000, scale: 0)
      var batch = EventBatch()
      batch.append(
        instrument: Instrument(
          id: id, venue: "test", venueSymbol: "I", base: "B", quote: "USD", priceScale: 2, sizeScale: 2))
      apply(batch)
      book(.snapshot, bid: 100, ask: 110)
    }

    private func apply(_ batch: borrowing EventBatch) {
      var changes = MarketChanges()
      market.apply(batch, now: now, into: &changes)
      note(changes)
    }

    private func note(_ changes: borrowing MarketChanges) {
      published += changes.trades.count
      for case .channel(_, let channel, let state) in changes.items {
        switch state {
        case .silent(let attempt): told.append("\(channel.name) silent \(attempt)")
        case .doubted: told.append("\(channel.name) doubted")
        case .live: told.append("\(channel.name) live")
        }
      }
    }

    func book(_ kind: BookEvent.Kind = .delta, bid: Int64, ask: Int64) {
      var batch = EventBatch()
      batch.bids.append(PriceLevel(price: bid, size: 5))
      batch.asks.append(PriceLevel(price: ask, size: 5))
      if kind == .delta, let best = market[id].book.bestBid?.price, best != bid {
        batch.bids.append(PriceLevel(price: best, size: 0))
      }
      batch.events.append(
        .book(
          BookEvent(
            instrument: id, kind: kind, bidRange: 0..<batch.bids.count, askRange: 0..<batch.asks.count, time: now)))
      apply(batch)
    }

    func quote(_ bid: Int64, _ ask: Int64) {
      var batch = EventBatch()
      batch.events.append(.quote(Quote(instrument: id, bid: bid, bidSize: 1, ask: ask, askSize: 1, time: now)))
      apply(batch)
    }

    func trade(_ price: Int64, age: Int64 = 0, backlog: Bool = false, isLate: Bool = false) {
      var batch = EventBatch()
      batch.events.append(
        .trade(
          Trade(
            instrument: id, id: TradeID(1), price: price, size: 1, side: .buy, time: now + -age, isBacklog: backlog,
            isLate: isLate)))
      apply(batch)
    }

    /// Trades of one message, each with its age in seconds.
    func trades(_ trades: [(price: Int64, age: Int64)], isBacklog: Bool) {
      var batch = EventBatch()
      for (price, age) in trades {
        batch.events.append(
          .trade(
            Trade(
              instrument: id, id: TradeID(1), price: price, size: 1, side: .buy,
              time: now + -age * Microseconds.second, isBacklog: isBacklog)))
      }
      apply(batch)
    }

    /// A ticker, which differs from the one before in what is given.
    func ticker(last: Int64? = nil, volumeBy difference: Int64 = 0, trades: Int64? = nil, isWitness: Bool = false) {
      ticker.last = last ?? ticker.last
      ticker.volume?.mantissa += difference
      ticker.trades = trades ?? ticker.trades
      ticker.time = now
      var batch = EventBatch()
      batch.events.append(isWitness ? .witness(ticker) : .ticker(ticker))
      apply(batch)
    }

    /// Another channel shows a trade.
    func showTrade() {
      var batch = EventBatch()
      batch.events.append(.tradeShown(id))
      apply(batch)
    }

    func forgetTold() { told = [] }

    /// Lets time pass, with the book speaking each second as it does in a market that is not dead.
    func wait(_ seconds: Double) {
      var left = Int64(seconds * 1e6)
      while left > 0 {
        let step = min(left, 1_000_000)
        now = now + step
        left -= step
        var batch = EventBatch()
        batch.events.append(.heartbeat)
        apply(batch)
      }
    }

    var state: InstrumentState { market[id] }
  }

  // MARK: Trades

  /// What a ticker can say of a trade.
  enum News: CaseIterable { case price, volume, count }

  private func tell(_ news: News, _ scene: Scene, _ number: Int64) {
    switch news {
    case .price: scene.ticker(last: 100 + number)
    case .volume: scene.ticker(volumeBy: 1)
    case .count: scene.ticker(trades: 10 + number)
    }
  }

  @Test("a ticker that tells of trades shows within 10 s that trades are dead", arguments: News.allCases)
  func trades(_ news: News) {
    let scene = Scene()
    scene.ticker(trades: 10)
    scene.wait(20)
    scene.trade(100)
    let died = scene.now
    var number: Int64 = 0
    while scene.told.isEmpty, scene.now - died < 60 * Microseconds.second {
      scene.wait(1)
      number += 1
      tell(news, scene, number)
    }
    #expect(scene.told == ["trades silent 1"])
    #expect(scene.now - died <= 10 * Microseconds.second)
    #expect(scene.state.isSilent(.trades))
    scene.trade(100 + number)
    #expect(scene.told == ["trades silent 1", "trades live"])
    #expect(scene.state.silent == [])
  }

  @Test("a ticker that follows its trades shows nothing, however rare they are")
  func quietTrades() {
    let scene = Scene()
    scene.ticker()
    for number in 1...40 as ClosedRange<Int64> {
      scene.wait(90)
      scene.trade(100 + number)
      scene.wait(number % 2 == 0 ? 0.1 : 2.9)
      scene.ticker(last: 100 + number, volumeBy: 1)
    }
    #expect(scene.told == [])
  }

  @Test("a ticker that comes before its trade shows nothing")
  func earlyTicker() {
    let scene = Scene()
    scene.ticker()
    for number in 1...40 as ClosedRange<Int64> {
      scene.wait(90)
      scene.ticker(last: 100 + number, volumeBy: 1)
      scene.wait(1)
      scene.trade(100 + number)
    }
    #expect(scene.told == [])
  }

  @Test("one trade that only the ticker has is no death, and a volume that becomes smaller is no trade")
  func single() {
    let scene = Scene()
    scene.ticker()
    scene.wait(30)
    scene.ticker(last: 101)
    for _ in 0..<3_600 {
      scene.wait(1)
      scene.ticker(volumeBy: -1)
    }
    #expect(scene.told == [])
  }

  @Test("a volume that trembles in its last binary digits tells of no trade")
  func trembling() {
    var old = Ticker(instrument: InstrumentID(0), time: Timestamp(microseconds: 0))
    old.volume = Decimal64(mantissa: 3_000_000_000_000, scale: 6)
    var new = old
    new.volume = Decimal64(mantissa: 30_000_000_000_001, scale: 7)
    #expect(!new.tellsOfTrade(since: old))
    new.volume = Decimal64(mantissa: 3_000_010_000_000, scale: 6)
    #expect(new.tellsOfTrade(since: old))
    old.volume = Decimal64(mantissa: .max, scale: 0)
    new.volume = Decimal64(mantissa: .max, scale: 18)
    #expect(!new.tellsOfTrade(since: old))
    #expect(old.tellsOfTrade(since: new))
  }

  @Test("attempts to revive a channel become rarer, and begin anew when it has spoken")
  func attempts() {
    let scene = Scene()
    scene.ticker()
    scene.wait(5)
    var times: [Timestamp] = []
    for number in 1...400 as ClosedRange<Int64> {
      let count = scene.told.count
      scene.wait(1)
      scene.ticker(last: 100 + number)
      if scene.told.count > count { times.append(scene.now) }
    }
    let waits = zip(times.dropFirst(), times).map { ($0 - $1) / Microseconds.second }
    #expect(waits == [8, 16, 32, 64, 128])
    scene.trade(1)
    #expect(scene.told.suffix(2) == ["trades silent 6", "trades live"])
  }

  @Test("dead trades without further trades end when the ticker agrees with the last one for a minute")
  func agreement() {
    let scene = Scene()
    scene.ticker()
    scene.trade(105)
    for number in 1...12 as ClosedRange<Int64> {
      scene.wait(1)
      scene.ticker(last: 100 + number)
    }
    #expect(scene.told == ["trades silent 1"])
    scene.ticker(last: 105)
    for _ in 0..<59 {
      scene.wait(1)
      scene.ticker()
    }
    #expect(scene.told == ["trades silent 1"])
    scene.wait(2)
    scene.ticker()
    #expect(scene.told == ["trades silent 1", "trades live"])
  }

  @Test("what a new subscription begins with is news as far as it is newer than the last trade")
  func filled() {
    let scene = Scene()
    scene.ticker()
    scene.trade(100)
    for number in 1...10 as ClosedRange<Int64> {
      scene.wait(1)
      scene.ticker(last: 100 + number)
    }
    #expect(scene.told == ["trades silent 1"])
    let begun = scene.published
    scene.trades([(100, 10), (104, 4), (105, 4), (106, 3)], isBacklog: true)
    #expect(scene.told == ["trades silent 1", "trades live"])
    #expect(scene.published - begun == 3)
    #expect(scene.state.lastTrade?.isBacklog == false && scene.state.lastTrade?.price == 106)
  }

  @Test("late trades, which REST has brought, do not show that the channel lives")
  func late() {
    let scene = Scene()
    scene.ticker()
    scene.trade(100)
    for number in 1...10 as ClosedRange<Int64> {
      scene.wait(1)
      scene.ticker(last: 100 + number)
      scene.trade(100 + number, age: Microseconds.second, isLate: true)
    }
    #expect(scene.told == ["trades silent 1"] && scene.published == 11)
    scene.trade(111)
    #expect(scene.told == ["trades silent 1", "trades live"])
  }

  @Test("the candles of the time in which trades were dead are partial")
  func candles() {
    let scene = Scene()
    scene.ticker()
    scene.trade(100)
    scene.ticker(volumeBy: 1)
    scene.wait(70)
    scene.trade(100)
    for number in 1...10 as ClosedRange<Int64> {
      scene.wait(1)
      scene.ticker(last: 100 + number)
    }
    #expect(scene.told == ["trades silent 1"] && !scene.state.isObserved)
    scene.book(bid: 101, ask: 111)
    #expect(!scene.state.isObserved, "the book says nothing of trades")
    scene.trade(111)
    #expect(scene.state.isObserved)
  }

  // MARK: Tickers

  @Test("trades without a ticker show within 10 s that it is dead")
  func tickers() {
    let scene = Scene()
    scene.ticker()
    let died = scene.now
    while scene.told.isEmpty, scene.now - died < 60 * Microseconds.second {
      scene.wait(1)
      scene.trade(100)
    }
    #expect(scene.told == ["ticker silent 1"])
    #expect(scene.now - died <= 10 * Microseconds.second)
    scene.ticker(last: 100)
    #expect(scene.told == ["ticker silent 1", "ticker live"])
  }

  @Test("a ticker that may be 15 s late is dead after two and a half times that, not before")
  func slowTickers() {
    let scene = Scene(tickerInterval: 15 * Microseconds.second)
    for _ in 0..<100 {
      scene.ticker()
      for _ in 0..<30 {
        scene.wait(1)
        scene.trade(100)
      }
    }
    #expect(scene.told == [])
    for _ in 0..<15 {
      scene.wait(1)
      scene.trade(100)
    }
    #expect(scene.told == ["ticker silent 1"])
  }

  @Test("without a channel of tickers nothing is made of them")
  func without() {
    let scene = Scene(tickerInterval: nil)
    scene.ticker()
    for number in 1...100 as ClosedRange<Int64> {
      scene.wait(1)
      if number < 50 { scene.trade(100) } else { scene.ticker(last: number) }
    }
    #expect(scene.told == [])
  }

  // MARK: Quotes

  @Test("a book whose best price moves on shows within 10 s that quotes are dead, and the quote is unknown then")
  func quotes() {
    let scene = Scene()
    scene.quote(100, 110)
    let died = scene.now
    var bid: Int64 = 100
    while scene.told.isEmpty, scene.now - died < 60 * Microseconds.second {
      scene.wait(1)
      bid += 1
      scene.book(bid: bid, ask: 200 + bid)
    }
    #expect(scene.told == ["quote silent 1"])
    #expect(scene.now - died <= 10 * Microseconds.second)
    #expect(scene.state.quote == nil)
    scene.quote(bid, 111)
    #expect(scene.told == ["quote silent 1", "quote live"])
    #expect(scene.state.quote?.bid == bid)
  }

  @Test("a quote that differs from a book that stands still is a quote of other orders")
  func otherOrders() {
    let scene = Scene()
    scene.quote(99, 110)
    for _ in 0..<3_600 {
      scene.wait(1)
      scene.book(bid: 100, ask: 110)
    }
    #expect(scene.told == [])
  }

  // MARK: Figures by REST

  @Test("without tickers, a last price that is left behind asks for figures, and those show that trades are dead")
  func witnesses() {
    let scene = Scene(tickerInterval: nil, hasWitness: true)
    scene.trade(105)
    var number: Int64 = 0
    var asked = 0
    while !scene.state.isSilent(.trades), number < 60 {
      scene.wait(1)
      number += 1
      scene.book(.snapshot, bid: 200 + number, ask: 300 + number)
      if scene.told.count(where: { $0 == "trades doubted" }) > asked {
        asked += 1
        scene.ticker(last: 200 + number, volumeBy: 1, isWitness: true)
      }
    }
    #expect(number <= 10)
    #expect(scene.told.last == "trades silent 1")
    scene.trade(300)
    #expect(scene.told.last == "trades live")
  }

  @Test("figures that stay the same leave a market green for an hour, and are asked for ever more rarely")
  func quietWitnesses() {
    let scene = Scene(tickerInterval: nil, hasWitness: true)
    scene.trade(105)
    var asked = 0
    for number in 1...3_600 as ClosedRange<Int64> {
      scene.wait(1)
      scene.book(.snapshot, bid: 200 + number % 7, ask: 300 + number % 5)
      if scene.told.count > asked {
        asked += 1
        scene.ticker(volumeBy: -1, isWitness: true)
      }
    }
    #expect(scene.told.allSatisfy { $0 == "trades doubted" })
    #expect((5...30).contains(asked), "\(asked)")
  }

  @Test("figures that are some seconds old show nothing")
  func oldWitnesses() {
    let scene = Scene(tickerInterval: nil, hasWitness: true)
    for round in 0..<20 as Range<Int64> {
      scene.trade(105 + round)
      var asked = 0
      for number in 1...60 as ClosedRange<Int64> {
        scene.wait(1)
        scene.book(.snapshot, bid: 200 + number, ask: 300 + number)
        guard scene.told.count(where: { $0 == "trades doubted" }) > asked else { continue }
        asked += 1
        // The first are from before the trade.
        scene.ticker(last: asked == 1 ? 104 + round : 105 + round, volumeBy: 1, isWitness: true)
      }
      #expect(asked > 3)
      #expect(scene.told.allSatisfy { $0 == "trades doubted" }, "\(scene.told)")
      scene.forgetTold()
    }
  }

  @Test("before the first trade of a connection another price alone says nothing")
  func restoredTrade() {
    let scene = Scene(tickerInterval: nil, hasWitness: true)
    scene.trade(105, age: 3_600 * Microseconds.second, backlog: true)
    var asked = 0
    for number in 1...600 as ClosedRange<Int64> {
      scene.wait(1)
      scene.book(.snapshot, bid: 200 + number % 9, ask: 300 + number % 9)
      guard scene.told.count > asked else { continue }
      asked += 1
      // One trade was made in all of that time.
      scene.ticker(last: asked < 3 ? 250 : 251, volumeBy: asked == 3 ? 1 : 0, isWitness: true)
    }
    #expect(asked > 4 && scene.told.allSatisfy { $0 == "trades doubted" }, "\(scene.told)")
  }

  // MARK: Quotes that name the last trade

  @Test("trades that quotes name show within 10 s that their channel is dead")
  func shown() {
    let scene = Scene(tickerInterval: nil)
    scene.trade(100)
    let died = scene.now
    while scene.told.isEmpty, scene.now - died < 60 * Microseconds.second {
      scene.wait(1)
      scene.showTrade()
    }
    #expect(scene.told == ["trades silent 1"])
    #expect(scene.now - died <= 10 * Microseconds.second)
    scene.trade(101)
    #expect(scene.told == ["trades silent 1", "trades live"])
  }

  @Test("a quote that names a trade before or after it comes shows nothing, however rare trades are")
  func quietShown() {
    let scene = Scene(tickerInterval: nil)
    for number in 1...80 as ClosedRange<Int64> {
      scene.wait(90)
      if number % 2 == 0 { scene.showTrade() }
      scene.wait(0.5)
      scene.trade(100 + number)
      scene.wait(2)
      if number % 2 == 1 { scene.showTrade() }
    }
    #expect(scene.told == [])
  }

  @Test("one named trade that does not come is no death")
  func singleShown() {
    let scene = Scene(tickerInterval: nil)
    for _ in 1...20 {
      scene.showTrade()
      scene.wait(15 * 60)
    }
    #expect(scene.told == [])
  }

  // MARK: Stalls

  @Test("a connection that stands still and then brings everything at once has no dead channel")
  func stalls() {
    let scene = Scene()
    for number in 1...100 as ClosedRange<Int64> {
      scene.ticker(last: 100 + number)
      scene.quote(100, 110)
      scene.book(bid: 100 + number % 2, ask: 110)
      scene.trade(100 + number)
      scene.now = scene.now + 20 * Microseconds.second
      scene.book(bid: 100 + number % 3, ask: 110)
      scene.trade(100 + number)
    }
    #expect(scene.told == [])
  }

  @Test("a connection that ends takes its doubts with it")
  func disconnects() {
    let scene = Scene()
    scene.ticker()
    scene.trade(100)
    for number in 1...10 as ClosedRange<Int64> {
      scene.wait(1)
      scene.ticker(last: 100 + number)
    }
    #expect(scene.state.isSilent(.trades))
    var changes = MarketChanges()
    scene.market.disconnect(into: &changes)
    #expect(scene.state.silent == [])
    #expect(
      changes.items.contains { if case .channel(_, .trades, .live) = $0 { true } else { false } })
  }
}
