/// Writes JSON values one after the other, with their commas, quotes and escapes: documents, answers and stored texts.
/// The frames of ticks are written without it.
package struct JSONObjectWriter: ~Copyable {
  package fileprivate(set) var out: ByteBuffer
  private var needsComma = false

  package init(capacity: Int = 0) { out = ByteBuffer(capacity: capacity) }

  package mutating func takeBytes() -> [UInt8] { out.takeBytes() }

  /// - Parameter key: nil: the value is an element of an array, or the whole.
  package mutating func object(_ key: String? = nil, _ body: (inout JSONObjectWriter) -> Void) {
    enclose(key, UInt8(ascii: "{"), UInt8(ascii: "}"), body)
  }

  package mutating func array(_ key: String? = nil, _ body: (inout JSONObjectWriter) -> Void) {
    enclose(key, UInt8(ascii: "["), UInt8(ascii: "]"), body)
  }

  package mutating func field(_ key: String, _ value: String) {
    begin(key)
    out.append(json: value)
  }

  package mutating func field(_ key: String, _ value: Int64) {
    begin(key)
    out.append(integer: value)
  }

  package mutating func field(_ key: String, _ value: Int) { field(key, Int64(value)) }
  package mutating func field(_ key: String, _ value: UInt64) { field(key, Int64(clamping: value)) }

  package mutating func field(_ key: String, _ value: Bool) {
    begin(key)
    out.append(value ? "true" : "false")
  }

  /// Writes three decimal places at most.
  package mutating func field(_ key: String, _ value: Double) {
    begin(key)
    out.append("\((value * 1_000).rounded() / 1_000)")
  }

  /// Writes nothing for nil.
  package mutating func field(_ key: String, _ value: String?) { if let value { field(key, value) } }
  package mutating func field(_ key: String, _ value: Double?) { if let value { field(key, value) } }
  package mutating func field(_ key: String, _ value: Int64?) { if let value { field(key, value) } }
  package mutating func field(_ key: String, _ value: Int?) { if let value { field(key, value) } }

  package mutating func field(_ key: String, _ values: [UInt32]) {
    array(key) { writer in
      for value in values {
        writer.begin(nil)
        writer.out.append(integer: UInt64(value))
      }
    }
  }

  package mutating func field(_ key: String, _ values: [String]) {
    array(key) { writer in
      for value in values { writer.element(value) }
    }
  }

  /// Writes the number in quotes.
  package mutating func field(_ key: String, _ value: Decimal64) { field(key, quoted: { $0.append(value) }) }

  /// Writes text that needs no escapes, in quotes.
  package mutating func field(_ key: String, quoted text: (inout ByteBuffer) -> Void) {
    begin(key)
    out.append(UInt8(ascii: "\""))
    text(&out)
    out.append(UInt8(ascii: "\""))
  }

  /// Writes a value that is JSON already.
  /// - Parameter key: nil: the value is an element of an array.
  package mutating func value(_ key: String? = nil, _ json: (inout ByteBuffer) -> Void) {
    begin(key)
    json(&out)
  }

  /// Writes an element of an array.
  package mutating func element(_ value: String) {
    begin(nil)
    out.append(json: value)
  }

  private mutating func begin(_ key: String?) {
    if needsComma { out.append(UInt8(ascii: ",")) }
    needsComma = true
    guard let key else { return }
    out.append(json: key)
    out.append(UInt8(ascii: ":"))
  }

  private mutating func enclose(
    _ key: String?, _ open: UInt8, _ close: UInt8, _ body: (inout JSONObjectWriter) -> Void
  ) {
    begin(key)
    out.append(open)
    needsComma = false
    body(&self)
    out.append(close)
    needsComma = true
  }
}

extension ByteBuffer {
  /// Appends a JSON object.
  package mutating func appendObject(_ body: (inout JSONObjectWriter) -> Void) {
    appendJSON { $0.object(nil, body) }
  }

  /// Appends a JSON value.
  package mutating func appendJSON(_ body: (inout JSONObjectWriter) -> Void) {
    var writer = JSONObjectWriter()
    swap(&writer.out, &self)
    body(&writer)
    swap(&writer.out, &self)
  }
}
