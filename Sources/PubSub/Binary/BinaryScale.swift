import Bytes
import MarketData

/// The base time and digits of a binary stream's records. The reply to a subscription has them, and so has each
/// snapshot.
package struct BinaryScale: Sendable, Equatable {
  /// Times of messages are counted from this one, µs since 1970.
  package var base: Int64
  /// Prices count units of 10^-`priceDigits`, sizes units of 10^-`sizeDigits`; 0…18.
  package var priceDigits: UInt8
  package var sizeDigits: UInt8
  /// Those of each member of a group, in the order of its symbols; empty for other streams.
  package var members: [BinaryDigits]

  package init(base: Int64, priceDigits: UInt8, sizeDigits: UInt8, members: [BinaryDigits] = []) {
    self.base = base
    self.priceDigits = priceDigits
    self.sizeDigits = sizeDigits
    self.members = members
  }

  /// Appends its fields as replies have them, with a comma before each.
  func append(to out: inout ByteBuffer) {
    out.append(",\"encoding\":\"binary\",\"base\":")
    out.append(integer: base)
    out.append(",\"price_digits\":")
    append(\.price, priceDigits, to: &out)
    out.append(",\"size_digits\":")
    append(\.size, sizeDigits, to: &out)
  }

  /// A number, or for a group a list.
  private func append(_ part: KeyPath<BinaryDigits, UInt8>, _ own: UInt8, to out: inout ByteBuffer) {
    guard !members.isEmpty else { return out.append(integer: UInt64(own)) }
    for (index, digits) in members.enumerated() {
      out.append(UInt8(ascii: index == 0 ? "[" : ","))
      out.append(integer: UInt64(digits[keyPath: part]))
    }
    out.append(UInt8(ascii: "]"))
  }
}

/// The digits of a member of a group: its prices count units of 10^-`price`, its sizes units of 10^-`size`; 0…18.
package struct BinaryDigits: Sendable, Equatable {
  package var price: UInt8
  package var size: UInt8

  package init(price: UInt8, size: UInt8) {
    self.price = price
    self.size = size
  }
}

/// The kinds of binary records: the low five bits of the first byte.
enum BinaryKind: UInt8 {
  case trades = 1
  case quote = 2
  case book = 3
  case pulse = 4
  case ticker = 5
  case candles = 6
  case sparkline = 7
  /// All that a tick brings of the members of a group.
  case group = 15
  // 8 is kept for `derivative`, 9 for `liquidations`, 31 for several records in one message.
}

/// The start of a record, up to the data of its channel. `BinaryEncoding.md` specifies the format.
enum BinaryEnvelope {
  /// The bits of the first byte beside the kind.
  private static let snapshot: UInt8 = 1 << 5
  private static let chained: UInt8 = 1 << 6
  private static let scaled: UInt8 = 1 << 7

  /// - Parameter digits: those of the record's prices and sizes, if they differ from the stream's.
  static func appendUpdate(
    _ kind: BinaryKind, of stream: PublishedStream, prev: UInt64, now: Timestamp, _ scale: BinaryScale,
    digits: (price: UInt8, size: UInt8)?, to out: inout ByteBuffer
  ) {
    let isChained = stream.seq == prev + 1
    out.append(kind.rawValue | (isChained ? chained : 0) | (digits == nil ? 0 : scaled))
    out.append(varint: UInt64(stream.id.rawValue))
    out.append(varint: stream.seq)
    if !isChained { out.append(varint: stream.seq - prev) }
    if let digits {
      out.append(digits.price)
      out.append(digits.size)
    }
    out.append(bits: now.microseconds &- scale.base)
  }

  /// - Parameter digits: those of its prices and sizes, and of the updates that follow; nil: those of each member of a
  ///   group are in the data.
  static func appendSnapshot(
    _ kind: BinaryKind, of stream: PublishedStream, reason: SnapshotReason, now: Timestamp, _ scale: BinaryScale,
    digits: (price: UInt8, size: UInt8)?, to out: inout ByteBuffer
  ) {
    out.append(kind.rawValue | snapshot)
    out.append(varint: UInt64(stream.id.rawValue))
    out.append(varint: stream.seq)
    out.append(code(of: reason))
    out.append(zigzag: scale.base)
    if let digits {
      out.append(digits.price)
      out.append(digits.size)
    }
    out.append(bits: now.microseconds &- scale.base)
  }

  private static func code(of reason: SnapshotReason) -> UInt8 {
    switch reason {
    case .subscribe: 0
    case .resume: 1
    case .resync: 2
    case .slow: 3
    case .epoch: 4
    }
  }
}

extension ByteBuffer {
  /// Appends seven bits a byte, the lowest first; bit 7 is set in all bytes but the last (LEB128). 1…10 bytes.
  mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  /// Appends a signed number as the varint 2n, or −2n − 1 if it is negative.
  mutating func append(zigzag value: Int64) { append(varint: UInt64(bitPattern: value << 1 ^ value >> 63)) }

  /// Appends the varint of the 64 bits of a number that is hardly ever negative.
  mutating func append(bits value: Int64) { append(varint: UInt64(bitPattern: value)) }

  /// Appends a decimal with digits of its own.
  mutating func append(binary value: Decimal64) {
    append(value.scale)
    append(zigzag: value.mantissa)
  }

  /// Appends what `body` appends, with its length in bytes before it; nothing if `body` returns false.
  mutating func appendCounted(_ body: (inout ByteBuffer) -> Bool) -> Bool {
    let start = count
    // Most have a length of one byte.
    append(0 as UInt8)
    guard body(&self) else {
      truncate(to: start)
      return false
    }
    let length = count - start - 1
    if length < 0x80 {
      unsafeMutableBytes[start] = UInt8(length)
      return true
    }
    let end = count
    append(varint: UInt64(length))
    // The length, now behind what it counts, goes before it.
    let head = Array(unsafeBytes[end...])
    let bytes = unsafeMutableBytes
    (bytes.baseAddress! + start + head.count).copyMemory(from: bytes.baseAddress! + start + 1, byteCount: length)
    for (index, byte) in head.enumerated() { bytes[start + index] = byte }
    truncate(to: start + head.count + length)
    return true
  }

  /// Appends a text with its length in bytes.
  mutating func append(binary text: String) {
    append(varint: UInt64(text.utf8.count))
    append(text)
  }
}

extension ChannelMark {
  /// Appends 1 for live, or 2 and the reason.
  func appendBinary(to out: inout ByteBuffer) {
    guard let reason else { return out.append(1 as UInt8) }
    Self.appendSyncing(reason, to: &out)
  }

  static func appendSyncing(_ reason: String, to out: inout ByteBuffer) {
    out.append(2 as UInt8)
    out.append(binary: reason)
  }
}
