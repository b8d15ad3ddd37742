import TidegateClient

/// What every transport of the client has to do, told as what happens on one connection.
package struct TransportTrial: Sendable {
  private let connection: any ClientTransportConnection
  private let events: AsyncStream<ClientTransportEvent>

  package init(_ transport: some ClientTransport, url: String) throws {
    let (events, continuation) = AsyncStream<ClientTransportEvent>.makeStream()
    self.events = events
    connection = transport.connect(to: try GatewayURL(url), subprotocol: "tidegate.v1.json") { event in
      continuation.yield(event)
      switch event {
      case .closed, .refused, .unusable: continuation.finish()
      case .opened, .message, .binary: break
      }
    }
  }

  /// Sends `texts` when the connection is open, and tells what happens, a line each, until it is over or as many
  /// messages have come as `limit` says.
  package func run(sending texts: [String], limit: Int = .max) async -> [String] {
    var told: [String] = []
    var messages = 0
    for await event in events {
      switch event {
      case .opened:
        told.append("opened")
        for text in texts { connection.send(text) }
      case .message(let text):
        told.append(String(decoding: text, as: UTF8.self))
        messages += 1
      case .binary(let bytes):
        told.append("\(bytes.count) bytes")
        messages += 1
      case .refused(let status, let retryAfter, let reason):
        told.append("refused \(status), \(retryAfter?.components.seconds ?? 0) s: \(reason)")
      case .unusable(let reason): told.append("unusable: \(reason)")
      case .closed(let code, let reason): told.append(code.map { "closed \($0) \(reason)" } ?? "broken: \(reason)")
      }
      if messages >= limit { break }
    }
    connection.close(code: 1000, reason: "")
    return told
  }
}
