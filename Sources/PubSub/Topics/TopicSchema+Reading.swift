import Bytes
import MarketData

extension TopicSchema {
  /// The supported keywords, in the order of the guide.
  static let keywords =
    ["type", "enum", "const", "properties", "required", "additionalProperties", "items", "minItems", "maxItems"]
    + ["minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
  /// Keywords that are only for people.
  static let annotations = ["$schema", "$id", "$comment", "title", "description", "default", "examples"]
  private static let dialect = "https://json-schema.org/draft/2020-12/schema"

  /// Reads a schema from its JSON.
  package init(_ text: [UInt8]) throws(TopicSchemaError) {
    guard text.count <= Limits.bytes else {
      throw TopicSchemaError("", "has \(text.count) bytes; at most \(Limits.bytes) are read")
    }
    guard String(validating: text, as: UTF8.self) != nil else { throw TopicSchemaError("", "is not UTF-8 text") }
    // A schema in a schema takes two levels of JSON: `properties`, and the property.
    let value = try TopicValue(text, depth: 2 * Limits.depth + 2)
    if case .object = value {} else { throw TopicSchemaError("", "must be an object with keywords") }
    _ = try add(value, "", depth: 0)
  }

  /// Adds a schema and the schemas in it; returns its number.
  private mutating func add(
    _ value: TopicValue, _ path: String, depth: Int
  ) throws(TopicSchemaError) -> Int {
    guard nodes.count < Limits.nodes else { throw TopicSchemaError(path, "exceeds the limit of schemas") }
    guard depth < Limits.depth else { throw TopicSchemaError(path, "is nested too deep") }
    let number = nodes.count
    nodes.append(Node())
    if case .bool(let isAllowed) = value {
      nodes[number].isNever = !isAllowed
      return number
    }
    guard case .object(let members) = value else { throw TopicSchemaError(path, "must be a schema: an object") }
    for name in members.keys.sorted() where !Self.annotations.contains(name) {
      guard let value = members[name] else { continue }
      let inner = path.isEmpty ? name : "\(path).\(name)"
      try read(name, value, of: number, inner, depth)
    }
    if case .string(let dialect)? = members["$schema"], dialect != Self.dialect, dialect != Self.dialect + "#" {
      throw TopicSchemaError("$schema", "is not \(Self.dialect)")
    }
    return number
  }

  private mutating func read(
    _ keyword: String, _ value: TopicValue, of number: Int, _ path: String, _ depth: Int
  ) throws(TopicSchemaError) {
    switch keyword {
    case "type": nodes[number].kinds = try Self.kinds(value, path)
    case "enum":
      guard case .array(let values) = value, (1...Limits.values).contains(values.count),
        values.allSatisfy(\.isScalar)
      else { throw TopicSchemaError(path, "must be 1 to \(Limits.values) texts, numbers, true, false or null") }
      try narrow(number, to: values, path)
    case "const":
      guard value.isScalar else { throw TopicSchemaError(path, "must be a text, a number, true, false or null") }
      try narrow(number, to: [value], path)
    case "properties":
      guard case .object(let members) = value else { throw TopicSchemaError(path, "must be an object of schemas") }
      for name in members.keys.sorted() {
        guard let schema = members[name] else { continue }
        nodes[number].properties[name] = try add(schema, "\(path).\(name.prefix(80))", depth: depth + 1)
      }
    case "additionalProperties":
      if value == .bool(true) { return }
      nodes[number].others = value == .bool(false) ? -1 : try add(value, path, depth: depth + 1)
    case "items": nodes[number].items = try add(value, path, depth: depth + 1)
    case "required":
      guard case .array(let names) = value, names.count <= Limits.nodes else {
        throw TopicSchemaError(path, "must be a list of names")
      }
      for name in names {
        guard case .string(let name) = name else { throw TopicSchemaError(path, "must be a list of names") }
        nodes[number].required.append(name)
      }
    case "minItems": nodes[number].itemCount = try count(value, nodes[number].itemCount, isLow: true, path)
    case "maxItems": nodes[number].itemCount = try count(value, nodes[number].itemCount, isLow: false, path)
    case "minLength": nodes[number].length = try count(value, nodes[number].length, isLow: true, path)
    case "maxLength": nodes[number].length = try count(value, nodes[number].length, isLow: false, path)
    case "minimum": nodes[number].minimum = try Self.number(value, path)
    case "maximum": nodes[number].maximum = try Self.number(value, path)
    case "exclusiveMinimum": nodes[number].above = try Self.number(value, path)
    case "exclusiveMaximum": nodes[number].below = try Self.number(value, path)
    default:
      let near = NearNames.question(String(keyword.prefix(40)), among: Self.keywords)
      throw TopicSchemaError(
        path, "is not a supported keyword\(near); the keywords are \(Self.keywords.joined(separator: ", "))")
    }
  }

  /// `enum` and `const` must both hold.
  private mutating func narrow(_ number: Int, to values: [TopicValue], _ path: String) throws(TopicSchemaError) {
    let left = nodes[number].values.map { known in values.filter { known.contains($0) } } ?? values
    guard !left.isEmpty else { throw TopicSchemaError(path, "excludes all values of `const` or `enum`") }
    nodes[number].values = left
  }

  private static func kinds(_ value: TopicValue, _ path: String) throws(TopicSchemaError) -> Set<Kind> {
    let names: [TopicValue] = if case .array(let list) = value { list } else { [value] }
    var kinds: Set<Kind> = []
    for name in names {
      guard case .string(let text) = name, let kind = Kind(rawValue: text) else {
        throw TopicSchemaError(
          path, "must be one of \(Kind.allCases.map(\.rawValue).joined(separator: ", ")), or a list of them")
      }
      kinds.insert(kind)
    }
    guard !kinds.isEmpty else { throw TopicSchemaError(path, "is empty") }
    return kinds
  }

  private static func number(_ value: TopicValue, _ path: String) throws(TopicSchemaError) -> Double {
    guard case .number(let number) = value else { throw TopicSchemaError(path, "must be a number") }
    return number
  }

  /// One end of a range, the other one as it is known; names come in their order, the upper end first.
  private func count(
    _ value: TopicValue, _ known: ClosedRange<Int>?, isLow: Bool, _ path: String
  ) throws(TopicSchemaError) -> ClosedRange<Int> {
    guard case .number(let number) = value, let count = Int(exactly: number), count >= 0 else {
      throw TopicSchemaError(path, "must be a whole number, 0 or more")
    }
    let (low, high) = isLow ? (count, known?.upperBound ?? .max) : (known?.lowerBound ?? 0, count)
    guard low <= high else { throw TopicSchemaError(path, "leaves no value between the minimum and the maximum") }
    return low...high
  }
}
