import MarketData
import TestSupport
import TestTraits
import Testing

@testable import VenueSimulator

let testStart = Timestamp(microseconds: 1_790_000_000_000_000)

@Suite("Simulated market", .longComputation)
struct SimulatedMarketTests {
  private static let listings = [KrakenProtocol.listing, CoinbaseProtocol.listing, BinanceProtocol.listing]

  @Test("the same seed gives the same history, whatever the steps", arguments: testSeeds(2))
  func determinism(seed: UInt64) {
    func market() -> SimulatedMarket {
      SimulatedMarket(instruments: KrakenProtocol.listing, seed: seed, rate: 40, start: testStart)
    }
    let (one, two) = (market(), market())
    let all = one.step(to: testStart + 5 * Microseconds.second)
    var parts: [SimulatedChange] = []
    var time = testStart
    var random = SeededGenerator(seed: seed)
    while time < testStart + 5 * Microseconds.second {
      time = min(time + Int64.random(in: 1...300_000, using: &random), testStart + 5 * Microseconds.second)
      parts += two.step(to: time)
    }
    #expect(all.count > 500)
    #expect(all == parts, "seed \(seed)")
    let other = SimulatedMarket(instruments: KrakenProtocol.listing, seed: seed &+ 1, rate: 40, start: testStart)
    #expect(other.step(to: testStart + 5 * Microseconds.second) != all)
  }

  @Test("books are never crossed, keep their depth, and follow from the changes", arguments: testSeeds(3))
  func books(seed: UInt64) {
    for listing in Self.listings {
      let market = SimulatedMarket(instruments: listing, seed: seed, rate: 100, start: testStart)
      var copies = market.instruments.map { state in
        (
          bids: Dictionary(uniqueKeysWithValues: state.book.bids.map { ($0.price, $0.size) }),
          asks: Dictionary(uniqueKeysWithValues: state.book.asks.map { ($0.price, $0.size) })
        )
      }
      var lastUpdate = market.instruments.map(\.updateID)
      var lastTrade = market.instruments.map(\.tradeID)
      while market.next(until: testStart + 10 * Microseconds.second) {
        let change = market.change
        let index = change.instrument
        let book = market.instruments[index].book
        #expect(book.bestBid!.price < book.bestAsk!.price, "seed \(seed)")
        #expect(change.firstUpdateID == lastUpdate[index] + 1)
        #expect(change.lastUpdateID - change.firstUpdateID + 1 == Int64(change.bids.count + change.asks.count))
        lastUpdate[index] = change.lastUpdateID
        for level in change.bids { copies[index].bids[level.price] = level.size == 0 ? nil : level.size }
        for level in change.asks { copies[index].asks[level.price] = level.size == 0 ? nil : level.size }
        for trade in change.trades {
          #expect(trade.id == lastTrade[index] + 1)
          lastTrade[index] = trade.id
          #expect(trade.size > 0 && trade.size % listing[index].lot == 0 && trade.price % listing[index].tick == 0)
        }
      }
      for (state, copy) in zip(market.instruments, copies) {
        let book = state.book
        #expect(copy.bids.sorted { $0.key < $1.key }.map { PriceLevel(price: $0.key, size: $0.value) } == book.bids)
        #expect(copy.asks.sorted { $0.key > $1.key }.map { PriceLevel(price: $0.key, size: $0.value) } == book.asks)
        #expect(
          book.bids.count >= state.instrument.levels * 8 / 10 && book.asks.count >= state.instrument.levels * 8 / 10)
        #expect(book.bids.count <= state.instrument.levels * 12 / 10)
        #expect(book.bids.allSatisfy { $0.price > 0 && $0.price % state.instrument.tick == 0 && $0.size > 0 })
      }
    }
  }

  @Test("activity, trades of both sides, moving prices and their day fit together", arguments: testSeeds(3))
  func looksLikeAMarket(seed: UInt64) {
    let market = SimulatedMarket(instruments: CoinbaseProtocol.listing, seed: seed, rate: 60, start: testStart)
    let before = market.instruments.map { $0.day }
    let changes = market.step(to: testStart + 60 * Microseconds.second)
    // 60 a second, eight instruments, a minute: 28,800, give or take the bursts.
    #expect((15_000...50_000).contains(changes.count), "seed \(seed): \(changes.count)")
    let trades = changes.flatMap(\.trades)
    let share = Double(trades.count) / Double(changes.count)
    #expect((0.1...0.7).contains(share), "seed \(seed): \(share) trades a moment")
    let buys = trades.count { $0.side == .buy }
    #expect(buys > trades.count / 5 && buys < trades.count * 4 / 5, "seed \(seed): \(buys) of \(trades.count)")
    for (index, state) in market.instruments.enumerated() {
      let own = changes.filter { $0.instrument == index }.flatMap(\.trades)
      #expect(state.day.last == own.last?.price)
      #expect(state.day.high >= own.map(\.price).max()! && state.day.low <= own.map(\.price).min()!)
      #expect(state.day.low <= state.day.vwap && state.day.vwap <= state.day.high)
      #expect(Set(own.map(\.price)).count > 5, "the price does not move")
      // One minute has left the day and this one has come.
      #expect(abs(state.day.trades - before[index].trades) < before[index].trades / 50)
      #expect(state.recentTrades.suffix(5) == own.suffix(5))
    }
  }

  @Test("a market that stood still goes on where it was")
  func shift() {
    let one = SimulatedMarket(instruments: BinanceProtocol.listing, seed: 5, rate: 50, start: testStart)
    let two = SimulatedMarket(instruments: BinanceProtocol.listing, seed: 5, rate: 50, start: testStart)
    _ = one.step(to: testStart + Microseconds.second)
    _ = two.step(to: testStart + Microseconds.second)
    two.shift(by: 7 * Microseconds.second)
    let a = one.step(to: testStart + 2 * Microseconds.second)
    let b = two.step(to: testStart + 9 * Microseconds.second)
    #expect(a.count == b.count && !a.isEmpty)
    for (x, y) in zip(a, b) {
      #expect(y.time - x.time == 7 * Microseconds.second)
      #expect(x.bids == y.bids && x.asks == y.asks)
    }
  }

  @Test("instruments are found by any of their names")
  func names() {
    let market = SimulatedMarket(instruments: BinanceProtocol.listing, seed: 1, rate: 1, start: testStart)
    for name in ["ZEC-USDT", "zecusdt", "ZEC/USDT"] { #expect(market.index(named: name) == 3) }
    #expect(market.index(named: "ZEC-USD") == nil)
  }
}
