import Alerts
import Testing

@testable import Documents

@Suite("Time zones of the system")
struct ZoneFilesTests {
  @Test(
    "names of zones lead nowhere but into the database",
    arguments: [
      ("Europe/Berlin", true), ("UTC", true), ("America/Argentina/Buenos_Aires", true), ("Etc/GMT+5", true),
      ("../etc/passwd", false), ("/etc/passwd", false), ("Europe//Berlin", false), ("", false), ("a/b/c/d", false),
      ("..", false),
    ])
  func zones(name: String, isAllowed: Bool) { #expect(ZoneFiles.isName(name) == isAllowed) }

  @Test("zones are those of the system, and no name leads elsewhere")
  func zones() {
    let zones = ZoneFiles()
    #expect(zones.rules("UTC") == .utc)
    #expect(zones.rules("Europe/Berlin") == nil, "nothing is listed yet")
    zones.refresh()
    #expect(zones.rules("Europe/Berlin") == ZoneFiles.read("Europe/Berlin"))
    #expect(zones.rules("Europe/Berlin") != nil)
    for name in ["", "Europe", "../../etc/passwd", "/etc/passwd", "posix/UTC", "tzdata.zi", "Europe//Berlin"] {
      #expect(zones.rules(name) == nil, "\(name)")
    }
    #expect(ZoneFiles.read("../../../etc/passwd") == nil)
    #expect(zones.names.count > 300 && zones.names.contains("Asia/Tokyo") && !zones.names.contains("Europe"))
  }
}
