import Bytes

/// A client's request.
struct GateRequest {
  /// Names in one request; further ones are ignored.
  static let payloadLimit = 1_000

  var time: Int64 = 0
  var id: Int64?
  var channel = ""
  var event = ""
  var payload: [String] = []

  mutating func read(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "time") {
        time = try json.int64()
      } else if json.equals(key, "id"), json.peek() == .number {
        id = try json.int64()
      } else if json.equals(key, "channel") {
        channel = try json.decoded(try json.string())
      } else if json.equals(key, "event") {
        event = try json.decoded(try json.string())
      } else if json.equals(key, "payload"), json.peek() == .array {
        try json.arrayStart()
        while try json.nextElement() {
          let name = try json.decoded(try json.string())
          if payload.count < Self.payloadLimit { payload.append(name) }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}

/// One stream.
struct GateSubscription: Hashable {
  enum Channel: Hashable {
    /// `spot.obu` of 50 or 400 levels.
    case stream(depth: Int)
    /// `spot.order_book_update`, every 20 or 100 ms.
    case updates(isFast: Bool)
    case trades
    case quotes
    case tickers
  }
  let channel: Channel
  let instrument: Int
}
