import Bytes

/// A client's request.
struct BybitRequest {
  /// Topics of one request; further ones are ignored.
  static let topicLimit = 1_000

  var id = ""
  var operation = ""
  var topics: [String] = []

  mutating func read(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "op") {
        operation = try json.decoded(try json.string())
      } else if json.equals(key, "req_id") {
        // Documented as text; clients send numbers, too, and get them back as text.
        if json.peek() == .number {
          id = json.text(try json.number()).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        } else {
          id = try json.decoded(try json.string())
        }
      } else if json.equals(key, "args") {
        try json.arrayStart()
        while try json.nextElement() {
          let topic = try json.decoded(try json.string())
          if topics.count < Self.topicLimit { topics.append(topic) }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}
