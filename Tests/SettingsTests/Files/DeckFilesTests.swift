import Decks
import Foundation
import Testing

@testable import Settings

@Suite("A folder of decks")
struct DeckFilesTests {
  private static let good =
    "{\"cards\":[{\"quote\":\"Q\",\"action\":\"A\",\"minutes\":5,\"domain\":\"health\",\"source\":\"S\"}]}"

  /// The decks of a folder with these files, or what is wrong with them, without the folder's name.
  private static func load(_ files: [String: String]) throws -> (decks: [String], problems: [String]) {
    let folder = NSTemporaryDirectory() + "tidegate-decks-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (name, text) in files { try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8) }
    do throws(ConfigurationProblems) {
      return (try DeckFiles.load(folder).map(\.name), [])
    } catch {
      return ([], error.problems.map { $0.description.replacingOccurrences(of: folder, with: "F") })
    }
  }

  @Test("each NAME.json is a deck; what is hidden or something else is left alone")
  func names() throws {
    let loaded = try Self.load([
      "b.json": Self.good, "a.json": Self.good, "c.txt": "", ".d.json": "", "e.json~": "",
    ])
    #expect(loaded.decks == ["a", "b"] && loaded.problems == [])
  }

  @Test("every problem of every file is told, with its place")
  func problems() throws {
    let loaded = try Self.load([
      "A B.json": Self.good, "c.json": "{\"cards\":[{}]}", "d.json": "[", "e.json": Self.good,
    ])
    #expect(
      loaded.problems == [
        "decks.directory: \"A B\" is not a valid name of a deck (file F/A B.json); allowed: 1 to 64 letters of a-z 0-9 . _ - "
          + "before .json",
        "cards[0].quote: is missing (file F/c.json)", "cards[0].action: is missing (file F/c.json)",
        "cards[0].minutes: is missing (file F/c.json)", "cards[0].domain: is missing (file F/c.json)",
        "cards[0].source: is missing (file F/c.json)",
        "decks.directory: is not one JSON object: see byte 0 (file F/d.json)",
      ])
  }

  @Test("a folder that is not there, or has no deck or too many, is refused; so is a file that is none or too large")
  func bounds() throws {
    #expect(throws: ConfigurationProblems.self) { try DeckFiles.load("/nowhere/decks") }
    #expect(
      try Self.load([:]).problems == [
        "decks.directory: has no file NAME.json (folder F); allowed: the file of a deck"
      ])
    let many = Dictionary(uniqueKeysWithValues: (0..<17).map { ("d\($0).json", Self.good) })
    #expect(try Self.load(many).problems == ["decks.directory: has 17 files NAME.json (folder F); allowed: at most 16"])
    let large = try Self.load(["a.json": String(repeating: " ", count: Deck.Limits.fileBytes + 1)])
    #expect(large.problems == ["decks.directory: has 1048577 bytes (file F/a.json); allowed: at most 1048576"])
    let folder = NSTemporaryDirectory() + "tidegate-decks-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder + "/a.json", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(throws: ConfigurationProblems.self) { try DeckFiles.load(folder) }
  }

  @Test("a configuration with a deck that cannot be used is refused as a whole")
  func configuration() throws {
    do throws(ConfigurationProblems) {
      _ = try ConfigurationLoader.load(
        file: nil, environment: ["TIDEGATE_DECKS_DIRECTORY": "/nowhere/decks"], needsData: false)
      Issue.record("loaded")
    } catch {
      #expect(
        error.problems.map(\.description) == [
          "decks.directory: cannot be read (folder /nowhere/decks); allowed: a readable folder with files NAME.json"
        ])
    }
  }
}
