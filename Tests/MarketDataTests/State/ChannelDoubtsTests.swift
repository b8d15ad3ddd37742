import Bytes
import Testing

@testable import MarketData

/// A channel of trades, quotes or tickers that dies alone, and markets that are merely quiet.
@Suite("Channels that die alone")
struct ChannelDoubtsTests {
  // MARK: Trades

  /// What a ticker can say of a trade.
  enum News: CaseIterable { case price, volume, count }

  private func tell(_ news: News, _ scene: DoubtsScene, _ number: Int64) {
    switch news {
    case .price: scene.ticker(last: 100 + number)
    case .volume: scene.ticker(volumeBy: 1)
    case .count: scene.ticker(trades: 10 + number)
    }
  }

  @Test("a ticker that tells of trades shows within 10 s that trades are dead", arguments: News.allCases)
  func trades(_ news: News) {
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
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
    let scene = DoubtsScene(tickerInterval: 15 * Microseconds.second)
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
    let scene = DoubtsScene(tickerInterval: nil)
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
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
    scene.quote(99, 110)
    for _ in 0..<3_600 {
      scene.wait(1)
      scene.book(bid: 100, ask: 110)
    }
    #expect(scene.told == [])
  }

  // MARK: Stalls

  @Test("a connection that stands still and then brings everything at once has no dead channel")
  func stalls() {
    let scene = DoubtsScene()
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
    let scene = DoubtsScene()
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
