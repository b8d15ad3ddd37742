import Bytes
import MarketData

/// A `JSONScanner` whose errors say which field of a venue's message was wrong, and where.
struct FieldReader: ~Copyable, ~Escapable {
  var json: JSONScanner
  /// Where the scanned text begins in the message.
  let base: Int
  /// The field being read, for errors.
  var field: StaticString = "message"

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, base: Int = 0) {
    self.json = JSONScanner(bytes)
    self.base = base
  }

  /// Reads a value of `whole` that was passed over.
  @_lifetime(copy whole)
  private init(_ slice: FieldSlice, of whole: borrowing FieldReader) {
    self.json = JSONScanner(slice.slice, of: whole.json)
    self.base = slice.base
  }

  @_lifetime(copy other)
  private init(again other: borrowing FieldReader) {
    self.json = JSONScanner(again: other.json)
    self.base = other.base
  }

  /// Offset in the message of the next byte to be read.
  var offset: Int { base + json.offset }

  @inline(always)
  mutating func objectStart() throws(FeedError) {
    do throws(JSONError) { try json.objectStart() } catch { throw failure(error) }
  }

  @inline(always)
  mutating func nextKey() throws(FeedError) -> JSONSlice? {
    do throws(JSONError) { return try json.nextKey() } catch { throw failure(error) }
  }

  @inline(always)
  mutating func arrayStart() throws(FeedError) {
    do throws(JSONError) { try json.arrayStart() } catch { throw failure(error) }
  }

  @inline(always)
  mutating func nextElement() throws(FeedError) -> Bool {
    do throws(JSONError) { return try json.nextElement() } catch { throw failure(error) }
  }

  mutating func string(_ field: StaticString) throws(FeedError) -> JSONSlice {
    self.field = field
    do throws(JSONError) { return try json.string() } catch { throw failure(error) }
  }

  /// A string as text, escapes decoded; U+FFFD for what is not UTF-8. Allocates.
  mutating func decodedString(_ field: StaticString) throws(FeedError) -> String {
    let slice = try string(field)
    do throws(JSONError) { return try json.decoded(slice) } catch { throw failure(error) }
  }

  mutating func number(_ field: StaticString) throws(FeedError) -> JSONSlice {
    self.field = field
    do throws(JSONError) { return try json.number() } catch { throw failure(error) }
  }

  @inline(always)
  mutating func int64(_ field: StaticString) throws(FeedError) -> Int64 {
    self.field = field
    do throws(JSONError) { return try json.int64() } catch { throw failure(error) }
  }

  /// A number that is not in quotes; nil if it is not whole or beyond 64 bits.
  mutating func wholeNumber(_ field: StaticString) throws(FeedError) -> Int64? {
    self.field = field
    do throws(JSONError) { return try json.wholeNumber() } catch { throw failure(error) }
  }

  mutating func uint64(_ field: StaticString) throws(FeedError) -> UInt64 {
    self.field = field
    do throws(JSONError) { return try json.uint64() } catch { throw failure(error) }
  }

  mutating func decimal64(_ field: StaticString) throws(FeedError) -> Decimal64 {
    self.field = field
    do throws(JSONError) { return try json.decimal64() } catch { throw failure(error) }
  }

  /// A number that may be in quotes, or a text: as it stands.
  mutating func name(_ field: StaticString) throws(FeedError) -> JSONSlice {
    json.peek() == .string ? try string(field) : try number(field)
  }

  /// A moment as the venue writes it; nil for what is none, as null, the year 0001 and 1970 are.
  mutating func time(_ field: StaticString, _ clock: VenueClock) throws(FeedError) -> Timestamp? {
    self.field = field
    do throws(JSONError) {
      if try json.null() { return nil }
      switch clock {
      case .epoch: return VenueTime.epoch(try json.int64())
      case .nanoseconds: return VenueTime.nanoseconds(try json.int64())
      case .text:
        guard json.peek() == .string else {
          try json.skipValue()
          return nil
        }
        let slice = try json.string()
        return VenueTime.rfc3339(json.text(slice))
      }
    } catch {
      if case .decimal = error.reason { return nil }
      throw failure(error)
    }
  }

  /// A number of the venue's own statistics; nil if null or beyond 64 bits.
  mutating func statistic(_ field: StaticString) throws(FeedError) -> Decimal64? {
    self.field = field
    do throws(JSONError) {
      if try json.null() { return nil }
      return try json.decimal64()
    } catch {
      if case .decimal = error.reason { return nil }
      throw failure(error)
    }
  }

  mutating func bool(_ field: StaticString) throws(FeedError) -> Bool {
    self.field = field
    do throws(JSONError) { return try json.bool() } catch { throw failure(error) }
  }

  @inline(always)
  mutating func null() throws(FeedError) -> Bool {
    do throws(JSONError) { return try json.null() } catch { throw failure(error) }
  }

  @inline(always)
  mutating func skipValue() throws(FeedError) {
    do throws(JSONError) { try json.skipValue() } catch { throw failure(error) }
  }

  mutating func rawValue(_ field: StaticString) throws(FeedError) -> FieldSlice {
    self.field = field
    do throws(JSONError) {
      let slice = try json.rawValue()
      return FieldSlice(slice: slice, base: offset - slice.count)
    } catch {
      throw failure(error)
    }
  }

  /// The value that began at `start` of the scanned text and ends here.
  func slice(from start: Int) -> FieldSlice {
    FieldSlice(slice: json.slice(from: start), base: base + start)
  }

  mutating func end() throws(FeedError) {
    field = "message"
    do throws(JSONError) { try json.end() } catch { throw failure(error) }
  }

  mutating func peek() -> JSONKind? { json.peek() }

  @inline(__always)
  func equals(_ slice: JSONSlice, _ literal: StaticString) -> Bool { json.equals(slice, literal) }

  /// As `equals`, in capitals or not.
  func equalsInAnyCase(_ slice: JSONSlice, _ literal: StaticString) -> Bool {
    if equals(slice, literal) { return true }
    let count = literal.utf8CodeUnitCount
    guard slice.count == count else { return false }
    let bytes = json.text(slice)
    for index in 0..<count {
      let byte = bytes.unsafeLoad(fromUncheckedByteOffset: index, as: UInt8.self)
      let wanted = literal.utf8Start[index]
      let isLetter = wanted | 0x20 >= UInt8(ascii: "a") && wanted | 0x20 <= UInt8(ascii: "z")
      guard byte == wanted || (isLetter && byte | 0x20 == wanted | 0x20) else { return false }
    }
    return true
  }

  @_lifetime(borrow self)
  func text(_ slice: JSONSlice) -> RawSpan { json.text(slice) }

  /// A key as text; names of markets have no escapes. Allocates.
  func plainText(_ slice: JSONSlice) -> String {
    json.text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// A reader of a value that was passed over before.
  @_lifetime(copy self)
  func reader(_ slice: FieldSlice) -> FieldReader { FieldReader(slice, of: self) }

  /// A reader of the same text from its beginning, in which what was passed over is read.
  @_lifetime(copy self)
  func again() -> FieldReader { FieldReader(again: self) }

  /// Reads an array of arrays that begin with two texts each; what is none is left out. O(bytes).
  mutating func textPairs() throws(FeedError) -> [(String, String)] {
    try list { (reader, _) throws(FeedError) -> (String, String)? in
      guard reader.peek() == .array else {
        try reader.skipValue()
        return nil
      }
      let texts = try reader.list { (reader, _) throws(FeedError) -> String? in
        if reader.peek() == .string { return try reader.decodedString("name") }
        try reader.skipValue()
        return nil
      }
      return texts.count > 1 ? (texts[0], texts[1]) : nil
    }
  }

  @inline(never)
  func failure(_ error: JSONError) -> FeedError { FeedError(error, field: field, base: base) }
}

