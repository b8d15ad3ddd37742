import Alerts
import Foundation
import TestSupport
import Testing

@Suite("Time zones")
struct TimeZoneRulesTests {
  @Test("offsets of twelve zones in 2026 and 2027 are those of another implementation", arguments: twelveZones)
  func offsets(name: String) throws {
    let rules = try #require(zoneRules(name))
    let table = try #require(ZoneTable(name))
    for time in stride(from: ZoneTable.start, to: ZoneTable.end, by: 900) {
      try #require(Int64(rules.offset(at: time)) == table.offset(at: time), "\(name) at \(time)")
    }
  }

  @Test("offsets from 1880 to 2100 are those of another implementation", arguments: twelveZones)
  func history(name: String) throws {
    let rules = try #require(zoneRules(name))
    let zone = try #require(TimeZone(identifier: name))
    var random = SeededGenerator(seed: 7)
    for _ in 0..<4_000 {
      let time = Int64.random(in: -2_000_000_000...4_100_000_000, using: &random)
      let expected = zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(time)))
      // Foundation rounds the local mean times of the 19th century in some zones.
      guard abs(Int(rules.offset(at: time)) - expected) >= 60 else { continue }
      Issue.record("\(name) at \(time): \(rules.offset(at: time)), not \(expected)")
    }
  }

  @Test(
    "a local time is found at its first moment, and where it does not exist at the first moment after it",
    arguments: twelveZones)
  func localTimes(name: String) throws {
    let rules = try #require(zoneRules(name))
    let table = try #require(ZoneTable(name))
    for day in stride(from: 20_454 as Int64, to: 21_180, by: 1) {
      for second in [0, 1_800, 5_400, 7_200, 9_000, 10_799, 86_340] as [Int64] {
        let local = day * 86_400 + second
        try #require(
          rules.firstMoment(ofLocal: local) == table.first(atOrAfterLocal: local), "\(name) \(day) \(second)")
      }
    }
  }

  @Test("a repeated hour has two moments, any other one")
  func repeated() throws {
    let berlin = try #require(zoneRules("Europe/Berlin"))
    // 2026-10-25 02:30: at 00:30 and 01:30 UTC.
    let local = CivilDay.number(year: 2026, month: 10, day: 25) * 86_400 + 9_000
    let (first, second) = berlin.moments(ofLocal: local)
    #expect(first == local - 7_200)
    #expect(second == local - 3_600)
    #expect(berlin.moments(ofLocal: local + 86_400).second == nil)
  }

  @Test("every zone file of the machine is read, and agrees with the other implementation in 2026")
  func allFiles() throws {
    var read = 0
    for name in TimeZone.knownTimeZoneIdentifiers {
      guard let rules = zoneRules(name), let zone = TimeZone(identifier: name) else { continue }
      read += 1
      for time in stride(from: 1_767_225_600 as Int64, to: 1_798_761_600, by: 6 * 3_600) {
        let expected = zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(time)))
        #expect(Int(rules.offset(at: time)) == expected, "\(name) at \(time)")
      }
    }
    #expect(read > 300)
  }

  @Test("a file that is cut or changed anywhere is refused or read, and never traps")
  func damaged() throws {
    let path = "/usr/share/zoneinfo/America/Santiago"
    let bytes = [UInt8](try #require(FileManager.default.contents(atPath: path)))
    for count in 0..<bytes.count {
      #expect(throws: TimeZoneFileError.self) { try TimeZoneRules(tzif: Array(bytes[..<count])) }
    }
    var random = SeededGenerator(seed: 3)
    for _ in 0..<6_000 {
      var bytes = bytes
      for _ in 0...Int.random(in: 0...2, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      guard let rules = try? TimeZoneRules(tzif: bytes) else { continue }
      let time = Int64.random(in: 0...4_000_000_000, using: &random)
      _ = rules.offset(at: time)
      _ = rules.firstMoment(ofLocal: time)
    }
  }
}
