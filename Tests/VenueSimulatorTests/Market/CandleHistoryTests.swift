import MarketData
import TestTraits
import Testing

@testable import VenueSimulator

@Suite("The past of a simulated market", .longComputation)
struct CandleHistoryTests {
  private func read(
    _ state: InstrumentMarket, _ from: Timestamp, _ length: Int64, count: Int
  ) -> [SimulatedDay.Minute] {
    var reader = InstrumentMarket.CandleReader(state)
    return (0..<count).map { reader.bar(from: from + Int64($0) * length, length: length) }
  }

  private func isWhole(_ bar: SimulatedDay.Minute, _ instrument: SimulatedInstrument) -> Bool {
    let inner = [bar.open, bar.close]
    guard bar.low > 0, inner.allSatisfy({ $0 >= bar.low && $0 <= bar.high }) else { return false }
    guard (bar.trades > 0) == (bar.volume > 0) else { return false }
    return bar.high % instrument.tick == 0 && bar.volume % instrument.lot == 0
  }

  @Test("bars of every length say the same, before the recorded day and across its beginning", arguments: [1, 2, 3])
  func lengths(_ seed: UInt64) throws {
    let venue = try makeVenue("binance", seed: seed, rate: 1)
    for index in [0, 3, 9] {
      let state = venue.market.instruments[index]
      let midnight = Timestamp(rawValue: testStart.rawValue / Microseconds.day * Microseconds.day)
      for day in [200, 30, 2, 1] {
        let from = midnight - Int64(day) * Microseconds.day
        let minutes = read(state, from, Microseconds.minute, count: 1_440)
        for length in [5, 15, 60, 240, 1_440] {
          let bars = read(state, from, Int64(length) * Microseconds.minute, count: 1_440 / length)
          for (slot, bar) in bars.enumerated() {
            let part = minutes[(slot * length)..<(slot + 1) * length].filter { $0.trades > 0 }
            let volume: Int64 = part.reduce(0) { $0 + $1.volume }
            let trades: Int64 = part.reduce(0) { $0 + $1.trades }
            let turnover: Int128 = part.reduce(0) { $0 + $1.turnover }
            #expect(bar.volume == volume && bar.trades == trades && bar.turnover == turnover)
            guard let first = part.first, let last = part.last else { continue }
            #expect(bar.open == first.open && bar.close == last.close, "seed \(seed), \(day) days, \(length) min")
            let high = part.map { $0.high }.max()
            let low = part.map { $0.low }.min()
            #expect(bar.high == high && bar.low == low)
          }
        }
        for minute in minutes {
          #expect(isWhole(minute, state.instrument), "\(minute)")
        }
      }
    }
  }

  @Test("what was answered once is answered again days later, by the hour and longer; minutes for two days")
  func stable() throws {
    let venue = try makeVenue("kraken", seed: 6, rate: 0.01)
    let state = venue.market.instruments[3]
    let hour = Timestamp(rawValue: testStart.rawValue / Microseconds.hour * Microseconds.hour)
    venue.advance(to: testStart + 2 * Microseconds.hour)
    let before = read(state, hour - 40 * Microseconds.hour, Microseconds.hour, count: 41)
    let minutes = read(state, hour, Microseconds.minute, count: 60)
    venue.skip(to: testStart + 46 * Microseconds.hour)
    venue.advance(to: venue.now + Microseconds.minute)
    #expect(read(state, hour, Microseconds.minute, count: 60) == minutes)
    venue.skip(to: testStart + 100 * Microseconds.hour)
    venue.advance(to: venue.now + 10 * Microseconds.minute)
    #expect(read(state, hour - 40 * Microseconds.hour, Microseconds.hour, count: 41) == before)
    #expect(state.day.hours.count > 70)
    // Minutes that are not kept are made up anew, within their hours.
    let again = read(state, hour, Microseconds.minute, count: 60)
    #expect(SimulatedDay.Minute(joining: again) == before[40])
  }

  @Test("two markets of one seed have one past, and those of two seeds have two")
  func seeded() throws {
    func past(_ seed: UInt64) throws -> [SimulatedDay.Minute] {
      let venue = try makeVenue("okx", seed: seed, rate: 1)
      let from = Timestamp(rawValue: testStart.rawValue / Microseconds.hour * Microseconds.hour)
      return read(venue.market.instruments[1], from - 90 * Microseconds.day, Microseconds.hour, count: 48)
    }
    #expect(try past(4) == past(4))
    #expect(try past(4) != past(5))
  }
}
