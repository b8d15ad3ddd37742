import Bytes
import MarketData

/// A client's message: `{"method":"subscribe","subscription":{…}}`, `{"method":"post","id":1,"request":{…}}` or `{"method":"ping"}`.
struct HyperliquidRequest {
  var method = ""
  /// Of the subscription, or of the payload of a post.
  var type = ""
  var coin = ""
  var isFast = false
  /// Whether an aggregated book is asked for.
  var isAggregated = false
  var id: Int64 = 0
  /// Of candles.
  var interval = ""
  var start = Timestamp(rawValue: 0)
  var end: Timestamp?
  /// The subscription's text, which errors repeat.
  var text = ""

  init(_ message: RawSpan) throws(JSONError) {
    var json = JSONScanner(message)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "method") {
        method = try json.decoded(try json.string())
      } else if json.equals(key, "id"), json.peek() == .number {
        id = try json.int64()
      } else if json.equals(key, "subscription"), json.peek() == .object {
        let slice = try json.rawValue()
        text = json.text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        var inner = JSONScanner(json.text(slice))
        try readSubject(&inner)
      } else if json.equals(key, "request"), json.peek() == .object {
        try json.objectStart()
        while let key = try json.nextKey() {
          if json.equals(key, "payload"), json.peek() == .object {
            try readSubject(&json)
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

  /// The body of a POST: `{"type":"l2Book","coin":"BTC"}`.
  init(info body: RawSpan) throws(JSONError) {
    var json = JSONScanner(body)
    try readSubject(&json)
    try json.end()
  }

  private mutating func readSubject(_ json: inout JSONScanner) throws(JSONError) {
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "type") {
        type = try json.decoded(try json.string())
      } else if json.equals(key, "coin") {
        coin = try json.decoded(try json.string())
      } else if json.equals(key, "req"), json.peek() == .object {
        // Of candles alone.
        try readSubject(&json)
      } else if json.equals(key, "interval") {
        interval = try json.decoded(try json.string())
      } else if json.equals(key, "startTime") {
        start = Self.time(try json.int64())
      } else if json.equals(key, "endTime") {
        end = Self.time(try json.int64())
      } else if json.equals(key, "fast"), json.peek() == .bool {
        isFast = try json.bool()
      } else if json.equals(key, "nSigFigs") || json.equals(key, "mantissa") {
        isAggregated = json.peek() == .number
        try json.skipValue()
      } else {
        try json.skipValue()
      }
    }
  }

  /// Of milliseconds, kept between 1970 and 2242.
  private static func time(_ milliseconds: Int64) -> Timestamp {
    Timestamp(milliseconds: min(max(milliseconds, 0), (1 << 53) / 1_000))
  }
}
