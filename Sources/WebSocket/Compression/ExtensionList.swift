import HTTP1

/// One element of `Sec-WebSocket-Extensions`: a name and its parameters (RFC 6455 section 9.1).
struct ExtensionElement: Equatable {
  struct Parameter: Equatable {
    let name: String
    /// Nil if the parameter has no value; a quoted string without its quotes and escapes.
    let value: String?
  }

  let name: String
  let parameters: [Parameter]

  /// The elements of all lines of the field in order; nil if a line is not what the grammar allows, for which section
  /// 9.1 fails the connection. Empty elements between commas are ignored (RFC 9110 section 5.6.1.2). O(length).
  static func list(_ lines: [String]) -> [ExtensionElement]? {
    var elements: [ExtensionElement] = []
    for line in lines {
      var reader = Reader(bytes: Array(line.utf8))
      guard reader.readList(into: &elements) else { return nil }
    }
    return elements
  }

  private struct Reader {
    let bytes: [UInt8]
    var index = 0

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    mutating func readList(into elements: inout [ExtensionElement]) -> Bool {
      while true {
        skipSpace()
        guard let byte = next else { return true }
        if byte == UInt8(ascii: ",") {
          index += 1
          continue
        }
        guard let element = readElement() else { return false }
        elements.append(element)
        guard next == nil || next == UInt8(ascii: ",") else { return false }
      }
    }

    private mutating func readElement() -> ExtensionElement? {
      guard let name = readToken() else { return nil }
      var parameters: [Parameter] = []
      skipSpace()
      while take(UInt8(ascii: ";")) {
        skipSpace()
        guard let name = readToken() else { return nil }
        skipSpace()
        var value: String?
        if take(UInt8(ascii: "=")) {
          skipSpace()
          value = next == UInt8(ascii: "\"") ? readQuoted() : readToken()
          guard value != nil else { return nil }
          skipSpace()
        }
        parameters.append(Parameter(name: name, value: value))
      }
      return ExtensionElement(name: name, parameters: parameters)
    }

    private mutating func readToken() -> String? {
      let start = index
      while let byte = next, ASCII.isToken(byte) { index += 1 }
      return index > start ? String(decoding: bytes[start..<index], as: UTF8.self) : nil
    }

    /// The content of a quoted string must be a token, too (RFC 6455 section 9.1).
    private mutating func readQuoted() -> String? {
      index += 1
      var text: [UInt8] = []
      while let byte = next {
        index += 1
        if byte == UInt8(ascii: "\"") { return text.isEmpty ? nil : String(decoding: text, as: UTF8.self) }
        var plain = byte
        if byte == UInt8(ascii: "\\") {
          guard let escaped = next else { return nil }
          index += 1
          plain = escaped
        }
        guard ASCII.isToken(plain) else { return nil }
        text.append(plain)
      }
      return nil
    }

    private mutating func take(_ byte: UInt8) -> Bool {
      guard next == byte else { return false }
      index += 1
      return true
    }

    private mutating func skipSpace() { while let byte = next, byte == 0x20 || byte == 0x09 { index += 1 } }
  }
}
