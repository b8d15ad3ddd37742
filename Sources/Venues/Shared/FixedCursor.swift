import MarketData

/// Reads a text whose shape is known byte for byte, and says so as soon as it is not: the caller then reads it in a way
/// that takes any order, white space and spelling. Nothing that is not exactly as expected is ever accepted here.
///
/// Lives inside one `withUnsafeBytes`.
struct FixedCursor {
  private(set) var position: UnsafeRawPointer
  let end: UnsafeRawPointer

  init?(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return nil }
    position = start
    end = start + bytes.count
  }

  @inline(__always)
  private func byte(_ at: UnsafeRawPointer) -> UInt8 { at.load(as: UInt8.self) }

  /// Takes `literal` if it is next.
  @inline(__always)
  mutating func skip(_ literal: StaticString) -> Bool {
    let count = literal.utf8CodeUnitCount
    guard end - position >= count else { return false }
    let wanted = UnsafeRawPointer(literal.utf8Start)
    var index = 0
    while index &+ 8 <= count {
      guard
        position.loadUnaligned(fromByteOffset: index, as: UInt64.self)
          == wanted.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      else { return false }
      index &+= 8
    }
    while index < count {
      guard byte(position + index) == byte(wanted + index) else { return false }
      index &+= 1
    }
    position += count
    return true
  }

  /// Takes `wanted` if it is next.
  @inline(__always)
  mutating func skip(byte wanted: UInt8) -> Bool {
    guard position < end, byte(position) == wanted else { return false }
    position += 1
    return true
  }

  /// The bytes up to the next quote, which is taken too; nil if there is a backslash among them.
  mutating func untilQuote() -> UnsafeRawBufferPointer? {
    let start = position
    while position < end {
      let next = byte(position)
      if next == UInt8(ascii: "\"") {
        let text = UnsafeRawBufferPointer(start: start, count: position - start)
        position += 1
        return text
      }
      if next == UInt8(ascii: "\\") || next < 0x20 { return nil }
      position += 1
    }
    return nil
  }

  /// A positive whole number of at most 18 digits.
  @inline(__always)
  mutating func integer() -> Int64? {
    let start = position
    var value: Int64 = 0
    while position < end {
      let digit = byte(position) &- UInt8(ascii: "0")
      guard digit < 10 else { break }
      value = value &* 10 &+ Int64(digit)
      position += 1
    }
    let count = position - start
    return count > 0 && count <= 18 ? value : nil
  }

  /// `digits.digits"` with the closing quote, as a count of 10^-`scale`. Nil if it is spelled otherwise, has more
  /// than 10 digits before the point, or not exactly `scale` after it.
  ///
  /// Binance prints all numbers with 8 digits after the point, which are converted eight bytes at a time: 1.2 ns a
  /// digit less.
  @inline(__always)
  mutating func decimal(scale: UInt8) -> Int64? {
    guard scale == 8 else { return nil }
    var at = position
    let limit = end - 10
    var whole: UInt64 = 0
    let start = at
    while at < limit {
      let digit = byte(at) &- UInt8(ascii: "0")
      guard digit < 10 else { break }
      whole = whole &* 10 &+ UInt64(digit)
      at += 1
    }
    let count = at - start
    guard count > 0, count <= 10, at < limit, byte(at) == UInt8(ascii: ".") else { return nil }
    let chunk = UInt64(littleEndian: at.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
    // Each byte is 0x30…0x39: its high nibble is 3, and stays 3 when 6 is added.
    guard chunk & 0xF0F0_F0F0_F0F0_F0F0 == 0x3030_3030_3030_3030,
      (chunk &+ 0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0 == 0x3030_3030_3030_3030,
      byte(at + 9) == UInt8(ascii: "\"")
    else { return nil }
    // Eight digits to a number in three steps: pairs, fours, eight.
    var fraction = chunk & 0x0F0F_0F0F_0F0F_0F0F
    fraction = (fraction &* 10 &+ fraction >> 8) & 0x00FF_00FF_00FF_00FF
    fraction = (fraction &* 100 &+ fraction >> 16) & 0x0000_FFFF_0000_FFFF
    fraction = (fraction &* 10_000 &+ fraction >> 32) & 0xFFFF_FFFF
    position = at + 10
    return Int64(truncatingIfNeeded: whole &* 100_000_000 &+ fraction)
  }

  /// The rest of `[["price","size"],…]` after its first bracket. Nil if anything is spelled otherwise.
  @inline(__always)
  mutating func levels(priceScale: UInt8, sizeScale: UInt8, into levels: inout [PriceLevel]) -> Bool {
    if skip(byte: UInt8(ascii: "]")) { return true }
    while true {
      guard skip("[\""), let price = decimal(scale: priceScale), skip(",\""), let size = decimal(scale: sizeScale),
        skip(byte: UInt8(ascii: "]")), price > 0
      else { return false }
      levels.append(PriceLevel(price: price, size: size))
      guard position < end else { return false }
      let next = byte(position)
      position += 1
      if next == UInt8(ascii: "]") { return true }
      guard next == UInt8(ascii: ",") else { return false }
    }
  }

  var isAtEnd: Bool { position == end }
}
