import Bytes

/// A request for server-sent events, translated to the messages that a WebSocket client would send. So no other part of
/// the gateway knows about the URL.
package struct EventsRequest: Sendable {
  /// The most elements of one request.
  package static let itemLimit = 100

  /// The messages, as if received from the client in this order.
  package let messages: [[UInt8]]
  /// The beginning of the ids of its events.
  package let digest: String
  let resumed: [EventPositions.Position]

  /// - Parameters:
  ///   - streams: the values of `streams`.
  ///   - heartbeat: the value of `heartbeat_s`.
  ///   - lastEventID: the id of the last received event, if the client reconnects. An id that is unreadable, or of
  ///     other streams, is ignored: a client that reconnects by itself could not correct it.
  /// - Throws: the error that a WebSocket client would get.
  package init(streams: [String], heartbeat: String? = nil, lastEventID: String? = nil) throws(ProtocolError) {
    guard !streams.isEmpty else {
      throw ProtocolError(.badRequest, "`streams` is missing", hint: "/v1/events?streams=pulse:kraken:BTC-USD")
    }
    guard streams.count <= Self.itemLimit else {
      throw ProtocolError(
        .outOfRange, "\(streams.count) elements; the limit is \(Self.itemLimit)",
        hint: "name several symbols in one: pulse:kraken:BTC-USD,kraken:ETH-USD")
    }
    var items: [EventItem] = []
    for text in streams { items.append(try EventItem(text[...])) }
    let digest = Self.digest(of: streams)
    self.digest = digest
    var hello = ByteBuffer(capacity: 256)
    hello.append("{\"op\":\"hello\"")
    if let heartbeat {
      hello.append(",\"heartbeat_s\":")
      if let seconds = Int32(heartbeat) { hello.append(integer: Int64(seconds)) } else { hello.append(json: heartbeat) }
    }
    resumed = lastEventID.flatMap { EventPositions.read($0, digest: digest) } ?? []
    if !resumed.isEmpty {
      hello.append(",\"resume\":{\"streams\":[")
      for (index, position) in resumed.enumerated() {
        if index > 0 { hello.append(UInt8(ascii: ",")) }
        position.append(to: &hello)
      }
      hello.append("]}")
    }
    hello.append("}")
    var subscribe = ByteBuffer(capacity: 256)
    subscribe.append("{\"op\":\"subscribe\",\"streams\":[")
    for (index, item) in items.enumerated() {
      subscribe.append(index == 0 ? "{" : ",{")
      item.append(to: &subscribe)
      subscribe.append("}")
    }
    subscribe.append("]}")
    let messages = [hello.takeBytes(), subscribe.takeBytes()]
    self.messages = messages
    for message in messages {
      let parsed = RequestParser.parse(message.span.bytes)
      if let error = parsed.error { throw error }
      // Reports mistakes in the text of an element. Unknown symbols are reported in the stream.
      if case .subscribe(let items) = parsed.request, let error = items.lazy.compactMap(\.error).first { throw error }
    }
  }

  /// Sixteen digits of a digest of the request: positions of other requests are not valid.
  private static func digest(of streams: [String]) -> String {
    var tag = ContentTag(run: "events")
    for text in streams { tag.add(text) }
    return String(tag.value, radix: 16)
  }
}
