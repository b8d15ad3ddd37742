import MarketData
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
      // A full budget and what flows in during a minute.
      #expect(sent.filter { $0 >= first && $0 - first < Microseconds.minute }.count <= 24)
    }
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
