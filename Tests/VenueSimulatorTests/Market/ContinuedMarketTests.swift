import Bytes
import MarketData
import TestSupport
import Testing

@testable import VenueSimulator

@Suite("A simulated market that is simulated again")
struct ContinuedMarketTests {
  private func market(_ seed: UInt64, at start: Timestamp, _ listing: [SimulatedInstrument]) -> SimulatedMarket {
    SimulatedMarket(instruments: listing, seed: seed, rate: 20, start: start, origin: .continued(seed: 7))
  }

  @Test("goes on at the prices and above the ids of the run before, and has the same past", arguments: testSeeds(3))
  func continues(seed: UInt64) {
    let first = market(seed, at: testStart, KrakenProtocol.listing)
    _ = first.step(to: testStart + 90 * Microseconds.second)
    for pause in [Int64(1), 100, 40_000] {
      let start = first.now + pause * Microseconds.second
      let second = market(seed, at: start, KrakenProtocol.listing)
      for (one, other) in zip(first.instruments, second.instruments) {
        #expect(other.recentTrades[0].id > one.tradeID)
        #expect(other.recentTrades[0].time > first.now - Microseconds.second)
        let minute = testStart.microseconds / Microseconds.minute - 60
        if pause < 40_000 {
          #expect(one.day.minute(minute) == other.day.minute(minute))
          let (last, next) = (Double(one.recentTrades.last!.price), Double(other.recentTrades[0].price))
          #expect(abs(next / last - 1) < 0.01, "\(one.instrument.symbol): \(last), then \(next)")
        }
        let hour = one.history.seam - 1_000
        #expect(one.history.hour(hour) == other.history.hour(hour) && one.history.listed == other.history.listed)
        // The recorded day ends where the simulation begins.
        let close = Double(other.day.minute(start.microseconds / Microseconds.minute - 1).close)
        #expect(abs(Double(other.recentTrades[0].price) / close - 1) < 0.01)
      }
    }
  }

  @Test("stands with other venues at the same price, within the range of its reference, for years")
  func path() {
    for asset in ["BTC", "ETH", "ZEC"] {
      let path = PricePath(seed: 3, asset: asset)
      var time = testStart
      var last = path.level(at: time)
      for _ in 0..<20_000 {
        time = time + 61 * Microseconds.minute
        #expect((0.87...1.13).contains(path.level(at: time)))
      }
      // No jumps from second to second.
      time = testStart
      for _ in 0..<20_000 {
        time = time + Microseconds.second
        let level = path.level(at: time)
        #expect(abs(level / last - 1) < 0.0001)
        last = level
      }
    }
    let kraken = market(1, at: testStart, KrakenProtocol.listing).instruments[0]
    let coinbase = market(2, at: testStart, CoinbaseProtocol.listing).instruments[0]
    let prices = [(kraken, 1), (coinbase, 2)].map { market, _ in
      Double(market.book.level(.bid, 0).price) / Double(DecimalText.power(market.instrument.priceScale))
    }
    #expect(abs(prices[0] / prices[1] - 1) < 0.005, "\(prices)")
  }
}
