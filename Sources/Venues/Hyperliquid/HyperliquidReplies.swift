import Bytes
import MarketData

/// Reading Hyperliquid's replies: to subscriptions, to requests over the socket, and refusals.
extension HyperliquidHandler {
  private static func channel(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Channel? {
    if reader.equals(name, "l2Book") { return .book }
    if reader.equals(name, "bbo") { return .quote }
    if reader.equals(name, "trades") { return .trades }
    return reader.equals(name, "activeAssetCtx") || reader.equals(name, "activeSpotAssetCtx") ? .context : nil
  }

  /// `{"method":"subscribe","subscription":{"type":"l2Book","coin":"BTC",…}}`
  func readReply(_ reader: inout FieldReader, now: Timestamp) throws(FeedError) {
    var channel: Channel?
    var place = -1
    var isSubscription = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "method"), reader.peek() == .string {
        isSubscription = reader.equals(try reader.string("method"), "subscribe")
      } else if reader.equals(key, "subscription"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "type"), reader.peek() == .string {
            channel = Self.channel(try reader.string("type"), reader)
          } else if reader.equals(key, "coin"), reader.peek() == .string {
            let slice = try reader.string("coin")
            place = table.find(reader.text(slice))
          } else {
            try reader.skipValue()
          }
        }
      } else {
        try reader.skipValue()
      }
    }
    if isSubscription, place >= 0 { acknowledged(place, channel, now: now) }
  }

  /// A text, with the subscription that it is about in it, or without.
  func readError(_ reader: inout FieldReader, now: Timestamp) throws(FeedError) {
    guard reader.peek() == .string else { throw FeedError(.shape, "error that is no text") }
    let message = try reader.decodedString("data")
    var place: Int?
    var channel: Channel?
    if let start = message.firstIndex(of: "{") {
      let bytes = Array(message[start...].utf8)
      place = Salvage.symbols(bytes.span.bytes, key: "\"coin\"", in: table).first
      for (name, kind) in [("l2Book", Channel.book), ("bbo", .quote), ("trades", .trades), ("AssetCtx", .context)]
      where message.contains(name) {
        channel = kind
      }
    }
    try refusedRequest(message, place: place, channel: channel, now: now)
  }

  /// `{"id":1,"response":{"type":"info","payload":{"type":"l2Book","data":{…}}}}`, told apart by what it says it is.
  func readPost(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var payload: FieldSlice?
    var isError = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      guard reader.equals(key, "response"), reader.peek() == .object else {
        try reader.skipValue()
        continue
      }
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "type"), reader.peek() == .string {
          isError = reader.equals(try reader.string("type"), "error")
        } else if reader.equals(key, "payload") {
          payload = try reader.rawValue("payload")
        } else {
          try reader.skipValue()
        }
      }
    }
    guard let payload else { throw FeedError.missing("payload", in: "post") }
    var value = reader.reader(payload)
    if isError || value.peek() != .object {
      let text = value.peek() == .string ? try value.decodedString("payload") : "no reason given"
      throw FeedError(.refused, "post: \(text)")
    }
    var type: JSONSlice?
    var data: FieldSlice?
    try value.objectStart()
    while let key = try value.nextKey() {
      if value.equals(key, "type"), value.peek() == .string {
        type = try value.string("type")
      } else if value.equals(key, "data") {
        data = try value.rawValue("data")
      } else {
        try value.skipValue()
      }
    }
    guard let type else { throw FeedError.missing("type", in: "payload") }
    guard let data else { throw FeedError.missing("data", in: "payload") }
    var answer = value.reader(data)
    if value.equals(type, "l2Book") {
      try readBook(&answer, now: now, isProbe: true, into: &batch)
    } else if value.equals(type, "meta") {
      received(perpetuals: try readPerpetuals(&answer), now: now, into: &batch)
    } else if value.equals(type, "spotMeta") {
      received(spots: try readSpots(&answer), now: now, into: &batch)
    } else if value.equals(type, "metaAndAssetCtxs") {
      received(perpetuals: try readWithContexts(&answer, isSpot: false), now: now, into: &batch)
    } else if value.equals(type, "spotMetaAndAssetCtxs") {
      received(spots: try readWithContexts(&answer, isSpot: true), now: now, into: &batch)
    } else {
      counts.ignored += 1
    }
  }
}
