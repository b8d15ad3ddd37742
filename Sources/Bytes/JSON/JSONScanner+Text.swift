extension JSONScanner {
  /// The text of a string, escapes decoded (RFC 8259 section 7); allocates, so not for hot paths.
  /// A lone surrogate or a bad escape is an error.
  package func decoded(_ slice: JSONSlice) throws(JSONError) -> String {
    let bytes = UnsafeRawBufferPointer(start: start + slice.offset, count: slice.count)
    guard slice.isEscaped else { return String(decoding: bytes, as: UTF8.self) }
    var units: [UInt8] = []
    units.reserveCapacity(slice.count)
    var index = 0
    func hex4(_ at: Int) -> UInt32? {
      guard at + 4 <= bytes.count else { return nil }
      var value: UInt32 = 0
      for k in at..<(at + 4) {
        switch bytes[k] {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(bytes[k] - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(bytes[k] - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(bytes[k] - UInt8(ascii: "A") + 10)
        default: return nil
        }
      }
      return value
    }
    while index < bytes.count {
      let b = bytes[index]
      guard b == UInt8(ascii: "\\") else {
        units.append(b)
        index += 1
        continue
      }
      let bad = JSONError(reason: .badEscape, offset: slice.offset + index)
      guard index + 1 < bytes.count else { throw bad }
      index += 2
      switch bytes[index - 1] {
      case UInt8(ascii: "\""): units.append(0x22)
      case UInt8(ascii: "\\"): units.append(0x5C)
      case UInt8(ascii: "/"): units.append(0x2F)
      case UInt8(ascii: "b"): units.append(0x08)
      case UInt8(ascii: "f"): units.append(0x0C)
      case UInt8(ascii: "n"): units.append(0x0A)
      case UInt8(ascii: "r"): units.append(0x0D)
      case UInt8(ascii: "t"): units.append(0x09)
      case UInt8(ascii: "u"):
        guard var code = hex4(index) else { throw bad }
        index += 4
        if code >= 0xD800, code < 0xDC00 {
          guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u"),
            let low = hex4(index + 2), low >= 0xDC00, low < 0xE000
          else { throw bad }
          code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
          index += 6
        }
        guard let scalar = Unicode.Scalar(code) else { throw bad }
        units.append(contentsOf: Array(String(Character(scalar)).utf8))
      default: throw bad
      }
    }
    return String(decoding: units, as: UTF8.self)
  }
}
