import MarketData
import TestSupport
import Testing

/// A merger that expectations may call.
private final class Merger {
  var value = PulseMerger(instrument: .init(0))
  var deadline: Timestamp { value.deadline }
  var published: Int64? { value.published }
  func price(_ price: Int64, now: Timestamp) -> Pulse? { value.price(price, now: now) }
  func advance(to now: Timestamp) -> Pulse? { value.advance(to: now) }
  func rescale(by factor: Int64) -> Bool { value.rescale(by: factor) }
}

@Suite struct PulseMergerTests {
  private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_000_000 + milliseconds) }

  @Test("the first price is published at once, without a previous one")
  func first() {
    let merger = Merger()
    #expect(merger.deadline == .distantFuture)
    let pulse = merger.price(100, now: at(0))
    #expect(pulse == Pulse(instrument: .init(0), price: 100, previous: nil, merged: 1, time: at(0)))
    #expect(merger.price(100, now: at(5)) == nil)
    #expect(merger.deadline == .distantFuture)
  }

  @Test("a change after 100 ms of quiet is published at once")
  func leadingEdge() {
    let merger = Merger()
    _ = merger.price(100, now: at(0))
    let pulse = merger.price(101, now: at(100))
    #expect(pulse?.price == 101)
    #expect(pulse?.previous == 100)
    #expect(pulse?.merged == 1)
  }

  @Test("changes within 100 ms of a pulse are merged into one on the first common tick after them")
  func trailingEdge() {
    let merger = Merger()
    _ = merger.price(100, now: at(30))
    #expect(merger.price(101, now: at(40)) == nil)
    #expect(merger.price(101, now: at(50)) == nil)
    #expect(merger.price(103, now: at(129)) == nil)
    #expect(merger.deadline == at(200), "130 is 100 ms after the pulse, 200 the first tick from then on")
    #expect(merger.price(102, now: at(140)) == nil, "what is held back waits for its tick, and newer prices with it")
    #expect(merger.advance(to: at(199)) == nil)
    let pulse = merger.advance(to: at(200))
    #expect(pulse == Pulse(instrument: .init(0), price: 102, previous: 100, merged: 3, time: at(200)))
    #expect(merger.price(104, now: at(299)) == nil)
    #expect(merger.deadline == at(300), "a busy market has a pulse on every tick")
    #expect(merger.advance(to: at(300))?.price == 104)
  }

  @Test("instruments whose leading edges came at different times share their ticks")
  func commonTick() {
    let deadlines = stride(from: Int64(1), through: 99, by: 7).map { offset in
      let merger = Merger()
      _ = merger.price(100, now: at(offset))
      _ = merger.price(101, now: at(offset + 1))
      return merger.deadline
    }
    #expect(Set(deadlines) == [at(200)])
    let onTick = Merger()
    _ = onTick.price(100, now: at(0))
    _ = onTick.price(101, now: at(1))
    #expect(onTick.deadline == at(100))
  }

  @Test("a busy market has a pulse on every tick, though its loop is always a little late, and none between them")
  func lateLoop() {
    let merger = Merger()
    _ = merger.price(100, now: at(0))
    var times: [Int64] = []
    // A change every 10 ms; each tick is looked at 3 ms after its time, and not at a change.
    for time in 1...1_000 {
      let pulse =
        time % 10 == 5
        ? merger.price(100 + Int64(time), now: at(Int64(time)))
        : time % 100 == 3 ? merger.advance(to: at(Int64(time))) : nil
      if let pulse { times.append((pulse.time - at(0)) / 1_000) }
    }
    #expect(times == stride(from: 103, to: 1_000, by: 100).map { Int64($0) })
    // One that is later than that has its 100 ms from when it left.
    let slow = Merger()
    _ = slow.price(100, now: at(0))
    _ = slow.price(101, now: at(50))
    #expect(slow.advance(to: at(111))?.price == 101)
    #expect(slow.price(102, now: at(205)) == nil)
    #expect(slow.deadline == at(300))
  }

  @Test("nothing is published if the price is back where the last pulse left it")
  func backAgain() {
    let merger = Merger()
    _ = merger.price(100, now: at(0))
    _ = merger.price(101, now: at(10))
    _ = merger.price(100, now: at(20))
    #expect(merger.advance(to: at(100)) == nil)
    #expect(merger.deadline == .distantFuture)
    #expect(merger.price(102, now: at(101))?.merged == 1, "nothing was published, so the next change leads again")
  }

  @Test("wider prices keep what is held back; a price that does not fit starts afresh")
  func rescale() {
    let merger = Merger()
    _ = merger.price(100, now: at(0))
    _ = merger.price(101, now: at(10))
    #expect(merger.rescale(by: 10))
    let pulse = merger.advance(to: at(100))
    #expect(pulse?.price == 1_010)
    #expect(pulse?.previous == 1_000)
    #expect(!merger.rescale(by: .max))
    #expect(merger.published == nil)
    #expect(merger.deadline == .distantFuture)
  }

  @Test("random prices give the pulses that the rule says", arguments: testSeeds(8))
  func againstRule(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var changes: [(time: Int64, price: Int64)] = []
    var time: Int64 = 0
    for _ in 0..<400 {
      time += [0, 1, 7, 30, 99, 100, 101, 350][Int(random.next() % 8)]
      let price = Int64(100 + random.next() % 4)
      if price != changes.last?.price { changes.append((time, price)) }
    }
    // The rule, over the whole history at once.
    var expected: [(time: Int64, price: Int64, merged: Int)] = []
    var index = 0
    while index < changes.count {
      let change = changes[index]
      guard let last = expected.last, change.time < last.time + 100 else {
        expected.append((change.time, change.price, 1))
        index += 1
        continue
      }
      // The tests' time begins on a tick.
      let tick = (last.time + 199) / 100 * 100
      var merged = 0
      var newest = change.price
      while index < changes.count, changes[index].time < tick {
        newest = changes[index].price
        merged += 1
        index += 1
      }
      if newest != last.price { expected.append((tick, newest, merged)) }
    }
    let merger = Merger()
    var got: [(time: Int64, price: Int64, merged: Int)] = []
    func note(_ pulse: Pulse?) {
      if let pulse { got.append((pulse.time - at(0), pulse.price, pulse.merged)) }
    }
    for change in changes {
      while merger.deadline <= at(change.time) { note(merger.advance(to: merger.deadline)) }
      note(merger.price(change.price, now: at(change.time)))
    }
    while merger.deadline != .distantFuture { note(merger.advance(to: merger.deadline)) }
    let gotText = got.map { "\($0.time / 1_000) \($0.price) \($0.merged)" }
    let expectedText = expected.map { "\($0.time) \($0.price) \($0.merged)" }
    #expect(gotText == expectedText, "seed \(seed)")
  }
}
