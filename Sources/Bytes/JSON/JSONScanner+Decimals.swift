/// Decimals as venues print them, read while they are scanned.
extension JSONScanner {
  /// What stands behind a number: 0 where the text ends.
  @inlinable @inline(__always)
  func endByte(_ index: Int) -> UInt8 { index < length ? byte(index) : 0 }

  /// Reads a decimal of the usual shape, bare or in quotes, eight digits at a time: at most 15 digits before the point,
  /// 8 after it, no exponent. Of any other shape, right or wrong, it reads nothing and is nil; then `longDecimal` has
  /// the answer.
  /// - Parameter power: `shortPower(scale)`.
  @inlinable @inline(__always)
  mutating func shortDecimal(scale: UInt8, power: UInt64) -> Int64? {
    skipWhitespace()
    var index = position
    // A quote, a sign and a digit.
    guard index < length else { return nil }
    let isQuoted = byte(index) == UInt8(ascii: "\"")
    if isQuoted { index &+= 1 }
    let isNegative = index < length && byte(index) == UInt8(ascii: "-")
    if isNegative { index &+= 1 }
    let wholeStart = index
    var digits = SWAR.digits(paddedWord(index))
    var count = SWAR.digitCount(digits)
    guard count > 0 else { return nil }
    var whole = SWAR.number(digits, count: count)
    index &+= count
    if count == 8 {
      guard scale <= 2 else { return nil }
      digits = SWAR.digits(paddedWord(index))
      count = SWAR.digitCount(digits)
      guard count < 8 else { return nil }
      if count > 0 {
        whole = whole &* DecimalText.power(UInt8(truncatingIfNeeded: count)) &+ SWAR.number(digits, count: count)
      }
      index &+= count
    } else {
      // Eight digits and these ten stay below 2^63.
      guard scale <= 10 else { return nil }
    }
    if !isQuoted, byte(wholeStart) == UInt8(ascii: "0"), index &- wholeStart > 1 { return nil }
    var value = whole &* power
    if index < length, byte(index) == UInt8(ascii: ".") {
      index &+= 1
      digits = SWAR.digits(paddedWord(index))
      count = SWAR.digitCount(digits)
      guard count > 0 else { return nil }
      index &+= count
      let kept: Int
      if count > Int(scale) {
        // What the scale cannot hold must be zeros. `scale` < 8 here.
        let beyond = UInt64(truncatingIfNeeded: 64 &- 8 &* count)
        let lost = (digits &<< beyond) &>> beyond
        guard lost &>> UInt64(truncatingIfNeeded: 8 &* Int(scale)) == 0 else { return nil }
        kept = Int(scale)
      } else {
        kept = count
      }
      if kept > 0 {
        let fraction = SWAR.number(digits, count: kept)
        value =
          value
          &+ (kept == Int(scale) ? fraction : fraction &* DecimalText.power(scale &- UInt8(truncatingIfNeeded: kept)))
      }
    }
    let end = endByte(index)
    if isQuoted {
      guard end == UInt8(ascii: "\"") else { return nil }
      index &+= 1
    } else {
      // A number continues with one of these; every other byte ends it.
      guard end &- UInt8(ascii: "0") >= 10, end != UInt8(ascii: "."), end | 0x20 != UInt8(ascii: "e") else {
        return nil
      }
    }
    position = index
    isFirst = false
    let signed = Int64(bitPattern: value)
    return isNegative ? 0 &- signed : signed
  }

