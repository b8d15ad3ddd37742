/// Decimal text ↔ scaled integers, exactly.
///
/// The grammar is that of a JSON number, with `+` and an exponent allowed, as venues send `1e-7` and `2.2E-7`.
@usableFromInline
package enum DecimalText {
  /// The largest scale: 10^18 is the largest power of ten in an `Int64`.
  package static let scaleLimit: UInt8 = 18

  /// 10^`scale`. Precondition: `scale` ≤ `scaleLimit`. O(1), a table that needs no initialisation.
  @inlinable @inline(always)
  package static func power(_ scale: UInt8) -> UInt64 {
    switch scale {
    case 0: 1
    case 1: 10
    case 2: 100
    case 3: 1_000
    case 4: 10_000
    case 5: 100_000
    case 6: 1_000_000
    case 7: 10_000_000
    case 8: 100_000_000
    case 9: 1_000_000_000
    case 10: 10_000_000_000
    case 11: 100_000_000_000
    case 12: 1_000_000_000_000
    case 13: 10_000_000_000_000
    case 14: 100_000_000_000_000
    case 15: 1_000_000_000_000_000
    case 16: 10_000_000_000_000_000
    case 17: 100_000_000_000_000_000
    case 18: 1_000_000_000_000_000_000
    default: preconditionFailure("a scale is 0 to 18")
    }
  }

  /// `00` to `99`, one after the other.
  @usableFromInline
  static var digitPairs: StaticString {
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"
  }

  /// How many decimal digits `value` has; 1 for 0. O(1).
  @inlinable @inline(always)
  static func digitCount(_ value: UInt64) -> Int {
    // 1233 / 4096 is log10(2), closely enough for 64 bits: the estimate is right or one too low.
    let estimate = ((64 &- (value | 1).leadingZeroBitCount) &* 1233) &>> 12
    if estimate > 18 { return value >= 10_000_000_000_000_000_000 ? 20 : 19 }
    return value < power(UInt8(truncatingIfNeeded: estimate)) ? max(estimate, 1) : estimate &+ 1
  }

  /// The count of 10^-`scale` that `text` stands for. O(length).
  /// - Throws: `.tooPrecise` if digits other than trailing zeros would be lost, `.overflow`, `.malformed`.
  package static func parse(_ text: RawSpan, scale: UInt8) throws(DecimalError) -> Int64 {
    let parts = try Parts(text)
    guard parts.mantissa != 0 else { return 0 }
    let shift = Int(scale) - parts.scale
    if shift < 0 { throw .tooPrecise(needed: UInt8(clamping: parts.scale)) }
    guard shift <= 18 else { throw .overflow }
    let (value, overflow) = parts.mantissa.multipliedReportingOverflow(by: Int64(power(UInt8(shift))))
    if overflow { throw .overflow }
    return value
  }

  /// The number at the scale that its text has, trailing zeros dropped. O(length).
  package static func parse(_ text: RawSpan) throws(DecimalError) -> Decimal64 {
    let parts = try Parts(text)
    guard parts.mantissa != 0 else { return Decimal64(mantissa: 0, scale: 0) }
    if parts.scale < 0 {
      guard parts.scale >= -18 else { throw .overflow }
      let (value, overflow) = parts.mantissa.multipliedReportingOverflow(by: Int64(power(UInt8(-parts.scale))))
      if overflow { throw .overflow }
      return Decimal64(mantissa: value, scale: 0)
    }
    guard parts.scale <= 18 else { throw .overflow }
    return Decimal64(mantissa: parts.mantissa, scale: UInt8(parts.scale))
  }

  /// As `parse`, of text that is plainly written, as the gateway's own protocol has it: digits, perhaps with `-` before
  /// them and one point between them; no exponent, no `+`, no zeros before the first digit. O(length).
  /// - Throws: `.overflow`, `.malformed`.
  package static func parsePlain(_ text: RawSpan) throws(DecimalError) -> Decimal64 {
    guard isPlain(text) else { throw .malformed }
    return try parse(text)
  }

  private static func isPlain(_ text: RawSpan) -> Bool {
    text.withUnsafeBytes { bytes in
      var rest = bytes[...]
      if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
      let whole = rest.prefix { $0 &- UInt8(ascii: "0") < 10 }
      guard !whole.isEmpty, whole.count == 1 || whole.first != UInt8(ascii: "0") else { return false }
      rest = rest.dropFirst(whole.count)
      guard let point = rest.first else { return true }
      let fraction = rest.dropFirst()
      return point == UInt8(ascii: ".") && !fraction.isEmpty && fraction.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
    }
  }

  /// Digits after the point as the text spells them, trailing zeros counted (`"0.0100"` is 4): the scale a venue prints
  /// at.
  package static func printedScale(_ text: RawSpan) -> UInt8 {
    var digits: UInt8 = 0
    var seen = false
    text.withUnsafeBytes { bytes in
      for b in bytes {
        if b == UInt8(ascii: ".") {
          seen = true
        } else if b | 0x20 == UInt8(ascii: "e") {
          break
        } else if seen {
          digits &+= 1
        }
      }
    }
    return digits
  }

  /// Sign, digits without trailing zeros, and where the point stands.
  struct Parts {
    var mantissa: Int64
    var scale: Int

    init(_ text: RawSpan) throws(DecimalError) {
      var mantissa: Int64 = 0
      var scale = 0
      var pendingZeros = 0
      var digits = 0
      var seenPoint = false
      var index = 0
      let count = text.byteCount
      func at(_ i: Int) -> UInt8 { text.unsafeLoad(fromUncheckedByteOffset: i, as: UInt8.self) }
      var negative = false
      if count > 0, at(0) == UInt8(ascii: "-") || at(0) == UInt8(ascii: "+") {
        negative = at(0) == UInt8(ascii: "-")
        index = 1
      }
      var exponent = 0
      loop: while index < count {
        let b = at(index)
        let digit = b &- UInt8(ascii: "0")
        if digit < 10 {
          digits += 1
          if seenPoint { scale += 1 }
          if digit == 0 {
            pendingZeros += 1
          } else {
            if mantissa != 0 || pendingZeros == 0 {
              for _ in 0..<pendingZeros {
                let (v, o) = mantissa.multipliedReportingOverflow(by: 10)
                if o { throw .overflow }
                mantissa = v
              }
            }
            pendingZeros = 0
            let (v, o1) = mantissa.multipliedReportingOverflow(by: 10)
            let (w, o2) = v.addingReportingOverflow(Int64(digit))
            if o1 || o2 { throw .overflow }
            mantissa = w
          }
          index += 1
        } else if b == UInt8(ascii: "."), !seenPoint {
          seenPoint = true
          index += 1
        } else if b | 0x20 == UInt8(ascii: "e"), digits > 0 {
          index += 1
          var sign = 1
          if index < count, at(index) == UInt8(ascii: "-") || at(index) == UInt8(ascii: "+") {
            sign = at(index) == UInt8(ascii: "-") ? -1 : 1
            index += 1
          }
          guard index < count else { throw .malformed }
          while index < count {
            let d = at(index) &- UInt8(ascii: "0")
            guard d < 10 else { throw .malformed }
            exponent = min(exponent * 10 + Int(d), 1000)
            index += 1
          }
          exponent *= sign
          break loop
        } else {
          throw .malformed
        }
      }
      guard digits > 0 else { throw .malformed }
      self.mantissa = negative ? -mantissa : mantissa
      self.scale = mantissa == 0 ? 0 : scale - pendingZeros - exponent
    }
  }
}
