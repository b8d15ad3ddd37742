import Bytes

/// A client's request.
struct OKXRequest {
  /// Arguments of one request; further ones are ignored.
  static let argumentLimit = 1_000

  var id = ""
  var operation = ""
  var arguments: [(channel: String, name: String)] = []

  mutating func read(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "op") {
        operation = try json.decoded(try json.string())
      } else if json.equals(key, "id") {
        id = try json.decoded(try json.string())
      } else if json.equals(key, "args") {
        try json.arrayStart()
        while try json.nextElement() {
          var channel = ""
          var name = ""
          try json.objectStart()
          while let key = try json.nextKey() {
            if json.equals(key, "channel") {
              channel = try json.decoded(try json.string())
            } else if json.equals(key, "instId") {
              name = try json.decoded(try json.string())
            } else {
              try json.skipValue()
            }
          }
          if arguments.count < Self.argumentLimit { arguments.append((channel, name)) }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}
