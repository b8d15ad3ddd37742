import Bytes

/// Parses responses (client side): fixed length, chunked, or until close. Sans-IO.
///
/// Interim responses (1xx but 101) are skipped. Errors have status 502 and the reason in words; after one, close.
package struct HTTPResponseParser: ~Copyable {
  /// Interim responses before the final one; more than these is a server that never answers.
  package static let interimLimit = 16

  private let limits: HTTPLimits
  private let isHead: Bool
  private var scanner: HTTPHeadScanner
  private var held = ByteBuffer()
  private var pending: (head: HTTPResponseHead, body: HTTPBodyReader)?
  private var interim = 0

  /// - Parameter isHead: the responses answer HEAD requests and have no bodies, whatever their fields say.
  package init(limits: HTTPLimits, isHead: Bool = false) {
    self.limits = limits
    self.isHead = isHead
    self.scanner = HTTPHeadScanner(limit: limits.headBytes)
  }

  /// As `HTTPRequestParser.next`. A 101 has no body; what follows it stays in `input`.
  package mutating func next(
    _ input: inout UnsafeRawBufferPointer
  ) throws(HTTPError) -> (head: HTTPResponseHead, body: [UInt8])? {
    do throws(HTTPError) {
      while pending == nil {
        guard input.count > 0, try takeHead(&input) else { return nil }
      }
      guard try pending!.body.take(&input) else { return nil }
    } catch {
      throw HTTPError(status: 502, reason: "the response is refused: " + error.reason)
    }
    return takePending()
  }

  /// The peer closed: the response whose body ran until then, or nil if none was under way.
  /// - Throws: 502 if the response was cut short.
  package mutating func finish() throws(HTTPError) -> (head: HTTPResponseHead, body: [UInt8])? {
    if let pending, pending.body.isUntilClose { return takePending() }
    guard pending == nil, held.isEmpty else {
      throw HTTPError(status: 502, reason: "the connection ended in the middle of a response")
    }
    return nil
  }

  /// Bytes of an unfinished response held.
  package var pendingBytes: Int { held.count + (pending?.body.body.count ?? 0) }

  private mutating func takePending() -> (head: HTTPResponseHead, body: [UInt8]) {
    let whole = pending!
    pending = nil
    interim = 0
    return (whole.head, whole.body.body)
  }

  /// True once a head is whole; `pending` is then set unless the response was an interim one.
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
    let line = try reader.statusLine()
    let fields = try reader.fields(limit: limits.fieldCount, isHTTP11: line.isHTTP11)
    if line.status < 200, line.status != 101 {
      interim += 1
      guard interim <= Self.interimLimit else {
        throw HTTPError(status: 502, reason: "more than \(Self.interimLimit) interim responses")
      }
      return
    }
    var head = HTTPResponseHead(status: line.status, reason: line.reason, fields: fields)
    head.isHTTP11 = line.isHTTP11
    let body: HTTPBodyReader
    if isHead || line.status == 101 || line.status == 204 || line.status == 304 {
      body = try HTTPBodyReader(length: 0, limits: limits)
    } else {
      switch reader.framing {
      case .unspecified: body = .untilClose(limits: limits)
      case .length(let length): body = try HTTPBodyReader(length: length, limits: limits)
      case .chunked: body = .chunked(limits: limits)
      }
    }
    pending = (head, body)
  }
}
