import Access
import Configuration
import Foundation
import MarketData

/// A file of the admitted clients, separate from the configuration, so that hashes and secrets may belong to another
/// owner. It contains the section `access` (`AccessSection`).
///
/// A file that does not end in `.yaml`, `.yml` or `.json` has the older form, which this version still reads: lines of
/// words between spaces, and comments after `#`.
///
///     key desk-1 sha256=9f86d0…0a08 channels=trades,book symbols=kraken:*,*:BTC-USD connections=5 expires=2027-01-01
///     jwt auth-a alg=ES256 public-key=auth-a.pem kid=2026-07 iss=https://auth.example aud=tidegate symbols=kraken:*
///     jwt local alg=HS256 secret-file=local.secret
///     anonymous channels=status,pulse symbols=*:BTC-USD
package struct KeyFile {
  /// The largest key file, bytes.
  static let sizeLimit = 1 << 20

  /// Whether a file has the older form, by its name.
  package static func hasLines(_ path: String) -> Bool {
    !["yaml", "yml", "json"].contains((path as NSString).pathExtension.lowercased())
  }

  /// Reads the key file and the files that it names.
  package static func load(_ path: String) throws(ConfigurationProblems) -> AccessPolicy {
    var exposed: [String] = []
    let read: (String) -> [UInt8]? = { path in
      if FileProblem.isWritableByAll(path) { exposed.append(path) }
      return FileManager.default.contents(atPath: path).map { [UInt8]($0) }
    }
    guard let bytes = read(path) else {
      throw problem(path, "cannot be read", allowed: "a readable file")
    }
    let policy = try parse(bytes, path: path, read: read)
    guard exposed.isEmpty else {
      throw ConfigurationProblems(problems: exposed.map { FileProblem.writableByAll($0, name: "keys-file") })
    }
    return policy
  }

  /// - Parameter read: the contents of a file, nil if it cannot be read; names are relative to the key file's folder.
  package static func parse(
    _ bytes: [UInt8], path: String, read: @escaping (String) -> [UInt8]?
  ) throws(ConfigurationProblems) -> AccessPolicy {
    guard bytes.count <= Self.sizeLimit else {
      throw problem(path, "has \(bytes.count) bytes", allowed: "at most \(Self.sizeLimit)")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw problem(path, "is not UTF-8 text", allowed: "a map `access`, or lines of key, jwt or anonymous")
    }
    var reader = AccessReader(path: path, read: read)
    var problems: [ConfigurationProblem] = []
    if hasLines(path) {
      for line in words(text) {
        if let entry = entry(line.words, "file \(path), line \(line.number)", &problems) { reader.add(entry) }
      }
    } else {
      var loader = ConfigurationLoader(
        venues: [], isReadable: { _ in true }, tlsProblems: { _ in [] })
      loader.readsAccessAlone = true
      loader.read(contents: bytes, isJSON: path.lowercased().hasSuffix(".json"), name: path)
      problems = loader.problems + loader.access.problems
      for entry in loader.access.entries { reader.add(entry) }
    }
    problems += reader.problems
    guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    guard !reader.letsNobodyIn else {
      throw problem(
        path, "admits nobody",
        allowed: "at least one of access.keys, access.issuers and access.anonymous; "
          + "`tidegate key` makes a key")
    }
    return reader.policy
  }

  private static func problem(_ path: String, _ message: String, allowed: String) -> ConfigurationProblems {
    ConfigurationProblems(
      problems: [ConfigurationProblem(name: "keys-file", location: "file \(path)", message: message, allowed: allowed)])
  }

  /// Converts a key file of the older form to YAML.
  package static func converted(_ path: String) throws(ConfigurationProblems) -> String {
    _ = try load(path)
    var entries: [AccessEntry] = []
    var problems: [ConfigurationProblem] = []
    for line in words(FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? "") {
      if let entry = entry(line.words, "file \(path), line \(line.number)", &problems) { entries.append(entry) }
    }
    guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    return AccessSection.text(of: entries)
  }

  // MARK: Lines

  /// The words of each line that is not empty.
  private static func words(_ text: String) -> [(number: Int, words: [String])] {
    // By bytes: to Swift, a carriage return and a line feed are one character.
    text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated().compactMap { index, bytes in
      let line = Substring(bytes.last == 0x0D ? bytes.dropLast() : bytes)
      let words = line.split { $0 == " " || $0 == "\t" }.prefix { !$0.hasPrefix("#") }.map(String.init)
      return words.isEmpty ? nil : (index + 1, words)
    }
  }

  /// The entry of a line; nil, with a problem, if its first word is unknown.
  private static func entry(
    _ words: [String], _ location: String, _ problems: inout [ConfigurationProblem]
  ) -> AccessEntry? {
    if let kind = AccessEntry.Kind(rawValue: words[0]) { return entry(kind, words.dropFirst(), location) }
    let kinds = AccessEntry.Kind.allCases.map(\.rawValue)
    problems.append(
      ConfigurationProblem(
        name: "keys-file", location: location, message: "a line cannot begin with this word",
        allowed: kinds.joined(separator: ", "), suggestion: NearNames.of(words[0], among: kinds, limit: 1).first))
    return nil
  }

  /// Makes an entry of words: a name, and fields with their values.
  static func entry(_ kind: AccessEntry.Kind, _ words: ArraySlice<String>, _ location: String) -> AccessEntry {
    var words = words
    let name = kind == .anonymous ? kind.rawValue : words.popFirst() ?? ""
    var entry = AccessEntry(kind: kind, name: name, style: .line, location: location)
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      if parts.count == 2 { entry.set(parts[0], parts[1]) } else { entry.refuseWord() }
    }
    return entry
  }
}

extension Authenticator {
  /// Reads the policy from a key file.
  /// - Throws: every problem of the file, with its line.
  package convenience init(path: String) throws(ConfigurationProblems) {
    self.init(policy: try KeyFile.load(path), file: path)
  }
}
