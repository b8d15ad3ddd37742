import Alerts
import Foundation

/// The machine's zone files; nil where there are none.
func zoneRules(_ name: String) -> TimeZoneRules? {
  guard let data = FileManager.default.contents(atPath: "/usr/share/zoneinfo/\(name)") else { return nil }
  return try? TimeZoneRules(tzif: [UInt8](data))
}

/// Zones whose clocks change in different ways in 2026 and 2027, and some that do not.
let twelveZones = [
  "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Europe/Dublin", "America/Nuuk",
  "Asia/Kolkata", "Pacific/Auckland", "America/Havana", "Africa/Cairo", "America/Santiago", "Asia/Tokyo",
]

/// The offsets of a zone from 2025-12-20 to 2028-01-10, quarter hour by quarter hour, as Foundation has them: all
/// clocks of these years change at quarters.
final class ZoneTable: Sendable {
  static let start: Int64 = 1_766_188_800
  static let end: Int64 = 1_831_075_200
  let offsets: [Int64]

  init?(_ name: String) {
    guard let zone = TimeZone(identifier: name) else { return nil }
    offsets = stride(from: Self.start, to: Self.end, by: 900).map {
      Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval($0))))
    }
  }

  func offset(at time: Int64) -> Int64 { offsets[Int((time - Self.start) / 900)] }

  /// The first second whose local time is `local` or later.
  func first(atOrAfterLocal local: Int64) -> Int64 {
    // No offset is beyond 15 h in these years.
    for index in max(0, Int((local - Self.start) / 900) - 60)..<offsets.count {
      let offset = offsets[index]
      let quarter = Self.start + Int64(index) * 900
      guard quarter + 899 + offset >= local else { continue }
      return max(quarter, local - offset)
    }
    return .max
  }
}
