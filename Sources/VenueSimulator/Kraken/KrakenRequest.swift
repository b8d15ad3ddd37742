import Bytes

/// A client's request in Kraken's v2 protocol.
struct KrakenRequest {
  /// Symbols of one request; further ones are ignored.
  static let symbolLimit = 1_000

  var method = ""
  /// The text of `req_id`, which the answer repeats.
  var id: String?
  var channel = ""
  var symbols: [String] = []
  var depth = 10
  var snapshot = true
  /// `event_trigger` is `bbo`.
  var isQuoteTriggered = false

  init() {}

  init(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "method") {
        method = try json.decoded(try json.string())
      } else if json.equals(key, "req_id") {
        id = String(try json.uint64())
      } else if json.equals(key, "params"), json.peek() == .object {
        try readParameters(&json)
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }

  private mutating func readParameters(_ json: inout JSONScanner) throws(JSONError) {
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "channel") {
        channel = try json.decoded(try json.string())
      } else if json.equals(key, "symbol") {
        try json.arrayStart()
        while try json.nextElement() {
          let symbol = try json.decoded(try json.string())
          if symbols.count < Self.symbolLimit { symbols.append(symbol) }
        }
      } else if json.equals(key, "depth") {
        depth = Int(try json.int64())
      } else if json.equals(key, "snapshot") {
        snapshot = try json.bool()
      } else if json.equals(key, "event_trigger") {
        isQuoteTriggered = try json.decoded(try json.string()) == "bbo"
      } else {
        try json.skipValue()
      }
    }
  }

  func appendID(to out: inout ByteBuffer) {
    guard let id else { return }
    out.append(#","req_id":"#)
    out.append(id)
  }
}
