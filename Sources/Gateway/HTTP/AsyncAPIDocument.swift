import Bytes
import HTTP1
import PubSub

/// `/asyncapi.json`: describes the stream as AsyncAPI 3.0. It is made from the tables with which requests are parsed
/// and messages are tested.
enum AsyncAPIDocument {
  /// The document, and its entity tag; the same for the life of the process.
  static let body: (bytes: [UInt8], tag: String) = {
    let bytes = make()
    var tag = ContentTag(run: "asyncapi")
    tag.add(bytes)
    return (bytes, EntityTag.text(tag))
  }()

  /// The document, or 304 if the client has it.
  static func answer(_ request: HTTPRequestHead, _ node: LoopNode) -> HTTPResponse {
    let (bytes, tag) = body
    if let held = EntityTag.match(request.fields.values("If-None-Match"), tag) { return .unchanged(held) }
    node.compressor.cache.keep(bytes, as: tag)
    return .json(bytes, tag: tag)
  }

  /// The names of messages: incoming ones by `op`, outgoing ones by `type`, and the two of each channel.
  private static var incoming: [String] { WireDescription.requests.map { "request.\($0.op)" } }
  private static var outgoing: [String] { WireDescription.messages.keys.sorted() + channelMessages }
  private static var channelMessages: [String] {
    ChannelName.allCases.flatMap { ["snapshot.\($0.rawValue)", "update.\($0.rawValue)"] }
  }

  static func make() -> [UInt8] {
    var out = ByteBuffer(capacity: 32_768)
    out.append("{\"asyncapi\":\"3.0.0\",\"info\":{\"title\":\"Tidegate\",\"version\":")
    out.append(json: TidegateVersion.current)
    out.append(",\"description\":\"The subprotocol tidegate.v1.json: one text frame is one JSON object. Prices and ")
    out.append("sizes are decimal strings, times are microseconds UTC.\"},\"defaultContentType\":\"application/json\",")
    out.append("\"channels\":{\"stream\":{\"address\":\"/v1/stream\",\"messages\":{")
    list(incoming + outgoing, to: &out) { name, out in
      out.append(json: name)
      out.append(":{\"$ref\":")
      out.append(json: "#/components/messages/\(name)")
      out.append(UInt8(ascii: "}"))
    }
    out.append("},\"bindings\":{\"ws\":{\"method\":\"GET\",\"bindingVersion\":\"0.1.0\"}}}},\"operations\":{")
    list(WireDescription.requests, to: &out) { request, out in
      out.append(json: request.op)
      out.append(":{\"action\":\"receive\",\"channel\":{\"$ref\":\"#/channels/stream\"},\"messages\":[")
      reference("request.\(request.op)", to: &out)
      out.append("],\"reply\":{\"channel\":{\"$ref\":\"#/channels/stream\"},\"messages\":[")
      reference(request.reply, to: &out)
      out.append(UInt8(ascii: ","))
      reference("error", to: &out)
      out.append("]}}")
    }
    out.append(",\"publish\":{\"action\":\"send\",\"channel\":{\"$ref\":\"#/channels/stream\"},\"messages\":[")
    list(["heartbeat", "notice"] + channelMessages, to: &out) { reference($0, to: &$1) }
    out.append("]}},\"components\":{\"messages\":{")
    appendRequests(to: &out)
    appendMessages(to: &out)
    appendChannels(to: &out)
    out.append(
      "},\"schemas\":{\"Item\":{\"type\":\"object\",\"required\":[\"channel\"],\"additionalProperties\":false,")
    out.append("\"properties\":{\"channel\":{\"enum\":[")
    list(ChannelName.allCases, to: &out) { $1.append(json: $0.rawValue) }
    out.append("]},\"symbols\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"interval_ms\":")
    out.append("{\"type\":\"integer\",\"minimum\":0,\"maximum\":60000}")
    for name in Set(WireDescription.channels.values.flatMap(\.parameters)).sorted() {
      out.append(UInt8(ascii: ","))
      out.append(json: name)
      out.append(":{}")
    }
    out.append("}}}}}\n")
    return out.takeBytes()
  }

  private static func appendRequests(to out: inout ByteBuffer) {
    for request in WireDescription.requests {
      out.append(json: "request.\(request.op)")
      out.append(":{\"payload\":{\"type\":\"object\",\"required\":[\"op\"],\"additionalProperties\":false,")
      out.append("\"properties\":{\"op\":{\"const\":")
      out.append(json: request.op)
      out.append("},\"id\":{\"type\":[\"integer\",\"string\"]}")
      for field in request.fields {
        out.append(UInt8(ascii: ","))
        out.append(json: field)
        let isList = field == "streams" && request.op == "subscribe"
        out.append(isList ? ":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/Item\"}}" : ":{}")
      }
      out.append("}}},")
    }
  }

  private static func appendMessages(to out: inout ByteBuffer) {
    for (type, members) in WireDescription.messages.sorted(by: { $0.key < $1.key }) {
      out.append(json: type)
      out.append(":{\"payload\":")
      object(["type"] + members, to: &out) { out in
        out.append("\"type\":{\"const\":")
        out.append(json: type)
        out.append(UInt8(ascii: "}"))
      }
      out.append("},")
    }
  }

  private static func appendChannels(to out: inout ByteBuffer) {
    list(ChannelName.allCases.flatMap { [($0, true), ($0, false)] }, to: &out) { kind, out in
      let (channel, isSnapshot) = kind
      let data = WireDescription.channels[channel]
      let type = isSnapshot ? "snapshot" : "update"
      out.append(json: "\(type).\(channel.rawValue)")
      out.append(":{\"payload\":")
      object(["type"] + (isSnapshot ? WireDescription.snapshot : WireDescription.update), to: &out) { out in
        out.append("\"type\":{\"const\":")
        out.append(json: type)
        out.append("},\"channel\":{\"const\":")
        out.append(json: channel.rawValue)
        out.append("},\"data\":")
        object((isSnapshot ? data?.snapshot : data?.update) ?? [], to: &out) { out in
          let options = isSnapshot ? [] : data?.options ?? []
          list(options, to: &out) { option, out in
            out.append(json: option.name)
            out.append(UInt8(ascii: ":"))
            out.append(option.schema)
          }
        }
      }
      out.append(UInt8(ascii: "}"))
    }
  }

  /// `{"type":"object","required":[…],"properties":{…}}`
  private static func object(
    _ required: [String], to out: inout ByteBuffer, properties: (inout ByteBuffer) -> Void
  ) {
    out.append("{\"type\":\"object\",\"required\":[")
    list(required, to: &out) { $1.append(json: $0) }
    out.append("],\"properties\":{")
    properties(&out)
    out.append("}}")
  }

  private static func reference(_ message: String, to out: inout ByteBuffer) {
    out.append("{\"$ref\":")
    out.append(json: "#/channels/stream/messages/\(message)")
    out.append(UInt8(ascii: "}"))
  }

  private static func list<T>(
    _ values: [T], to out: inout ByteBuffer, _ append: (T, inout ByteBuffer) -> Void
  ) {
    for (index, value) in values.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      append(value, &out)
    }
  }
}