  /// Reads a decimal of the usual shape, bare or in quotes, at the scale that its text has without zeros at its end: at
  /// most 8 digits before the point and 8 after it, no exponent. Of any other shape, right or wrong, it reads nothing
  /// and is nil; then `longDecimal64` has the answer.
  @inlinable
  mutating func shortDecimal64() -> Decimal64? {
    skipWhitespace()
    var index = position
    guard index < length else { return nil }
    let isQuoted = byte(index) == UInt8(ascii: "\"")
    if isQuoted { index &+= 1 }
    let isNegative = index < length && byte(index) == UInt8(ascii: "-")
    if isNegative { index &+= 1 }
    let first = index
    var digits = SWAR.digits(paddedWord(index))
    var count = SWAR.digitCount(digits)
    guard count > 0, isQuoted || byte(first) != UInt8(ascii: "0") || count == 1 else { return nil }
    var value = SWAR.number(digits, count: count)
    var scale = 0
    index &+= count
    if index < length, byte(index) == UInt8(ascii: ".") {
      index &+= 1
      digits = SWAR.digits(paddedWord(index))
      count = SWAR.digitCount(digits)
      guard count > 0 else { return nil }
      index &+= count
      // Without the digits' own followers and without zeros at the end: bytes up to the last that is not 0.
      let beyond = UInt64(truncatingIfNeeded: 64 &- 8 &* count)
      scale = 8 &- ((digits &<< beyond) &>> beyond).leadingZeroBitCount >> 3
      if scale > 0 {
        value = value &* DecimalText.power(UInt8(truncatingIfNeeded: scale)) &+ SWAR.number(digits, count: scale)
      }
    }
    let end = endByte(index)
    if isQuoted {
      guard end == UInt8(ascii: "\"") else { return nil }
      index &+= 1
    } else {
      guard end &- UInt8(ascii: "0") >= 10, end != UInt8(ascii: "."), end | 0x20 != UInt8(ascii: "e") else {
        return nil
      }
    }
    position = index
    isFirst = false
    let signed = Int64(bitPattern: value)
    return Decimal64(mantissa: isNegative ? 0 &- signed : signed, scale: UInt8(truncatingIfNeeded: scale))
  }

  /// 10^`scale` for `shortDecimal`, which reads nothing at larger scales than 10.
  @inlinable @inline(__always)
  static func shortPower(_ scale: UInt8) -> UInt64 { scale <= 10 ? DecimalText.power(scale) : 0 }

  /// As `shortDecimal`, for digits only, 1 to 19 of them: times in nanoseconds have as many.
  @inlinable @inline(__always)
  mutating func shortInteger() -> (isNegative: Bool, magnitude: UInt64)? {
    skipWhitespace()
    var index = position
    guard index < length else { return nil }
    let isQuoted = byte(index) == UInt8(ascii: "\"")
    if isQuoted { index &+= 1 }
    let isNegative = index < length && byte(index) == UInt8(ascii: "-")
    if isNegative { index &+= 1 }
    let first = index
    var digits = SWAR.digits(paddedWord(index))
    var count = SWAR.digitCount(digits)
    guard count > 0, isQuoted || byte(first) != UInt8(ascii: "0") || count == 1 else { return nil }
    var value = SWAR.number(digits, count: count)
    index &+= count
    if count == 8 {
      digits = SWAR.digits(paddedWord(index))
      count = SWAR.digitCount(digits)
      if count > 0 {
        value = value &* DecimalText.power(UInt8(truncatingIfNeeded: count)) &+ SWAR.number(digits, count: count)
      }
      index &+= count
      if count == 8 {
        digits = SWAR.digits(paddedWord(index))
        count = SWAR.digitCount(digits)
        // 19 digits stay below 2^64.
        guard count <= 3 else { return nil }
        if count > 0 {
          value = value &* DecimalText.power(UInt8(truncatingIfNeeded: count)) &+ SWAR.number(digits, count: count)
        }
        index &+= count
      }
    }
    let end = endByte(index)
    if isQuoted {
      guard end == UInt8(ascii: "\"") else { return nil }
      index &+= 1
    } else {
      guard end != UInt8(ascii: "."), end | 0x20 != UInt8(ascii: "e") else { return nil }
    }
    position = index
    isFirst = false
    return (isNegative, value)
  }

  /// `shortInteger` without a sign. It reads nothing if it is nil.
  @inlinable @inline(__always)
  mutating func shortUInt64() -> UInt64? {
    let start = position
    guard let (isNegative, magnitude) = shortInteger() else { return nil }
    guard !isNegative else {
      position = start
      return nil
    }
    return magnitude
  }

