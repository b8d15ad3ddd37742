import MarketData
import Testing

@testable import Venues

@Suite("Venue times")
struct VenueTimeTests {
  private func read(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    return VenueTime.rfc3339(bytes.span.bytes)?.microseconds
  }

  @Test("RFC 3339, any number of fraction digits, offsets")
  func valid() {
    #expect(read("2023-10-06T17:35:55.440295Z") == 1_696_613_755_440_295)
    #expect(read("2023-10-06T17:35:55.440295999Z") == 1_696_613_755_440_295)
    #expect(read("2023-10-06T17:35:55Z") == 1_696_613_755_000_000)
    #expect(read("2023-10-06T17:35:55.4z") == 1_696_613_755_400_000)
    #expect(read("2023-10-06T19:35:55+02:00") == 1_696_613_755_000_000)
    #expect(read("2024-02-29T00:00:00Z") == 1_709_164_800_000_000)
    #expect(read("2000-03-01T00:00:00Z") == 951_868_800_000_000)
  }

  @Test(
    "no time at all, and what is none",
    arguments: [
      "0001-01-01T00:00:00.000000Z", "1970-01-01T00:00:00Z", "", "2023-10-06", "2023-10-06T17:35:55",
      "2023-13-06T17:35:55Z",
      "2023-10-06T25:35:55Z", "2023-10-06T17:35:55.Z", "2023-10-06T17:35:55.1Zx", "2023x10-06T17:35:55Z",
      "2023-10-06T17:35:55+2:00", "2023-10-06T17:35:55+0a:00",
    ])
  func invalid(_ text: String) { #expect(read(text) == nil) }

  @Test("ms and µs are told apart by size")
  func epochs() {
    #expect(VenueTime.epoch(1_672_515_782_136)?.microseconds == 1_672_515_782_136_000)
    #expect(VenueTime.epoch(1_672_515_782_136_123)?.microseconds == 1_672_515_782_136_123)
    #expect(VenueTime.epoch(0) == nil)
    #expect(VenueTime.epoch(-5) == nil)
    #expect(VenueTime.epoch(.max) == nil)
  }
}
