import Foundation

/// Checks values against the schemas of an OpenAPI document. It is stricter than JSON Schema: a member that no schema
/// names is a problem, although clients must ignore it, so that no answer has a member without a type.
package struct SchemaCheck {
  private let schemas: [String: [String: Any]]

  package init(_ document: [String: Any]) {
    schemas = (document["components"] as? [String: Any])?["schemas"] as? [String: [String: Any]] ?? [:]
  }

  /// What is wrong with `value`, with its place; empty if nothing is.
  package func problems(of value: Any, _ schema: [String: Any], at place: String = "$") -> [String] {
    if let reference = schema["$ref"] as? String {
      let name = String(reference.split(separator: "/").last ?? "")
      guard let target = schemas[name] else { return ["\(place): there is no schema \(name)"] }
      return problems(of: value, target, at: place)
    }
    if let choices = schema["anyOf"] as? [[String: Any]] {
      let found = choices.map { problems(of: value, $0, at: place) }
      return found.contains([]) ? [] : found.min { $0.count < $1.count } ?? []
    }
    switch schema["type"] as? String {
    case "object": return objectProblems(value, schema, place)
    case "array":
      guard let array = value as? [Any] else { return ["\(place): \(value) is no array"] }
      let items = schema["items"] as? [String: Any] ?? [:]
      return array.enumerated().flatMap { problems(of: $1, items, at: "\(place)[\($0)]") }
        + (array.count > schema["maxItems"] as? Int ?? .max ? ["\(place): too many"] : [])
    case "string":
      guard let text = value as? String else { return ["\(place): \(value) is no text"] }
      if let choices = schema["enum"] as? [String], !choices.contains(text) { return ["\(place): \(text)"] }
      guard let pattern = schema["pattern"] as? String, let regex = try? Regex(pattern) else { return [] }
      return text.wholeMatch(of: regex) == nil ? ["\(place): \(text) does not match \(pattern)"] : []
    case "integer":
      guard let number = value as? NSNumber, let exact = Int64(exactly: number) else {
        return ["\(place): \(value) is no whole number"]
      }
      let range = (schema["minimum"] as? Int64 ?? .min)...(schema["maximum"] as? Int64 ?? .max)
      return range.contains(exact) ? [] : ["\(place): \(exact) is not within \(range)"]
    case "boolean": return value is Bool ? [] : ["\(place): \(value) is neither true nor false"]
    default: return ["\(place): a schema without a type"]
    }
  }

  private func objectProblems(_ value: Any, _ schema: [String: Any], _ place: String) -> [String] {
    guard let object = value as? [String: Any] else { return ["\(place): \(value) is no object"] }
    let missing = (schema["required"] as? [String] ?? []).filter { object[$0] == nil }
    let properties = schema["properties"] as? [String: [String: Any]]
    let others = schema["additionalProperties"] as? [String: Any]
    // A document of somebody else.
    guard properties != nil || others != nil else { return [] }
    return missing.map { "\(place).\($0) is missing" }
      + object.sorted { $0.key < $1.key }.flatMap { name, member in
        guard let known = properties?[name] ?? others else { return ["\(place).\(name) has no type"] }
        return problems(of: member, known, at: "\(place).\(name)")
      }
  }
}
