import Build
import Bytes
import PubSub

/// `/asyncapi.json`: describes the stream as AsyncAPI 3.0. It is made from the tables with which requests are parsed
/// and messages are tested.
enum AsyncAPIDocument {
  static let whole = FixedDocument(make(), name: "asyncapi")

  /// The names of messages: incoming ones by `op`, outgoing ones by `type`, and the two of each channel.
  private static var incoming: [String] { WireDescription.requests.map { "request.\($0.op)" } }
  private static var outgoing: [String] { WireDescription.messages.keys.sorted() + channelMessages }
  private static var channelMessages: [String] {
    ChannelName.allCases.flatMap { ["snapshot.\($0.rawValue)", "update.\($0.rawValue)"] }
  }

  static func make() -> [UInt8] {
    var writer = JSONObjectWriter(capacity: 65_536)
    writer.object { writer in
      writer.field("asyncapi", "3.0.0")
      writer.object("info") { writer in
        writer.field("title", "Tidegate")
        writer.field("version", TidegateVersion.current)
        writer.field(
          "description",
          "The subprotocol tidegate.v1.json: one text frame is one JSON object. Prices and sizes are decimal strings, "
            + "times are microseconds UTC. With tidegate.v1.bin, data comes in binary frames with the same content.")
      }
      writer.field("defaultContentType", "application/json")
      writer.object("channels") { writer in
        writer.object("stream") { writer in
          writer.field("address", Route.stream.path)
          writer.object("messages") { writer in
            for name in incoming + outgoing {
              writer.object(name) { $0.field("$ref", "#/components/messages/\(name)") }
            }
          }
          writer.object("bindings") { writer in
            writer.object("ws") { writer in
              writer.field("method", "GET")
              writer.field("bindingVersion", "0.1.0")
            }
          }
        }
      }
      writer.object("operations") { writer in writeOperations(to: &writer) }
      writer.object("components") { writer in
        writer.object("messages") { writer in
          for request in WireDescription.requests { write(request, to: &writer) }
          for (type, members) in WireDescription.messages.sorted(by: { $0.key < $1.key }) {
            writer.object(type) { writer in
              writer.object("payload") { writer in
                writer.field("type", "object")
                writer.field("required", ["type"] + members)
                writer.object("properties") { $0.object("type") { $0.field("const", type) } }
              }
            }
          }
          for channel in ChannelName.allCases {
            for isSnapshot in [true, false] { write(channel, isSnapshot: isSnapshot, to: &writer) }
          }
        }
        writer.object("schemas") { writer in
          writeItem(to: &writer)
          JSONSchema.writeShared(choices: AsyncAPISchemas.references, to: &writer)
          for object in AsyncAPISchemas.objects { object.write(to: &writer) }
        }
      }
    }
    return writer.takeBytes() + [UInt8(ascii: "\n")]
  }

  private static func writeOperations(to writer: inout JSONObjectWriter) {
    for request in WireDescription.requests {
      writer.object(request.op) { writer in
        writer.field("action", "receive")
        writer.object("channel") { $0.field("$ref", "#/channels/stream") }
        writeReferences(["request.\(request.op)"], to: &writer)
        writer.object("reply") { writer in
          writer.object("channel") { $0.field("$ref", "#/channels/stream") }
          writeReferences([request.reply, "error"], to: &writer)
        }
      }
    }
    writer.object("publish") { writer in
      writer.field("action", "send")
      writer.object("channel") { $0.field("$ref", "#/channels/stream") }
      writeReferences(["heartbeat", "notice"] + channelMessages, to: &writer)
    }
  }

  private static func writeReferences(_ messages: [String], to writer: inout JSONObjectWriter) {
    writer.array("messages") { writer in
      for name in messages { writer.object { $0.field("$ref", "#/channels/stream/messages/\(name)") } }
    }
  }

  private static func write(_ request: WireDescription.Request, to writer: inout JSONObjectWriter) {
    writer.object("request.\(request.op)") { writer in
      writer.object("payload") { writer in
        writer.field("type", "object")
        writer.field("required", ["op"])
        writer.field("additionalProperties", false)
        writer.object("properties") { writer in
          writer.object("op") { $0.field("const", request.op) }
          writer.object("id") { $0.field("type", ["integer", "string"]) }
          for field in request.fields {
            if field == "streams", request.op == "subscribe" {
              JSONSchema.list(.reference("Item")).write(field, to: &writer)
            } else {
              writer.object(field) { _ in }
            }
          }
        }
      }
    }
  }

  /// A snapshot or an update of a channel, with the types of all that it may say.
  private static func write(_ channel: ChannelName, isSnapshot: Bool, to writer: inout JSONObjectWriter) {
    let type = isSnapshot ? "snapshot" : "update"
    let members = isSnapshot ? WireDescription.snapshot : WireDescription.update
    writer.object("\(type).\(channel.rawValue)") { writer in
      writer.object("payload") { writer in
        writer.field("type", "object")
        writer.field("required", ["type"] + members)
        writer.object("properties") { writer in
          writer.object("type") { $0.field("const", type) }
          writer.object("channel") { $0.field("const", channel.rawValue) }
          for name in ["stream", "prev", "seq"] where members.contains(name) {
            JSONSchema.count.write(name, to: &writer)
          }
          if isSnapshot {
            JSONSchema.choice(SnapshotReason.allCases.map(\.rawValue)).write("reason", to: &writer)
          }
          JSONSchema.time.write("time", to: &writer)
          writer.object("data") { AsyncAPISchemas.data(of: channel, isSnapshot: isSnapshot).writeMembers(to: &$0) }
        }
      }
    }
  }

  /// One entry of a subscription.
  private static func writeItem(to writer: inout JSONObjectWriter) {
    writer.object("Item") { writer in
      writer.field("type", "object")
      writer.field("required", ["channel"])
      writer.field("additionalProperties", false)
      writer.object("properties") { writer in
        JSONSchema.choice(ChannelName.allCases.map(\.rawValue)).write("channel", to: &writer)
        JSONSchema.list(.text).write("symbols", to: &writer)
        JSONSchema.text.write("watchlist", to: &writer)
        JSONSchema.flag.write("group", to: &writer)
        JSONSchema.integer(0...60_000).write("interval_ms", to: &writer)
        for name in Set(WireDescription.channels.values.flatMap(\.parameters)).sorted() {
          writer.object(name) { _ in }
        }
      }
    }
  }
}
