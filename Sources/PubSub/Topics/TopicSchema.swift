import Bytes

/// A mistake in a schema, or in a document that is checked with one.
package struct TopicSchemaError: Error, Sendable, Equatable {
  /// The location: `posts[3].text`; empty for the whole.
  package var path: String
  package var message: String

  init(_ path: String, _ message: String) {
    self.path = path
    self.message = message
  }
}

/// The schema of a topic's documents: a part of JSON Schema (2020-12).
///
/// Keywords: `type` `enum` `const` `properties` `required` `additionalProperties` `items` `minItems` `maxItems`
/// `minLength` `maxLength` `minimum` `maximum` `exclusiveMinimum` `exclusiveMaximum`; without effect `$schema` `$id`
/// `$comment` `title` `description` `default` `examples`. A schema with any other keyword is refused, so that nobody
/// relies on a check that does not happen. Every value of a document is checked against at most one schema, and
/// keywords compare only with scalars: a check costs O(bytes of the document).
package struct TopicSchema: Sendable, Equatable {
  package struct Limits: Sendable {
    /// Bytes of a schema.
    package static let bytes = 64 << 10
    /// The most schemas in a schema, and their deepest nesting.
    package static let nodes = 1_000
    package static let depth = 16
    /// Values of an `enum`.
    package static let values = 200
    /// Nesting of a document.
    package static let documentDepth = 32
  }

  enum Kind: String, Sendable, CaseIterable {
    case null, boolean, integer, number, string, array, object
  }

  struct Node: Sendable, Equatable {
    /// Nil: any.
    var kinds: Set<Kind>?
    /// `enum`, or the one of `const`. Nil: any.
    var values: [TopicValue]?
    var properties: [String: Int] = [:]
    /// The properties in the order of the schema.
    var required: [String] = []
    /// The schema of other properties, by number; nil: any value; −1: no other properties are allowed.
    var others: Int?
    var items: Int?
    var itemCount: ClosedRange<Int>?
    var length: ClosedRange<Int>?
    var minimum: Double?
    var maximum: Double?
    var above: Double?
    var below: Double?
    /// `true` and `false` as schemas.
    var isNever = false
  }

  /// The first schema is that of the document.
  var nodes: [Node] = []

  /// Checks a document, which is JSON in UTF-8.
  package func check(_ text: [UInt8]) throws(TopicSchemaError) {
    try check(try TopicValue(text, depth: Limits.documentDepth), nodes[0], "")
  }

  private func check(_ value: TopicValue, _ node: Node, _ path: String) throws(TopicSchemaError) {
    if node.isNever { throw TopicSchemaError(path, "is not allowed") }
    if let kinds = node.kinds, !value.kinds.contains(where: { kinds.contains($0) }) {
      throw TopicSchemaError(path, "must be \(kinds.map(\.rawValue).sorted().joined(separator: " or "))")
    }
    if let values = node.values, !values.contains(value) {
      throw TopicSchemaError(path, "must be one of \(values.prefix(20).map(\.text).joined(separator: ", "))")
    }
    switch value {
    case .object(let members): try check(members, node, path)
    case .array(let items):
      if let count = node.itemCount, !count.contains(items.count) {
        throw TopicSchemaError(path, "has \(items.count) items, not \(Self.words(count))")
      }
      guard let schema = node.items else { return }
      for (index, item) in items.enumerated() { try check(item, nodes[schema], "\(path)[\(index)]") }
    case .string(let text):
      guard let length = node.length else { return }
      // A character of JSON Schema is a code point (RFC 8259).
      let count = text.unicodeScalars.count
      guard length.contains(count) else {
        throw TopicSchemaError(path, "has \(count) characters, not \(Self.words(length))")
      }
    case .number(let number):
      if let minimum = node.minimum, number < minimum { throw TopicSchemaError(path, "is below \(minimum)") }
      if let maximum = node.maximum, number > maximum { throw TopicSchemaError(path, "is above \(maximum)") }
      if let above = node.above, number <= above { throw TopicSchemaError(path, "is not above \(above)") }
      if let below = node.below, number >= below { throw TopicSchemaError(path, "is not below \(below)") }
    case .null, .bool: return
    }
  }

  private func check(_ members: [String: TopicValue], _ node: Node, _ path: String) throws(TopicSchemaError) {
    func member(_ name: String) -> String { path.isEmpty ? String(name.prefix(80)) : "\(path).\(name.prefix(80))" }
    for name in node.required where members[name] == nil { throw TopicSchemaError(member(name), "is missing") }
    // In order, so that the same document always gets the same error.
    for name in members.keys.sorted() {
      guard let value = members[name] else { continue }
      if let schema = node.properties[name] {
        try check(value, nodes[schema], member(name))
      } else if let others = node.others {
        guard others >= 0 else { throw TopicSchemaError(member(name), "is not a property of the topic's schema") }
        try check(value, nodes[others], member(name))
      }
    }
  }

  private static func words(_ range: ClosedRange<Int>) -> String {
    range.upperBound == .max ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
  }
}

