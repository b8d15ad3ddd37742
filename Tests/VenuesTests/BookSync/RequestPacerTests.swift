import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Request pacer")
struct RequestPacerTests {
  private let start = Timestamp(microseconds: 1_000_000_000)

  @Test("the weight of a minute is never exceeded, and all are served in the end")
  func budget() {
    var pacer = RequestPacer(weightPerMinute: 600, requestWeight: 50, concurrency: 100)
    for subject in 0..<40 { pacer.want(subject) }
    var sent: [Timestamp] = []
    var now = start
    while sent.count < 40, now - start < 10 * Microseconds.minute {
      while let (_, request) = pacer.next(now: now) {
        sent.append(now)
        if let subject = pacer.answered(request) { pacer.succeeded(subject) }
      }
      now = now + 250_000
    }
    #expect(sent.count == 40)
    #expect(sent.filter { $0 == start }.count == 12)
    for first in sent {
      #expect(sent.filter { $0 >= first && $0 - first < Microseconds.minute }.count <= 12)
    }
  }

  @Test("an outcome may be told of a subject that was never wanted: one that failed is wanted then")
  func unwanted() {
    var pacer = RequestPacer(weightPerMinute: 600, requestWeight: 50, concurrency: 1)
    pacer.succeeded(3)
    #expect(pacer.next(now: start) == nil)
    pacer.failed(5, status: 0, now: start)
    #expect(pacer.next(now: start) == nil, "at once after a failure")
    #expect(pacer.next(now: start + Microseconds.minute)?.subject == 5)
  }

  @Test(
    "whatever is wanted, lost and answered: no minute has more than its weight, and nothing waits without need",
    arguments: testSeeds(100))
  func sliding(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let weight = Int.random(in: 1...60, using: &random)
    let limit = Int.random(in: weight...600, using: &random)
    var pacer = RequestPacer(weightPerMinute: limit, requestWeight: weight, concurrency: 1_000)
    var sent: [Timestamp] = []
    var now = start
    for _ in 0..<400 {
      now = now + Int64.random(in: 0...2_000_000, using: &random)
      for _ in 0..<Int.random(in: 0...8, using: &random) { pacer.want(Int.random(in: 0..<40, using: &random)) }
      while let (subject, request) = pacer.next(now: now) {
        sent.append(now)
        #expect(pacer.answered(request) == subject)
        pacer.succeeded(subject)
      }
      let inMinute = sent.count { now - $0 < Microseconds.minute } * weight
      #expect(inMinute <= limit, "TIDEGATE_SEED=\(seed)")
      // A moment in which there was room was used: one more is wanted and goes at once, if the last 61 s have room for
      // it.
      let inLonger = sent.count { now - $0 < Microseconds.minute + Microseconds.second } * weight
      guard inLonger + weight <= limit else { continue }
      pacer.want(100)
      let next = pacer.next(now: now)
      #expect(next?.subject == 100, "TIDEGATE_SEED=\(seed)")
      if let next {
        sent.append(now)
        _ = pacer.answered(next.request)
        pacer.succeeded(100)
      }
    }
  }

  @Test("one that is heavier than a minute's weight goes alone; a book that was lost waits for its time")
  func heavy() {
    var pacer = RequestPacer(weightPerMinute: 10, requestWeight: 50, concurrency: 9)
    pacer.want(0)
    pacer.want(1)
    #expect(pacer.next(now: start)?.subject == 0 && pacer.next(now: start + 59 * Microseconds.second) == nil)
    #expect(pacer.next(now: start + 61 * Microseconds.second)?.subject == 1)
    var other = RequestPacer(weightPerMinute: 600, requestWeight: 1, concurrency: 9)
    other.lost(0, notBefore: start + 2 * Microseconds.second, now: start)
    #expect(other.next(now: start + Microseconds.second) == nil)
    #expect(other.next(now: start + 2 * Microseconds.second)?.subject == 0)
  }

  @Test("one in flight for a subject, a few for all")
  func concurrency() throws {
    var pacer = RequestPacer(weightPerMinute: 6000, requestWeight: 50, concurrency: 2)
    for subject in [0, 1, 2, 0, 0] { pacer.want(subject) }
    let next = pacer.next(now: start)
    let first = try #require(next)
    #expect(pacer.next(now: start)?.subject == 1)
    #expect(pacer.next(now: start) == nil)
    pacer.want(0)
    #expect(pacer.answered(first.request) == 0)
    #expect(pacer.answered(first.request) == nil)
    #expect(pacer.next(now: start)?.subject == 2)
  }

  @Test("a venue that says how long to wait holds all requests for as long, and no longer")
  func retryAfter() throws {
    for status in [429, 418, 503] {
      var pacer = RequestPacer(weightPerMinute: 6000, requestWeight: 50, concurrency: 2)
      pacer.want(0)
      let first = pacer.next(now: start)
      let request = try #require(first).request
      #expect(pacer.answered(request) == 0)
      pacer.failed(0, status: status, retryAfter: 4 * Microseconds.second, now: start)
      pacer.want(1)
      #expect(pacer.next(now: start + 4 * Microseconds.second - 1) == nil, "\(status)")
      #expect(pacer.next(now: start + 4 * Microseconds.second) != nil, "\(status)")
    }
  }

  @Test("no answer counts as a failure, and comes again later")
  func expiry() {
    var pacer = RequestPacer(weightPerMinute: 6000, requestWeight: 50, concurrency: 1)
    pacer.want(0)
    let request = pacer.next(now: start)!.request
    pacer.expire(now: start + 29 * Microseconds.second)
    #expect(pacer.next(now: start + 29 * Microseconds.second) == nil)
    pacer.expire(now: start + 30 * Microseconds.second)
    #expect(pacer.answered(request) == nil)
    #expect(pacer.next(now: start + 30 * Microseconds.second) == nil)
    #expect(pacer.next(now: start + 31 * Microseconds.second)?.subject == 0)
  }
}
