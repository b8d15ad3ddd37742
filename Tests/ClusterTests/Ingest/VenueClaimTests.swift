import Testing

@testable import Cluster

@Suite("Claims of a venue")
struct VenueClaimTests {
  private func beacon(_ number: UInt64, _ node: String, _ role: Beacon.Role = .active) -> Beacon {
    Beacon(
      term: ClusterTerm(number: number, node: node), role: role, node: node, run: role == .warm ? 0 : 5, link: 0,
      feed: .live, age: 0, sent: 1)
  }

  /// Steps every 50 ms until a claim; the time of it, or nil.
  private func run(
    _ claim: inout VenueClaim, from start: Int64 = 0, for time: Int64 = 3_000_000, isReady: Bool = true,
    isLinked: Bool = true, _ each: (inout VenueClaim, Int64) -> Void = { _, _ in }
  ) -> Int64? {
    for now in stride(from: start, through: start + time, by: 50_000) {
      each(&claim, now)
      if claim.step(now: now, isReady: isReady, isLinked: isLinked) { return now }
    }
    return nil
  }

  @Test("a node that hears nobody for a second claims")
  func silence() {
    var claim = VenueClaim(node: "a", now: 0, random: 0)
    #expect(run(&claim) == 1_000_000)
    #expect(claim.state == .active(ClusterTerm(number: 1, node: "a")))
    claim = VenueClaim(node: "a", now: 0, random: 150_000)
    #expect(run(&claim) == 1_150_000)
  }

  @Test("a node that hears an active one does not claim, and after its silence claims a higher term")
  func partner() {
    var claim = VenueClaim(node: "a", now: 0, random: 0)
    let alive: (inout VenueClaim, Int64) -> Void = { claim, now in _ = claim.heard(beacon(7, "b"), now: now) }
    #expect(run(&claim, alive) == nil)
    #expect(run(&claim, from: 3_050_000) == 4_000_000)
    #expect(claim.state == .active(ClusterTerm(number: 8, node: "a")))
  }

  @Test("beacons of warm nodes do not keep it from claiming, but their terms are exceeded")
  func warmPartner() {
    var claim = VenueClaim(node: "a", now: 0, random: 0)
    #expect(run(&claim) { claim, now in _ = claim.heard(beacon(9, "b", .warm), now: now) } == 1_000_000)
    #expect(claim.highest.number == 10)
  }

  @Test("an active node stops at a higher term, and at an equal one of a later name")
  func yielding() {
    var claim = VenueClaim(node: "b", now: 0, random: 0)
    _ = run(&claim)
    let answers = [
      claim.heard(beacon(1, "a"), now: 0), claim.heard(beacon(2, "c", .warm), now: 0), claim.isActive,
      claim.heard(beacon(1, "c"), now: 0), claim.isActive,
    ]
    #expect(answers == [false, false, true, true, false])
  }

  @Test("a draining node is followed at once")
  func draining() {
    var claim = VenueClaim(node: "a", now: 0, random: 0)
    _ = claim.heard(beacon(3, "b"), now: 0)
    let before = claim.step(now: 10_000, isReady: true, isLinked: true)
    _ = claim.heard(beacon(3, "b", .draining), now: 20_000)
    let after = claim.step(now: 20_000, isReady: true, isLinked: true)
    #expect(!before && after && claim.highest.number == 4)
  }

  @Test("a node that is not ready, or cut off, does not claim; the second waits anew when it is back")
  func notReady() {
    var claim = VenueClaim(node: "a", now: 0, random: 0)
    #expect(run(&claim, isReady: false) == nil)
    claim = VenueClaim(node: "a", now: 0, random: 0)
    #expect(run(&claim, isLinked: false) == nil)
    #expect(run(&claim, from: 3_050_000) == 4_000_000)
  }

  @Test("a node that stood still waits anew: beacons of that time are still to be read")
  func stoodStill() {
    var claim = VenueClaim(node: "a", now: 0, random: 0)
    _ = claim.step(now: 0, isReady: true, isLinked: true)
    #expect(run(&claim, from: 10_000_000) == 11_000_000)
  }
}
