import Bytes

/// What a client asks for: an element of `options`.
struct TardisOptions: Equatable {
  var exchange = ""
  /// Nil: all of the exchange.
  var symbols: [String]?
  var dataTypes: [String] = []
  var sendsDisconnects = false

  /// The most symbols and data types of an element.
  static let listLimit = 1_000
  /// The most elements. Each looks at all markets.
  static let elementLimit = 32

  struct Problem: Error, Equatable { let words: String }

  /// Reads an object or an array of them.
  static func parse(_ text: String) throws(Problem) -> [TardisOptions] {
    let bytes = Array(text.utf8)
    var json = JSONScanner(bytes.span.bytes)
    var all: [TardisOptions] = []
    do throws(JSONError) {
      if json.peek() == .array {
        try json.arrayStart()
        while try json.nextElement() {
          let options = try read(&json)
          if all.count < elementLimit { all.append(options) }
        }
      } else {
        all = [try read(&json)]
      }
      try json.end()
    } catch {
      throw Problem(words: "Error: options are no JSON, or not an object or a list of them")
    }
    guard !all.isEmpty else { throw Problem(words: "Error: options name no exchange") }
    return all
  }

  private static func read(_ json: inout JSONScanner) throws(JSONError) -> TardisOptions {
    var options = TardisOptions()
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "exchange"), json.peek() == .string {
        let text = try json.string()
        options.exchange = try json.decoded(text)
      } else if json.equals(key, "symbols"), json.peek() == .array {
        options.symbols = try list(&json)
      } else if json.equals(key, "dataTypes"), json.peek() == .array {
        options.dataTypes = try list(&json)
      } else if json.equals(key, "withDisconnectMessages"), json.peek() == .bool {
        options.sendsDisconnects = try json.bool()
      } else {
        try json.skipValue()
      }
    }
    return options
  }

  private static func list(_ json: inout JSONScanner) throws(JSONError) -> [String] {
    var list: [String] = []
    try json.arrayStart()
    while try json.nextElement() {
      let text = try json.string()
      let item = try json.decoded(text)
      if list.count < listLimit { list.append(item) }
    }
    return list
  }
}
