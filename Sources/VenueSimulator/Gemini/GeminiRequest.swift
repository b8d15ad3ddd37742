import Bytes

/// A client's request to Gemini.
struct GeminiRequest {
  /// Streams of one request; further ones are ignored.
  static let streamLimit = 5_000

  /// As it stood, to be echoed.
  var id = "null"
  /// In lower case.
  var method = ""
  var streams: [String] = []
  /// Of `depth`.
  var symbol = ""
  var limit = 100

  init(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "id") {
        let slice = try json.rawValue()
        id = json.text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      } else if json.equals(key, "method") {
        method = try json.decoded(try json.string()).lowercased()
      } else if json.equals(key, "params"), json.peek() == .array {
        try json.arrayStart()
        while try json.nextElement() {
          let stream = try json.decoded(try json.string())
          if streams.count < Self.streamLimit { streams.append(stream) }
        }
      } else if json.equals(key, "params"), json.peek() == .object {
        try json.objectStart()
        while let name = try json.nextKey() {
          if json.equals(name, "symbol") {
            symbol = try json.decoded(try json.string()).lowercased()
          } else if json.equals(name, "limit") {
            limit = Int(try json.int64())
          } else {
            try json.skipValue()
          }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}
