import PubSub
import Transport

/// Publishes one document to a running gateway's internal port; what `tidegate publish` does.
package enum TopicPublisher {
  /// What came of it.
  package enum Outcome: Sendable, Equatable {
    /// The gateway has it; the text is its answer.
    case published(String)
    /// It does not want it, or there is none: the reason for people.
    case refused(String)
  }

  /// - Parameters:
  ///   - name: of the topic.
  ///   - document: JSON text.
  ///   - address: of the internal port.
  package static func publish(
    _ document: [UInt8], to name: String, at address: SocketAddress, loop: EventLoop
  ) async -> Outcome {
    guard TopicBoard.isName(name) else {
      return .refused("\(name) is no name of a topic: 1 to 64 letters a-z 0-9 . _ -")
    }
    switch await InternalRequest.send(
      "POST", PublishedTopics.prefix + name, body: document, at: address, loop: loop)
    {
    case .answered(201, let text): return .published(text)
    case .answered(_, let text), .failed(let text): return .refused(text)
    }
  }
}
