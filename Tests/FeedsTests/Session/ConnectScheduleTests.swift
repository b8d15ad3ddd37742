import TestSupport
import Testing
import Venues

@testable import Feeds

@Suite("Turns to connect")
struct ConnectScheduleTests {
  @Test(
    "however many ask, and whenever: never more than the venue takes in any span of its interval, and nobody is forgotten",
    arguments: [(300, 300), (3, 1), (8, 1), (150, 600), (500, 300), (1, 5)])
  func limit(count: Int, seconds: Int64) {
    let interval = seconds * 1_000_000
    for seed in testSeeds(5) {
      var random = SeededGenerator(seed: seed)
      let schedule = ConnectSchedule(ConnectLimit(count: count, interval: interval))
      var turns: [Int64] = []
      var moment: Int64 = 1_000_000
      for _ in 0..<400 {
        let wait = schedule.reserve(at: moment, random: UInt32(truncatingIfNeeded: random.next()))
        #expect(wait >= 0, "seed \(seed)")
        turns.append(moment + wait)
        // Now and then all of them at once, as after an outage, and then long nothing.
        if random.next() % 50 == 0 { moment += Int64(random.next() % UInt64(3 * interval)) }
      }
      turns.sort()
      for (index, turn) in turns.enumerated() where index >= count {
        // With the jitter that may bring two turns nearer to each other.
        #expect(turn - turns[index - count] >= interval - schedule.interval, "seed \(seed), turn \(index)")
      }
      #expect(turns.last! - moment <= 400 * schedule.interval + schedule.interval, "seed \(seed)")
    }
  }

  @Test("few come at once; later ones are spread by chance from outside")
  func burst() {
    let schedule = ConnectSchedule(ConnectLimit(count: 300, interval: 300_000_000))
    let waits = (0..<11).map { _ in schedule.reserve(at: 5, random: 0) }
    #expect(waits == Array(repeating: 0, count: 8) + [2_000_000, 4_000_000, 6_000_000])
    #expect(schedule.reserve(at: 5, random: 700_000) == 8_700_000)
    // What was not taken for long is not saved up beyond the burst.
    #expect((0..<9).filter { _ in schedule.reserve(at: 900_000_000, random: 0) == 0 }.count == 8)
  }
}
