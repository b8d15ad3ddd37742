/// Why a message was refused; it costs that message only.
package struct FeedError: Error, Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    case json, shape, decimal, unknownSymbol, unknownType, refused
    /// A price or a size that cannot be one: zero or less.
    case value
    /// A request on the connection that the venue did not answer in time; its text is the request's.
    case unanswered
    /// A binary frame where the venue sends text, or one that could not be read.
    case binary
    /// Larger than the venue's messages may be (`Venue.messageLimit`). It costs the connection: what follows it is
    /// unknown.
    case oversized
    /// Broke the WebSocket protocol, which costs the connection.
    case frame
    /// The answer to a REST request that did not come, said no, or could not be read.
    case answer
  }
  package let kind: Kind
  /// What is wrong, for a log line: names the field and the offset, never the whole message.
  package let detail: String
  package init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }
}
