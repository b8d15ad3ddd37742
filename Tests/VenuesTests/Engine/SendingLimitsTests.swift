import MarketData
import Testing

@testable import Venues

@Suite("What a connection may send")
struct SendingLimitsTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)

  private func limits(perHour: Int? = nil, perMinute: Int? = nil, connections: Int = 1) -> SendingLimits {
    var pacing = DialectFacts.Pacing(grouping: .topic, atOnce: 1, every: 0, limit: 8)
    pacing.topicsPerHour = perHour
    pacing.perMinute = perMinute
    var limits = SendingLimits(pacing, connections: connections)
    limits.connected(now: start)
    return limits
  }

  @Test("numbers follow each other; one that was not needed is used again")
  func numbers() {
    var limits = limits()
    let numbers = [limits.number(), limits.number()]
    limits.returnNumber()
    #expect(numbers == [1, 2] && limits.number() == 2 && limits.lastID == 2)
  }

  @Test("an hour that is full has room again when it is over, and on another connection")
  func hour() {
    var limits = limits(perHour: 10)
    limits.began(8)
    #expect(limits.hourEnd(for: 2, now: start + Microseconds.minute) == nil)
    #expect(limits.hourEnd(for: 3, now: start + Microseconds.minute) == start + Microseconds.hour)
    #expect(limits.hourEnd(for: 3, now: start + Microseconds.hour) == nil)
    limits.began(9)
    limits.connected(now: start + Microseconds.hour + 1)
    #expect(limits.hourEnd(for: 10, now: start + Microseconds.hour + 2) == nil)
  }

  @Test(
    "a minute's messages are shared by the connections of an address, and outlive one; elsewhere they are not counted")
  func minute() {
    var shared = limits(perMinute: 10, connections: 2)
    for _ in 0..<4 { shared.sent(now: start) }
    shared.disconnected()
    shared.connected(now: start + 1)
    #expect(shared.room(now: start + 1) == 1 && shared.lastSent == start)
    var free = limits()
    free.sent(now: start)
    #expect(free.room(now: start) == .max)
  }

  @Test("a connection is left once")
  func leaving() {
    var limits = limits()
    let said = [limits.leave(), limits.leave()]
    limits.connected(now: start)
    #expect(said == [true, false] && limits.leave())
  }

  @Test("other connections for the sake of what is not answered are asked for ever more rarely")
  func renewals() {
    var limits = limits()
    let granted = (0..<60).filter { limits.takeRenewal(now: start + Int64($0) * Microseconds.minute) }
    #expect(granted.first == 0 && granted.count >= 3)
    #expect(zip(zip(granted.dropFirst(), granted).map { $0 - $1 }, [4, 8, 16]).allSatisfy { $0 >= $1 })
  }
}
