import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Requests that wait to be sent")
struct RequestOutboxTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)
  private func outbox(_ atOnce: Int = 3, limit: Int = 100) -> RequestOutbox<Int> {
    RequestOutbox(atOnce: atOnce, every: 200 * Microseconds.millisecond, limit: limit)
  }

  @Test("in order, so many at once, and no more before the interval is over")
  func pace() {
    var outbox = outbox()
    #expect(outbox.isEmpty && outbox.take(now: start).isEmpty && outbox.isOpen(at: start))
    outbox.append(1, 2, 3)
    outbox.append(4)
    #expect(outbox.take(now: start) == [1, 2, 3])
    #expect(!outbox.isOpen(at: start) && outbox.take(now: start + 199_999).isEmpty)
    #expect(outbox.take(now: start + 200_000) == [4])
    outbox.append(5)
    #expect(outbox.take(now: start + 399_999).isEmpty)
    #expect(outbox.take(now: start + 400_000) == [5] && outbox.isEmpty)
    // An empty go is none: the next request need not wait for it.
    #expect(outbox.take(now: start + 600_000).isEmpty)
    outbox.append(6)
    #expect(outbox.take(now: start + 600_001) == [6])
  }

  @Test("what is put back or comes first stands before all others, in its own order")
  func order() {
    var outbox = outbox(2)
    outbox.append(1, 2)
    outbox.append(together: 10, 11, isFirst: true)
    outbox.putBack(20, 21)
    var now = start
    var taken: [[Int]] = []
    while !outbox.isEmpty {
      taken.append(outbox.take(now: now))
      now = now + 200_000
    }
    #expect(taken == [[20, 21], [10, 11], [1, 2]])
  }

  @Test("what belongs together is never parted, however the goes fall")
  func together() {
    var outbox = outbox(3)
    outbox.append(1, 2)
    outbox.append(together: 3, 4)
    outbox.append(together: 5, 6, 7)
    outbox.append(8)
    var now = start
    var taken: [[Int]] = []
    while !outbox.isEmpty {
      taken.append(outbox.take(now: now))
      now = now + 200_000
    }
    #expect(taken == [[1, 2], [3, 4], [5, 6, 7], [8]])
    // Where something else bounds them too, they wait for room for all.
    outbox.append(together: 9, 10)
    #expect(outbox.take(now: now, room: 1).isEmpty && outbox.take(now: now, room: 0).isEmpty)
    #expect(outbox.take(now: now, room: 2) == [9, 10])
  }

  @Test("what belongs together and is more than one go goes one behind the other, or not at all")
  func oneAtOnce() {
    var outbox = outbox(1)
    outbox.append(1)
    outbox.append(together: 2, 3)
    outbox.append(together: 4, 5, isFirst: true)
    var now = start
    var taken: [[Int]] = []
    while !outbox.isEmpty {
      taken.append(outbox.take(now: now))
      now = now + 200_000
    }
    #expect(taken == [[4], [5], [1], [2], [3]])
  }

  @Test("a pause, its end before its time, and requests that wait for a time of their own")
  func pauses() {
    var outbox = outbox()
    outbox.append(1)
    outbox.pause(until: start + Microseconds.second)
    outbox.pause(until: start + 10)
    #expect(outbox.take(now: start + Microseconds.second - 1).isEmpty)
    #expect(outbox.take(now: start + Microseconds.second) == [1])
    var now = start + 2 * Microseconds.second
    outbox.append(2, due: now + 5 * Microseconds.second)
    outbox.append(3, due: now + 3 * Microseconds.second)
    outbox.pause(until: now + Microseconds.minute)
    outbox.resume()
    #expect(!outbox.isEmpty && outbox.take(now: now).isEmpty)
    now = now + 3 * Microseconds.second
    outbox.append(4)
    #expect(outbox.take(now: now) == [4, 3])
    #expect(outbox.take(now: now + 2 * Microseconds.second) == [2])
  }

  @Test("answers are told apart by their number, each once; of too many the oldest is forgotten")
  func answers() {
    var outbox = outbox(limit: 2)
    outbox.sent(10, as: 1, now: Timestamp(microseconds: 0))
    outbox.sent(20, as: 2, now: Timestamp(microseconds: 0))
    #expect(outbox.answered(2) == 20 && outbox.answered(2) == nil && outbox.answered(7) == nil)
    outbox.sent(30, as: 3, now: Timestamp(microseconds: 0))
    outbox.sent(40, as: 4, now: Timestamp(microseconds: 0))
    #expect(outbox.answered(1) == nil && outbox.answered(3) == 30 && outbox.answered(4) == 40)
  }

  @Test("no more than the limit wait, and what belongs together is left out together")
  func bound() {
    var outbox = outbox(3, limit: 4)
    outbox.append(1, 2)
    outbox.append(3, due: start)
    outbox.append(together: 4, 5)
    outbox.putBack(6, 7)
    #expect(outbox.take(now: start) == [1, 2, 3])
    outbox.append(1, 2, 3, 4, 5, 6)
    #expect(outbox.take(now: start + 200_000) == [1, 2, 3])
    #expect(outbox.take(now: start + 400_000) == [4] && outbox.isEmpty)
  }

  @Test("the end of the connection takes everything, pauses and answers too")
  func removed() {
    var outbox = outbox()
    outbox.append(1)
    _ = outbox.take(now: start)
    outbox.append(2)
    outbox.append(3, due: start)
    outbox.sent(9, as: 9, now: Timestamp(microseconds: 0))
    outbox.pause(until: start + Microseconds.hour)
    outbox.removeAll()
    #expect(outbox.isEmpty && outbox.answered(9) == nil && outbox.isOpen(at: start))
    outbox.append(4)
    #expect(outbox.take(now: start) == [4])
  }

  @Test("whatever is asked and whenever: order, pace and bound hold, and nothing is lost", arguments: testSeeds(200))
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let atOnce = Int.random(in: 2...6, using: &random)
    var outbox = RequestOutbox<Int>(atOnce: atOnce, every: 100_000, limit: 10_000)
    var now = start
    var next = 0
    var sent: [(at: Timestamp, number: Int)] = []
    for _ in 0..<300 {
      now = now + Int64.random(in: 0...70_000, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1:
        outbox.append(next)
        next += 1
      case 2:
        outbox.append(together: next, next + 1)
        next += 2
      case 3: outbox.pause(until: now + Int64.random(in: 0...150_000, using: &random))
      default: break
      }
      sent += outbox.take(now: now).map { (now, $0) }
    }
    while !outbox.isEmpty {
      now = now + 30_000
      sent += outbox.take(now: now).map { (now, $0) }
    }
    #expect(sent.map(\.number) == Array(0..<next), "TIDEGATE_SEED=\(seed)")
    for (index, first) in sent.enumerated() {
      let count = sent[index...].prefix { $0.at - first.at < 100_000 }.count
      #expect(count <= atOnce, "TIDEGATE_SEED=\(seed): \(count) requests from \(first.at - start)")
    }
  }
}
