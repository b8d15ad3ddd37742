import TestSupport
import Testing

@testable import Bytes

@Suite("Histograms")
struct HistogramTests {
  @Test("the bounds are 1, 2 and 5 of every power of ten, from the first to the last")
  func bounds() {
    #expect(Histogram(from: 100, to: 10_000).cumulative.map(\.bound) == [100, 200, 500, 1_000, 2_000, 5_000, 10_000])
    #expect(Histogram.durations.cumulative.map(\.bound).last == 10_000_000_000)
    #expect(Histogram.durations.boundCount == 22)
  }

  @Test("a value is counted in the first bucket that is not below it, as a search through the bounds finds it")
  func model() {
    let seed: UInt64 = 20_260_601
    var random = SeededGenerator(seed: seed)
    var histogram = Histogram.durations
    let bounds = histogram.cumulative.map(\.bound)
    var counts = [UInt64](repeating: 0, count: bounds.count + 1)
    var sum: UInt64 = 0
    var values: [UInt64] = [0, 1, .max >> 20] + bounds + bounds.map { $0 - 1 } + bounds.map { $0 + 1 }
    for _ in 0..<20_000 { values.append(random.next() >> UInt64.random(in: 20..<64, using: &random)) }
    for value in values {
      histogram.record(value)
      counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
      sum += value
    }
    var running: UInt64 = 0
    for (index, bucket) in histogram.cumulative.enumerated() {
      running += counts[index]
      #expect(bucket.count == running, "up to \(bucket.bound), seed \(seed)")
    }
    #expect(histogram.count == UInt64(values.count))
    #expect(histogram.sum == sum)
  }

  @Test("two that are added count what both counted")
  func addition() {
    var one = Histogram(from: 1, to: 1_000)
    var other = one
    for value: UInt64 in [1, 30, 5_000] { one.record(value) }
    for value: UInt64 in [2, 30] { other.record(value) }
    one.add(other)
    #expect(one.count == 5)
    #expect(one.sum == 5_063)
    #expect(one.cumulative.first { $0.bound == 50 }?.count == 4)
  }

  @Test("what came since an earlier copy is counted alone")
  func since() {
    var histogram = Histogram(from: 10, to: 1_000)
    for value: UInt64 in [1, 30, 5_000] { histogram.record(value) }
    let earlier = histogram
    #expect(histogram.since(earlier).count == 0)
    for value: UInt64 in [30, 30, 900] { histogram.record(value) }
    let since = histogram.since(earlier)
    #expect(since.count == 3 && since.sum == 960)
    #expect(since.cumulative.map(\.count) == [0, 0, 2, 2, 2, 2, 3])
  }

  @Test("a quantile lies in the bucket of its value, and there is none of nothing")
  func quantiles() {
    var histogram = Histogram.durations
    #expect(histogram.quantile(0.5) == nil)
    for value in UInt64(1)...1_000 { histogram.record(value * 1_000) }
    #expect(abs((histogram.quantile(0.5) ?? 0) - 500_000) < 1_000)
    #expect(abs((histogram.quantile(0.99) ?? 0) - 990_000) < 10_000)
    histogram.record(.max >> 20)
    #expect(histogram.quantile(1) == 10_000_000_000)
  }
}
