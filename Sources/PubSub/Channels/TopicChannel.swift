/// `topic`: every document that is published under a name. An event channel. The gateway keeps the documents.
enum TopicChannel: Channel {
  static let facts = ChannelFacts(
    source: .documents, names: .topics, isEvent: true, rate: .fixed(0), parameters: [.last])
  static let data = WireDescription.ChannelData(["number", "documents"])

  static func makeStream(_ start: StreamStart) -> PublishedStream { TopicStream(start) }
  static func ringLimits(of key: StreamKey) -> ReplayRing.Limits? { .events }
}

/// A stream of a topic: its snapshot has the requested number of last documents.
final class TopicStream: DocumentStream {
  override var entryLimit: Int { Int(key.points) }
}
