import Bytes

/// Limits of what a peer may send, checked before anything is kept.
package struct HTTPLimits: Sendable {
  /// Bytes of start line and fields together.
  package var headBytes: Int
  package var fieldCount: Int
  package var bodyBytes: Int
  package init(headBytes: Int = 16 << 10, fieldCount: Int = 100, bodyBytes: Int = 64 << 10) {
    self.headBytes = headBytes; self.fieldCount = fieldCount; self.bodyBytes = bodyBytes
  }
}

/// Why a message was refused. `status` is what a server answers before it closes.
package struct HTTPError: Error, Sendable, Equatable {
  package let status: Int
  package let reason: String
  package init(status: Int, reason: String) { self.status = status; self.reason = reason }
}

/// Parses requests (server side) as bytes arrive; strict (RFC 9112), one at a time, body included. Sans-IO.
package struct HTTPRequestParser: ~Copyable {
  package init(limits: HTTPLimits = .init()) {}
  /// Takes bytes from the front of `input` (moving its start) until one whole request is there, or all are taken: then nil.
  /// What follows a request stays in `input`: the next request, or the first frames after an upgrade.
  package mutating func next(_ input: inout UnsafeRawBufferPointer) throws(HTTPError) -> (head: HTTPRequestHead, body: [UInt8])? {
    fatalError("being written")
  }
  /// Bytes of an unfinished request held, to tell an idle connection from a slow one.
  package var pendingBytes: Int { fatalError("being written") }
}

/// Parses responses (client side): fixed length, chunked, or until close. Sans-IO.
package struct HTTPResponseParser: ~Copyable {
  package init(limits: HTTPLimits, isHead: Bool = false) {}
  /// As `HTTPRequestParser.next`. A 101 has no body; what follows it stays in `input`.
  package mutating func next(_ input: inout UnsafeRawBufferPointer) throws(HTTPError) -> (head: HTTPResponseHead, body: [UInt8])? {
    fatalError("being written")
  }
  /// The peer closed: the response whose body ran until then, or nil if none was under way.
  package mutating func finish() throws(HTTPError) -> (head: HTTPResponseHead, body: [UInt8])? { fatalError("being written") }
}

/// Writes heads.
package enum HTTPEncoder {
  /// Appends a response head; `Content-Length` for `bodyLength`, `Date` from `date` if given, and `Connection` are added.
  package static func append(_ head: HTTPResponseHead, bodyLength: Int?, keepAlive: Bool, date: String?, to out: inout ByteBuffer) {
    fatalError("being written")
  }
  /// Appends a request head. `Host` must be among its fields.
  package static func append(_ head: HTTPRequestHead, bodyLength: Int, to out: inout ByteBuffer) { fatalError("being written") }
}