/// A value that was passed over, and where it stands in the message.
struct FieldSlice {
  let slice: JSONSlice
  let base: Int
}

extension FeedError {
  /// The scanner's error in the words of a log line. `base` is where the scanned text begins in the message.
  init(_ error: JSONError, field: StaticString, base: Int) {
    let index = "field \(field) at offset \(error.offset + base)"
    switch error.reason {
    case .decimal(let reason): self.init(.decimal, "\(index): \(Self.words(reason))")
    case .badNumber: self.init(.decimal, "\(index): not a number")
    case .unexpectedEnd: self.init(.json, "\(index): the text ends too early")
    case .unexpectedByte(let byte): self.init(.json, "\(index): unexpected byte 0x\(String(byte, radix: 16))")
    case .badEscape: self.init(.json, "\(index): bad escape")
    case .tooDeep: self.init(.json, "\(index): nested too deeply")
    case .trailingBytes: self.init(.json, "\(index): bytes after the end")
    }
  }

  static func words(_ error: DecimalError) -> String {
    switch error {
    case .malformed: "not a decimal number"
    case .overflow: "too large for 64 bits at the instrument's scale"
    case .tooPrecise(let needed): "has \(needed) digits after the point, more than can be kept"
    }
  }

  static func missing(_ field: StaticString, in what: StaticString) -> FeedError {
    FeedError(.shape, "\(what) without field \(field)")
  }
}
