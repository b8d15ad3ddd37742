import MarketData
import TestSupport
import Testing

@Suite struct BucketRingTests {
  private func at(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * Microseconds.second) }

  @Test("a bucket keeps open, high, low, close, volume and count by the time of trades, not by arrival")
  func oneBucket() {
    var ring = BucketRing(length: Microseconds.minute, count: 4)
    ring.add(price: 100, size: 2, time: at(70))
    ring.add(price: 120, size: 3, time: at(80))
    ring.add(price: 90, size: 1, time: at(65))
    ring.add(price: 110, size: 1, time: at(80))
    let bucket = ring.bucket(1)
    #expect(bucket?.open == 90)
    #expect(bucket?.high == 120)
    #expect(bucket?.low == 90)
    #expect(bucket?.close == 110)
    #expect(bucket?.volume == 7)
    #expect(bucket?.trades == 4)
    #expect(bucket?.quoteVolume == Int128(760))
    #expect(ring.bucket(0) == nil)
  }

  @Test("a late trade goes to its own bucket while that is in the ring, and is refused after")
  func lateTrades() {
    var ring = BucketRing(length: Microseconds.minute, count: 3)
    let first = ring.add(price: 5, size: 1, time: at(300))
    let late = ring.add(price: 4, size: 1, time: at(200))
    #expect(first == .newest)
    #expect(late == .late)
    #expect(ring.bucket(3)?.close == 4)
    #expect(ring.lastPrice == 5)
    let tooOld = ring.add(price: 3, size: 1, time: at(100))
    #expect(tooOld == .tooOld)
    #expect(ring.bucket(1) == nil)
    let revision = ring.closeRevision
    ring.add(price: 6, size: 1, time: at(190))
    #expect(ring.closeRevision == revision, "an earlier trade in a bucket does not move its close")
    ring.add(price: 7, size: 1, time: at(230))
    #expect(ring.closeRevision != revision)
  }

  @Test("volumes saturate instead of wrapping")
  func saturation() {
    var ring = BucketRing(length: Microseconds.minute, count: 1)
    for _ in 0..<3 { ring.add(price: .max, size: .max, time: at(1)) }
    #expect(ring.bucket(0)?.quoteVolume == .max)
    #expect(ring.bucket(0)?.volume == 3 * Int128(Int64.max))
  }

  @Test("wider scales multiply what is held; a price that does not fit empties the ring")
  func rescale() {
    var ring = BucketRing(length: Microseconds.minute, count: 3)
    ring.add(price: 5, size: 2, time: at(1))
    ring.add(price: 7, size: 2, time: at(70))
    let fits = ring.rescale(priceBy: 10, sizeBy: 100)
    #expect(fits)
    let bucket = ring.bucket(0)
    #expect(bucket?.close == 50)
    #expect(bucket?.volume == 200)
    #expect(bucket?.quoteVolume == 10_000)
    #expect(ring.lastPrice == 70)
    let stillFits = ring.rescale(priceBy: .max, sizeBy: 1)
    #expect(!stillFits)
    #expect(ring.lastPrice == nil)
    #expect(ring.lastPrice == nil)
  }

  @Test(
    "random trades, early and late, fill buckets as a list of all trades says", arguments: testSeeds(6),
    [(Microseconds.minute, 30), (Microseconds.day, 7), (10 * Microseconds.second, 360)])
  func againstHistory(seed: UInt64, shape: (length: Int64, count: Int)) {
    var random = SeededGenerator(seed: seed)
    var ring = BucketRing(length: shape.length, count: shape.count)
    var history = TradeHistory(length: shape.length, count: shape.count)
    var now: Int64 = 1_700_000_000_000_000
    for step in 0..<250 {
      now += Int64(random.next() % UInt64(shape.length))
      if random.next() % 40 == 0 { now += Int64(random.next() % UInt64(ring.span * 2)) }
      if random.next() % 5 == 0 {
        ring.advance(to: Timestamp(microseconds: now))
        history.advance(to: now)
      }
      let isLate = random.next() % 3 == 0
      // Steps of 32 µs, the finest that buckets of a day tell apart.
      let time = (now - (isLate ? Int64(random.next() % UInt64(ring.span * 5 / 4)) : 0)) / 32 * 32
      let price = Int64(random.next() % 1_000) + 1
      let size = Int64(random.next() % 1_000) + 1
      ring.add(price: price, size: size, time: Timestamp(microseconds: time))
      history.add(price: price, size: size, time: time)
      for _ in 0..<4 {
        let number = history.head - Int64(random.next() % UInt64(shape.count))
        let trades = history.trades(inBucket: number)
        let bucket = ring.bucket(number)
        let same: Bool
        if let bucket, let first = trades.first, let last = trades.last {
          let volume = trades.reduce(Int128(0)) { $0 + Int128($1.size) }
          let quoteVolume = trades.reduce(Int128(0)) { $0 + Int128($1.size) * Int128($1.price) }
          let prices = trades.map(\.price)
          same =
            bucket.open == first.price && bucket.close == last.price && bucket.high == prices.max()
            && bucket.low == prices.min() && bucket.volume == volume && bucket.quoteVolume == quoteVolume
            && Int(bucket.trades) == trades.count
        } else {
          same = bucket == nil && trades.isEmpty
        }
        guard same, ring.lastPrice == history.entries.last?.price else {
          Issue.record("seed \(seed), step \(step), bucket \(number): \(String(describing: bucket)), trades \(trades)")
          return
        }
      }
    }
  }
}
