import MarketData
import TestSupport
import Testing
import Venues

@testable import Feeds

@Suite("The age of a connection")
struct ConnectionAgeTests {
  private let opened = Timestamp(microseconds: 1_700_000_000_000_000)

  @Test("Binance's 24 h: replaced between 23:50 and 23:55 by chance, given up at 23:59")
  func day() throws {
    let venue = try #require(VenueRegistry.venue(named: "binance"))
    for part in venue.parts {
      let age = ConnectionAge(lifetime: try #require(part.connectionLifetime))
      let minute = Microseconds.minute
      #expect(age.renewal(of: opened, random: 0) - opened == (24 * 60 - 10) * minute)
      #expect(age.deadline(of: opened) - opened == (24 * 60 - 1) * minute)
      var times: Set<Int64> = []
      for seed in testSeeds(50) {
        var random = SeededGenerator(seed: seed)
        let time = age.renewal(of: opened, random: UInt32(truncatingIfNeeded: random.next())) - opened
        #expect((24 * 60 - 10) * minute <= time && time <= (24 * 60 - 5) * minute, "seed \(seed)")
        times.insert(time)
      }
      #expect(times.count > 40, "they are spread")
    }
  }

  @Test(
    "however short a life: replaced after most of it, and with time to do it", arguments: [1, 10, 60, 3_600, 86_400])
  func order(seconds: Int64) {
    let age = ConnectionAge(lifetime: seconds * Microseconds.second)
    let end = opened + age.lifetime
    for random in [0, 1, UInt32.max / 2, .max] {
      let due = age.renewal(of: opened, random: random)
      #expect(opened + age.lifetime / 2 < due && due < age.deadline(of: opened) && age.deadline(of: opened) < end)
    }
  }
}
