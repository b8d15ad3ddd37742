/// A run of bytes inside the text that a `JSONScanner` scans: a key, a string without its quotes, or a number.
///
/// It holds positions, not memory, so it may be kept as long as the scanner's input is.
@frozen
@usableFromInline
package struct JSONSlice: Sendable {
  @usableFromInline package let offset: Int
  @usableFromInline package let count: Int
  /// Whether a string holds backslash escapes, so that its bytes are not yet its text.
  @usableFromInline package let isEscaped: Bool

  @inlinable
  package init(offset: Int, count: Int, isEscaped: Bool) {
    self.offset = offset
    self.count = count
    self.isEscaped = isEscaped
  }
}

/// What kind of value comes next.
@usableFromInline
package enum JSONKind: Sendable { case object, array, string, number, bool, null }

/// Why a text was refused, and at which byte.
@usableFromInline
package struct JSONError: Error, Sendable, Equatable {
  @usableFromInline
  package enum Reason: Sendable, Equatable {
    case unexpectedEnd, unexpectedByte(UInt8), badEscape, badNumber, tooDeep, trailingBytes
    case decimal(DecimalError)
  }
  package let reason: Reason
  /// Offset in bytes from the start of the text.
  package let offset: Int

  @usableFromInline package init(reason: Reason, offset: Int) {
    self.reason = reason
    self.offset = offset
  }
}

