import Access
import MarketData

/// The section `access` of a configuration or of a key file:
///
///     access:
///       keys:
///         desk-1:
///           sha256: 9f86…0a08
///           channels: [trades, book]
///           connections: 5
///       issuers:
///         auth-a:
///           alg: ES256
///           public-key: auth-a.pem
///       anonymous:
///         channels: [status, pulse]
struct AccessSection {
  /// In the order of their labels.
  var entries: [AccessEntry] { locations.keys.sorted().compactMap { locations[$0] } }
  private(set) var problems: [ConfigurationProblem] = []
  private var locations: [String: AccessEntry] = [:]

  private static let parts = ["keys", "issuers", "anonymous"]

  var isEmpty: Bool { locations.isEmpty && problems.isEmpty }

  /// Reads the value at a path below `access`.
  /// - Parameters:
  ///   - key: the whole path, `access.keys.desk-1.connections`. An entry's name may contain dots; a field's may not.
  ///   - values: nil if the value is not a text, a number or a list.
  mutating func read(key: String, values: [String]?, location: String) {
    let path = key.split(separator: ".", omittingEmptySubsequences: false).dropFirst().map(String.init)
    func problem(_ message: String, allowed: String, suggestion: String? = nil) {
      problems.append(
        ConfigurationProblem(name: key, location: location, message: message, allowed: allowed, suggestion: suggestion))
    }
    guard let part = path.first, Self.parts.contains(part) else {
      let near = path.first.flatMap { NearNames.of($0, among: Self.parts, limit: 1).first }
      return problem(
        "unknown key", allowed: Self.parts.joined(separator: ", "), suggestion: near.map { "access.\($0)" })
    }
    let isAnonymous = part == "anonymous"
    guard path.count >= (isAnonymous ? 2 : 3), let field = path.last else {
      return problem(
        "is not a map", allowed: isAnonymous ? "fields: channels, symbols, …" : "a name, and below it its fields")
    }
    guard let values else { return problem("takes one value or a list", allowed: "a text, a number or a list of them") }
    let name = isAnonymous ? "anonymous" : path[1..<(path.count - 1)].joined(separator: ".")
    let kind: AccessEntry.Kind = isAnonymous ? .anonymous : part == "keys" ? .key : .jwt
    let entry = AccessEntry(kind: kind, name: name, style: .tree, location: location)
    locations[entry.label, default: entry].set(field, values.joined(separator: ","))
  }

  /// Entries as YAML.
  static func text(of entries: [AccessEntry]) -> String {
    var text = "access:\n"
    for kind in AccessEntry.Kind.allCases {
      let members = entries.filter { $0.kind == kind }
      guard !members.isEmpty else { continue }
      text += kind == .anonymous ? "" : kind == .key ? "  keys:\n" : "  issuers:\n"
      let margin = kind == .anonymous ? "  " : "    "
      for entry in members {
        text += "\(margin)\(entry.name):\n"
        // An entry without rules has no field, but YAML needs one to make it a map.
        let values = entry.values.isEmpty ? ["channels": "*"] : entry.values
        for field in entry.fields {
          guard let value = values[field] else { continue }
          let quoted = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
          text += "\(margin)  \(field): \"\(quoted)\"\n"
        }
      }
    }
    return text
  }

  /// The policy that the entries make.
  /// - Throws: every problem.
  func policy(path: String, read: @escaping (String) -> [UInt8]?) throws(ConfigurationProblems) -> AccessPolicy {
    var reader = AccessReader(path: path, read: read)
    for entry in entries { reader.add(entry) }
    let found = problems + reader.problems
    guard found.isEmpty else { throw ConfigurationProblems(problems: found) }
    return reader.policy
  }
}
