/// Decimals as venues print them, read while they are scanned.
extension JSONScanner {
  /// What stands behind a number: 0 where the text ends.
  @inlinable @inline(always)
  func endByte(_ index: Int) -> UInt8 { index < length ? byte(index) : 0 }

  /// Takes the quote and the sign that a number may begin with.
  @inlinable @inline(always)
  func takeStart(_ index: inout Int) -> (isQuoted: Bool, isNegative: Bool) {
    let isQuoted = take(UInt8(ascii: "\""), &index)
    return (isQuoted, take(UInt8(ascii: "-"), &index))
  }

  /// Takes the quote that ends a number. False where it is missing, or the number goes on.
  @inlinable @inline(always)
  func takeEnd(_ index: inout Int, isQuoted: Bool) -> Bool {
    if isQuoted { return take(UInt8(ascii: "\""), &index) }
    // A number continues with one of these; every other byte ends it.
    let end = endByte(index)
    return end &- UInt8(ascii: "0") >= 10 && end != UInt8(ascii: ".") && end | 0x20 != UInt8(ascii: "e")
  }

  /// Takes the digits and the point of a decimal of the usual shape, eight digits at a time: at most 15 digits before
  /// the point, and 8 after it with zeros behind them. Nil where it is of another one, and `index` is anywhere then.
  @inlinable @inline(always)
  func takeDigits(_ index: inout Int, isQuoted: Bool, _ scale: DecimalScale) -> UInt64? {
    let start = index
    var digits = SWAR.digits(paddedWord(index))
    var count = SWAR.digitCount(digits)
    guard count > 0 else { return nil }
    var value = SWAR.number(digits, count: count)
    index &+= count
    if count == 8 {
      guard scale.digits <= 2 else { return nil }
      digits = SWAR.digits(paddedWord(index))
      count = SWAR.digitCount(digits)
      guard count < 8 else { return nil }
      if count > 0 {
        value = value &* DecimalText.power(UInt8(truncatingIfNeeded: count)) &+ SWAR.number(digits, count: count)
      }
      index &+= count
    } else {
      // Eight digits and these ten stay below 2^63.
      guard scale.digits <= 10 else { return nil }
    }
    guard isQuoted || byte(start) != UInt8(ascii: "0") || index &- start == 1 else { return nil }
    value = value &* scale.power
    guard endByte(index) == UInt8(ascii: ".") else { return value }
    index &+= 1
    digits = SWAR.digits(paddedWord(index))
    count = SWAR.digitCount(digits)
    guard count > 0 else { return nil }
    index &+= count
    digits = SWAR.leading(digits)
    // What the scale cannot hold must be zeros.
    guard digits & scale.beyond == 0 else { return nil }
    value = value &+ SWAR.number(digits, count: scale.wordDigits) &* scale.wordPower
    guard count == 8 else { return value }
    digits = SWAR.digits(paddedWord(index))
    count = SWAR.digitCount(digits)
    index &+= count
    return count < 8 && SWAR.leading(digits) == 0 ? value : nil
  }

