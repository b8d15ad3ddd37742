import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Trades that are recognised")
struct SeenTradesTests {
  /// The same by lists alone.
  private struct Model {
    let limit: Int
    let tolerance: Int64
    var trades: [(name: UInt64, time: Int64)] = []
    var horizon = Int64.min

    func contains(_ name: UInt64, _ time: Int64) -> Bool {
      time < horizon || trades.contains { $0.name == name && abs(Int128($0.time) - Int128(time)) <= Int128(tolerance) }
    }

    mutating func insert(_ name: UInt64, _ time: Int64) -> Bool {
      guard !contains(name, time) else { return false }
      append(name, time)
      return true
    }

    mutating func append(_ name: UInt64, _ time: Int64) {
      trades.append((name, time))
      if trades.count > limit { trades.removeFirst() }
    }
  }

  private func time(_ time: Int64) -> Timestamp { Timestamp(microseconds: time) }

  @Test("every trade once, in any order, as long as it is among the newest, whatever the limit and the tolerance")
  func model() {
    for seed in testSeeds(30) {
      var random = SeededGenerator(seed: seed)
      let limit = [1, 2, 3, 8, 31, 64, 200].randomElement(using: &random)!
      let tolerance = [0, 0, 1, 5, 1_000].randomElement(using: &random)! as Int64
      // Few names and times make repetitions, evictions and long chains; far times must not overflow.
      let names = UInt64.random(in: 1...UInt64(3 * limit), using: &random)
      let times = Int64.random(in: 1...(6 * tolerance + 3), using: &random)
      var seen = SeenTrades<UInt64>(limit: limit, tolerance: tolerance)
      var model = Model(limit: limit, tolerance: tolerance)
      // As venues send them, most are new by their number or time.
      let isRising = Bool.random(using: &random)
      for step in 0..<3_000 {
        let name = UInt64.random(in: 0..<names, using: &random) + (isRising ? UInt64(step) : 0)
        let when =
          step % 50 == 49 && !isRising
          ? [.min, .min + 1, .max - 1, .max].randomElement(using: &random)!
          : Int64.random(in: -times...times, using: &random) + (isRising ? Int64(step) * (tolerance + 1) / 4 : 0)
        if step % 300 < 100 {
          // New ones for longer than the index is kept.
          seen.append(names + UInt64(step), at: time(when))
          model.append(names + UInt64(step), when)
          continue
        }
        if Bool.random(using: &random) {
          let isKnown = seen.contains(name, at: time(when))
          #expect(isKnown == model.contains(name, when), "TIDEGATE_SEED=\(seed)")
        }
        let isNew = seen.insert(name, at: time(when))
        #expect(isNew == model.insert(name, when), "TIDEGATE_SEED=\(seed)")
        #expect(seen.count == model.trades.count && seen.count <= limit)
        if step % 700 == 699 {
          seen.close(before: time(-times / 2))
          model.horizon = max(model.horizon, -times / 2)
        }
      }
    }
  }

  @Test("a name at another time is another trade; within the tolerance it is the same")
  func names() {
    var seen = SeenTrades<UInt64>(limit: 8, tolerance: 5)
    seen.insert(1, at: time(100))
    let known = [94, 95, 100, 105, 106].map { seen.contains(1, at: time($0)) }
    let other = seen.contains(0, at: time(100))
    #expect(known == [false, true, true, true, false] && !other)
    // Both stay known: a subscription may bring the numbers from before and after a beginning once more.
    let added = [100, 200, 100, 200].map { seen.insert(1, at: time($0)) }
    #expect(added == [false, true, false, false] && seen.count == 2)
  }

  @Test("what is older than a closed beginning counts as seen, and is not kept")
  func closed() {
    var seen = SeenTrades<UInt64>(limit: 8)
    seen.insert(10, at: time(100))
    func known() -> [Bool] { [99, 100].map { seen.contains(2, at: time($0)) } }
    #expect(known() == [false, false])
    seen.close(before: time(100))
    #expect(known() == [true, false])
    seen.insert(3, at: time(50))
    seen.close(before: time(10))
    #expect(known() == [true, false] && seen.count == 1)
  }

  @Test("one name at ever other times costs no more than other names")
  func oneName() {
    // Backwards, so that each is searched for. A chain of all of them would make this 2^30 comparisons.
    for tolerance: Int64 in [0, 5_000_000] {
      var seen = SeenTrades<UInt64>(limit: 65_536, tolerance: tolerance)
      let added = (0..<Int64(100_000)).count { seen.insert(7, at: time(-$0 * (tolerance + 1))) }
      let isFirstKnown = seen.contains(7, at: time(0))
      #expect(added == 100_000 && seen.count == 65_536 && !isFirstKnown)
    }
  }
}
