import Bytes

/// A schema of the OpenAPI and the AsyncAPI document: the parts of JSON Schema 2020-12 that bodies, answers and
/// messages need.
indirect enum JSONSchema: Sendable {
  /// A named schema: one of `OpenAPISchemas`, `AsyncAPISchemas` or `writeShared(to:)`.
  case reference(String)
  case text
  case flag
  case integer(ClosedRange<Int64>)
  /// One of these texts.
  case choice([String])
  case list(JSONSchema, limit: Int? = nil)
  /// An object with any names, each with such a value.
  case map(JSONSchema)
  case either([JSONSchema])
  /// Any JSON object.
  case document

  /// A decimal number as text.
  static let decimal = reference("Decimal")
  /// Microseconds since 1970.
  static let time = reference("Time")
  static let count = integer(0...(1 << 53))

  /// A member of an object.
  typealias Member = (name: String, schema: JSONSchema)

  /// A named object.
  struct Object: Sendable {
    let name: String
    /// Members that are always there.
    let needed: [Member]
    /// Members that may be left out: their value is unknown, or the default.
    let optional: [Member]
    /// Whether other members are refused, as in the bodies of requests.
    let isClosed: Bool

    /// - Parameters:
    ///   - shared: lists of needed members that other objects have, too; they come first.
    ///   - optionalShared: the same for optional members; they come last.
    init(
      _ name: String, of shared: [[Member]] = [], _ needed: [Member] = [], optional: [Member] = [],
      optionalOf optionalShared: [[Member]] = [], isClosed: Bool = false
    ) {
      self.name = name
      self.needed = shared.flatMap { $0 } + needed
      self.optional = optional + optionalShared.flatMap { $0 }
      self.isClosed = isClosed
    }
  }

  /// Writes the schema.
  /// - Parameter key: the name of the member; nil: an element of an array.
  func write(_ key: String?, to writer: inout JSONObjectWriter) {
    writer.object(key) { writer in
      switch self {
      case .reference(let name): writer.field("$ref", "#/components/schemas/\(name)")
      case .text: writer.field("type", "string")
      case .flag: writer.field("type", "boolean")
      case .integer(let range):
        writer.field("type", "integer")
        writer.field("format", "int64")
        writer.field("minimum", range.lowerBound)
        writer.field("maximum", range.upperBound)
      case .choice(let names):
        writer.field("type", "string")
        writer.field("enum", names)
      case .list(let element, let limit):
        writer.field("type", "array")
        element.write("items", to: &writer)
        writer.field("maxItems", limit)
      case .map(let value):
        writer.field("type", "object")
        value.write("additionalProperties", to: &writer)
      case .either(let schemas):
        writer.array("anyOf") { writer in
          for schema in schemas { schema.write(nil, to: &writer) }
        }
      case .document: writer.field("type", "object")
      }
    }
  }

  /// Writes the named schemas of both documents that are no objects.
  /// - Parameter names: the choices that the document refers to.
  static func writeShared(choices names: Set<String>, to writer: inout JSONObjectWriter) {
    writer.object("Decimal") { writer in
      writer.field("type", "string")
      writer.field("pattern", "^-?[0-9]+(\\.[0-9]+)?$")
    }
    integer(0...(1 << 53)).write("Time", to: &writer)
    for named in OpenAPISchemas.choices where names.contains(named.name) {
      choice(named.words).write(named.name, to: &writer)
    }
    // Price and size; in a composite, the venues too, if they are asked for.
    list(.either([.decimal, .list(.text)])).write("Level", to: &writer)
  }

  /// The named schemas in it.
  var references: [String] {
    switch self {
    case .reference(let name): [name]
    case .list(let element, _), .map(let element): element.references
    case .either(let schemas): schemas.flatMap(\.references)
    case .text, .flag, .integer, .choice, .document: []
    }
  }
}

extension JSONSchema.Object {
  /// The named schemas in it.
  var references: [String] { (needed + optional).flatMap(\.schema.references) }

  /// Writes the object under its name.
  func write(to writer: inout JSONObjectWriter) {
    writer.object(name) { writer in writeMembers(to: &writer) }
  }

  /// Writes the schema without a name and braces.
  func writeMembers(to writer: inout JSONObjectWriter) {
    writer.field("type", "object")
    if !needed.isEmpty { writer.field("required", needed.map(\.name)) }
    writer.object("properties") { writer in
      for member in needed + optional { member.schema.write(member.name, to: &writer) }
    }
    if isClosed { writer.field("additionalProperties", false) }
  }
}
