import Bytes

/// A part of a client's message, by its text: looked into when it is asked for. What is not there, or of another kind,
/// is nothing.
struct ClientMessage {
  /// Entries of one list; further ones are ignored.
  static let entryLimit = 5_000

  /// As it stood; empty for nothing.
  let raw: String

  private static let nothing = ClientMessage(raw: "")
  private init(raw: String) { self.raw = raw }

  /// Reads a whole message. Throws unless it is one JSON object.
  init(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while try json.nextKey() != nil { try json.skipValue() }
    try json.end()
    raw = text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// What `body` reads; nil where that is not there.
  private func read<Value>(_ body: (inout JSONScanner) throws(JSONError) -> Value) -> Value? {
    var raw = raw
    return raw.withUTF8 { bytes -> Value? in
      var json = JSONScanner(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(bytes)))
      return try? body(&json)
    }
  }

  /// A member of an object, the last of its name.
  subscript(name: String) -> ClientMessage {
    guard !raw.isEmpty else { return self }
    return read { (json) throws(JSONError) -> ClientMessage in
      var found = Self.nothing
      try json.objectStart()
      while let key = try json.nextKey() {
        let slice = try json.rawValue()
        if try json.decoded(key) == name { found = Self.part(slice, json) }
      }
      return found
    } ?? Self.nothing
  }

  private static func part(_ slice: JSONSlice, _ json: borrowing JSONScanner) -> ClientMessage {
    ClientMessage(raw: json.text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
  }

  /// The members of a list.
  var list: [ClientMessage] {
    guard raw.hasPrefix("[") else { return [] }
    return read { (json) throws(JSONError) -> [ClientMessage] in
      var list: [ClientMessage] = []
      try json.arrayStart()
      while try json.nextElement() {
        let slice = try json.rawValue()
        if list.count < Self.entryLimit { list.append(Self.part(slice, json)) }
      }
      return list
    } ?? []
  }

  var isThere: Bool { !raw.isEmpty }
  var isText: Bool { raw.hasPrefix("\"") }
  var isObject: Bool { raw.hasPrefix("{") }
  var isNumber: Bool { raw.utf8.first.map { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) } ?? false }
  /// Its text; empty if it is not a string.
  var text: String {
    guard isText else { return "" }
    return read { (json) throws(JSONError) -> String in try json.decoded(try json.string()) } ?? ""
  }
  /// A whole number, bare or in quotes.
  var integer: Int64? {
    guard isThere else { return nil }
    return read { (json) throws(JSONError) -> Int64 in try json.int64() }
  }
  var flag: Bool? { raw == "true" ? true : raw == "false" ? false : nil }
  /// The texts of a list.
  var texts: [String] { list.compactMap { $0.isText ? $0.text : nil } }
}
