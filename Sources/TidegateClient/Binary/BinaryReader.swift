import Bytes

/// Why a binary message is invalid.
package struct BinaryError: Error, Sendable, Equatable, CustomStringConvertible {
  package var reason: String
  /// The byte of the message at which it was noticed.
  package var offset: Int

  package var description: String { "\(reason) at byte \(offset)" }
}

/// Reads the values of a binary record, in bounds. No function reads past its end, and no count is larger than the
/// bytes that are left allow.
struct BinaryReader {
  private let bytes: [UInt8]
  private var index = 0
  private var end: Int

  init(_ bytes: [UInt8]) { (self.bytes, end) = (bytes, bytes.count) }

  var isAtEnd: Bool { index == end }
  private var left: Int { end - index }

  /// Ends after so many bytes, until `leave`; returns where it ended before. Precondition: they are left.
  mutating func enter(_ count: Int) -> Int {
    defer { end = index + count }
    return end
  }

  /// Skips what is left of a part.
  mutating func leave(_ outer: Int) { (index, end) = (end, outer) }

  func error(_ reason: String) -> BinaryError { BinaryError(reason: reason, offset: index) }

  mutating func byte() throws(BinaryError) -> UInt8 {
    guard index < end else { throw error("the record is too short") }
    defer { index += 1 }
    return bytes[index]
  }

  /// A varint: 1…10 bytes of seven bits, the lowest first. A longer form than necessary is an error, and so is a value
  /// of more than 64 bits.
  mutating func varint() throws(BinaryError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: 0 as UInt64, through: 63, by: 7) {
      let byte = try byte()
      let bits = UInt64(byte & 0x7F)
      guard shift < 63 || bits <= 1 else { throw error("a number has more than 64 bits") }
      value |= bits << shift
      guard byte < 0x80 else { continue }
      guard byte != 0 || shift == 0 else { throw error("a number is longer than necessary") }
      return value
    }
    throw error("a number has more than 64 bits")
  }

  /// A signed number.
  mutating func zigzag() throws(BinaryError) -> Int64 {
    let value = try varint()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  /// The 64 bits of a number that is hardly ever negative.
  mutating func bits() throws(BinaryError) -> Int64 { Int64(bitPattern: try varint()) }

  /// A number of items that take `bytes` bytes or more each.
  mutating func count(of bytes: Int) throws(BinaryError) -> Int {
    let value = try varint()
    guard value <= UInt64(left / bytes) else { throw error("more items than bytes are left") }
    return Int(value)
  }

  /// A number of items that take `bytes` bytes or more each, and five flags that they share.
  mutating func run(of bytes: Int) throws(BinaryError) -> (count: Int, flags: UInt8) {
    let value = try varint()
    guard value >> 5 <= UInt64(left / bytes) else { throw error("more items than bytes are left") }
    return (Int(value >> 5), UInt8(value & 31))
  }

  /// The digits of a decimal, 0…18.
  mutating func digits() throws(BinaryError) -> UInt8 {
    let value = try byte()
    guard value <= DecimalText.scaleLimit else { throw error("a decimal has at most 18 digits") }
    return value
  }

  /// The digits of prices and of sizes.
  mutating func scale() throws(BinaryError) -> (price: UInt8, size: UInt8) {
    let price = try digits()
    return (price, try digits())
  }

  mutating func decimal() throws(BinaryError) -> Decimal64 {
    let scale = try digits()
    return Decimal64(mantissa: try zigzag(), scale: scale)
  }

  mutating func text() throws(BinaryError) -> [UInt8] {
    let count = try count(of: 1)
    defer { index += count }
    return Array(bytes[index..<(index + count)])
  }
}
