import Bytes

/// Parses responses (client side): fixed length, chunked, or until close (RFC 9112 section 6.3). Sans-IO.
///
/// Interim responses (1xx except 101) are skipped. Errors have the status 502 and a reason. After an error, every call
/// throws it again: close the connection.
package struct HTTPResponseParser: ~Copyable {
  /// The most interim responses before the final one; a server that sends more never answers.
  package static let interimLimit = 16

  /// A head whose body is incomplete.
  private struct Pending {
    let head: HTTPResponseHead
    var body: HTTPBodyReader
  }

  private let limits: HTTPLimits
  private let isHead: Bool
  private var gatherer: HTTPHeadGatherer
  private var pending: Pending?
  private var interim = 0
  private var failure: HTTPError?

  /// - Parameter isHead: whether the responses answer HEAD requests and so have no bodies, regardless of their fields.
  package init(limits: HTTPLimits, isHead: Bool = false) {
    self.limits = limits
    self.isHead = isHead
    self.gatherer = HTTPHeadGatherer(limits: limits)
  }

  /// Like `HTTPRequestParser.next`. A 101 has no body; bytes after it stay in `input`.
  package mutating func next(
    _ input: inout UnsafeRawBufferPointer
  ) throws(HTTPError) -> (head: HTTPResponseHead, body: [UInt8])? {
    if let failure { throw failure }
    do throws(HTTPError) {
      return try take(&input)
    } catch {
      let refusal = HTTPError(status: 502, reason: "the response is refused: " + error.reason)
      failure = refusal
      throw refusal
    }
  }

  /// The peer closed: returns the response whose body ended with the connection, or nil if there was none.
  /// - Throws: 502 if the response was cut short.
  package mutating func finish() throws(HTTPError) -> (head: HTTPResponseHead, body: [UInt8])? {
    if let failure { throw failure }
    if let pending, pending.body.isUntilClose { return takePending() }
    guard pending == nil, gatherer.count == 0 else {
      throw HTTPError(status: 502, reason: "the connection ended in the middle of a response")
    }
    return nil
  }

  /// The stored bytes of an unfinished response.
  package var pendingBytes: Int { gatherer.count + (pending?.body.body.count ?? 0) }

  private mutating func take(
    _ input: inout UnsafeRawBufferPointer
  ) throws(HTTPError) -> (head: HTTPResponseHead, body: [UInt8])? {
    let (limits, isHead) = (limits, isHead)
    while pending == nil {
      guard input.count > 0,
        let message = try gatherer.take(
          &input, parse: { bytes throws(HTTPError) in try Self.parse(bytes, limits, isHead: isHead) })
      else { return nil }
      if message.head.status >= 200 || message.head.status == 101 {
        pending = message
        break
      }
      interim += 1
      guard interim <= Self.interimLimit else {
        throw HTTPError(status: 502, reason: "more than \(Self.interimLimit) interim responses")
      }
    }
    guard try pending!.body.take(&input) else { return nil }
    return takePending()
  }

  private mutating func takePending() -> (head: HTTPResponseHead, body: [UInt8]) {
    let whole = pending!
    pending = nil
    interim = 0
    return (whole.head, whole.body.body)
  }

  private static func parse(
    _ bytes: UnsafeRawBufferPointer, _ limits: HTTPLimits, isHead: Bool
  ) throws(HTTPError) -> Pending {
    var reader = HTTPHeadReader(bytes)
    let line = try reader.statusLine()
    let fields = try reader.fields(limit: limits.fieldCount, isHTTP11: line.isHTTP11)
    var head = HTTPResponseHead(status: line.status, reason: line.reason, fields: fields)
    head.isHTTP11 = line.isHTTP11
    let isBodiless = head.status < 200 || head.status == 204
    if isBodiless, reader.framing == .chunked {
      throw HTTPError(
        status: 400, reason: "a \(head.status) has no body, so no Transfer-Encoding (RFC 9112 section 6.1)")
    }
    if isHead || isBodiless || head.status == 304 {
      return Pending(head: head, body: try HTTPBodyReader(length: 0, limits: limits))
    }
    switch reader.framing {
    case .unspecified: return Pending(head: head, body: .untilClose(limits: limits))
    case .length(let length): return Pending(head: head, body: try HTTPBodyReader(length: length, limits: limits))
    case .chunked: return Pending(head: head, body: .chunked(limits: limits))
    }
  }
}
