import Bytes

extension FuzzTarget {
  /// One JSON text: the scanner beside a reader of RFC 8259 that is written the long way, and every way to read a
  /// number beside every other.
  static let json = FuzzTarget(
    "json",
    words: [
      "{", "}", "[", "]", ",", ":", "\"", "\\u00e9", "\\ud83d\\ude42", "\\n", "true", "false", "null", "-0.0", "1e5",
      "12345678", "9223372036854775807", "18446744073709551615", "0.00000001", "1.5E-3",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let input = Array(bytes)
    var reference = ReferenceJSON(input)
    let wanted = reference.text()
    try requireSame(skipped(input), wanted != nil, "skipValue and the reference disagree on whether this is JSON")
    try requireSame(walked(input), wanted, "the scanner reads something else than the reference")
    try numbers(input)
    try written(input)
  }

  private static func skipped(_ input: [UInt8]) -> Bool {
    var json = JSONScanner(input.span.bytes)
    do throws(JSONError) {
      try json.skipValue()
      try json.end()
      return true
    } catch {
      return false
    }
  }

  /// The text in a normal form, by the calls that readers of messages make; nil where one of them throws.
  private static func walked(_ input: [UInt8]) -> String? {
    var json = JSONScanner(input.span.bytes)
    do throws(JSONError) {
      let text = try walk(&json, depth: 0)
      try json.end()
      return text
    } catch {
      return nil
    }
  }

  private static func walk(_ json: inout JSONScanner, depth: Int) throws(JSONError) -> String {
    guard depth < JSONScanner.depthLimit else { throw JSONError(reason: .tooDeep, offset: json.offset) }
    switch json.peek() {
    case .object:
      var members: [String] = []
      try json.objectStart()
      while let key = try json.nextKey() {
        let name = string(key, json)
        members.append("\(name):\(try walk(&json, depth: depth + 1))")
      }
      return "{\(members.joined(separator: ","))}"
    case .array:
      var elements: [String] = []
      try json.arrayStart()
      while try json.nextElement() { elements.append(try walk(&json, depth: depth + 1)) }
      return "[\(elements.joined(separator: ","))]"
    case .string:
      let slice = try json.string()
      return string(slice, json)
    case .number:
      let slice = try json.number()
      return json.text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    case .bool: return try json.bool() ? "true" : "false"
    case .null:
      _ = try json.null()
      return "null"
    case nil:
      try json.skipValue()
      return ""
    }
  }

  private static func string(_ slice: JSONSlice, _ json: borrowing JSONScanner) -> String {
    do throws(JSONError) { return "<\(try json.decoded(slice))>" } catch { return "<bad escape>" }
  }

  /// A number reads the same whether more text follows it (the ways that read eight bytes at a time) or not.
  private static func numbers(_ input: [UInt8]) throws(FuzzFailure) {
    let roomy = input + [UInt8](repeating: 0x20, count: 40)
    for scale in UInt8(0)...18 {
      try requireSame(decimal(input, scale), decimal(roomy, scale), "a decimal at scale \(scale)")
    }
    try requireSame(unsigned(input), unsigned(roomy), "an unsigned integer")
    // What is read at its own scale is read at every wider one as the same value.
    var json = JSONScanner(input.span.bytes)
    guard let value = try? json.decimal64() else { return }
    for scale in value.scale...18 where scale <= 18 {
      guard let wide = decimal(input, scale) else { continue }
      var power: Int64 = 1
      for _ in 0..<(scale - value.scale) { power = power &* 10 }
      let (product, overflow) = value.mantissa.multipliedReportingOverflow(by: power)
      try require(!overflow && product == wide, "\(value.mantissa)e-\(value.scale) is \(wide) at scale \(scale)")
    }
  }

  private static func decimal(_ input: [UInt8], _ scale: UInt8) -> Int64? {
    var json = JSONScanner(input.span.bytes)
    return try? json.decimal(scale: scale)
  }

  private static func unsigned(_ input: [UInt8]) -> UInt64? {
    var json = JSONScanner(input.span.bytes)
    return try? json.uint64()
  }

  /// Any text written as a JSON string is read back.
  private static func written(_ input: [UInt8]) throws(FuzzFailure) {
    let text = String(decoding: input, as: UTF8.self)
    var out = ByteBuffer()
    out.append(json: text)
    var json = JSONScanner(out.bytes)
    var read: String?
    do throws(JSONError) {
      let slice = try json.string()
      read = try json.decoded(slice)
      try json.end()
    } catch {
      throw FuzzFailure("a string that was written cannot be read: \(error)")
    }
    let isSame = read.map { Array($0.utf8) == Array(text.utf8) } ?? false
    try require(isSame, "a string that was written is read differently")
  }
}

/// RFC 8259 the long way, over an array, with nothing shared. Escapes are judged where a string is decoded, as the
/// scanner's callers do: a structure with a bad escape in it is sound.
struct ReferenceJSON {
  private let bytes: [UInt8]
  private var index = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The normal form, nil if this is not one JSON text.
  mutating func text() -> String? {
    guard let text = value(depth: 0) else { return nil }
    space()
    return index == bytes.count ? text : nil
  }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func space() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    index += 1
    return true
  }

