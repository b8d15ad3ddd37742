import Bytes

/// A client's JSON-RPC request.
struct DeribitRequest {
  /// Channels of one request; further ones are ignored.
  static let channelLimit = 1_000

  /// The text of `id`, which the answer repeats.
  var id: String?
  var method = ""
  var channels: [String] = []
  var interval: Int64?

  init(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "method") {
        method = try json.decoded(try json.string())
      } else if json.equals(key, "id"), json.peek() == .number {
        id = String(try json.int64())
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
      if json.equals(key, "channels"), json.peek() == .array {
        try json.arrayStart()
        while try json.nextElement() {
          let channel = try json.decoded(try json.string())
          if channels.count < Self.channelLimit { channels.append(channel) }
        }
      } else if json.equals(key, "interval"), json.peek() == .number {
        interval = try json.int64()
      } else {
        try json.skipValue()
      }
    }
  }
}

/// A channel that there is.
struct DeribitChannel {
  enum Kind: String { case book, trades, quote, ticker, platform = "platform_state" }
  let kind: Kind
  let instrument: Int
  /// As it was asked for, which messages repeat.
  let name: String
  /// Whether messages come about once a second (`agg2`) instead of every 100 ms.
  let isSlow: Bool
}
