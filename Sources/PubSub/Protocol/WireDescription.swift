/// A machine-readable description of requests, replies and channels: the fields that a request may have, and the
/// members that a message always has. The parser uses it for requests. Tests compare every message to a model client
/// with it.
package enum WireDescription {
  package struct Request: Sendable {
    package var op: String
    /// Fields beside `op` and `id`.
    package var fields: [String]
    /// The `type` of its reply; an `error` may replace it.
    package var reply: String
  }

  /// The members that the `data` of a channel's messages always has. `AsyncAPISchemas` also has the others.
  package struct ChannelData: Sendable {
    package var snapshot: [String]
    package var update: [String]
    /// The fields of a subscription beside `channel`, `symbols` and `interval_ms`.
    package fileprivate(set) var parameters: [String] = []

    /// - Parameter update: nil: the same.
    init(_ snapshot: [String], update: [String]? = nil) {
      self.snapshot = snapshot
      self.update = update ?? snapshot
    }
  }

  /// The requests that the parser knows, in order.
  package static let requests: [Request] = ClientRequest.ops.map { op in
    Request(op: op, fields: RequestParser.fieldsByOp[op] ?? [], reply: replies[op] ?? "error")
  }

  private static let replies = [
    "hello": "welcome", "subscribe": "subscribed", "unsubscribe": "unsubscribed", "configure": "configured",
    "pause": "paused", "resume": "resumed", "list": "list", "ping": "pong", "alert": "alert",
  ]

  /// By `type`: the members that messages without a stream always have.
  package static let messages: [String: [String]] = [
    "welcome": ["session", "node", "version", "time", "heartbeat_s", "resumed", "limits"],
    "subscribed": ["total", "ok", "failed"],
    "unsubscribed": ["streams", "total"],
    "configured": ["interval_ms", "total", "streams"],
    "paused": [],
    "resumed": ["total"],
    "list": ["streams", "total"],
    "pong": ["time"],
    "alert": [],
    "error": ["code", "message", "impact", "retry"],
    "notice": ["code"],
    "heartbeat": ["time", "sent", "feeds"],
  ]

  /// The members that every snapshot and every update has, in all channels.
  package static let snapshot = ["channel", "stream", "seq", "reason", "time", "data"]
  package static let update = ["channel", "stream", "prev", "seq", "time", "data"]

  package static let channels = Dictionary(
    uniqueKeysWithValues: ChannelName.allCases.map { channel in
      var data = channel.type.data
      data.parameters = channel.facts.parameters.flatMap(\.fields)
      return (channel, data)
    })
}
