import HTTP1
import Transport

/// The compressed answers of one loop: those that may be requested again, and those that are being made.
package final class ResponseCompressor {
  /// Answers by their entity tags, plain and compressed.
  package var cache = ResponseCache()
  private let loop: EventLoop
  /// Bodies that are being compressed.
  private var encoders = 0

  package init(loop: EventLoop) { self.loop = loop }

  /// Gives `reply` the answer as gzip if the client accepts it and gains by it. A body with an entity tag is compressed
  /// once for all clients; a long one in pieces, one a turn. On the loop.
  package func compressing(
    _ reply: @escaping (HTTPResponse) -> Void, _ request: HTTPRequestHead
  ) -> (HTTPResponse) -> Void {
    let isAccepted = GzipEncoder.isAccepted(request.fields.values("Accept-Encoding"))
    return { [unowned self] response in
      var response = response
      if response.status == 200 || response.status == 304 { response.vary("Accept-Encoding") }
      guard isAccepted, response.status == 200, response.body.count >= GzipEncoder.leastBytes else {
        return reply(response)
      }
      if let tag = response.entityTag, let compressed = cache.compressed(tag) {
        return reply(response.compressed(compressed))
      }
      guard encoders < GzipEncoder.limit, let encoder = GzipEncoder(response.body) else { return reply(response) }
      encoders += 1
      advance(encoder) { [unowned self] compressed in
        encoders -= 1
        if let tag = response.entityTag { cache.keep(compressed: compressed, as: tag) }
        reply(response.compressed(compressed))
      }
    }
  }

  private func advance(_ encoder: GzipEncoder, _ completion: @escaping ([UInt8]) -> Void) {
    if let compressed = encoder.advance() { return completion(compressed) }
    let next = UncheckedTransfer(value: { [unowned self] in advance(encoder, completion) })
    loop.execute { next.value() }
  }
}

extension HTTPResponse {
  /// The same with its body as gzip, which has an entity tag of its own (RFC 9110 section 8.8.3.3).
  fileprivate func compressed(_ body: [UInt8]) -> HTTPResponse {
    var response = self
    response.body = body
    response.fields.append(HTTPField("Content-Encoding", "gzip"))
    response.entityTag = entityTag.map { EntityTag.ofCompressed($0) }
    return response
  }

  /// Adds a name to `Vary`.
  mutating func vary(_ name: String) {
    if let index = fields.firstIndex(where: { $0.name == "Vary" }) {
      fields[index] = HTTPField("Vary", "\(fields[index].value), \(name)")
    } else {
      fields.append(HTTPField("Vary", name))
    }
  }
}