  /// Reads a decimal of the usual shape, bare or in quotes; see `takeDigits`. Of any other shape, right or wrong, it
  /// reads nothing and is nil; then `longDecimal` has the answer.
  @inlinable @inline(always)
  mutating func shortDecimal(_ scale: DecimalScale) -> Int64? {
    skipWhitespace()
    var index = position
    let (isQuoted, isNegative) = takeStart(&index)
    guard let value = takeDigits(&index, isQuoted: isQuoted, scale), takeEnd(&index, isQuoted: isQuoted) else {
      return nil
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
    let (isQuoted, isNegative) = takeStart(&index)
    let first = index
    var digits = SWAR.digits(paddedWord(index))
    var count = SWAR.digitCount(digits)
    guard count > 0, isQuoted || byte(first) != UInt8(ascii: "0") || count == 1 else { return nil }
    var value = SWAR.number(digits, count: count)
    var scale = 0
    index &+= count
    if endByte(index) == UInt8(ascii: ".") {
      index &+= 1
      digits = SWAR.digits(paddedWord(index))
      count = SWAR.digitCount(digits)
      guard count > 0 else { return nil }
      index &+= count
      // Bytes up to the last that is not 0.
      scale = 8 &- SWAR.leading(digits).leadingZeroBitCount >> 3
      if scale > 0 {
        value = value &* DecimalText.power(UInt8(truncatingIfNeeded: scale)) &+ SWAR.number(digits, count: scale)
      }
    }
    guard takeEnd(&index, isQuoted: isQuoted) else { return nil }
    position = index
    isFirst = false
    let signed = Int64(bitPattern: value)
    return Decimal64(mantissa: isNegative ? 0 &- signed : signed, scale: UInt8(truncatingIfNeeded: scale))
  }

  /// As `shortDecimal`, for digits only, 1 to 19 of them: times in nanoseconds have as many.
  @inlinable @inline(always)
  mutating func shortInteger() -> (isNegative: Bool, magnitude: UInt64)? {
    skipWhitespace()
    var index = position
    let (isQuoted, isNegative) = takeStart(&index)
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
    guard takeEnd(&index, isQuoted: isQuoted) else { return nil }
    position = index
    isFirst = false
    return (isNegative, value)
  }

  /// `shortInteger` without a sign. It reads nothing if it is nil.
  @inlinable @inline(always)
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
  @inlinable @inline(always)
  mutating func shortInt64() -> Int64? {
    let start = position
    guard let (isNegative, magnitude) = shortInteger() else { return nil }
    guard let value = Int64(exactly: magnitude) else {
      position = start
      return nil
    }
    return isNegative ? 0 &- value : value
  }
}

/// Levels of books as venues print them.
extension JSONScanner {
  /// Reads a level of the usual shape: `["61737.63","0.5"]`, `["buy",61737.63,0.5]`, or
  /// `{"side":"bid","time":"…","price":61737.63,"qty":0.5,"n":3}`, with the word first and the decimals one after the
  /// other. Whatever else stands in it is texts, or whole numbers in an object. Of any other shape, right or wrong, it
  /// reads nothing and is nil.
  @inlinable @inline(always)
  package mutating func shortLevel(_ shape: JSONLevelShape) -> (word: JSONSlice?, first: Int64, second: Int64)? {
    var index = position
    var word: JSONSlice?
    guard take(shape.names == nil ? UInt8(ascii: "[") : UInt8(ascii: "{"), &index) else { return nil }
    if shape.hasWord {
      if let names = shape.names, !takeKey(names.word, &index) { return nil }
      guard let text = takeText(&index), take(UInt8(ascii: ","), &index) else { return nil }
      word = text
    }
    if let names = shape.names {
      while !takeKey(names.first, &index) {
        guard takeMember(but: names, &index), take(UInt8(ascii: ","), &index) else { return nil }
      }
    }
    guard let first = takeDecimal(&index, shape.first), take(UInt8(ascii: ","), &index) else { return nil }
    if let names = shape.names, !takeKey(names.second, &index) { return nil }
    guard let second = takeDecimal(&index, shape.second) else { return nil }
    while take(UInt8(ascii: ","), &index) {
      if let names = shape.names {
        guard takeMember(but: names, &index) else { return nil }
      } else {
        guard takeText(&index) != nil else { return nil }
      }
    }
    guard take(shape.names == nil ? UInt8(ascii: "]") : UInt8(ascii: "}"), &index) else { return nil }
    position = index
    isFirst = false
    return (word, Int64(bitPattern: first), Int64(bitPattern: second))
  }

  /// Takes the comma before another level, if both are next with no space between them.
  @inlinable @inline(always)
  package mutating func nextLevel(_ shape: JSONLevelShape) -> Bool {
    let opening = shape.names == nil ? UInt8(ascii: "[") : UInt8(ascii: "{")
    guard length &- position > 1, byte(position) == UInt8(ascii: ","), byte(position &+ 1) == opening else {
      return false
    }
    position &+= 1
    return true
  }

  /// Takes a decimal without a sign, bare or in quotes.
  @inlinable @inline(always)
  func takeDecimal(_ index: inout Int, _ scale: DecimalScale) -> UInt64? {
    let isQuoted = take(UInt8(ascii: "\""), &index)
    guard let value = takeDigits(&index, isQuoted: isQuoted, scale), takeEnd(&index, isQuoted: isQuoted) else {
      return nil
    }
    return value
  }

  /// Takes `"name":` if it is next, with no space in it.
  @inlinable @inline(always)
  func takeKey(_ name: JSONLevelShape.Name, _ index: inout Int) -> Bool {
    let end = index &+ name.count
    guard length &- end > 3, byte(index) == UInt8(ascii: "\""), byte(end &+ 1) == UInt8(ascii: "\""),
      byte(end &+ 2) == UInt8(ascii: ":"), SWAR.same(start + (index &+ 1), name.start, count: name.count)
    else { return false }
    index = end &+ 3
    return true
  }

  /// Takes a member whose value is a text or a whole number, and that has none of these names.
  @inlinable @inline(always)
  func takeMember(
    but names: (word: JSONLevelShape.Name, first: JSONLevelShape.Name, second: JSONLevelShape.Name), _ index: inout Int
  ) -> Bool {
    guard let key = takeText(&index), take(UInt8(ascii: ":"), &index) else { return false }
    guard !isKey(key, names.word), !isKey(key, names.first), !isKey(key, names.second) else { return false }
    if takeText(&index) != nil { return true }
    let first = index
    let count = SWAR.digitCount(SWAR.digits(paddedWord(index)))
    index &+= count
    return count > 0 && (byte(first) != UInt8(ascii: "0") || count == 1) && takeEnd(&index, isQuoted: false)
  }

  @inlinable @inline(always)
  func isKey(_ key: JSONSlice, _ name: JSONLevelShape.Name) -> Bool {
    key.count == name.count && SWAR.same(start + key.offset, name.start, count: key.count)
  }

  /// Reads a decimal number, bare or in quotes, that is plainly written (`DecimalText.parsePlain`).
  package mutating func plainDecimal64() throws(JSONError) -> Decimal64 {
    let slice = try numberOrString()
    do throws(DecimalError) {
      return try DecimalText.parsePlain(text(slice))
    } catch {
      throw JSONError(reason: .decimal(error), offset: slice.offset)
    }
  }
}
