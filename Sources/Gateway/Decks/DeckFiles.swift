import Decks
import Foundation

/// Reads a folder of decks: each `NAME.json` is one.
enum DeckFiles {
  /// Files of a folder that are looked at.
  private static let entryLimit = 1_000

  /// All decks of a folder, by name. Blocks on the disk.
  /// - Throws: every problem of every file, each with its file, card and field.
  static func load(_ folder: String) throws(ConfigurationProblems) -> [Deck] {
    func problem(_ message: String, allowed: String) -> ConfigurationProblem {
      ConfigurationProblem(name: "decks.directory", place: "folder \(folder)", message: message, allowed: allowed)
    }
    let entries: [String]
    do { entries = try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
      throw ConfigurationProblems(
        problems: [problem("cannot be read", allowed: "a readable folder with files NAME.json")])
    }
    let files = entries.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
    guard !files.isEmpty else {
      throw ConfigurationProblems(problems: [problem("has no file NAME.json", allowed: "at least one deck")])
    }
    guard files.count <= Deck.Limits.decks else {
      throw ConfigurationProblems(
        problems: [problem("has \(files.count) decks", allowed: "at most \(Deck.Limits.decks)")])
    }
    var decks: [Deck] = []
    var problems: [ConfigurationProblem] = []
    for file in files {
      do throws(ConfigurationProblems) { decks.append(try load(file, in: folder)) } catch {
        problems += error.problems
      }
    }
    guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    return decks
  }

  private static func load(_ file: String, in folder: String) throws(ConfigurationProblems) -> Deck {
    let path = folder.hasSuffix("/") ? folder + file : "\(folder)/\(file)"
    func problems(_ message: String, allowed: String) -> ConfigurationProblems {
      ConfigurationProblems(
        problems: [
          ConfigurationProblem(name: "decks.directory", place: "file \(path)", message: message, allowed: allowed)
        ])
    }
    let name = String(file.dropLast(".json".count))
    guard Deck.isName(name) else {
      throw problems("\"\(name)\" is no name of a deck", allowed: "1 to 64 letters of a-z 0-9 . _ - before .json")
    }
    // A file that nobody would read whole is not read at all; a pipe would never end.
    let attributes = try? FileManager.default.attributesOfItem(
      atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
    guard attributes?[.type] as? FileAttributeType == .typeRegular else {
      throw problems("is no file", allowed: "a readable file")
    }
    if let size = attributes?[.size] as? NSNumber, size.intValue > Deck.Limits.fileBytes {
      throw problems("has \(size.intValue) bytes", allowed: "at most \(Deck.Limits.fileBytes)")
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      let reason = FileProblem.reading(path).map { ": \($0)" } ?? ""
      throw problems("cannot be read\(reason)", allowed: "a readable file")
    }
    do throws(DeckProblems) { return try Deck.read([UInt8](data), name: name) } catch {
      throw ConfigurationProblems(
        problems: error.problems.map { problem in
          ConfigurationProblem(
            name: problem.field.isEmpty ? "decks.directory" : problem.field, place: "file \(path)",
            message: problem.message, allowed: problem.allowed)
        })
    }
  }
}