  private mutating func value(depth: Int) -> String? {
    guard depth < 64 else { return nil }
    space()
    switch next {
    case UInt8(ascii: "{"):
      index += 1
      var members: [String] = []
      space()
      if take(UInt8(ascii: "}")) { return "{}" }
      repeat {
        space()
        guard let name = string() else { return nil }
        space()
        guard take(UInt8(ascii: ":")), let value = value(depth: depth + 1) else { return nil }
        members.append("\(name):\(value)")
        space()
      } while take(UInt8(ascii: ","))
      return take(UInt8(ascii: "}")) ? "{\(members.joined(separator: ","))}" : nil
    case UInt8(ascii: "["):
      index += 1
      var elements: [String] = []
      space()
      if take(UInt8(ascii: "]")) { return "[]" }
      repeat {
        guard let value = value(depth: depth + 1) else { return nil }
        elements.append(value)
        space()
      } while take(UInt8(ascii: ","))
      return take(UInt8(ascii: "]")) ? "[\(elements.joined(separator: ","))]" : nil
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "t"): return word("true")
    case UInt8(ascii: "f"): return word("false")
    case UInt8(ascii: "n"): return word("null")
    default: return number()
    }
  }

  private mutating func word(_ word: String) -> String? {
    guard bytes[index...].starts(with: word.utf8) else { return nil }
    index += word.utf8.count
    return word
  }

  private mutating func digits() -> [UInt8] {
    let start = index
    while let byte = next, (0x30...0x39).contains(byte) { index += 1 }
    return Array(bytes[start..<index])
  }

  private mutating func number() -> String? {
    let start = index
    _ = take(UInt8(ascii: "-"))
    let whole = digits()
    guard !whole.isEmpty, whole.count == 1 || whole[0] != 0x30 else { return nil }
    if take(UInt8(ascii: ".")), digits().isEmpty { return nil }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      if digits().isEmpty { return nil }
    }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func string() -> String? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    var text: [UInt8] = []
    var units: [UInt16] = []
    var isSound = true
    func flush() {
      guard !units.isEmpty else { return }
      // Transcoding by hand: a lone surrogate is no text.
      var decoder = UTF16()
      var iterator = units.makeIterator()
      decoding: while true {
        switch decoder.decode(&iterator) {
        case .scalarValue(let scalar): text += Array(String(Character(scalar)).utf8)
        case .emptyInput: break decoding
        case .error:
          isSound = false
          break decoding
        }
      }
      units = []
    }
    while let byte = next {
      index += 1
      if byte == UInt8(ascii: "\"") {
        flush()
        return isSound ? "<\(String(decoding: text, as: UTF8.self))>" : "<bad escape>"
      }
      if byte < 0x20 { return nil }
      guard byte == UInt8(ascii: "\\") else {
        flush()
        text.append(byte)
        continue
      }
      guard let kind = next, kind >= 0x20 else { return nil }
      index += 1
      if kind == UInt8(ascii: "u") {
        var value: UInt16 = 0
        var count = 0
        while count < 4, let digit = next.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) {
          value = value << 4 | UInt16(digit)
          index += 1
          count += 1
        }
        if count == 4 { units.append(value) } else { isSound = false }
        continue
      }
      flush()
      let plain: [Character: UInt8] = [
        "\"": 0x22, "\\": 0x5C, "/": 0x2F, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9,
      ]
      if let byte = plain[Character(Unicode.Scalar(kind))] { text.append(byte) } else { isSound = false }
    }
    return nil
  }
}
