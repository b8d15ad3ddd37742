import Bytes
import MarketData

/// A piece of JSON, written as it looks: `#"{"s":"\#(name)","u":\#(number)}"#`.
///
/// What is interpolated is appended as it stands; `json:` puts text in quotes and escapes it, `time:` and the like say
/// the unit.
struct JSONText: ExpressibleByStringInterpolation {
  /// Holds the buffer, which cannot be copied.
  final class Storage {
    var buffer: ByteBuffer
    init(capacity: Int) { buffer = ByteBuffer(capacity: capacity) }
    func append(to out: inout ByteBuffer) { out.append(buffer.unsafeBytes) }
    var shared: SharedBytes { SharedBytes(buffer.unsafeBytes) }
  }

  struct StringInterpolation: StringInterpolationProtocol {
    let storage: Storage

    init(literalCapacity: Int, interpolationCount: Int) {
      storage = Storage(capacity: literalCapacity + 24 * interpolationCount)
    }

    func appendLiteral(_ literal: StaticString) { storage.buffer.append(literal) }
    func appendInterpolation(_ text: StaticString) { storage.buffer.append(text) }
    func appendInterpolation(_ text: String) { storage.buffer.append(text) }
    func appendInterpolation(_ text: JSONText) { text.storage.append(to: &storage.buffer) }
    func appendInterpolation(_ text: JSONText?) { if let text { appendInterpolation(text) } }
    func appendInterpolation(_ number: some BinaryInteger) {
      if let signed = Int64(exactly: number) {
        storage.buffer.append(integer: signed)
      } else {
        storage.buffer.append(integer: UInt64(number))
      }
    }
    func appendInterpolation(_ number: Spelled) { number.append(to: &storage.buffer) }
    /// In quotes, escaped.
    func appendInterpolation(json text: String) { storage.buffer.append(json: text) }
    /// Milliseconds since 1970.
    func appendInterpolation(ms time: Timestamp) { storage.buffer.append(integer: time.rawValue / 1_000) }
    func appendInterpolation(seconds time: Timestamp) {
      storage.buffer.append(integer: time.rawValue / Microseconds.second)
    }
    /// `2026-08-26T15:16:16.637831Z`
    func appendInterpolation(rfc3339 time: Timestamp) { storage.buffer.append(rfc3339: time) }
    /// A version 4 UUID made from a number.
    func appendInterpolation(orderID number: Int64) { storage.buffer.append(orderID: UInt64(bitPattern: number)) }
    /// Names in quotes, with commas between.
    func appendInterpolation(names: some Sequence<String>) {
      storage.buffer.append(separated: names) { name, out in out.append(json: name) }
    }
  }

  let storage: Storage

  init(stringInterpolation: StringInterpolation) { storage = stringInterpolation.storage }
  init(stringLiteral literal: StaticString) {
    storage = Storage(capacity: literal.utf8CodeUnitCount)
    storage.buffer.append(literal)
  }

  /// What `body` writes.
  static func with(_ body: (inout ByteBuffer) -> Void) -> JSONText {
    let text: JSONText = ""
    body(&text.storage.buffer)
    return text
  }

  /// What each of `items` comes to, with commas between.
  static func list<Items: Sequence>(_ items: Items, _ body: (Items.Element) -> JSONText) -> JSONText {
    with { out in
      out.append(separated: items) { item, out in body(item).storage.append(to: &out) }
    }
  }

  /// The rows of an answer of candles, with commas between.
  static func rows(_ rows: CandleRows, _ spelling: Spelling, _ body: (SpelledCandle) -> JSONText) -> JSONText {
    let i = spelling.of(rows.state)
    return with { out in
      rows.append(to: &out) { candle, out in body(SpelledCandle(candle: candle, i: i)).storage.append(to: &out) }
    }
  }

  var shared: SharedBytes { storage.shared }
  var text: String { storage.buffer.description }
}

extension SimulatedResponse {
  init(status: Int = 200, fields: [(name: String, value: String)] = [], _ body: JSONText) {
    self.init(status: status, fields: fields, body: body.text)
  }
}

extension SimulatedSession {
  /// Sends one message.
  final func send(_ kind: SimulatedFrameKind, instrument: Int = -1, _ text: JSONText) {
    send(text.shared, kind, instrument: instrument)
  }

  /// Sends an answer, or a word of the venue's own.
  final func say(_ text: JSONText) { send(text.shared) }
}
