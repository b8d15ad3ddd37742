import Foundation

/// A document that the gateway's operator published to a topic.
public struct TopicDocument: Sendable, Hashable {
  /// The document's number in the topic, from 1; a hole in the numbers shows a missing document.
  public var number: Int64
  /// When it was published.
  public var time: Date
  /// The document, as JSON text.
  public var json: String

  /// The document as a type of the app's.
  public func decode<Content: Decodable>(
    _ type: Content.Type = Content.self, by decoder: JSONDecoder = JSONDecoder()
  ) throws -> Content {
    try decoder.decode(type, from: Data(json.utf8))
  }

  /// The most documents that one message may have.
  static let limit = 10_000
}
