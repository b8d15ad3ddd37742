import Bytes
import Foundation

/// A value as messages hold it.
protocol MessageValue: Sendable {
  /// Reads the value; nil if it stands for none.
  static func read(_ json: inout JSONScanner) throws -> Self?
}

/// An object as messages hold it.
protocol MessageObject: MessageValue {
  static var format: MessageFormat<Self> { get }
}

extension MessageObject {
  static func read(_ json: inout JSONScanner) throws -> Self? { try format.read(&json) }
}

/// One of a few words.
protocol MessageWord: MessageValue, RawRepresentable<String> {}

extension MessageWord {
  static func read(_ json: inout JSONScanner) throws -> Self? { Self(rawValue: try json.word()) }
}

extension Optional: MessageValue where Wrapped: MessageValue {
  static func read(_ json: inout JSONScanner) throws -> Wrapped?? { .some(try Wrapped.read(&json)) }
}

extension AlertState: MessageWord {}
extension CandleSource: MessageWord {}
extension DeckDomain: MessageWord {}
extension DeckState: MessageWord {}
extension FeedIndicator: MessageWord {}
extension FeedState: MessageWord {}
extension Portfolio.Position.Side: MessageWord {}
extension PriceState: MessageWord {}
extension RateState: MessageWord {}
extension SparklineRange: MessageWord {}
extension TickerSource: MessageWord {}
extension Trade.Side: MessageWord {}

extension String: MessageValue {
  static func read(_ json: inout JSONScanner) throws -> String? { try json.word() }
}

extension Bool: MessageValue {
  static func read(_ json: inout JSONScanner) throws -> Bool? { try json.bool() }
}

extension Int: MessageValue {
  static func read(_ json: inout JSONScanner) throws -> Int? { Int(clamping: try json.int64()) }
}

extension Int64: MessageValue {
  static func read(_ json: inout JSONScanner) throws -> Int64? { try json.int64() }
}

extension UInt64: MessageValue {
  static func read(_ json: inout JSONScanner) throws -> UInt64? { try json.uint64() }
}

extension Date: MessageValue {
  /// In microseconds since 1970, UTC.
  static func read(_ json: inout JSONScanner) throws -> Date? { Date(microseconds: try json.int64()) }
}

extension Duration: MessageValue {
  /// In milliseconds.
  static func read(_ json: inout JSONScanner) throws -> Duration? { .milliseconds(try json.int64()) }
}

extension ExactDecimal: MessageValue {
  /// A decimal number, in quotes or bare, with its digits as they are; nil for `null`.
  static func read(_ json: inout JSONScanner) throws -> ExactDecimal? {
    if try json.null() { return nil }
    let offset = json.offset
    let slice = json.peek() == .string ? try json.string() : try json.number()
    if let value = json.text(slice).withUnsafeBytes({ ExactDecimal(short: $0) }) { return value }
    guard let value = ExactDecimal(try json.decoded(slice)) else { throw MessageError.notANumber(offset: offset) }
    return value
  }
}

/// Reading the parts of messages.
extension JSONScanner {
  /// A string with its escapes decoded.
  mutating func word() throws -> String {
    let slice = try string()
    return try decoded(slice)
  }

  /// Any value, as its text.
  mutating func valueText() throws -> String {
    let slice = try rawValue()
    return text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// A list of at most `limit` values, none of which is `null`.
  mutating func list<Element: MessageValue>(limit: Int = .max) throws -> [Element] {
    try list(limit: limit) { json in
      let offset = json.offset
      guard let element = try Element.read(&json) else { throw MessageError.notANumber(offset: offset) }
      return element
    }
  }

  /// What `read` makes of each of at most `limit` elements.
  mutating func list<Element>(limit: Int = .max, _ read: (inout JSONScanner) throws -> Element) throws -> [Element] {
    var elements: [Element] = []
    try arrayStart()
    while try nextElement() {
      guard elements.count < limit else { throw MessageError.tooMany(offset: offset) }
      elements.append(try read(&self))
    }
    return elements
  }

  /// What `read` makes of each value in an object, by name.
  mutating func map<Element>(_ read: (inout JSONScanner) throws -> Element) throws -> [String: Element] {
    var elements: [String: Element] = [:]
    try objectStart()
    while let key = try nextKey() {
      let name = try decoded(key)
      elements[name] = try read(&self)
    }
    return elements
  }
}