  /// `shortInteger` within 63 bits. It reads nothing if it is nil.
  @inlinable @inline(__always)
  mutating func shortInt64() -> Int64? {
    let start = position
    guard let (isNegative, magnitude) = shortInteger() else { return nil }
    guard let value = Int64(exactly: magnitude) else {
      position = start
      return nil
    }
    return isNegative ? 0 &- value : value
  }

  /// Reads an array of arrays that each begin with two decimals, bare or in quotes, such as the sides of an order book:
  /// `[["61737.63","0.5"],["61737.62","1.25",3]]`. What follows the two is skipped. `body` gets each pair in turn, as
  /// counts of 10^-`first` and 10^-`second`.
  ///
  /// O(length).
  /// - Throws: as `decimal(scale:)` does; pairs before the bad one have gone to `body` by then.
  @inlinable
  package mutating func decimalPairs(
    first: UInt8, second: UInt8, _ body: (_ first: Int64, _ second: Int64) -> Void
  ) throws(JSONError) {
    let firstPower = Self.shortPower(first)
    let secondPower = Self.shortPower(second)
    try arrayStart()
    while try nextElement() {
      try arrayStart()
      guard try nextElement() else { throw failure(position &- 1) }
      let a: Int64
      if let value = shortDecimal(scale: first, power: firstPower) {
        a = value
      } else {
        a = try longDecimal(scale: first)
      }
      guard try nextElement() else { throw failure(position &- 1) }
      let b: Int64
      if let value = shortDecimal(scale: second, power: secondPower) {
        b = value
      } else {
        b = try longDecimal(scale: second)
      }
      if position < length, byte(position) == UInt8(ascii: "]") {
        position &+= 1
      } else {
        while try nextElement() { try skipValue() }
      }
      body(a, b)
    }
  }

  /// Reads a pair of decimals of the usual shape, such as a level of a book: `["61737.63","0.5"]` where `names` is nil,
  /// else `{"price":61737.63,"qty":0.5}`. Of any other shape, right or wrong, it reads nothing and is nil.
  /// - Parameters:
  ///   - first: the scale of the first decimal; its `power` is 10^`first`, or 0 above 10.
  ///   - second: that of the second.
  @inlinable @inline(__always)
  package mutating func shortPair(
    names: (StaticString, StaticString)?, first: (scale: UInt8, power: UInt64), second: (scale: UInt8, power: UInt64)
  ) -> (Int64, Int64)? {
    let start = position
    skipWhitespace()
    guard position < length, byte(position) == (names == nil ? UInt8(ascii: "[") : UInt8(ascii: "{")) else {
      position = start
      return nil
    }
    position &+= 1
    if let names, !skipKey(names.0) {
      position = start
      return nil
    }
    guard let a = shortDecimal(scale: first.scale, power: first.power), position < length,
      byte(position) == UInt8(ascii: ",")
    else {
      position = start
      return nil
    }
    position &+= 1
    if let names, !skipKey(names.1) {
      position = start
      return nil
    }
    guard let b = shortDecimal(scale: second.scale, power: second.power) else {
      position = start
      return nil
    }
    if let names, skipComma() {
      guard skipMembers(but: names) else {
        position = start
        return nil
      }
    } else if !skipRest(isArray: names == nil) {
      position = start
      return nil
    }
    return (a, b)
  }

