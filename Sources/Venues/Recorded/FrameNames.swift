import Bytes

/// A field of a venue's frames that names a market.
package struct MarketField: Sendable, Hashable {
  /// In its quotes.
  let key: String
  /// What stands before the name in the value: the name is what follows the last one. Nil where the value is the name.
  let separator: UInt8?

  /// - Parameter separator: an ASCII character.
  init(_ key: String, after separator: Character? = nil) {
    self.key = "\"\(key)\""
    self.separator = separator?.asciiValue
  }
}

/// The names of markets that frames show, in the order in which they come: for recordings whose header does not tell
/// them all and that have no instrument list. Bounded in names and in bytes that are looked at.
package struct FrameNames {
  /// Names that are kept.
  package static let limit = 256
  /// Letters that a name has at the most.
  private static let nameLimit = 40
  private static let byteLimit = 16 << 20

  package private(set) var names: [String] = []
  private var seen: Set<String> = []
  private var bytesLeft = byteLimit

  package init() {}

  /// Looks through a frame for string values of `fields`. O(bytes × fields).
  package mutating func note(_ frame: UnsafeRawBufferPointer, _ fields: [MarketField]) {
    guard names.count < Self.limit, frame.count <= bytesLeft else { return }
    bytesLeft -= frame.count
    for field in fields {
      var key = field.key
      key.withUTF8 { note(frame, UnsafeRawBufferPointer($0), field.separator) }
    }
  }

  private mutating func note(_ frame: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ separator: UInt8?) {
    var from = 0
    while names.count < Self.limit, let found = MalformedMessageScan.find(key, in: frame, from: from) {
      from = found + key.count
      var index = from
      while index < frame.count, frame[index] == 0x20 || frame[index] == UInt8(ascii: ":") { index += 1 }
      guard index > from, index < frame.count, frame[index] == UInt8(ascii: "\"") else { continue }
      let value = frame[(index + 1)...].prefix(2 * Self.nameLimit).prefix { $0 != UInt8(ascii: "\"") }
      let name = separator.flatMap { value.lastIndex(of: $0) }.map { value[($0 + 1)...] } ?? value
      if separator != nil, name.count == value.count { continue }
      guard (1...Self.nameLimit).contains(name.count), name.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x5C }),
        name.contains(where: { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A })
      else {
        continue
      }
      let text = String(decoding: name, as: UTF8.self)
      if seen.insert(text).inserted { names.append(text) }
    }
  }
}
