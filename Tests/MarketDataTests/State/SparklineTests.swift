import MarketData
import TestSupport
import Testing

@Suite struct SparklineTests {
  private func at(_ minutes: Int64) -> Timestamp { Timestamp(microseconds: minutes * Microseconds.minute) }

  @Test("before any trade there are no points")
  func empty() {
    let ring = BucketRing(length: Microseconds.minute, count: 60)
    #expect(ring.sparkline(points: 4, now: at(1_000)).points.isEmpty)
    #expect(ring.sparklineTip(points: 4, now: at(1_000)) == nil)
  }

  @Test("the line begins with the first trade's slice, and a slice without trades repeats the one before")
  func young() {
    var ring = BucketRing(length: Microseconds.minute, count: 60)
    ring.add(price: 10, size: 1, time: at(965))
    ring.add(price: 11, size: 1, time: at(970))
    ring.add(price: 12, size: 1, time: at(1_000))
    let line = ring.sparkline(points: 4, now: at(1_001))
    #expect(line.step == 15 * Microseconds.minute)
    #expect(line.from == at(960))
    #expect(line.points == [11, 11, 12])
    let tip = ring.sparklineTip(points: 4, now: at(1_001))
    #expect(tip?.from == at(960))
    #expect(tip?.step == line.step)
    #expect(tip?.index == 2)
    #expect(tip?.price == 12)
  }

  @Test("when nothing traded for the whole span, the last price is a flat line")
  func quiet() {
    var ring = BucketRing(length: Microseconds.minute, count: 60)
    ring.add(price: 10, size: 1, time: at(100))
    ring.advance(to: at(500))
    #expect(ring.sparkline(points: 4, now: at(500)).points == [10, 10, 10, 10])
    #expect(ring.sparklineTip(points: 4, now: at(500))?.index == 3)
  }

  @Test("more points than buckets, or fewer than one, are held within what there is")
  func bounds() {
    var ring = BucketRing(length: Microseconds.minute, count: 60)
    ring.add(price: 10, size: 1, time: at(100))
    ring.advance(to: at(500))
    #expect(ring.sparkline(points: 1_000, now: at(500)).points.count == 60)
    #expect(ring.sparkline(points: 0, now: at(500)).points.count == 1)
  }

  @Test("random lines and their newest points are those of a list of all trades", arguments: testSeeds(10))
  func againstHistory(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let count: Int64 = 60
    var ring = BucketRing(length: Microseconds.minute, count: Int(count))
    var history = TradeHistory(length: Microseconds.minute, count: Int(count))
    var now: Int64 = 1_700_000_000_000_000
    for step in 0..<200 {
      now += Int64(random.next() % 150_000_000)
      if random.next() % 60 == 0 { now += Int64(random.next() % 8_000_000_000) }
      let time = now - (random.next() % 3 == 0 ? Int64(random.next() % 3_000_000_000) : 0)
      let price = Int64(random.next() % 1_000) + 1
      // Trades that the ring refuses are not remembered in order, so the list leaves them out.
      if ring.add(price: price, size: 1, time: Timestamp(microseconds: time)) != .tooOld {
        history.add(price: price, size: 1, time: time)
      }
      if random.next() % 2 == 0 { now += Int64(random.next() % 90_000_000) }
      let n = [1, 4, 7, 24, 60][Int(random.next() % 5)]
      let line = ring.sparkline(points: n, now: Timestamp(microseconds: now))
      // Slice k has the buckets whose start lies in k/n of the span to (k+1)/n.
      func slice(_ bucket: Int64) -> Int64 { TradeHistory.floor(bucket * Int64(n), count) }
      let last = slice(max(history.head, TradeHistory.floor(now, history.length)))
      var expected: [Int64] = []
      var firstSlice = last
      for k in (last - Int64(n) + 1)...last {
        guard let entry = history.entries.last(where: { slice(TradeHistory.floor($0.time, history.length)) <= k })
        else {
          continue
        }
        if expected.isEmpty { firstSlice = k }
        expected.append(entry.price)
      }
      let from = TradeHistory.floor(firstSlice * count * history.length, Int64(n))
      let tip = ring.sparklineTip(points: n, now: Timestamp(microseconds: now))
      guard line.points == expected, line.from.microseconds == from, tip?.from == line.from,
        tip?.index == expected.count - 1, tip?.price == expected.last
      else {
        Issue.record(
          "seed \(seed), step \(step), n \(n): \(line) \(String(describing: tip)), expected \(expected) from \(from)")
        return
      }
    }
  }
}
