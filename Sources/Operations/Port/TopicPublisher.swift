import Documents
import HTTP1
import PubSub
import Transport

/// Publishes one document to a running gateway, for `tidegate publish`.
package enum TopicPublisher {
  /// The outcome of a publication.
  package enum Outcome: Sendable, Equatable {
    /// The gateway has it; the text is its answer.
    case published(String)
    /// The gateway refused the document, or did not answer: the reason, in words for people.
    case refused(String)
  }

  /// The port to publish to.
  package enum Port: Sendable {
    /// The internal port, which needs no token.
    case `internal`(SocketAddress)
    /// The client port, with a token that may publish.
    case client(EndpointURL, token: String, tls: TLSClientContext?)
  }

  /// - Parameters:
  ///   - name: the topic's name.
  ///   - document: JSON text.
  package static func publish(
    _ document: [UInt8], to name: String, at port: Port, loop: EventLoop
  ) async -> Outcome {
    guard TopicBoard.isName(name) else {
      return .refused("\(name) is not a valid topic name: use 1 to 64 letters a-z 0-9 . _ -")
    }
    let path = PublishedTopics.prefix + name
    let outcome =
      switch port {
      case .internal(let address): await InternalRequest.send("POST", path, body: document, at: address, loop: loop)
      case .client(let url, let token, let tls):
        await InternalRequest.send(
          "POST", url.target(of: path), token: token, body: document, host: url.host, port: url.port,
          name: url.authority, tls: url.isSecure ? tls : nil, loop: loop)
      }
    switch outcome {
    case .answered(201, let text): return .published(text)
    case .answered(let status, let text): return .refused(GatewayRefusal(status: status, text: text).words)
    case .failed(let reason): return .refused(reason)
    }
  }
}
