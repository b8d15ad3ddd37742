import MarketData
import Testing

@testable import Venues

@Suite("A venue's maintenance")
struct MaintenanceTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)

  @Test("each change is news once")
  func news() {
    var maintenance = Maintenance(.isTold)
    let told = [true, true, false, false].map { maintenance.set($0, now: start) }
    #expect(told == [true, false, true, false])
  }

  @Test("where it is only told of, it holds up nothing, is never overdue, and outlives the connection")
  func told() {
    var maintenance = Maintenance(.isTold)
    _ = maintenance.set(true, now: start)
    maintenance.disconnected()
    #expect(maintenance.isOn && !maintenance.holdsRequests && !maintenance.endsSubscriptions)
    #expect(!maintenance.isOverdue(now: start + Microseconds.day))
  }

  @Test("where it ends subscriptions, requests wait until it is over, or overdue, or the connection is gone")
  func ends() {
    var maintenance = Maintenance(.endsSubscriptions(limit: 100))
    #expect(!maintenance.holdsRequests && !maintenance.isOverdue(now: start + 1_000))
    _ = maintenance.set(true, now: start)
    #expect(maintenance.holdsRequests && !maintenance.isOverdue(now: start + 99))
    #expect(maintenance.isOverdue(now: start + 100))
    _ = maintenance.set(false, now: start)
    #expect(!maintenance.holdsRequests)
    _ = maintenance.set(true, now: start)
    maintenance.disconnected()
    #expect(!maintenance.holdsRequests)
  }
}
