/// Eight bytes at a time in an ordinary register ("SIMD within a register"). Words have the first byte lowest.
@usableFromInline
enum SWAR {
  @inlinable @inline(always)
  static func same<T: FixedWidthInteger & BitwiseCopyable>(
    _ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ offset: Int, as type: T.Type
  ) -> Bool {
    a.loadUnaligned(fromByteOffset: offset, as: T.self) == b.loadUnaligned(fromByteOffset: offset, as: T.self)
  }

  /// Whether two runs of `count` bytes are the same. Two loads that overlap cover any length up to twice theirs.
  @inlinable @inline(always)
  static func same(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, count: Int) -> Bool {
    if count > 16 { return longSame(a, b, count: count) }
    if count >= 8 { return same(a, b, 0, as: UInt64.self) && same(a, b, count &- 8, as: UInt64.self) }
    if count >= 4 { return same(a, b, 0, as: UInt32.self) && same(a, b, count &- 4, as: UInt32.self) }
    for index in 0..<count where !same(a, b, index, as: UInt8.self) { return false }
    return true
  }

  @usableFromInline @inline(never)
  static func longSame(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, count: Int) -> Bool {
    var index = 0
    while count &- index >= 8 {
      guard same(a, b, index, as: UInt64.self) else { return false }
      index &+= 8
    }
    return same(a, b, count &- 8, as: UInt64.self)
  }

  /// ASCII digits become their values 0…9; every other byte becomes something above 9.
  @inlinable @inline(always)
  static func digits(_ word: UInt64) -> UInt64 { word ^ 0x3030_3030_3030_3030 }

  /// How many bytes from the first are 0…9.
  @inlinable @inline(always)
  static func digitCount(_ digits: UInt64) -> Int {
    // A byte above 9 gets its top bit from the sum, or has it. The sum carries into the next byte only from a byte
    // above 0x89, which is flagged itself, and the lowest flag is the one that counts.
    let flags = ((digits &+ 0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080
    return flags.trailingZeroBitCount >> 3
  }

  /// The digits before the first byte that is none, and zeros behind them.
  @inlinable @inline(always)
  static func leading(_ digits: UInt64) -> UInt64 {
    let flags = ((digits &+ 0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080
    // All bits below the lowest flag's byte, or all.
    return digits & ((flags & (0 &- flags)) &>> 7 &- 1)
  }

  /// The number that the first `count` digits spell, 1…8. Three multiplications: pairs, fours, eight.
  @inlinable @inline(always)
  static func number(_ digits: UInt64, count: Int) -> UInt64 {
    // Shifting the digits up puts zeros before them.
    var value = digits &<< UInt64(truncatingIfNeeded: 64 &- 8 &* count)
    value = (value &* 10) &+ (value >> 8)
    let low = (value & 0x0000_00FF_0000_00FF) &* 0x000F_4240_0000_0064
    let high = ((value >> 16) & 0x0000_00FF_0000_00FF) &* 0x0000_2710_0000_0001
    return (low &+ high) >> 32
  }

  /// The top bit of each byte that is `wanted`.
  @inlinable @inline(always)
  static func matches(_ word: UInt64, _ wanted: UInt8) -> UInt64 {
    let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
    let other = word ^ (0x0101_0101_0101_0101 &* UInt64(wanted))
    return ~(((other & low) &+ low) | other | low)
  }

  /// The first byte from `index` that ends the plain text of a JSON string: a quote, a backslash or a control
  /// character; `end` if there is none. Reads nothing at or past `end`.
  @inlinable @inline(always)
  static func endOfPlainText(_ start: UnsafeRawPointer, from index: Int, to end: Int) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var index = index
    while end &- index >= 8 {
      let word = UInt64(littleEndian: start.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      // Below 0x21 are a quote and the control characters alone, once the bit is turned round that a quote has.
      let quote = word ^ (ones &* 0x02)
      let backslash = word ^ (ones &* 0x5C)
      // The lowest flag of each is right; a borrow can only set a wrong one above it.
      let flags =
        (((quote &- ones &* 0x21) & ~quote) | ((backslash &- ones) & ~backslash)) & (ones &* 0x80)
      if flags != 0 { return index &+ flags.trailingZeroBitCount >> 3 }
      index &+= 8
    }
    while index < end {
      let b = start.load(fromByteOffset: index, as: UInt8.self)
      if b == 0x22 || b == 0x5C || b < 0x20 { return index }
      index &+= 1
    }
    return end
  }
}
