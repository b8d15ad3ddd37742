/// The limits of a peer's messages, checked before anything is stored.
package struct HTTPLimits: Sendable {
  /// Bytes of start line and fields together, the empty line that ends them included; trailers have the same bound.
  package var headBytes: Int
  /// Bytes of the start line or of one field line, without the CR LF. RFC 9112 section 3 recommends at least 8,000 for
  /// start lines.
  package var lineBytes: Int
  /// The most field lines; trailers have the same limit.
  package var fieldCount: Int
  /// Bytes of a body after its chunks are joined.
  package var bodyBytes: Int
  /// Bytes of chunk extensions over a whole body; they are dropped, so no client needs many.
  package var chunkExtensionBytes = 1024

  /// Defaults for a server of small requests: 16 KiB of head, 8 KiB of them in a line, 100 fields, 64 KiB of body.
  package init(
    headBytes: Int = 16 << 10, lineBytes: Int = 8 << 10, fieldCount: Int = 100, bodyBytes: Int = 64 << 10
  ) {
    self.headBytes = headBytes
    self.lineBytes = lineBytes
    self.fieldCount = fieldCount
    self.bodyBytes = bodyBytes
  }
}

/// The reason why a message was refused. `status` is the server's answer before it closes.
package struct HTTPError: Error, Sendable, Equatable {
  /// 400, 403, 405, 408, 413, 414, 417, 426, 431, 501 or 505; 502, or the peer's own, for a response.
  package let status: Int
  /// The mistake, for the body of the answer and the log.
  package let reason: String
  /// The fields that the answer must have: `Allow` with a 405, `Upgrade` with a 426.
  package let fields: [HTTPField]

  package init(status: Int, reason: String, fields: [HTTPField] = []) {
    self.status = status
    self.reason = reason
    self.fields = fields
  }

  /// The head of the answer; `reason` is for its body, the status line carries the registered phrase.
  package var response: HTTPResponseHead { HTTPResponseHead(status: status, fields: HTTPFields(fields)) }
}