/// A JSON value in memory. Numbers are IEEE doubles, as JSON Schema's interoperable ones are (RFC 8259 section 6).
indirect enum TopicValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([TopicValue])
  case object([String: TopicValue])

  /// The kinds of the value: 1.0 is an integer, too.
  var kinds: [TopicSchema.Kind] {
    switch self {
    case .null: [.null]
    case .bool: [.boolean]
    case .number(let number): number.rounded() == number ? [.number, .integer] : [.number]
    case .string: [.string]
    case .array: [.array]
    case .object: [.object]
    }
  }

  var isScalar: Bool {
    switch self {
    case .null, .bool, .number, .string: true
    case .array, .object: false
    }
  }

  /// For people.
  var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): String(value)
    case .number(let number): number.rounded() == number && abs(number) < 1e15 ? String(Int64(number)) : String(number)
    case .string(let text): String(text.prefix(80))
    case .array: "a list"
    case .object: "an object"
    }
  }

  /// Reads a whole text in which no object has a name twice, so that the checked value is what every reader sees.
  init(_ text: [UInt8], depth: Int) throws(TopicSchemaError) {
    var json = JSONScanner(text.span.bytes)
    var twice: String?
    do throws(JSONError) {
      self = try Self.read(&json, depth, &twice)
      try json.end()
    } catch {
      throw TopicSchemaError(
        "", error.reason == .tooDeep ? "is nested too deep" : "is not one JSON value: see byte \(error.offset)")
    }
    if let twice { throw TopicSchemaError("", "has the name \"\(twice.prefix(80))\" twice in one object") }
  }

  private static func read(
    _ json: inout JSONScanner, _ depth: Int, _ twice: inout String?
  ) throws(JSONError) -> TopicValue {
    guard depth > 0 else { throw JSONError(reason: .tooDeep, offset: json.offset) }
    switch json.peek() {
    case .null:
      _ = try json.null()
      return .null
    case .bool: return .bool(try json.bool())
    case .string:
      let slice = try json.string()
      return .string(try json.decoded(slice))
    case .number:
      let slice = try json.number()
      let text = json.text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      guard let number = Double(text), number.isFinite else { throw JSONError(reason: .badNumber, offset: json.offset) }
      return .number(number)
    case .array:
      var items: [TopicValue] = []
      try json.arrayStart()
      while try json.nextElement() { items.append(try read(&json, depth - 1, &twice)) }
      return .array(items)
    case .object:
      var members: [String: TopicValue] = [:]
      try json.objectStart()
      while let key = try json.nextKey() {
        let name = try json.decoded(key)
        if members.updateValue(try read(&json, depth - 1, &twice), forKey: name) != nil, twice == nil { twice = name }
      }
      return .object(members)
    case nil: throw JSONError(reason: .unexpectedEnd, offset: json.offset)
    }
  }
}
