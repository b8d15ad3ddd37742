import MarketData
import Testing

@testable import Venues

@Suite("When a ping is due")
struct PingClockTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)

  private func dueAfter(
    _ since: DialectFacts.Ping.Since, sent: Int64 = 0, heard: Int64 = 0, interval: Int64? = nil
  ) -> Int? {
    var clock = PingClock(.init(after: 10 * Microseconds.second, since: since))
    clock.connected(now: start)
    if let interval { clock.set(interval) }
    return (0...30).first { second in
      let now = start + Int64(second) * Microseconds.second
      return clock.takeDue(
        sent: min(now, start + sent * Microseconds.second), heard: min(now, start + heard * Microseconds.second),
        now: now)
    }
  }

  @Test("at its pace, after the last word from here, or after the last from the venue")
  func since() {
    #expect(dueAfter(.ping, sent: 4, heard: 6) == 10)
    #expect(dueAfter(.sent, sent: 4, heard: 6) == 14)
    #expect(dueAfter(.heard, sent: 4, heard: 6) == 16)
  }

  @Test("once, and again after the same time")
  func repeats() {
    var clock = PingClock(.init(after: 10, since: .heard))
    clock.connected(now: start)
    let due = (0...35).filter { clock.takeDue(sent: start, heard: start, now: start + $0) }
    #expect(due == [10, 20, 30])
  }

  @Test("a venue may want it sooner than usual, on that connection, and never later")
  func interval() {
    #expect(dueAfter(.ping, interval: 3 * Microseconds.second) == 3)
    #expect(dueAfter(.ping, interval: 60 * Microseconds.second) == 10)
    var clock = PingClock(.init(after: 10, since: .ping))
    clock.set(3)
    clock.disconnected()
    clock.connected(now: start)
    let isDue = clock.takeDue(sent: start, heard: start, now: start + 9)
    #expect(!isDue)
  }

  @Test("never where the venue wants none")
  func none() {
    var clock = PingClock(nil)
    clock.connected(now: start)
    clock.set(1)
    let isDue = clock.takeDue(sent: .distantPast, heard: .distantPast, now: start + Microseconds.day)
    #expect(!isDue)
  }
}
