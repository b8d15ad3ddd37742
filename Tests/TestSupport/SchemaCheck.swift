import Foundation

/// Checks values against the schemas of an OpenAPI document. It is stricter than JSON Schema: a member that no schema
/// names is a problem, although clients must ignore it, so that no answer has a member without a type.
package struct SchemaCheck {
  private let schemas: [String: [String: Any]]

  package init(_ document: [String: Any]) {
    schemas = (document["components"] as? [String: Any])?["schemas"] as? [String: [String: Any]] ?? [:]
  }

  /// What is wrong with `value`, with its place; empty if nothing is.
  package func problems(of value: Any, _ schema: [String: Any], at location: String = "$") -> [String] {
    if let reference = schema["$ref"] as? String {
      let name = String(reference.split(separator: "/").last ?? "")
      guard let target = schemas[name] else { return ["\(location): there is no schema \(name)"] }
      return problems(of: value, target, at: location)
    }
    if let choices = schema["anyOf"] as? [[String: Any]] {
      let found = choices.map { problems(of: value, $0, at: location) }
      return found.contains([]) ? [] : found.min { $0.count < $1.count } ?? []
    }
    switch schema["type"] as? String {
    case "object": return objectProblems(value, schema, location)
    case "array":
      guard let array = value as? [Any] else { return ["\(location): \(value) is no array"] }
      let items = schema["items"] as? [String: Any] ?? [:]
      return array.enumerated().flatMap { problems(of: $1, items, at: "\(location)[\($0)]") }
        + (array.count > schema["maxItems"] as? Int ?? .max ? ["\(location): too many"] : [])
    case "string":
      guard let text = value as? String else { return ["\(location): \(value) is no text"] }
      if let choices = schema["enum"] as? [String], !choices.contains(text) { return ["\(location): \(text)"] }
      guard let pattern = schema["pattern"] as? String, let regex = try? Regex(pattern) else { return [] }
      return text.wholeMatch(of: regex) == nil ? ["\(location): \(text) does not match \(pattern)"] : []
    case "integer":
      guard let number = value as? NSNumber, let exact = Int64(exactly: number) else {
        return ["\(location): \(value) is no whole number"]
      }
      let range = (schema["minimum"] as? Int64 ?? .min)...(schema["maximum"] as? Int64 ?? .max)
      return range.contains(exact) ? [] : ["\(location): \(exact) is not within \(range)"]
    case "boolean": return value is Bool ? [] : ["\(location): \(value) is neither true nor false"]
    default: return ["\(location): a schema without a type"]
    }
  }

  private func objectProblems(_ value: Any, _ schema: [String: Any], _ location: String) -> [String] {
    guard let object = value as? [String: Any] else { return ["\(location): \(value) is no object"] }
    let missing = (schema["required"] as? [String] ?? []).filter { object[$0] == nil }
    let properties = schema["properties"] as? [String: [String: Any]]
    let others = schema["additionalProperties"] as? [String: Any]
    // A document of somebody else.
    guard properties != nil || others != nil else { return [] }
    return missing.map { "\(location).\($0) is missing" }
      + object.sorted { $0.key < $1.key }.flatMap { name, member in
        guard let known = properties?[name] ?? others else { return ["\(location).\(name) has no type"] }
        return problems(of: member, known, at: "\(location).\(name)")
      }
  }
}
