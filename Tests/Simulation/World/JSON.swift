import Bytes

/// A JSON text as a checker looks at it. Objects keep the order of their members; numbers are integers, as the
/// protocol's are.
enum JSON {
  case object([(key: String, value: JSON)])
  case array([JSON])
  case text(String)
  case integer(Int64)
  case bool(Bool)

  /// Nil where `bytes` is not one JSON value, or holds a `null` or a fraction: the protocol has neither.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var scanner = JSONScanner(RawSpan(_unsafeBytes: bytes))
    do throws(JSONError) {
      self = try Self.read(&scanner)
      try scanner.end()
    } catch {
      return nil
    }
  }

  private static func read(_ scanner: inout JSONScanner) throws(JSONError) -> JSON {
    switch scanner.peek() {
    case .object:
      var members: [(key: String, value: JSON)] = []
      try scanner.objectStart()
      while let key = try scanner.nextKey() {
        let name = try scanner.decoded(key)
        members.append((name, try read(&scanner)))
      }
      return .object(members)
    case .array:
      var elements: [JSON] = []
      try scanner.arrayStart()
      while try scanner.nextElement() { elements.append(try read(&scanner)) }
      return .array(elements)
    case .string:
      let slice = try scanner.string()
      return .text(try scanner.decoded(slice))
    case .number: return .integer(try scanner.int64())
    case .bool: return .bool(try scanner.bool())
    default: throw JSONError(reason: .unexpectedEnd, offset: scanner.offset)
    }
  }

  subscript(_ name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key == name }?.value
  }
  var text: String? { if case .text(let text) = self { text } else { nil } }
  var integer: Int? { if case .integer(let value) = self { Int(value) } else { nil } }
  var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  /// Nothing where it is no array.
  var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }
}
