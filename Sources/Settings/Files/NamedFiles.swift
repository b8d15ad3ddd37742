import Foundation

/// Reads a folder in which each file `NAME.json` defines the item of that name.
struct NamedFiles {
  /// What is wrong in a file.
  struct Mistake: Error {
    /// `cards[3].minutes`; empty for the file as a whole.
    var field: String
    var message: String
    var allowed = ""
  }

  struct Mistakes: Error {
    var mistakes: [Mistake]
  }

  /// The setting that names the folder.
  let setting: String
  /// What a file defines, for messages: `a deck`.
  let what: String
  /// The most files in the folder, and the most bytes of each.
  let count: Int
  let bytes: Int
  let isName: (String) -> Bool

  /// Reads all files of a folder, by name. Blocks on the disk.
  /// - Throws: every problem of every file, each with its location.
  func load<Value>(
    _ folder: String, _ read: (_ name: String, _ bytes: [UInt8]) throws(Mistakes) -> Value
  ) throws(ConfigurationProblems) -> [String: Value] {
    func problem(_ message: String, allowed: String) -> ConfigurationProblem {
      ConfigurationProblem(name: setting, location: "folder \(folder)", message: message, allowed: allowed)
    }
    let entries: [String]
    do { entries = try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
      throw ConfigurationProblems(
        problems: [problem("cannot be read", allowed: "a readable folder with files NAME.json")])
    }
    let files = entries.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
    guard !files.isEmpty else {
      throw ConfigurationProblems(problems: [problem("has no file NAME.json", allowed: "the file of \(what)")])
    }
    guard files.count <= count else {
      throw ConfigurationProblems(
        problems: [problem("has \(files.count) files NAME.json", allowed: "at most \(count)")])
    }
    var values: [String: Value] = [:]
    var problems: [ConfigurationProblem] = []
    for file in files {
      let path = folder.hasSuffix("/") ? folder + file : "\(folder)/\(file)"
      let name = String(file.dropLast(".json".count))
      do throws(Mistakes) {
        values[name] = try read(name, try contents(of: path, name))
      } catch {
        problems += error.mistakes.map { mistake in
          ConfigurationProblem(
            name: mistake.field.isEmpty ? setting : mistake.field, location: "file \(path)", message: mistake.message,
            allowed: mistake.allowed)
        }
      }
    }
    guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    return values
  }

  private func contents(of path: String, _ name: String) throws(Mistakes) -> [UInt8] {
    func mistake(_ message: String, allowed: String) -> Mistakes {
      Mistakes(mistakes: [Mistake(field: "", message: message, allowed: allowed)])
    }
    guard isName(name) else {
      throw mistake(
        "\"\(name)\" is not a valid name of \(what)", allowed: "1 to 64 letters of a-z 0-9 . _ - before .json")
    }
    // A file over the limit is not read at all; a pipe would never end.
    let attributes = try? FileManager.default.attributesOfItem(
      atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
    guard attributes?[.type] as? FileAttributeType == .typeRegular else {
      throw mistake("is not a regular file", allowed: "a readable file")
    }
    if let size = attributes?[.size] as? NSNumber, size.intValue > bytes {
      throw mistake("has \(size.intValue) bytes", allowed: "at most \(bytes)")
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      let reason = FileProblem.reading(path).map { ": \($0)" } ?? ""
      throw mistake("cannot be read\(reason)", allowed: "a readable file")
    }
    return [UInt8](data)
  }
}
