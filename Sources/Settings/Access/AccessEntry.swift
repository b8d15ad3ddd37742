import MarketData

/// An unchecked entry of `access`: a key, an issuer of tokens, or anonymous clients.
struct AccessEntry {
  enum Kind: String, CaseIterable { case key, jwt, anonymous }

  /// How an entry is written, which decides the names of its parts in a problem.
  enum Style {
    /// `access.keys.desk-1.symbols` of a configuration.
    case tree
    /// `key desk-1 symbols=…`, a line of the older kind of key file.
    case line
  }

  let kind: Kind
  let name: String
  let style: Style
  /// The file, and the line if it is known.
  let location: String
  private(set) var values: [String: String] = [:]
  /// Problems of fields: unknown, empty or repeated.
  private(set) var problems: [ConfigurationProblem] = []

  private static let ruleFields = ["channels", "symbols", "subscriptions", "requests-per-second", "connections"]

  var fields: [String] {
    switch kind {
    case .key: ["sha256", "expires", "publish"] + Self.ruleFields
    case .jwt:
      ["alg", "public-key", "secret", "secret-file", "kid", "iss", "aud", "leeway", "publish"] + Self.ruleFields
    case .anonymous: Self.ruleFields
    }
  }

  init(kind: Kind, name: String, style: Style, location: String) {
    (self.kind, self.name, self.style, self.location) = (kind, name, style, location)
  }

  /// The name of the entry in a problem.
  var label: String {
    switch (style, kind) {
    case (.line, .anonymous): "anonymous"
    case (.line, _): "\(kind.rawValue) \(name)"
    case (.tree, .key): "access.keys.\(name)"
    case (.tree, .jwt): "access.issuers.\(name)"
    case (.tree, .anonymous): "access.anonymous"
    }
  }

  func label(of field: String) -> String { style == .tree ? "\(label).\(field)" : "\(label) \(field)" }

  /// Sets a field. A list is one text with commas.
  mutating func set(_ field: String, _ value: String) {
    guard fields.contains(field) else {
      // A word that cannot be a field's name is not shown: it may be a secret in the wrong place.
      let word = Self.isName(field) ? "unknown field \(field)" : "a field has no name"
      return problem(
        label, word, allowed: fields.joined(separator: ", "),
        suggestion: NearNames.of(field, among: fields, limit: 1).first)
    }
    guard !value.isEmpty, values.updateValue(value, forKey: field) == nil else {
      return problem(label(of: field), value.isEmpty ? "is empty" : "appears twice", allowed: "one value")
    }
  }

  /// Records a word that is not `field=value` as a problem.
  mutating func refuseWord() {
    problem(label, "a word is not of the form field=value", allowed: fields.joined(separator: ", "))
  }

  private mutating func problem(_ name: String, _ message: String, allowed: String, suggestion: String? = nil) {
    problems.append(
      ConfigurationProblem(name: name, location: location, message: message, allowed: allowed, suggestion: suggestion))
  }

  static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || byte == 0x2D || byte == 0x2E || byte == 0x5F
      }
  }
}
