import Bytes

/// A client's message in Kraken's WebSocket protocol v2.
struct KrakenRequest: Equatable {
  enum Method: String { case subscribe, unsubscribe, ping }

  var method: Method
  var channelName = ""
  var symbols: [String] = []
  var depth: Int64?
  var interval: Int64?
  var sendsSnapshot = true
  /// Of `ticker`: `bbo` or `trades`.
  var trigger: String?
  var id: Int64?

  /// The most symbols of one request.
  static let symbolLimit = 1_000

  /// Why a message is no request, in Kraken's words where it has some.
  struct Problem: Error, Equatable {
    var words: String
    var method: String?
    var id: Int64?
  }

  static func parse(_ message: RawSpan) throws(Problem) -> KrakenRequest {
    var json = JSONScanner(message)
    var method: String?
    var request = KrakenRequest(method: .ping)
    do throws(JSONError) {
      try json.objectStart()
      while let key = try json.nextKey() {
        if json.equals(key, "method"), json.peek() == .string {
          let text = try json.string()
          method = try json.decoded(text)
        } else if json.equals(key, "req_id"), json.peek() == .number {
          request.id = try json.int64()
        } else if json.equals(key, "params"), json.peek() == .object {
          try request.readParameters(&json)
        } else {
          try json.skipValue()
        }
      }
      try json.end()
    } catch {
      throw Problem(words: "Malformed request", method: method, id: request.id)
    }
    guard let method else { throw Problem(words: "Missing field: 'method'", id: request.id) }
    guard let known = Method(rawValue: method) else {
      throw Problem(
        words: "Unsupported method: '\(method.prefix(40))'", method: String(method.prefix(40)), id: request.id)
    }
    request.method = known
    return request
  }

  private mutating func readParameters(_ json: inout JSONScanner) throws(JSONError) {
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "channel"), json.peek() == .string {
        let text = try json.string()
        channelName = try json.decoded(text)
      } else if json.equals(key, "symbol"), json.peek() == .array {
        try json.arrayStart()
        while try json.nextElement() {
          let text = try json.string()
          let symbol = try json.decoded(text)
          if symbols.count < Self.symbolLimit { symbols.append(symbol) }
        }
      } else if json.equals(key, "depth"), json.peek() == .number {
        depth = try json.int64()
      } else if json.equals(key, "interval"), json.peek() == .number {
        interval = try json.int64()
      } else if json.equals(key, "snapshot"), json.peek() == .bool {
        sendsSnapshot = try json.bool()
      } else if json.equals(key, "event_trigger"), json.peek() == .string {
        let text = try json.string()
        trigger = try json.decoded(text)
      } else {
        try json.skipValue()
      }
    }
  }
}
