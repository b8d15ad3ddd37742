import Bytes

/// Writes one JSON value after the other, commas included, for documents that are made once a second.
struct JSONObjectWriter: ~Copyable {
  private(set) var out: ByteBuffer
  private var needsComma = false

  init(capacity: Int) { out = ByteBuffer(capacity: capacity) }

  mutating func takeBytes() -> [UInt8] { out.takeBytes() }

  /// - Parameter key: nil: the value is an element of an array, or the whole.
  mutating func object(_ key: String? = nil, _ body: (inout JSONObjectWriter) -> Void) {
    enclose(key, UInt8(ascii: "{"), UInt8(ascii: "}"), body)
  }

  mutating func array(_ key: String, _ body: (inout JSONObjectWriter) -> Void) {
    enclose(key, UInt8(ascii: "["), UInt8(ascii: "]"), body)
  }

  mutating func field(_ key: String, _ value: String) {
    begin(key)
    out.append(json: value)
  }

  mutating func field(_ key: String, _ value: Int64) {
    begin(key)
    out.append(integer: value)
  }

  mutating func field(_ key: String, _ value: Int) { field(key, Int64(value)) }
  mutating func field(_ key: String, _ value: UInt64) { field(key, Int64(clamping: value)) }

  mutating func field(_ key: String, _ value: Bool) {
    begin(key)
    out.append(value ? "true" : "false")
  }

  /// Writes three decimal places at most.
  mutating func field(_ key: String, _ value: Double) {
    begin(key)
    out.append("\((value * 1_000).rounded() / 1_000)")
  }

  /// Writes nothing for nil.
  mutating func field(_ key: String, _ value: String?) { if let value { field(key, value) } }
  mutating func field(_ key: String, _ value: Double?) { if let value { field(key, value) } }
  mutating func field(_ key: String, _ value: Int64?) { if let value { field(key, value) } }
  mutating func field(_ key: String, _ value: Int?) { if let value { field(key, value) } }

  mutating func field(_ key: String, _ values: [UInt32]) {
    array(key) { writer in
      for value in values {
        writer.begin(nil)
        writer.out.append(integer: UInt64(value))
      }
    }
  }

  mutating func field(_ key: String, _ values: [String]) {
    array(key) { writer in
      for value in values {
        writer.begin(nil)
        writer.out.append(json: value)
      }
    }
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
