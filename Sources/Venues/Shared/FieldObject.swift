import Bytes
import MarketData

/// An object of which each field is read by its name when it is asked for, wherever it stands. Of a field that stands
/// twice the last one counts.
///
/// For lists and answers, which are read now and then: a field is looked for among all of them. A value is nil where
/// the field is missing, or not of that kind.
struct FieldObject: ~Copyable, ~Escapable {
  private let reader: FieldReader
  private let fields: [(key: JSONSlice, value: FieldSlice)]
  /// What the object is called in errors.
  let title: StaticString

  /// Passes over the object that comes next. O(bytes).
  @_lifetime(copy reader)
  init(_ reader: inout FieldReader, _ title: StaticString) throws(FeedError) {
    var fields: [(key: JSONSlice, value: FieldSlice)] = []
    fields.reserveCapacity(32)
    try reader.objectStart()
    while let key = try reader.nextKey() { fields.append((key, try reader.rawValue(title))) }
    self.reader = reader.again()
    self.fields = fields
    self.title = title
  }

  /// A reader of a field's value. O(fields).
  @_lifetime(copy self)
  func reader(_ field: StaticString) -> FieldReader? {
    guard let slice = fields.last(where: { reader.equals($0.key, field) })?.value else { return nil }
    return reader.reader(slice)
  }

  /// What `read` makes of a field's value; nil where it throws.
  func value<Value>(
    _ field: StaticString, _ read: (inout FieldReader) throws(FeedError) -> Value?
  ) -> Value? {
    guard var value = reader(field) else { return nil }
    return (try? read(&value)) ?? nil
  }

  /// A text; nil also where it is empty.
  func text(_ field: StaticString) -> String? {
    let text = value(field) { (value) throws(FeedError) in
      value.peek() == .string ? try value.decodedString(field) : nil
    }
    return text == "" ? nil : text
  }

  /// A text that the object must have.
  func name(_ field: StaticString) throws(FeedError) -> String {
    guard let text = text(field) else { throw FeedError.missing(field, in: title) }
    return text
  }

  /// Whether a text is one of these.
  func says(_ field: StaticString, _ words: StaticString...) -> Bool? {
    value(field) { (value) throws(FeedError) in
      guard value.peek() == .string else { return nil }
      let text = try value.string(field)
      return words.contains { value.equals(text, $0) }
    }
  }

  func flag(_ field: StaticString) -> Bool? { value(field) { (value) throws(FeedError) in try value.bool(field) } }

  /// A number, in quotes or not, without zeros at its end.
  func number(_ field: StaticString) -> Decimal64? {
    value(field) { (value) throws(FeedError) in try value.statistic(field) }
  }

  /// A whole number, in quotes or not.
  func integer(_ field: StaticString) -> Int64? {
    value(field) { (value) throws(FeedError) in try value.int64(field) }
  }

  /// A number of digits after the point.
  func digits(_ field: StaticString) -> UInt8? { integer(field).map { UInt8(clamping: $0) } }

  /// A step of prices or sizes: a number above zero, with no more digits than a scale may have.
  func step(_ field: StaticString) -> Decimal64? {
    number(field).flatMap { $0.mantissa > 0 && $0.scale <= InstrumentTable.widestScale ? $0 : nil }
  }

  /// How many digits a number in quotes is printed with after the point.
  func printedScale(_ field: StaticString) -> UInt8? {
    value(field) { (value) throws(FeedError) in
      guard value.peek() == .string else { return nil }
      return DecimalText.printedScale(value.text(try value.string(field)))
    }
  }

  /// The product of a volume in base units and a price, which makes it one in the quote currency.
  func product(_ volume: StaticString, _ price: StaticString) -> Decimal64? {
    number(volume).flatMap { volume in number(price).flatMap { volume.product(with: $0) } }
  }

  /// What `read` makes of the elements of an array, up to the first that it throws at.
  func elements<Element>(
    _ field: StaticString, _ read: (inout FieldReader) throws(FeedError) -> Element?
  ) -> [Element] {
    var elements: [Element] = []
    _ = value(field) { (value) throws(FeedError) -> Bool? in
      try value.arrayStart()
      while try value.nextElement() { if let element = try read(&value) { elements.append(element) } }
      return nil
    }
    return elements
  }

  // MARK: Objects in it

  @_lifetime(copy self)
  func object(_ field: StaticString) throws(FeedError) -> FieldObject? {
    guard var value = reader(field) else { return nil }
    return value.peek() == .object ? try FieldObject(&value, title) : nil
  }

  /// What `read` makes of each object of an array, with its index; without those that it answers nil for.
  /// - Throws: where there is no array; what `read` throws.
  func objects<Element>(
    _ field: StaticString, _ read: (borrowing FieldObject, _ index: Int) throws(FeedError) -> Element?
  ) throws(FeedError) -> [Element] {
    guard var value = reader(field) else { throw FeedError.missing(field, in: title) }
    value.field = field
    return try value.list { (reader, index) throws(FeedError) in try read(try FieldObject(&reader, field), index) }
  }

  /// Reads each object in an object of this one, with its name.
  /// - Throws: where there is no such object; what `read` throws.
  func namedObjects(
    _ field: StaticString, _ read: (String, borrowing FieldObject) throws(FeedError) -> Void
  ) throws(FeedError) {
    guard var value = reader(field) else { throw FeedError.missing(field, in: title) }
    value.field = field
    try value.objectStart()
    while let key = try value.nextKey() { try read(value.plainText(key), try FieldObject(&value, field)) }
  }
}

extension Decimal64 {
  /// One of the last of so many digits after the point; nil beyond what a scale may be.
  init?(lastOf digits: UInt8) {
    guard digits <= InstrumentTable.widestScale else { return nil }
    self.init(mantissa: 1, scale: digits)
  }
}
