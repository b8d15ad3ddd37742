import Bytes
import MarketData

/// The messages that do not belong to a stream.
enum Replies {
  /// `{"type":"…"` and the echoed `id`.
  static func begin(_ type: StaticString, id: String?, to out: inout ByteBuffer) {
    out.append("{\"type\":\"")
    out.append(type)
    out.append(UInt8(ascii: "\""))
    if let id {
      out.append(",\"id\":")
      out.append(id)
    }
  }

  /// `{"kraken":{"state":"live","indicator":"connected","age_ms":12},…}`
  static func appendFeeds(_ feeds: [FeedStatus], now: Timestamp, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "{"))
    var isFirst = true
    for feed in feeds {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      out.append(json: feed.venue)
      out.append(":{\"state\":\"")
      out.append(feed.state.rawValue)
      out.append("\",\"indicator\":\"")
      out.append(feed.state.indicator)
      out.append(UInt8(ascii: "\""))
      feed.source.append(to: &out)
      if let age = feed.ageMilliseconds(at: now) {
        out.append(",\"age_ms\":")
        out.append(integer: age)
      }
      out.append(UInt8(ascii: "}"))
    }
    out.append(UInt8(ascii: "}"))
  }

  /// The notice for a `lost` item. `count` is the number of lost messages, `events` the number of events in them.
  static func appendLost(_ item: QueuedItem, to out: inout ByteBuffer) {
    out.append("{\"type\":\"notice\",\"code\":\"lost\",\"stream\":")
    out.append(integer: UInt64(item.stream))
    out.append(",\"from_seq\":")
    out.append(integer: item.prev)
    out.append(",\"to_seq\":")
    out.append(integer: item.seq)
    out.append(",\"count\":")
    out.append(integer: item.seq - item.prev + 1)
    out.append(",\"events\":")
    out.append(integer: UInt64(item.events))
    out.append(UInt8(ascii: "}"))
  }

  static func appendError(_ error: ProtocolError, id: String?, to out: inout ByteBuffer) {
    begin("error", id: id, to: &out)
    out.append(UInt8(ascii: ","))
    error.append(to: &out, impact: ProtocolError.impact(of: error.code.rawValue))
    out.append(UInt8(ascii: "}"))
  }

  /// A subscription as replies describe it.
  struct Stream {
    var number: UInt32
    var key: StreamKey
    /// The smallest step between two prices; nil if the venue does not say.
    var priceIncrement: Decimal64?
    /// The same of each member of a group.
    var priceIncrements: [Decimal64?]
    var epoch: String
    var seq: UInt64
    /// `live`, or the state that prevents data.
    var state: String
    /// The stream that it replaces; 0: none.
    var from: UInt32
    /// Whether it continues where the client stopped; nil if the client sent no position.
    var isRecovered: Bool?
    /// The base time and digits of its binary records; nil: its messages are text.
    var scale: BinaryScale?
  }

  /// `{"stream":1,"channel":"pulse","symbol":…,"interval_ms":100,"price_increment":"0.01","epoch":"k7","seq":88,"state":"live"}`.
  static func appendStream(_ stream: Stream, to out: inout ByteBuffer) {
    let key = stream.key
    out.append("{\"stream\":")
    out.append(integer: UInt64(stream.number))
    if stream.from != 0 {
      out.append(",\"from\":")
      out.append(integer: UInt64(stream.from))
    }
    out.append(",\"channel\":\"")
    out.append(key.channel.rawValue)
    out.append(UInt8(ascii: "\""))
    if !key.symbol.isEmpty {
      out.append(",\"symbol\":")
      out.append(json: key.symbol)
    }
    if !key.group.isEmpty {
      for (index, symbol) in key.group.enumerated() {
        out.append(index == 0 ? ",\"group\":true,\"symbols\":[" : ",")
        out.append(json: symbol)
      }
      out.append(UInt8(ascii: "]"))
    }
    for parameter in key.channel.facts.parameters { parameter.append(key, to: &out) }
    out.append(",\"interval_ms\":")
    out.append(integer: UInt64(key.intervalMilliseconds))
    if let priceIncrement = stream.priceIncrement {
      out.append(",\"price_increment\":\"")
      out.append(priceIncrement)
      out.append(UInt8(ascii: "\""))
    }
    appendIncrements(stream.priceIncrements, to: &out)
    out.append(",\"epoch\":")
    out.append(json: stream.epoch)
    out.append(",\"seq\":")
    out.append(integer: stream.seq)
    out.append(",\"state\":\"")
    out.append(stream.state)
    out.append(UInt8(ascii: "\""))
    if let isRecovered = stream.isRecovered {
      out.append(isRecovered ? ",\"recovered\":true" : ",\"recovered\":false")
    }
    stream.scale?.append(to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// `,"price_increments":["0.01","0"]`, 0 where the venue does not say; nothing if none does.
  private static func appendIncrements(_ increments: [Decimal64?], to out: inout ByteBuffer) {
    guard increments.contains(where: { $0 != nil }) else { return }
    for (index, increment) in increments.enumerated() {
      out.append(index == 0 ? ",\"price_increments\":[\"" : ",\"")
      out.append(increment ?? Decimal64(mantissa: 0, scale: 0))
      out.append(UInt8(ascii: "\""))
    }
    out.append(UInt8(ascii: "]"))
  }

  static func appendFailure(_ failure: PendingRequest.Failure, to out: inout ByteBuffer) {
    out.append("{\"item\":")
    out.append(integer: UInt64(failure.item))
    if let channel = failure.channel {
      out.append(",\"channel\":")
      out.append(json: channel)
    }
    if let symbol = failure.symbol {
      out.append(",\"symbol\":")
      out.append(json: symbol)
    }
    out.append(",\"error\":{")
    failure.error.append(to: &out)
    out.append("}}")
  }
}
