import CZlib
import MarketData

/// Why an index cannot be used.
struct IndexDamage: Error, Equatable {
  let reason: String
  init(_ reason: String) { self.reason = reason }
}

/// Appends the values of an index: numbers in groups of seven bits, lowest first (LEB128).
struct IndexEncoder {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Zigzag: numbers near 0 are short.
  mutating func append(_ value: Int64) { append(UInt64(bitPattern: (value << 1) ^ (value >> 63))) }
  mutating func append(_ value: Int) { append(Int64(value)) }
  mutating func append(_ time: Timestamp) { append(time.rawValue) }
  mutating func append(_ value: Bool) { bytes.append(value ? 1 : 0) }

  mutating func append(_ text: String) { append(Array(text.utf8)) }
  mutating func append(_ data: [UInt8]) {
    append(UInt64(data.count))
    bytes += data
  }
}

/// Reads what `IndexEncoder` appended. Every count is checked against the bytes that are left, so that no damaged one
/// asks for memory.
struct IndexDecoder {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var left: Int { bytes.count - offset }

  mutating func uint() throws(IndexDamage) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      guard offset < bytes.count else { throw IndexDamage("ends in a number") }
      let byte = bytes[offset]
      offset += 1
      guard shift < 63 || byte <= 1 else { throw IndexDamage("has a number of more than 64 bits") }
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
      shift += 7
    }
  }

  mutating func int64() throws(IndexDamage) -> Int64 {
    let value = try uint()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  mutating func int(_ range: ClosedRange<Int> = 0...Int.max) throws(IndexDamage) -> Int {
    let value = Int(try int64())
    guard range.contains(value) else { throw IndexDamage("has \(value) where \(range) is possible") }
    return value
  }

  mutating func time() throws(IndexDamage) -> Timestamp {
    guard let time = Timestamp(reading: try int64()) else { throw IndexDamage("has an impossible time") }
    return time
  }

  mutating func flag() throws(IndexDamage) -> Bool { try uint() != 0 }

  /// A count of things that take at least `size` bytes each.
  mutating func count(of size: Int = 1, limit: Int) throws(IndexDamage) -> Int {
    let value = try uint()
    guard value <= UInt64(limit), value <= UInt64(left / size) else { throw IndexDamage("counts more than it has") }
    return Int(value)
  }

  mutating func data(limit: Int) throws(IndexDamage) -> [UInt8] {
    let count = try count(limit: limit)
    offset += count
    return Array(bytes[(offset - count)..<offset])
  }

  mutating func text(limit: Int = 4096) throws(IndexDamage) -> String {
    String(decoding: try data(limit: limit), as: UTF8.self)
  }

  func end() throws(IndexDamage) {
    guard left == 0 else { throw IndexDamage("has \(left) bytes too many") }
  }
}

/// A piece of an index: compressed, and checked before it is used.
struct IndexBlob: Equatable {
  /// Bytes of a piece at most.
  static let limit = 64 << 20

  var offset: Int
  /// Compressed.
  var count: Int
  var rawCount: Int
  var checksum: UInt32

  static func checksum(_ bytes: [UInt8], after value: UInt32 = 0) -> UInt32 {
    bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32(UInt(value), $0.baseAddress, UInt32($0.count))) }
  }

  /// Compresses with zlib at its quickest level: levels of books gain little more at the others.
  static func pack(_ raw: [UInt8]) -> [UInt8] {
    var count = compressBound(UInt(raw.count))
    var packed = [UInt8](repeating: 0, count: Int(count))
    let status = packed.withUnsafeMutableBufferPointer { out in
      raw.withUnsafeBufferPointer { compress2(out.baseAddress, &count, $0.baseAddress, UInt($0.count), 1) }
    }
    precondition(status == Z_OK, "zlib error \(status)")
    packed.removeLast(packed.count - Int(count))
    return packed
  }

  /// Checks and expands what was read at `offset`.
  func unpack(_ packed: [UInt8]) throws(IndexDamage) -> [UInt8] {
    guard packed.count == count, Self.checksum(packed) == checksum else {
      throw IndexDamage("is damaged at byte \(offset)")
    }
    var raw = [UInt8](repeating: 0, count: rawCount)
    var length = UInt(rawCount)
    let status = raw.withUnsafeMutableBufferPointer { out in
      packed.withUnsafeBufferPointer { uncompress(out.baseAddress, &length, $0.baseAddress, UInt($0.count)) }
    }
    guard status == Z_OK, Int(length) == rawCount else { throw IndexDamage("is damaged at byte \(offset)") }
    return raw
  }
}