/// A pull scanner over one JSON text (RFC 8259): the caller asks for what it expects and gets it or an error.
///
/// Nothing is allocated: keys and strings come as `JSONSlice`s of the input. The scanner checks structure as it goes,
/// so that any prefix of a text that it accepted was well-formed; it does not check UTF-8, which the WebSocket layer
/// has.
///
///     var json = JSONScanner(bytes)
///     try json.objectStart()
///     while let key = try json.nextKey() {
///       if json.equals(key, "price") { price = try json.decimal(scale: 8) } else { try json.skipValue() }
///     }
///     try json.end()
@frozen
@usableFromInline
package struct JSONScanner: ~Copyable, ~Escapable {
  @usableFromInline let start: UnsafeRawPointer
  @usableFromInline let length: Int
  /// Bytes from `start` on that may be looked at: those of the text that this one is a part of, too.
  @usableFromInline let readable: Int
  @usableFromInline var position: Int = 0
  /// Set after `{`, `[`: the next element needs no comma.
  @usableFromInline var isFirst = true

  /// The deepest nesting `skipValue` follows.
  @usableFromInline package static let depthLimit = 64

  @inlinable
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) {
    // The pointer cannot outlive `bytes`: the lifetime of the scanner is that of the span.
    self.start = bytes.withUnsafeBytes { $0.baseAddress ?? UnsafeRawPointer(bitPattern: 1)! }
    self.length = bytes.byteCount
    self.readable = length
  }

  /// Scans a value again that `rawValue` of `whole` found.
  @inlinable
  @_lifetime(copy whole)
  package init(_ slice: JSONSlice, of whole: borrowing JSONScanner) {
    // The text is one that `whole` holds, and lives as long.
    self.start = whole.start + slice.offset
    self.length = slice.count
    self.readable = whole.readable &- slice.offset
  }

  /// Scans all that `other` does, from its beginning.
  @inlinable
  @_lifetime(copy other)
  package init(again other: borrowing JSONScanner) {
    // The text is one that `other` holds, and lives as long.
    self.start = other.start
    self.length = other.length
    self.readable = other.readable
  }

  /// Offset of the next byte to be read.
  @inlinable package var offset: Int { position }

  @inlinable @inline(always)
  func byte(_ index: Int) -> UInt8 { start.load(fromByteOffset: index, as: UInt8.self) }

  /// Eight bytes, the first lowest. The caller has checked that `index` + 8 ≤ `readable`.
  @inlinable @inline(always)
  func word(_ index: Int) -> UInt64 {
    UInt64(littleEndian: start.loadUnaligned(fromByteOffset: index, as: UInt64.self))
  }

  /// As `word`, for any `index` up to `length`. What is behind the end of the text is no digit: zeros, or what followed
  /// a value in the text that it was found in.
  @inlinable @inline(always)
  func paddedWord(_ index: Int) -> UInt64 { readable &- index >= 8 ? word(index) : lastWord(index) }

  @usableFromInline @inline(never)
  func lastWord(_ index: Int) -> UInt64 {
    // The last eight bytes, without those before `index`. A smart shift by 64 gives 0.
    if readable >= 8 { return word(readable &- 8) >> UInt64(truncatingIfNeeded: (8 &- (readable &- index)) &* 8) }
    var word: UInt64 = 0
    for position in index..<readable { word |= UInt64(byte(position)) << UInt64((position &- index) &* 8) }
    return word
  }

  @usableFromInline @inline(never)
  func failure(_ index: Int) -> JSONError {
    index >= length
      ? JSONError(reason: .unexpectedEnd, offset: length)
      : JSONError(reason: .unexpectedByte(byte(index)), offset: index)
  }

  /// One comparison where there is none, which is nearly everywhere.
  @inlinable @inline(always)
  mutating func skipWhitespace() {
    if position < length, byte(position) <= 0x20 { skipSomeWhitespace() }
  }

  @usableFromInline @inline(never)
  mutating func skipSomeWhitespace() {
    while position < length {
      let b = byte(position)
      guard b == 0x20 || b == 0x0A || b == 0x0D || b == 0x09 else { return }
      position &+= 1
    }
  }

  @inlinable @inline(always)
  mutating func expect(_ wanted: UInt8) throws(JSONError) {
    skipWhitespace()
    guard position < length, byte(position) == wanted else { throw failure(position) }
    position &+= 1
  }

  /// The kind of the next value, without reading it; nil at the end of the text or at a byte that starts none.
  @inlinable
  package mutating func peek() -> JSONKind? {
    skipWhitespace()
    guard position < length else { return nil }
    switch byte(position) {
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
    case UInt8(ascii: "n"): return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
    default: return nil
    }
  }

  /// Reads `{`.
  @inlinable
  package mutating func objectStart() throws(JSONError) {
    try expect(UInt8(ascii: "{"))
    isFirst = true
  }

  /// Reads the next key and its colon; nil at `}`, which is read too.
  @inlinable
  package mutating func nextKey() throws(JSONError) -> JSONSlice? {
    // As nearly all venues print it: `,"key":`, some with a space behind the comma, or `"key":` behind a brace.
    var index = position
    if isFirst || take(UInt8(ascii: ","), &index) {
      _ = take(UInt8(ascii: " "), &index)
      if let key = takeText(&index), take(UInt8(ascii: ":"), &index) {
        position = index
        isFirst = false
        return key
      }
    }
    skipWhitespace()
    guard position < length else { throw failure(position) }
    var b = byte(position)
    if b == UInt8(ascii: "}") {
      position &+= 1
      isFirst = false
      return nil
    }
    if isFirst {
      isFirst = false
    } else {
      guard b == UInt8(ascii: ",") else { throw failure(position) }
      position &+= 1
      skipWhitespace()
      guard position < length else { throw failure(position) }
      b = byte(position)
    }
    guard b == UInt8(ascii: "\"") else { throw failure(position) }
    let key = try quoted()
    try expect(UInt8(ascii: ":"))
    return key
  }

  /// Reads `[`.
  @inlinable
  package mutating func arrayStart() throws(JSONError) {
    try expect(UInt8(ascii: "["))
    isFirst = true
  }

  /// Whether another element follows; at `]` it is false and the bracket is read. Reads the comma before an element.
  @inlinable
  package mutating func nextElement() throws(JSONError) -> Bool {
    skipWhitespace()
    guard position < length else { throw failure(position) }
    let b = byte(position)
    if b == UInt8(ascii: "]") {
      position &+= 1
      isFirst = false
      return false
    }
    if isFirst {
      isFirst = false
      return true
    }
    guard b == UInt8(ascii: ",") else { throw failure(position) }
    position &+= 1
    skipWhitespace()
    guard position < length, byte(position) != UInt8(ascii: "]") else { throw failure(position) }
    return true
  }

  /// Takes `wanted` if it is next.
  @inlinable @inline(always)
  func take(_ wanted: UInt8, _ index: inout Int) -> Bool {
    guard index < length, byte(index) == wanted else { return false }
    index &+= 1
    return true
  }

  /// Takes a text without escapes, with no space before it; nil, and nothing is taken, if none is next.
  @inlinable @inline(always)
  func takeText(_ index: inout Int) -> JSONSlice? {
    guard index < length, byte(index) == UInt8(ascii: "\"") else { return nil }
    let begin = index &+ 1
    let end = SWAR.endOfPlainText(start, from: begin, to: length)
    guard end < length, byte(end) == UInt8(ascii: "\"") else { return nil }
    index = end &+ 1
    return JSONSlice(offset: begin, count: end &- begin, isEscaped: false)
  }

  /// As `takeText`, and reads it.
  @inlinable @inline(always)
  mutating func shortText() -> JSONSlice? {
    var index = position
    guard let text = takeText(&index) else { return nil }
    position = index
    isFirst = false
    return text
  }

  /// Reads the string whose first quote is next; one without escapes at once.
  @inlinable @inline(always)
  mutating func quoted() throws(JSONError) -> JSONSlice {
    if let text = shortText() { return text }
    return try longString()
  }

  /// Reads a string; the slice is what stands between its quotes. O(length), eight bytes at a time.
  @inlinable
  package mutating func string() throws(JSONError) -> JSONSlice {
    if let text = shortText() { return text }
    return try longString()
  }

  /// With escapes, behind white space, or none.
  @usableFromInline @inline(never)
  mutating func longString() throws(JSONError) -> JSONSlice {
    try expect(UInt8(ascii: "\""))
    let begin = position
    var escaped = false
    while true {
      position = SWAR.endOfPlainText(start, from: position, to: length)
      guard position < length else { throw failure(length) }
      let b = byte(position)
      if b == UInt8(ascii: "\"") {
        let slice = JSONSlice(offset: begin, count: position &- begin, isEscaped: escaped)
        position &+= 1
        isFirst = false
        return slice
      }
      guard b == UInt8(ascii: "\\") else { throw failure(position) }
      escaped = true
      guard position &+ 1 < length, byte(position &+ 1) >= 0x20 else { throw failure(position &+ 1) }
      position &+= 2
    }
  }

  /// Reads the characters of a number without converting them: exactly the grammar of RFC 8259 section 6, so no leading
  /// zeros, no `+`, no `.5` and no `5.`.
  @inlinable
  package mutating func number() throws(JSONError) -> JSONSlice {
    skipWhitespace()
    let begin = position
    if position < length, byte(position) == UInt8(ascii: "-") { position &+= 1 }
    let whole = position
    skipDigits()
    let wholeDigits = position &- whole
    guard wholeDigits > 0 else { throw failure(position) }
    guard wholeDigits == 1 || byte(whole) != UInt8(ascii: "0") else {
      throw JSONError(reason: .badNumber, offset: begin)
    }
    if position < length, byte(position) == UInt8(ascii: ".") {
      position &+= 1
      let fraction = position
      skipDigits()
      guard position > fraction else { throw JSONError(reason: .badNumber, offset: begin) }
    }
    if position < length, byte(position) | 0x20 == UInt8(ascii: "e") {
      position &+= 1
      if position < length, byte(position) == UInt8(ascii: "-") || byte(position) == UInt8(ascii: "+") {
        position &+= 1
      }
      let exponent = position
      skipDigits()
      guard position > exponent else { throw JSONError(reason: .badNumber, offset: begin) }
    }
    isFirst = false
    return JSONSlice(offset: begin, count: position &- begin, isEscaped: false)
  }

  @inlinable @inline(always)
  mutating func skipDigits() {
    var count: Int
    repeat {
      count = SWAR.digitCount(SWAR.digits(paddedWord(position)))
      position &+= count
    } while count == 8
  }

  /// Reads an integer that is a bare number, or one inside a string (`"123"`), as venues send both.
  @inlinable
  package mutating func int64() throws(JSONError) -> Int64 {
    if let value = shortInt64() { return value }
    return try longDecimal(scale: 0)
  }

  /// Reads an unsigned integer, bare or in quotes, up to `UInt64.max`.
  @inlinable
  package mutating func uint64() throws(JSONError) -> UInt64 {
    if let value = shortUInt64() { return value }
    return try longUInt64()
  }

  @usableFromInline @inline(never)
  mutating func longUInt64() throws(JSONError) -> UInt64 {
    let slice = try numberOrString()
    var value: UInt64 = 0
    guard slice.count > 0 else { throw JSONError(reason: .badNumber, offset: slice.offset) }
    for index in slice.offset..<(slice.offset + slice.count) {
      let digit = byte(index) &- UInt8(ascii: "0")
      guard digit < 10 else { throw JSONError(reason: .badNumber, offset: index) }
      let (product, o1) = value.multipliedReportingOverflow(by: 10)
      let (sum, o2) = product.addingReportingOverflow(UInt64(digit))
      guard !o1, !o2 else { throw JSONError(reason: .decimal(.overflow), offset: slice.offset) }
      value = sum
    }
    return value
  }

  /// Reads a decimal number, bare or in quotes, as a count of 10^-`scale`. Exact or an error; see `DecimalText`.
  @inlinable
  package mutating func decimal(_ scale: DecimalScale) throws(JSONError) -> Int64 {
    if let value = shortDecimal(scale) { return value }
    return try longDecimal(scale: scale.digits)
  }

  @inlinable
  package mutating func decimal(scale: UInt8) throws(JSONError) -> Int64 { try decimal(DecimalScale(scale)) }

  @usableFromInline @inline(never)
  mutating func longDecimal(scale: UInt8) throws(JSONError) -> Int64 {
    let slice = try numberOrString()
    do throws(DecimalError) {
      return try DecimalText.parse(text(slice), scale: scale)
    } catch {
      throw JSONError(reason: .decimal(error), offset: slice.offset)
    }
  }

  /// Reads a decimal number, bare or in quotes, at the scale its text has, trailing zeros dropped.
  @inlinable
  package mutating func decimal64() throws(JSONError) -> Decimal64 {
    if let value = shortDecimal64() { return value }
    return try longDecimal64()
  }

  @usableFromInline @inline(never)
  mutating func longDecimal64() throws(JSONError) -> Decimal64 {
    let slice = try numberOrString()
    do throws(DecimalError) {
      return try DecimalText.parse(text(slice))
    } catch {
      throw JSONError(reason: .decimal(error), offset: slice.offset)
    }
  }

  /// Reads a number and returns it if it is whole and fits; nil for every other number. O(length).
  /// - Throws: where no number is next, or a malformed one.
  @inlinable
  package mutating func wholeNumber() throws(JSONError) -> Int64? {
    skipWhitespace()
    if position < length, byte(position) != UInt8(ascii: "\""), let value = shortInt64() {
      return value
    }
    return try longWholeNumber()
  }

  @usableFromInline @inline(never)
  mutating func longWholeNumber() throws(JSONError) -> Int64? {
    let slice = try number()
    return try? DecimalText.parse(text(slice), scale: 0)
  }

  @inlinable
  mutating func numberOrString() throws(JSONError) -> JSONSlice {
    skipWhitespace()
    guard position < length else { throw failure(position) }
    return byte(position) == UInt8(ascii: "\"") ? try string() : try number()
  }

  /// Reads `true` or `false`.
  @inlinable
  package mutating func bool() throws(JSONError) -> Bool {
    skipWhitespace()
    guard position < length else { throw failure(position) }
    if byte(position) == UInt8(ascii: "t") {
      try word("true")
      return true
    }
    try word("false")
    return false
  }

  /// Reads `null` if it is next, and says whether it was.
  @inlinable
  package mutating func null() throws(JSONError) -> Bool {
    skipWhitespace()
    guard position < length, byte(position) == UInt8(ascii: "n") else { return false }
    try word("null")
    return true
  }

  @inlinable
  mutating func word(_ word: StaticString) throws(JSONError) {
    let count = word.utf8CodeUnitCount
    for index in 0..<count {
      guard position < length, byte(position) == word.utf8Start[index] else { throw failure(position) }
      position &+= 1
    }
    isFirst = false
  }

  /// Checks that nothing but white space follows.
  @inlinable
  package mutating func end() throws(JSONError) {
    skipWhitespace()
    guard position == length else { throw JSONError(reason: .trailingBytes, offset: position) }
  }

  /// The bytes of a slice, as they stand in the input.
  @inlinable
  @_lifetime(borrow self)
  package func text(_ slice: JSONSlice) -> RawSpan {
    _overrideLifetime(RawSpan(_unsafeStart: start + slice.offset, byteCount: slice.count), borrowing: self)
  }

  /// Whether a slice without escapes has exactly the bytes of `literal`. O(length).
  @inlinable @inline(always)
  package func equals(_ slice: JSONSlice, _ literal: StaticString) -> Bool {
    guard slice.count == literal.utf8CodeUnitCount, !slice.isEscaped else { return false }
    return SWAR.same(start + slice.offset, UnsafeRawPointer(literal.utf8Start), count: slice.count)
  }
}
