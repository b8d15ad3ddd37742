import Bytes

/// Parses requests (server side) as bytes arrive; strict (RFC 9112), one at a time, body included. Sans-IO.
///
/// It stores nothing between requests. After an error, every call throws it again: answer `HTTPError.status` and close,
/// because the beginning of the next request is unknown.
package struct HTTPRequestParser: ~Copyable {
  /// The progress of the present request.
  package enum Stage: Equatable, Sendable {
    /// No byte of it has arrived.
    case idle
    /// Its head is not complete.
    case head
    /// Its head is complete, and this number of bytes of its body have arrived.
    case body(received: Int)
  }

  /// A head whose body is incomplete.
  private struct Pending {
    let head: HTTPRequestHead
    var body: HTTPBodyReader
    let headBytes: Int
    /// The client waits for a status before it sends the body.
    var owesStatus: Bool
  }

  private let limits: HTTPLimits
  private var gatherer: HTTPHeadGatherer
  private var pending: Pending?
  private var skippedEmptyLine = false
  private var failure: HTTPError?

  /// A parser for one connection. It allocates nothing until a head is split.
  package init(limits: HTTPLimits = .init()) {
    self.limits = limits
    self.gatherer = HTTPHeadGatherer(limits: limits)
  }

  /// Reads bytes from the front of `input` (and moves its start) until one request is complete; returns nil if all
  /// bytes are read before. Bytes after the request stay in `input`: the next request, or the first frames after an
  /// upgrade.
  /// - Throws: 400, 413, 414, 417, 431, 501 or 505 with the reason in words.
  package mutating func next(
    _ input: inout UnsafeRawBufferPointer
  ) throws(HTTPError) -> (head: HTTPRequestHead, body: [UInt8])? {
    if let failure { throw failure }
    do throws(HTTPError) {
      return try take(&input)
    } catch {
      failure = error
      throw error
    }
  }

  private mutating func take(
    _ input: inout UnsafeRawBufferPointer
  ) throws(HTTPError) -> (head: HTTPRequestHead, body: [UInt8])? {
    if pending == nil {
      // One empty line before a request is ignored (RFC 9112 section 2.2).
      if !skippedEmptyLine { skippedEmptyLine = gatherer.skipEmptyLine(&input) }
      guard input.count > 0 else { return nil }
      let limits = limits
      pending = try gatherer.take(&input) { bytes throws(HTTPError) in try Self.parse(bytes, limits) }
    }
    guard pending != nil else { return nil }
    if input.count > 0 { pending!.owesStatus = false }
    guard try pending!.body.take(&input) else { return nil }
    let whole = pending!
    pending = nil
    skippedEmptyLine = false
    return (whole.head, whole.body.body)
  }

  /// The progress of the present request, on which its time limits depend.
  package var stage: Stage {
    if let pending { return .body(received: pending.body.body.count) }
    return gatherer.count == 0 ? .idle : .head
  }

  /// The stored bytes of an unfinished request.
  package var pendingBytes: Int {
    guard let pending else { return gatherer.count }
    return pending.headBytes + pending.body.body.count
  }

  /// The head of the present request, if its client waits for a status before it sends the body (RFC 9110 section
  /// 10.1.1). Call this after `next` has returned nil; it returns the head once. If the head is enough for the final
  /// status, answer that, as the section requires, and close, because the body may or may not follow. Otherwise answer
  /// `100 Continue`.
  package mutating func takeExpectation() -> HTTPRequestHead? {
    guard let waiting = pending, waiting.owesStatus else { return nil }
    pending!.owesStatus = false
    return waiting.head
  }

  private static func parse(_ bytes: UnsafeRawBufferPointer, _ limits: HTTPLimits) throws(HTTPError) -> Pending {
    var reader = HTTPHeadReader(bytes)
    let line = try reader.requestLine()
    let fields = try reader.fields(limit: limits.fieldCount, isHTTP11: line.isHTTP11)
    try HTTPHeadReader.checkHost(fields, isHTTP11: line.isHTTP11)
    let head = HTTPRequestHead(
      method: line.method, target: line.target, fields: fields, isHTTP11: line.isHTTP11)
    let body: HTTPBodyReader
    switch reader.framing {
    case .unspecified: body = try HTTPBodyReader(length: 0, limits: limits)
    case .length(let length): body = try HTTPBodyReader(length: length, limits: limits)
    case .chunked: body = .chunked(limits: limits)
    }
    let expectations = head.isHTTP11 ? fields.values("Expect") : []
    guard expectations.allSatisfy({ ASCII.equalIgnoringCase($0, "100-continue") }) else {
      throw HTTPError(status: 417, reason: "the only supported expectation is 100-continue")
    }
    return Pending(head: head, body: body, headBytes: bytes.count, owesStatus: !expectations.isEmpty)
  }
}
