import Bytes

/// A client's message in Binance's protocol of market streams.
struct BinanceRequest: Equatable {
  enum Method: String {
    case subscribe = "SUBSCRIBE"
    case unsubscribe = "UNSUBSCRIBE"
    case list = "LIST_SUBSCRIPTIONS"
    case setProperty = "SET_PROPERTY"
    case getProperty = "GET_PROPERTY"
  }

  var method: Method
  /// The names of streams.
  var names: [String] = []
  /// Of `SET_PROPERTY`: the value of `combined`.
  var isCombined: Bool?
  /// The id as JSON: a number, a text or null.
  var id = "null"

  /// The most streams of a connection.
  static let streamLimit = 1_024
  private static let idLimit = 64

  struct Problem: Error, Equatable {
    var code: Int64
    var words: String
    var id = "null"
  }

  static func parse(_ message: RawSpan) throws(Problem) -> BinanceRequest {
    var json = JSONScanner(message)
    var request = BinanceRequest(method: .list)
    var method: String?
    do throws(JSONError) {
      try json.objectStart()
      while let key = try json.nextKey() {
        if json.equals(key, "method"), json.peek() == .string {
          let text = try json.string()
          method = try json.decoded(text)
        } else if json.equals(key, "id") {
          let kind = json.peek()
          let slice = try json.rawValue()
          if kind == .number || kind == .string, slice.count <= idLimit {
            request.id = json.text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
          }
        } else if json.equals(key, "params"), json.peek() == .array {
          try request.readParameters(&json)
        } else {
          try json.skipValue()
        }
      }
      try json.end()
    } catch {
      throw Problem(code: 3, words: "Invalid JSON", id: request.id)
    }
    guard let method, let known = Method(rawValue: method) else {
      throw Problem(code: 2, words: "Invalid request: unknown method", id: request.id)
    }
    request.method = known
    return request
  }

  private mutating func readParameters(_ json: inout JSONScanner) throws(JSONError) {
    try json.arrayStart()
    while try json.nextElement() {
      switch json.peek() {
      case .string:
        let text = try json.string()
        let name = try json.decoded(text)
        if names.count <= Self.streamLimit { names.append(name) }
      case .bool: isCombined = try json.bool()
      default: try json.skipValue()
      }
    }
  }
}
