/// Bytes from outside as text that can be shown to people and written into logs. Not for hot paths.
enum ShownText {
  /// `bytes` as text: what is valid UTF-8 as it is, other bytes as `\xNN`, control characters and marks that turn the
  /// direction of writing as `\u{…}`, and what follows the names of `secrets` as `***`.
  ///
  /// - Parameter isCut: whether more followed; a character that was cut in two is then left out.
  static func make(_ bytes: ArraySlice<UInt8>, isCut: Bool) -> String {
    let safe = withoutSecrets(Array(bytes))
    var out = ""
    var index = 0
    while index < safe.count {
      let length = sequenceLength(safe[index])
      if length > 0, index + length > safe.count, isCut, safe[(index + 1)...].allSatisfy({ $0 & 0xC0 == 0x80 }) {
        break
      }
      guard length > 0, index + length <= safe.count,
        let text = String(validating: safe[index..<(index + length)], as: UTF8.self),
        let scalar = text.unicodeScalars.first
      else {
        out += "\\x" + hex(safe[index])
        index += 1
        continue
      }
      out += isPlain(scalar) ? text : "\\u{\(String(scalar.value, radix: 16))}"
      index += length
    }
    return out
  }

  /// Bytes of the UTF-8 sequence that begins so; 0 if none does (RFC 3629 section 3).
  private static func sequenceLength(_ lead: UInt8) -> Int {
    switch lead {
    case 0..<0x80: 1
    case 0xC2..<0xE0: 2
    case 0xE0..<0xF0: 3
    case 0xF0..<0xF5: 4
    default: 0
    }
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A, 0x0D: true
    case 0..<0x20, 0x7F..<0xA0: false
    // Line separators; embeddings, overrides and isolates of bidirectional text; the byte order mark.
    case 0x2028, 0x2029, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: false
    default: true
    }
  }

  private static func hex(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return digits.count == 1 ? "0" + digits : digits
  }

  // MARK: Secrets

  /// Names whose values are not shown, in lower case, also where they are the end of a longer name (`accessToken`).
  private static let secrets = [
    "token", "listenkey", "apikey", "api_key", "api-key", "signature", "sign", "secret", "passphrase", "password",
    "authorization", "cookie",
  ].map { Array($0.utf8) }

  /// Replaces what follows a secret's name and `=` or `:` up to the end of the value: of the string, or the next `&`,
  /// `,`, `}`, `]` or space.
  private static func withoutSecrets(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      out.append(bytes[index])
      index += 1
      guard bytes[index - 1] == UInt8(ascii: "=") || bytes[index - 1] == UInt8(ascii: ":"),
        endsWithSecret(bytes[..<(index - 1)])
      else { continue }
      index = skipValue(bytes, from: index, into: &out)
    }
    return out
  }

  private static func endsWithSecret(_ bytes: ArraySlice<UInt8>) -> Bool {
    var name = bytes
    while let last = name.last, [UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "'"), 0x20].contains(last) {
      name.removeLast()
    }
    return secrets.contains { secret in
      name.count >= secret.count && zip(name.suffix(secret.count), secret).allSatisfy { $0 | 0x20 == $1 || $0 == $1 }
    }
  }

  /// Where the value that begins at `start` ends; `***` is put in its place.
  private static func skipValue(_ bytes: [UInt8], from start: Int, into out: inout [UInt8]) -> Int {
    var index = start
    while index < bytes.count, bytes[index] == 0x20 || bytes[index] == UInt8(ascii: "\\") {
      out.append(bytes[index])
      index += 1
    }
    let quote: UInt8? =
      index < bytes.count && (bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'"))
      ? bytes[index] : nil
    if let quote {
      out.append(quote)
      index += 1
    }
    // `null`, a list or an object is no secret.
    if quote == nil, index < bytes.count,
      [UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n")].contains(bytes[index])
    {
      return index
    }
    let bearer = Array("bearer ".utf8)
    if bytes.count - index >= bearer.count, zip(bytes[index...], bearer).allSatisfy({ $0 | 0x20 == $1 }) {
      index += bearer.count
    }
    out.append(contentsOf: "***".utf8)
    while index < bytes.count {
      let byte = bytes[index]
      if let quote {
        if byte == quote || byte == UInt8(ascii: "\\") { break }
      } else if byte <= 0x20 || "&,}]\"'\\".utf8.contains(byte) {
        break
      }
      index += 1
    }
    return index
  }
}
