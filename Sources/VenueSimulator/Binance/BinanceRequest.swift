import Bytes

/// A client's request on a Binance stream connection.
struct BinanceRequest {
  /// Why a request was refused, with the code Binance has for it.
  struct Refusal: Error, Equatable {
    let code: Int
    let message: String
  }

  /// Parameters of one request: a little above the streams of a connection, so that the limit can be seen.
  static let parameterLimit = 2_048

  var method = ""
  /// The text of `id` as sent: a number, a string with its quotes, or `null`.
  var id = "null"
  var parameters: [String] = []
  /// The value that `SET_PROPERTY` gives.
  var flag: Bool?

  init() {}

  /// Reads a request; what could be read of a bad one (its id) remains.
  mutating func read(_ text: RawSpan) throws(Refusal) {
    do throws(JSONError) {
      try scan(text)
    } catch {
      throw Refusal(code: 3, message: "Invalid JSON: cannot parse at byte \(error.offset)")
    }
  }

  private mutating func scan(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "method") {
        method = try json.decoded(try json.string())
      } else if json.equals(key, "id") {
        let slice = try json.rawValue()
        if slice.count <= 38 { id = json.text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
      } else if json.equals(key, "params") {
        try json.arrayStart()
        while try json.nextElement() {
          if json.peek() == .bool {
            flag = try json.bool()
          } else {
            let name = try json.decoded(try json.string())
            if parameters.count < Self.parameterLimit { parameters.append(name) }
          }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}
