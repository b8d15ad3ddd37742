import Foundation
import TestSupport
import Testing

@testable import Settings

@Suite("Settings")
struct SettingTests {
  /// Defaults that depend on the machine.
  private static let ofTheMachine = [
    "loops": "one per core", "node": "the host's name",
    "data.directory": "[the usual place](../../History/History.docc/History.md)",
  ]

  @Test("the guide lists every setting with its default and what is allowed")
  func guide() throws {
    let defaults = GatewayConfiguration()
    var lines = ["| setting | default | allowed |", "|---|---|---|"]
    for setting in Setting.all {
      let value = Self.ofTheMachine[setting.key] ?? setting.show(defaults)
      let shown = value.isEmpty ? "–" : Self.ofTheMachine[setting.key] ?? "`\(value)`"
      lines.append("| `\(setting.key)` | \(shown) | \(setting.allowed) |")
    }
    let (document, code) = try GeneratedPart(
      "settings", in: "Sources/Gateway/Gateway.docc/Settings.md"
    ).compare(with: lines)
    #expect(document == code)
  }

  @Test("the example configuration names every setting, in force or behind a #")
  func example() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Deploy/tidegate.example.yaml")
    var keys: Set<String> = []
    var parent = ""
    for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
      // A setting behind a comment keeps its indentation after "# ".
      let text = line.hasPrefix("# ") ? line.dropFirst(2) : line[...]
      let indented = text.hasPrefix("  ")
      guard let colon = text.firstIndex(of: ":") else { continue }
      let key = text[..<colon].drop { $0 == " " || $0 == "#" }
      guard key.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "-" }) else { continue }
      if indented { keys.insert("\(parent).\(key)") } else { (parent, _) = (String(key), keys.insert(String(key))) }
    }
    let missing = Setting.all.map(\.key).filter { !keys.contains($0) }
    #expect(missing == [])
  }
}
