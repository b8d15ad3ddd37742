import HTTP1
import PubSub

/// A JSON document that stays the same for the life of the process.
package struct FixedDocument: Sendable {
  package let bytes: [UInt8]
  /// Its entity tag.
  package let tag: String

  /// - Parameter name: distinguishes its tag from that of other documents.
  init(_ bytes: [UInt8], name: String) {
    self.bytes = bytes
    var tag = ContentTag(run: name)
    tag.add(bytes)
    self.tag = EntityTag.text(tag)
  }

  /// The document, or 304 if the client has it.
  func answer(_ request: APIRequest) -> HTTPResponse {
    if let held = EntityTag.match(request.known, tag) { return .unchanged(held) }
    request.loops.compressor.cache.keep(bytes, as: tag)
    return .json(bytes, tag: tag)
  }
}
