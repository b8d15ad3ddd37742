import Alerts
import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import Decks

/// The rules of a zone from the system's files.
func zone(_ name: String) throws -> TimeZoneRules {
  let data = try #require(FileManager.default.contents(atPath: "/usr/share/zoneinfo/\(name)"))
  return try TimeZoneRules(tzif: [UInt8](data))
}

@Suite("The day of a zone")
struct DeckDayTests {
  private static let zones = [
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu", "Pacific/Apia",
    "America/Havana", "Africa/Casablanca", "America/Santiago", "Pacific/Kiritimati", "Africa/Cairo", "Asia/Beirut",
    "America/St_Johns", "America/Sao_Paulo", "America/Asuncion", "Asia/Gaza", "Pacific/Kwajalein", "UTC",
  ]

  private static func time(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }

  private static func seconds(_ text: String) throws -> Int64 {
    Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970)
  }

  @Test("follows the clock minute by minute, and never goes back", arguments: zones)
  func walk(name: String) throws {
    let rules = try zone(name)
    // Years with a skipped day, with clocks set back over midnight, and those to come.
    let spans = [
      ("1993-08-10T00:00:00Z", 20), ("2006-10-01T00:00:00Z", 40), ("2011-12-20T00:00:00Z", 20),
      ("2026-01-01T00:00:00Z", 370),
    ]
    for (text, days) in spans {
      let start = try Self.seconds(text)
      var last: Int64?
      var day: ZoneDay?
      for time in stride(from: start, to: start + Int64(days) * 86_400, by: 900) {
        let shown = ZoneDay(at: Self.time(time), in: rules)
        let clock = floorDivided(rules.local(time), by: 86_400)
        // Set back over midnight, the clock shows the day before once more.
        #expect(shown.number == clock || shown.number == max(clock, last ?? clock), "\(name) at \(time)")
        if let last { #expect(shown.number >= last, "\(name) at \(time)") }
        last = shown.number
        #expect(shown.begins <= Self.time(time) && Self.time(time) < shown.ends, "\(name) at \(time)")
        if let day, day.number != shown.number { #expect(shown.begins == day.ends, "\(name) at \(time)") }
        day = shown
      }
    }
  }

  private func floorDivided(_ a: Int64, by b: Int64) -> Int64 { a >= 0 ? a / b : -((-a + b - 1) / b) }

  @Test(
    "begins at midnight, also on the days of a change",
    arguments: [
      // Clocks of Berlin change in the night: these days have 23 and 25 hours.
      ("Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
      ("Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
      // At midnight clocks go to one: the day begins with the first moment after it.
      ("America/Havana", "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"),
      // At one clocks go back to midnight, which comes twice: the first counts.
      ("America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"),
      // The 30th of December 2011 is left out.
      ("Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"),
      ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"),
      // At one minute past midnight clocks went back to 23:01: the day had begun and goes on.
      ("America/St_Johns", "2006-10-29T02:45:00Z", "2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z"),
      ("UTC", "2026-11-23T23:59:59Z", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"),
    ])
  func changes(name: String, at: String, begins: String, ends: String) throws {
    let day = ZoneDay(at: Self.time(try Self.seconds(at)), in: try zone(name))
    #expect(day.begins == Self.time(try Self.seconds(begins)))
    #expect(day.ends == Self.time(try Self.seconds(ends)))
  }

  @Test("a day that is left out is not shown, and the one after it has its own card")
  func leftOut() throws {
    let rules = try zone("Pacific/Apia")
    let change = try Self.seconds("2011-12-30T10:00:00Z")
    let (before, after) = (
      ZoneDay(at: Self.time(change - 1), in: rules), ZoneDay(at: Self.time(change), in: rules)
    )
    #expect(after.number == before.number + 2)
  }

  @Test("the last microsecond of a day is of that day")
  func edge() throws {
    let ends = ZoneDay(at: Self.time(1_795_400_000), in: .utc).ends
    #expect(ZoneDay(at: ends - 1, in: .utc).ends == ends)
    #expect(ZoneDay(at: ends, in: .utc).begins == ends)
    #expect(ZoneDay(at: Timestamp(microseconds: -1), in: .utc).number == -1)
  }

  @Test("what is told has the card, its place and the turn")
  func document() throws {
    let now = Self.time(try Self.seconds("2026-11-23T22:59:59Z"))
    let today = DeckDay(.demo, zone: "Europe/Berlin", try zone("Europe/Berlin"), now: now)
    var out = ByteBuffer()
    today.append(to: &out)
    let json = try #require(
      try JSONSerialization.jsonObject(with: Data(out.takeBytes())) as? [String: Any])
    #expect(json["deck"] as? String == "calm")
    #expect(json["zone"] as? String == "Europe/Berlin")
    #expect(json["state"] as? String == "live")
    #expect(json["date"] as? String == "2026-11-23")
    #expect(json["turns_at"] as? Int64 == (try Self.seconds("2026-11-23T23:00:00Z")) * 1_000_000)
    #expect(json["cards"] as? Int == Deck.demo.cards.count)
    let card = try #require(json["card"] as? [String: Any])
    #expect(card["number"] as? Int == today.index + 1)
    #expect(card["quote"] as? String == today.card.quote)
    #expect(card["domain"] as? String == today.card.domain.rawValue)
    let next = DeckDay(.demo, zone: "Europe/Berlin", try zone("Europe/Berlin"), now: now + 1_000_000)
    #expect(next.day.number == today.day.number + 1)
    #expect(next.index == (today.index + 1) % 14)
    var gone = ByteBuffer()
    DeckDay.appendRemoved("calm", zone: "UTC", to: &gone)
    #expect(String(decoding: gone.takeBytes(), as: UTF8.self) == #"{"deck":"calm","zone":"UTC","state":"removed"}"#)
  }
}
