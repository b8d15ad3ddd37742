import MarketData
import TestSupport
import Testing

@Suite struct MinuteRingTests {
  @Test(
    "in a short window, which minutes leave all the time, the figures are those of all trades",
    arguments: testSeeds(12), [(window: 20, spare: 3), (window: 7, spare: 0)])
  func againstEveryTrade(seed: UInt64, shape: (window: Int, spare: Int)) {
    var random = SeededGenerator(seed: seed)
    var ring = MinuteRing(window: shape.window, spare: shape.spare)
    var trades: [(price: Int64, size: Int64, time: Int64)] = []
    var now: Int64 = 1_700_000_000_000_000
    var head = Int64.min
    func minute(_ time: Int64) -> Int64 { NaiveChart.minute(time) }
    for step in 0..<600 {
      now += Int64(random.next() % 40_000_000)
      if random.next() % 80 == 0 { now += Int64(random.next() % 2_400_000_000) }
      let late = random.next() % 2 == 0 ? Int64(random.next() % UInt64(shape.window * 60_000_000)) : 0
      let time = (now - late) / 1_000 * 1_000
      let price = Int64(random.next() % 200) + 1
      let size = Int64(random.next() % 50) + 1
      ring.add(price: price, size: size, time: Timestamp(microseconds: time))
      // What is older than the ring has no effect on it.
      if head == .min || minute(time) > head - Int64(shape.window + shape.spare) {
        let index = trades.lastIndex { $0.time <= time }.map { $0 + 1 } ?? 0
        trades.insert((price, size, time), at: index)
      }
      head = max(head, minute(time))
      guard random.next() % 3 > 0 else { continue }
      head = max(head, minute(now))
      let inWindow = trades.filter { minute($0.time) > head - Int64(shape.window) }
      var expected = WindowFigures()
      expected.open = inWindow.first?.price
      expected.last = inWindow.last?.price
      expected.high = inWindow.map(\.price).max()
      expected.low = inWindow.map(\.price).min()
      expected.volume = inWindow.reduce(0) { $0 + Int128($1.size) }
      expected.quoteVolume = inWindow.reduce(0) { $0 + Int128($1.size) * Int128($1.price) }
      expected.trades = Int64(inWindow.count)
      let figures = ring.figures(now: Timestamp(microseconds: now))
      guard figures == expected else {
        Issue.record("seed \(seed), step \(step): \(figures), expected \(expected)")
        return
      }
    }
  }
}
