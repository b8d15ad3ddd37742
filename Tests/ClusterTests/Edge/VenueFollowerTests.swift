import Testing

@testable import Cluster

@Suite("Following a venue's ingests")
struct VenueFollowerTests {
  private func beacon(
    _ number: UInt64, _ node: String = "a", run: UInt32 = 5, sent: UInt64, age: UInt64 = 0, link: UInt16 = 0,
    role: Beacon.Role = .active, feed: Beacon.Feed = .live
  ) -> Beacon {
    Beacon(
      term: ClusterTerm(number: number, node: node), role: role, node: node, run: run, link: link, feed: feed, age: age,
      sent: sent)
  }

  private func digest(_ sent: UInt64, run: UInt32 = 5, age: UInt64 = 0) -> Digest {
    Digest(run: run, sent: sent, age: age, items: [])
  }

  @Test("the highest term is followed; a lower one only after three seconds without the higher")
  func terms() {
    var follower = VenueFollower()
    let changes = [
      follower.heard(beacon(2, "a", run: 5, sent: 1), now: 0),
      follower.heard(beacon(1, "b", run: 6, sent: 1), now: 100_000),
      follower.heard(beacon(2, "b", run: 7, sent: 1), now: 200_000),
      follower.heard(beacon(9, "c", run: 0, sent: 1, role: .warm), now: 200_000),
      follower.heard(beacon(1, "a", run: 8, sent: 1), now: 3_200_000),
      follower.heard(beacon(1, "a", run: 8, sent: 1), now: 3_200_001),
    ]
    #expect(changes == [.run, .nothing, .run, .nothing, .nothing, .run])
    #expect(follower.run == 8)
  }

  @Test("a repeated or late beacon changes nothing, and one of another link does")
  func repeats() {
    var follower = VenueFollower()
    let changes = [
      follower.heard(beacon(1, sent: 100), now: 0), follower.heard(beacon(1, sent: 100, link: 9), now: 10),
      follower.heard(beacon(1, sent: 99, link: 9), now: 20), follower.heard(beacon(1, sent: 200, link: 9), now: 30),
    ]
    #expect(changes == [.run, .nothing, .nothing, .link])
  }

  @Test("the age grows with the time since the beacon, and with its delay")
  func ages() {
    var follower = VenueFollower()
    _ = follower.heard(beacon(1, sent: 1_000_000, age: 50_000), now: 7_000_000)
    #expect(follower.indicator(now: 7_100_000, confirmed: 7_000_000) == .connected(age: 150_000))
    // This one took 300 ms longer than the first.
    _ = follower.heard(beacon(1, sent: 1_200_000, age: 50_000), now: 7_500_000)
    // (Two clocks may drift apart by 100 µs in that time.)
    #expect(follower.indicator(now: 7_500_000, confirmed: 7_000_000) == .connected(age: 349_900))
    // One that comes a second late is no sign of life.
    _ = follower.heard(beacon(1, sent: 1_400_000, age: 0), now: 9_000_000)
    #expect(follower.indicator(now: 9_000_000, confirmed: 9_000_000) == .reconnecting(.noIngest))
  }

  @Test("without beacons, digests, confirmation or feed, a dot is not green, and says why")
  func reasons() {
    var follower = VenueFollower()
    #expect(follower.indicator(now: 0, confirmed: 0) == .reconnecting(.noIngest))
    _ = follower.heard(beacon(1, sent: 1), now: 0)
    #expect(follower.indicator(now: 1_500_000, confirmed: 1_000_000).isConnected)
    #expect(follower.indicator(now: 1_500_001, confirmed: 1_000_000) == .reconnecting(.noIngest))
    #expect(follower.indicator(now: 100, confirmed: nil) == .reconnecting(.noLink))
    #expect(follower.indicator(now: 100, confirmed: -2_000_000) == .reconnecting(.noLink))
    _ = follower.heard(beacon(1, sent: 1_000_001), now: 1_000_000)
    _ = follower.heard(beacon(1, sent: 2_000_001), now: 2_000_000)
    // Beacons arrive, and digests do not.
    #expect(follower.indicator(now: 2_000_000, confirmed: 2_000_000) == .reconnecting(.noIngest))
    _ = follower.heard(digest(2_000_001))
    #expect(follower.indicator(now: 2_000_000, confirmed: 2_000_000).isConnected)
    _ = follower.heard(beacon(1, sent: 2_200_001, age: 1_900_000), now: 2_200_000)
    #expect(follower.indicator(now: 2_300_001, confirmed: 2_000_000) == .stale(age: 2_000_001))
    _ = follower.heard(beacon(1, sent: 2_400_001, feed: .down), now: 2_400_000)
    #expect(follower.indicator(now: 2_400_000, confirmed: 2_000_000) == .reconnecting(.feed))
  }

  @Test("a hole between digests that is longer than what one names is noticed")
  func holes() {
    var follower = VenueFollower()
    _ = follower.heard(beacon(1, sent: 1), now: 0)
    let holes = [
      follower.heard(digest(10)), follower.heard(digest(1_600_010)),
      follower.heard(digest(3_200_011)), follower.heard(digest(3_200_011)),
      follower.heard(digest(9_000_000, run: 6)),
    ]
    #expect(holes == [false, false, true, false, false])
  }

  @Test("a digest that waited in a socket says nothing of the time in which it waited")
  func lateDigests() {
    var follower = VenueFollower()
    _ = follower.heard(beacon(1, sent: 1), now: 0)
    // The edge stood still for two seconds, and reads what was sent in the first half second.
    _ = follower.heard(digest(500_001))
    _ = follower.heard(beacon(1, sent: 2_300_001), now: 2_300_000)
    #expect(follower.indicator(now: 2_300_000, confirmed: 2_300_000) == .reconnecting(.noIngest))
    _ = follower.heard(digest(2_300_001))
    #expect(follower.indicator(now: 2_300_000, confirmed: 2_300_000).isConnected)
  }

  @Test("after a feed that was late, a dot is green only when a digest has said so")
  func lateFeeds() {
    var follower = VenueFollower()
    _ = follower.heard(beacon(1, sent: 1), now: 0)
    _ = follower.heard(digest(1_000_001, age: 900_000))
    _ = follower.heard(beacon(1, sent: 2_100_001, age: 20_000), now: 2_100_000)
    #expect(follower.indicator(now: 2_100_000, confirmed: 2_100_000).isConnected)
    #expect(follower.indicator(now: 2_100_001, confirmed: 2_100_000) == .stale(age: 20_001))
    _ = follower.heard(digest(2_200_001, age: 100_000))
    #expect(follower.indicator(now: 2_200_000, confirmed: 2_100_000).isConnected)
  }

  @Test("a hole before an epoch's first digest is noticed")
  func firstHole() {
    var follower = VenueFollower()
    _ = follower.heard(beacon(1, sent: 1_000_000), now: 0)
    let first = follower.heard(digest(2_600_001))
    _ = follower.heard(beacon(2, run: 6, sent: 1_000_000), now: 100)
    let second = follower.heard(digest(2_600_000, run: 6))
    #expect(first && !second)
  }
}
