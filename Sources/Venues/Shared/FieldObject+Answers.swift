import Bytes

/// Answers to requests, which come now and then: each is read again, by the names of its fields.
extension FieldObject {
  /// All of a message. O(bytes).
  @_lifetime(copy message)
  init(_ message: RawSpan, _ title: StaticString) throws(FeedError) {
    var reader = FieldReader(message)
    try self.init(&reader, title)
  }

  /// The topic that two texts name, its channel and its market; nil where one of them is not followed.
  func topic(
    channel: StaticString, symbol: StaticString, _ facts: DialectFacts, _ instruments: InstrumentTable
  ) -> Topic? {
    guard let name = text(channel), let index = facts.channels.firstIndex(where: { $0.name == name }),
      let position = text(symbol).flatMap(instruments.index(named:))
    else { return nil }
    return Topic(index: position, channel: index)
  }

  /// Whether a field is there, and not null.
  func has(_ field: StaticString) -> Bool { value(field) { (value) throws(FeedError) in try !value.null() } ?? false }

  /// A request's number, in quotes or not.
  func id(_ field: StaticString) -> Int? { integer(field).flatMap { Int(exactly: $0) } }
}
