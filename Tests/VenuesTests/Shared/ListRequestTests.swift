import MarketData
import Testing

@testable import Venues

@Suite("The request for a venue's list")
struct ListRequestTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)

  @Test("one at a time until it has come, and then none until it is wanted again")
  func once() {
    var list = ListRequest()
    #expect(list.isDue(now: start) == true)
    #expect(!list.isDone)
    list.sent(7, now: start)
    #expect(list.isDue(now: start + 29 * Microseconds.second) == false)
    #expect(list.isAnswered(by: 6) == false)
    #expect(list.isAnswered(by: 7) == true)
    #expect(list.isAnswered(by: 7) == false)
    list.finished()
    #expect(list.isDone)
    #expect(list.isDue(now: start + Microseconds.hour) == false)
    list.again()
    #expect(!list.isDone)
    #expect(list.isDue(now: start) == true)
  }

  @Test("failures wait ever longer, those of a limit or a ban as long as the venue wants; success begins anew")
  func backoff() {
    var list = ListRequest()
    var now = start
    func waits(_ statuses: [Int]) -> [Int64] {
      statuses.map { status in
        list.sent(1, now: now)
        #expect(list.isAnswered(by: 1) == true)
        list.failed(status: status, now: now)
        let failed = now
        while !list.isDue(now: now) { now = now + Microseconds.second }
        return (now - failed) / Microseconds.second
      }
    }
    #expect(waits([500, 0, 200, 503, 500, 500, 500]) == [1, 2, 4, 8, 16, 30, 30])
    #expect(waits([429, 418, 403]) == [60, 300, 300])
    list.finished()
    list.again()
    #expect(waits([500]) == [1])
  }

  @Test("a venue that says how long to wait is believed, whatever the status")
  func retryAfter() {
    var list = ListRequest()
    for status in [429, 418, 403, 503] {
      list.sent(1, now: start)
      #expect(list.isAnswered(by: 1) == true)
      list.failed(status: status, retryAfter: 4 * Microseconds.second, now: start)
      #expect(list.isDue(now: start + 4 * Microseconds.second - 1) == false)
      #expect(list.isDue(now: start + 4 * Microseconds.second) == true, "\(status)")
    }
  }

  @Test("a list that has come stays good enough to connect with")
  func known() {
    var list = ListRequest()
    #expect(!list.hasList)
    list.finished()
    list.restart()
    #expect(list.hasList && !list.isDone)
    list.failed(status: 429, now: start)
    #expect(list.hasList)
  }

  @Test("an answer that never comes is asked for again; a late one is none")
  func silence() {
    var list = ListRequest()
    list.sent(1, now: start)
    let later = start + RequestPacer.answerTimeout
    #expect(list.isDue(now: later - 1) == false)
    #expect(list.isDue(now: later) == true)
    list.sent(2, now: later)
    #expect(list.isAnswered(by: 1) == false)
    #expect(list.isAnswered(by: 2) == true)
  }

  @Test("a list in parts goes on at once")
  func parts() {
    var list = ListRequest()
    list.sent(1, now: start)
    #expect(list.isAnswered(by: 1) == true)
    #expect(list.isDue(now: start) == false)
    list.goesOn()
    #expect(list.isDue(now: start) == true)
    #expect(!list.isDone)
  }

  @Test(
    "what is on its way will do if the list is wanted again, and is gone with the connection; a wait after a failure stays"
  )
  func restarts() {
    var list = ListRequest()
    list.sent(1, now: start)
    list.again()
    #expect(list.isDue(now: start) == false)
    #expect(list.isAnswered(by: 1) == true)
    list.finished()
    list.restart()
    #expect(!list.isDone)
    #expect(list.isDue(now: start) == true)
    list.sent(2, now: start)
    list.restart()
    #expect(list.isDue(now: start) == true)
    #expect(list.isAnswered(by: 2) == false)
    list.sent(3, now: start)
    #expect(list.isAnswered(by: 3) == true)
    list.failed(status: 429, now: start)
    list.restart()
    #expect(list.isDue(now: start + 59 * Microseconds.second) == false)
    #expect(list.isDue(now: start + Microseconds.minute) == true)
  }
}
