import Foundation

/// A request in which one number is any: `MarkedText.mark` stands in its place.
///
/// The numbers are those of a sample, and those that its schema knows beside them, at every depth. So a field that is
/// new in a document is among them without being named here.
struct MarkedText {
  static let mark = "@number@"

  /// JSON, with the mark as a text.
  let text: String
  /// The number's place, and the kinds of what it is in: `rule.condition.at of alarm`.
  let location: String

  /// The text with a number in the mark's place, in quotes or bare.
  func with(_ number: String, inQuotes: Bool = false) -> String {
    text.replacing("\"\(Self.mark)\"", with: inQuotes ? "\"\(number)\"" : number)
  }

  /// The texts that a schema names as those which are allowed, itself or by reference.
  static func choices(_ schema: Any?, in document: [String: Any]) -> [String] {
    Walk(document: document).resolved([schema as Any]).flatMap { schema in
      (schema["enum"] as? [String] ?? []) + [schema["const"] as? String].compactMap(\.self)
    }
  }

  /// One text for each number of a JSON text and of its schema.
  /// - Parameters:
  ///   - schema: a JSON schema; its references are to `document`.
  static func all(_ sample: String, _ schema: Any = [String: Any](), in document: [String: Any]) throws -> [MarkedText]
  {
    let value = try JSONSerialization.jsonObject(with: Data(sample.utf8), options: .fragmentsAllowed)
    let walk = Walk(document: document)
    return try walk.marked(value, walk.resolved([schema])).map { marked, location in
      let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed]
      let text = String(decoding: try JSONSerialization.data(withJSONObject: marked, options: options), as: UTF8.self)
      let kinds = text.matches(of: #/"(type|kind|channel)":"([a-z_]+)"/#).map(\.output.2)
      return MarkedText(
        text: text, location: kinds.isEmpty ? location : "\(location) of \(kinds.joined(separator: " "))")
    }
  }
}

/// Goes through a value and its schemas at once.
private struct Walk {
  /// How many objects and lists that a sample lacks may be in one another.
  private static let missingLimit = 3

  let document: [String: Any]

  /// Schemas without references and alternatives: each of the latter is one of the result.
  func resolved(_ schemas: [Any], depth: Int = 0) -> [[String: Any]] {
    guard depth < 12 else { return [] }
    return schemas.compactMap { $0 as? [String: Any] }.flatMap { schema in
      var found = [schema]
      if let reference = schema["$ref"] as? String {
        var location: Any? = document
        for step in reference.dropFirst(2).split(separator: "/") {
          location = (location as? [String: Any])?[String(step)]
        }
        found += location.map { resolved([$0], depth: depth + 1) } ?? []
      }
      for key in ["anyOf", "oneOf", "allOf"] {
        if let parts = schema[key] as? [Any] { found += resolved(parts, depth: depth + 1) }
      }
      return found
    }
  }

  /// The value with one number marked, for each; with the number's place.
  /// - Parameter value: nil where the sample has none.
  func marked(_ value: Any?, _ schemas: [[String: Any]], missing: Int = 0) -> [(value: Any, location: String)] {
    guard missing <= Self.missingLimit else { return [] }
    var found: [(value: Any, location: String)] = []
    if value.map(Self.isNumber) ?? schemas.contains(where: Self.isOfNumber) { found.append((MarkedText.mark, "")) }
    let missing = value == nil ? missing + 1 : missing
    var fields: [String: [Any]] = [:]
    for case let some as [String: Any] in schemas.map({ $0["properties"] as Any }) {
      for (name, schema) in some { fields[name, default: []].append(schema) }
    }
    if let object = value as? [String: Any] ?? (value == nil && !fields.isEmpty ? [:] : nil) {
      for name in Set(fields.keys).union(object.keys).sorted() {
        for (part, location) in marked(object[name], resolved(fields[name] ?? []), missing: missing) {
          found.append((object.merging([name: part]) { $1 }, location.isEmpty ? name : "\(name).\(location)"))
        }
      }
    }
    let items = resolved(schemas.compactMap { $0["items"] })
    if let list = value as? [Any] {
      for index in list.indices {
        for (part, location) in marked(list[index], items, missing: missing) {
          var list = list
          list[index] = part
          found.append((list, location.isEmpty ? "[]" : "[].\(location)"))
        }
      }
    } else if value == nil, !items.isEmpty {
      found += marked(nil, items, missing: missing).map {
        ([$0.value], $0.location.isEmpty ? "[]" : "[].\($0.location)")
      }
    }
    return found
  }

  /// A number, a decimal as text, or a Boolean, which is a number to some readers.
  private static func isNumber(_ value: Any) -> Bool {
    (value as? String)?.wholeMatch(of: #/-?[0-9]+(\.[0-9]+)?/#) != nil || value is NSNumber
  }

  /// Whether a number is among what a schema allows: as such, or as a decimal. A schema that says nothing allows all.
  private static func isOfNumber(_ schema: [String: Any]) -> Bool {
    let types = schema["type"] as? [String] ?? (schema["type"] as? String).map { [$0] } ?? []
    if types.contains("integer") || types.contains("number") { return true }
    if types.contains("string") { return (schema["pattern"] as? String)?.contains("[0-9]") ?? false }
    return schema.isEmpty
  }
}
