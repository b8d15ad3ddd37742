import Bytes

/// A client's request.
struct KuCoinRequest {
  /// Symbols of one request; further ones are ignored.
  static let symbolLimit = 1_000

  var id = ""
  var type = ""
  var action = ""
  var channel = ""
  var tradeType = ""
  var symbol = ""
  var symbols: [String] = []
  var depth = ""

  /// Nil if there is no such channel, or `obu` at no such depth.
  var parsedChannel: KuCoinSubscription.Channel? {
    switch (channel, depth) {
    case ("obu", "increment@10ms"): .book
    case ("obu", "1"): .window(depth: 1)
    case ("obu", "5"): .window(depth: 5)
    case ("obu", "50"): .window(depth: 50)
    case ("trade", _): .trades
    case ("ticker", _): .ticker
    default: nil
    }
  }

  mutating func read(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "id") {
        id = try json.decoded(try json.string())
      } else if json.equals(key, "type") {
        type = try json.decoded(try json.string())
      } else if json.equals(key, "action") {
        action = try json.decoded(try json.string())
      } else if json.equals(key, "channel") {
        channel = try json.decoded(try json.string())
      } else if json.equals(key, "tradeType") {
        tradeType = try json.decoded(try json.string())
      } else if json.equals(key, "symbol") {
        symbol = try json.decoded(try json.string())
      } else if json.equals(key, "depth") {
        depth = try json.decoded(try json.string())
      } else if json.equals(key, "symbols"), json.peek() == .array {
        try json.arrayStart()
        while try json.nextElement() {
          let name = try json.decoded(try json.string())
          if symbols.count < Self.symbolLimit { symbols.append(name) }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}

/// One topic.
struct KuCoinSubscription: Hashable {
  enum Channel: Hashable {
    /// `obu` at depth `increment@10ms`.
    case book
    /// `obu` of 1, 5 or 50 levels, whole each time.
    case window(depth: Int)
    case trades
    case ticker
  }
  let channel: Channel
  let instrument: Int
}