  /// Reads a level of a book that has a word in it: `["buy","61737.63","0.5"]` where `names` is nil, else
  /// `{"side":"bid","time":"…","price":61737.63,"qty":0.5}`, with other texts between the word and the first decimal,
  /// and none else. Of any other shape, right or wrong, it reads nothing and is nil.
  /// - Parameter names: of the word and the two decimals.
  @inlinable @inline(__always)
  package mutating func shortLevel(
    names: (word: StaticString, first: StaticString, second: StaticString)?,
    first: (scale: UInt8, power: UInt64), second: (scale: UInt8, power: UInt64)
  ) -> (word: JSONSlice, first: Int64, second: Int64)? {
    let start = position
    skipWhitespace()
    guard position < length, byte(position) == (names == nil ? UInt8(ascii: "[") : UInt8(ascii: "{")) else {
      position = start
      return nil
    }
    position &+= 1
    if let names, !skipKey(names.word) {
      position = start
      return nil
    }
    guard let word = shortText(), skipComma() else {
      position = start
      return nil
    }
    if let names {
      while !skipKey(names.first) {
        guard shortText() != nil, position < length, byte(position) == UInt8(ascii: ":") else {
          position = start
          return nil
        }
        position &+= 1
        guard shortText() != nil, skipComma() else {
          position = start
          return nil
        }
      }
    }
    guard let a = shortDecimal(scale: first.scale, power: first.power), skipComma() else {
      position = start
      return nil
    }
    if let names, !skipKey(names.second) {
      position = start
      return nil
    }
    guard let b = shortDecimal(scale: second.scale, power: second.power), skipRest(isArray: names == nil) else {
      position = start
      return nil
    }
    return (word, a, b)
  }

  /// What ends a level, behind more texts of an array if there are some. False where anything else is there, and the
  /// position is anywhere then.
  @inlinable @inline(__always)
  mutating func skipRest(isArray: Bool) -> Bool {
    guard position < length else { return false }
    let next = byte(position)
    if next == (isArray ? UInt8(ascii: "]") : UInt8(ascii: "}")) {
      position &+= 1
      return true
    }
    guard isArray, next == UInt8(ascii: ",") else { return false }
    repeat {
      position &+= 1
      guard shortText() != nil else { return false }
    } while position < length && byte(position) == UInt8(ascii: ",")
    guard position < length, byte(position) == UInt8(ascii: "]") else { return false }
    position &+= 1
    return true
  }

  /// Passes over the members of an object from a key on, to its end, where their values are texts or whole numbers and
  /// none has one of these names. False where anything else is there, and the position is anywhere then.
  @inlinable @inline(__always)
  mutating func skipMembers(but names: (StaticString, StaticString)) -> Bool {
    repeat {
      guard let key = shortText(), !equals(key, names.0), !equals(key, names.1), position < length,
        byte(position) == UInt8(ascii: ":")
      else { return false }
      position &+= 1
      guard shortText() != nil || shortUInt64() != nil else { return false }
    } while skipComma()
    guard position < length, byte(position) == UInt8(ascii: "}") else { return false }
    position &+= 1
    return true
  }

  @inlinable @inline(__always)
  mutating func skipComma() -> Bool {
    guard position < length, byte(position) == UInt8(ascii: ",") else { return false }
    position &+= 1
    return true
  }

  /// Reads a text without escapes, with no space before it; nil, and nothing is read, if none is next.
  @inlinable @inline(__always)
  mutating func shortText() -> JSONSlice? {
    guard position < length, byte(position) == UInt8(ascii: "\"") else { return nil }
    let begin = position &+ 1
    let end = SWAR.endOfPlainText(self.start, from: begin, to: length)
    guard end < length, byte(end) == UInt8(ascii: "\"") else { return nil }
    position = end &+ 1
    isFirst = false
    return JSONSlice(offset: begin, count: end &- begin, isEscaped: false)
  }

  /// What `shortPair` wants with a scale.
  @inlinable @inline(__always)
  package static func shortScale(_ scale: UInt8) -> (scale: UInt8, power: UInt64) { (scale, shortPower(scale)) }

  /// Takes `"name":` if it is next, with no space in it.
  @inlinable @inline(__always)
  mutating func skipKey(_ name: StaticString) -> Bool {
    let count = name.utf8CodeUnitCount
    guard length &- position > count &+ 3, byte(position) == UInt8(ascii: "\""),
      byte(position &+ count &+ 1) == UInt8(ascii: "\""), byte(position &+ count &+ 2) == UInt8(ascii: ":")
    else { return false }
    guard SWAR.same(start + (position &+ 1), UnsafeRawPointer(name.utf8Start), count: count) else { return false }
    position &+= count &+ 3
    return true
  }
}
