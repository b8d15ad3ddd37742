/// What can be told of a message that could not be read: enough to know whose book it was. Not for hot paths.
enum MalformedMessageScan {
  static func contains(_ message: RawSpan, _ text: StaticString) -> Bool {
    message.withUnsafeBytes { find(text, in: $0, from: 0) != nil }
  }

  static func contains(_ message: RawSpan, _ text: [UInt8]) -> Bool {
    message.withUnsafeBytes { bytes in text.withUnsafeBytes { find($0, in: bytes, from: 0) != nil } }
  }

  /// The indices of the symbols in string values of `key` (given with its quotes), each once; of each value what
  /// stands between `prefix` and `suffix`, where it has both.
  static func symbols(
    _ message: RawSpan, key: StaticString, in table: SymbolTable, prefix: StaticString = "", suffix: StaticString = ""
  ) -> [Int] {
    message.withUnsafeBytes { bytes in
      var indices: [Int] = []
      var from = 0
      while let at = find(key, in: bytes, from: from) {
        from = at + key.utf8CodeUnitCount
        var index = from
        while index < bytes.count, bytes[index] == 0x20 || bytes[index] == UInt8(ascii: ":") { index += 1 }
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { continue }
        let start = index + 1
        guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "\"")) else { break }
        let name = inner(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), prefix: prefix, suffix: suffix)
        let position = table.find(name ?? UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        if position >= 0, !indices.contains(position) { indices.append(position) }
      }
      return indices
    }
  }

  /// Whether some `key` (given with its quotes) has a whole string value. O(length).
  static func hasText(_ message: RawSpan, key: StaticString) -> Bool {
    message.withUnsafeBytes { bytes in
      var from = 0
      while let at = find(key, in: bytes, from: from) {
        from = at + key.utf8CodeUnitCount
        let value = bytes[from...].drop { $0 == 0x20 || $0 == UInt8(ascii: ":") }
        if value.first == UInt8(ascii: "\""), value.dropFirst().contains(UInt8(ascii: "\"")) { return true }
      }
      return false
    }
  }

  /// The whole number behind the first `key` (given with its quotes), of at most 18 digits; nil if there is none.
  static func number(_ message: RawSpan, key: StaticString) -> Int64? {
    message.withUnsafeBytes { bytes in
      guard let at = find(key, in: bytes, from: 0) else { return nil }
      var index = at + key.utf8CodeUnitCount
      while index < bytes.count, bytes[index] == 0x20 || bytes[index] == UInt8(ascii: ":") { index += 1 }
      var value: Int64 = 0
      var count = 0
      while index < bytes.count, bytes[index] &- UInt8(ascii: "0") < 10, count <= 18 {
        value = value &* 10 &+ Int64(bytes[index] &- UInt8(ascii: "0"))
        index += 1
        count += 1
      }
      // A number that the text ends in may have been longer.
      return (1...18).contains(count) && index < bytes.count ? value : nil
    }
  }

  /// What stands between `prefix` and `suffix`; nil if the text does not have both. O(length).
  static func inner(
    _ text: UnsafeRawBufferPointer, prefix: StaticString, suffix: StaticString
  ) -> UnsafeRawBufferPointer? {
    let (first, last) = (prefix.utf8CodeUnitCount, suffix.utf8CodeUnitCount)
    guard text.count >= first + last,
      text.prefix(first).elementsEqual(UnsafeBufferPointer(start: prefix.utf8Start, count: first)),
      text.suffix(last).elementsEqual(UnsafeBufferPointer(start: suffix.utf8Start, count: last))
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: text[first..<(text.count - last)])
  }

  private static func find(_ text: StaticString, in bytes: UnsafeRawBufferPointer, from: Int) -> Int? {
    find(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount), in: bytes, from: from)
  }

  /// Where `text`, which is not empty, next stands.
  static func find(_ text: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer, from: Int) -> Int? {
    var index = from
    outer: while index + text.count <= bytes.count {
      for offset in 0..<text.count where bytes[index + offset] != text[offset] {
        index += 1
        continue outer
      }
      return index
    }
    return nil
  }
}
