import Bytes

/// Parses requests (server side) as bytes arrive; strict (RFC 9112), one at a time, body included. Sans-IO.
///
/// A head that lies whole in the input is parsed where it is; only one that is cut is kept, in a buffer that is given
/// back once the head is whole, so that an idle connection holds nothing. After an error every call throws it again:
/// answer `HTTPError.status` and close, for nobody knows where the next request begins.
package struct HTTPRequestParser: ~Copyable {
  private let limits: HTTPLimits
  private var scanner: HTTPHeadScanner
  private var held = ByteBuffer()
  private var pending: (head: HTTPRequestHead, body: HTTPBodyReader, headBytes: Int)?
  private var skippedEmptyLine = false
  private var owesContinue = false
  private var failure: HTTPError?

  /// A parser for one connection. It allocates nothing until a head is cut.
  package init(limits: HTTPLimits = .init()) {
    self.limits = limits
    self.scanner = HTTPHeadScanner(limit: limits.headBytes)
  }

  /// Takes bytes from the front of `input` (moving its start) until one whole request is there, or all are taken: then
  /// nil. What follows a request stays in `input`: the next request, or the first frames after an upgrade.
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
      skipEmptyLine(&input)
      guard input.count > 0, try takeHead(&input) else { return nil }
    }
    if input.count > 0 { owesContinue = false }
    guard try pending!.body.take(&input) else { return nil }
    let whole = pending!
    pending = nil
    skippedEmptyLine = false
    owesContinue = false
    return (whole.head, whole.body.body)
  }

  /// Bytes of an unfinished request received so far, to tell an idle connection (0) from a slow one.
  package var pendingBytes: Int {
    guard let pending else { return held.count }
    return pending.headBytes + pending.body.body.count
  }

  /// Whether the client waits for `100 Continue` before it sends the body of the request under way (RFC 9110 section
  /// 10.1.1). Ask after `next` returned nil; true is said once.
  package mutating func takeExpectation() -> Bool {
    defer { owesContinue = false }
    return owesContinue
  }

  /// One empty line before a request is ignored (RFC 9112 section 2.2).
  private mutating func skipEmptyLine(_ input: inout UnsafeRawBufferPointer) {
    guard !skippedEmptyLine else { return }
    if held.isEmpty, input.count >= 2, input[0] == 0x0D, input[1] == 0x0A {
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst(2))
      skippedEmptyLine = true
    } else if held.count == 1, held.unsafeBytes[0] == 0x0D, input.first == 0x0A {
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
      held.release()
      scanner = HTTPHeadScanner(limit: limits.headBytes)
      skippedEmptyLine = true
    }
  }

  /// True once the head is whole and in `pending`.
  private mutating func takeHead(_ input: inout UnsafeRawBufferPointer) throws(HTTPError) -> Bool {
    guard let end = try scanner.scan(input) else {
      held.append(input)
      input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
      return false
    }
    let rest = UnsafeRawBufferPointer(rebasing: input.dropFirst(end))
    if held.isEmpty {
      try parse(UnsafeRawBufferPointer(rebasing: input.prefix(end)))
    } else {
      held.append(UnsafeRawBufferPointer(rebasing: input.prefix(end)))
      try parse(held.unsafeBytes)
      held.release()
    }
    input = rest
    scanner = HTTPHeadScanner(limit: limits.headBytes)
    return true
  }

  private mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) {
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
    if head.isHTTP11, let expectation = fields["Expect"] {
      guard ASCII.equalIgnoringCase(expectation, "100-continue") else {
        throw HTTPError(status: 417, reason: "the only expectation met here is 100-continue")
      }
      owesContinue = true
    }
    pending = (head, body, bytes.count)
  }
}
