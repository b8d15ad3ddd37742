import Bytes
import HTTP1
import WebSocket

extension FuzzTarget {
  /// Requests, heads and bodies, one after the other on one connection.
  static let httpRequest = FuzzTarget(
    "http-request",
    words: [
      "GET / HTTP/1.1\r\n", "Host: a\r\n", "\r\n\r\n", "Content-Length: ", "Transfer-Encoding: chunked\r\n",
      "Expect: 100-continue\r\n", "0\r\n\r\n", "5;a=\"b\"\r\n", "Connection: Upgrade\r\n", "Upgrade: websocket\r\n",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "%41", "http://a:80/", "OPTIONS *", "\r", "\n", "\t",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let small = HTTPLimits(headBytes: 96, fieldCount: 3, bodyBytes: 16)
    for limits in [HTTPLimits(), small] {
      let whole = try requests(Cuts.whole(bytes), limits)
      try requireSame(try requests(Cuts.random(bytes), limits), whole, "a cut changes what is read")
      try requireSame(try requests(Cuts.single(bytes), limits), whole, "byte by byte is read differently")
    }
  }

  /// Responses, as a client reads them: to GET and to HEAD, up to the end of the connection.
  static let httpResponse = FuzzTarget(
    "http-response",
    words: [
      "HTTP/1.1 200 OK\r\n", "HTTP/1.1 101 Switching Protocols\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
      "Content-Length: ", "Transfer-Encoding: chunked\r\n", "\r\n\r\n", "0\r\n\r\n", "Connection: close\r\n", "\r",
      "\n",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let small = HTTPLimits(headBytes: 96, fieldCount: 3, bodyBytes: 16)
    for limits in [HTTPLimits(), small] {
      for isHead in [false, true] {
        let whole = try responses(Cuts.whole(bytes), limits, isHead: isHead)
        try requireSame(
          try responses(Cuts.random(bytes), limits, isHead: isHead), whole, "a cut changes what is read")
        try requireSame(
          try responses(Cuts.single(bytes), limits, isHead: isHead), whole, "byte by byte is read differently")
      }
    }
  }

  // MARK: Requests

  /// What a parser makes of the pieces: a line a message, and the error at the end.
  private static func requests(_ pieces: [[UInt8]], _ limits: HTTPLimits) throws(FuzzFailure) -> [String] {
    var parser = HTTPRequestParser(limits: limits)
    var said: [String] = []
    for piece in pieces {
      var failure: FuzzFailure?
      let goesOn = piece.withUnsafeBytes { raw -> Bool in
        var input = raw
        do throws(FuzzFailure) {
          return try takeRequests(&parser, &input, limits, into: &said)
        } catch {
          failure = error
          return false
        }
      }
      if let failure { throw failure }
      if !goesOn { break }
      try require(
        parser.pendingBytes <= limits.headBytes + limits.bodyBytes, "\(parser.pendingBytes) bytes are held")
    }
    return said
  }

  /// False after an error.
  private static func takeRequests(
    _ parser: inout HTTPRequestParser, _ input: inout UnsafeRawBufferPointer, _ limits: HTTPLimits,
    into said: inout [String]
  ) throws(FuzzFailure) -> Bool {
    while true {
      let message: (head: HTTPRequestHead, body: [UInt8])?
      do throws(HTTPError) {
        message = try parser.next(&input)
      } catch {
        try require((400...505).contains(error.status) && !error.reason.isEmpty, "an error without words: \(error)")
        said.append("error \(error.status) \(error.reason)")
        var again: HTTPError?
        do throws(HTTPError) { _ = try parser.next(&input) } catch { again = error }
        try require(again == error, "the parser goes on after an error")
        return false
      }
      guard let (head, body) = message else { break }
      try check(head, body, limits)
      said.append("\(head.method) \(head.target) \(head.isHTTP11) \(head.fields.fields) \(body)")
    }
    try require(input.isEmpty, "input is left though no request is there")
    return true
  }

  private static func check(_ head: HTTPRequestHead, _ body: [UInt8], _ limits: HTTPLimits) throws(FuzzFailure) {
    try require(body.count <= limits.bodyBytes, "a body of \(body.count) bytes")
    try require(head.fields.fields.count <= limits.fieldCount, "\(head.fields.fields.count) fields")
    try require(!head.path.isEmpty, "a target without a path: \(head.target)")
    _ = head.query
    _ = head.keepsAlive
    if let answer = try? WebSocketHandshake.accept(
      head, subprotocols: ["tidegate.v1.json"], compression: .init())
    {
      var out = ByteBuffer()
      HTTPEncoder.append(answer.response, bodyLength: nil, keepAlive: true, date: nil, to: &out)
      var parser = HTTPResponseParser(limits: HTTPLimits())
      var input = out.unsafeBytes
      let status = (try? parser.next(&input))?.head.status
      try require(status == 101, "an accepted handshake is answered with something unreadable")
    }
    // What was read, written again, is read the same. A request without Host (HTTP/1.0) is not to be written.
    if head.fields["Host"] == nil { return }
    var copy = head
    copy.fields = HTTPFields(
      head.fields.fields.filter { !["transfer-encoding"].contains($0.name.lowercased()) })
    var out = ByteBuffer()
    HTTPEncoder.append(copy, bodyLength: body.count, to: &out)
    out.append(body)
    var parser = HTTPRequestParser(limits: HTTPLimits(headBytes: 1 << 20, fieldCount: 200, bodyBytes: 1 << 20))
    var input = out.unsafeBytes
    let again: (head: HTTPRequestHead, body: [UInt8])?
    do throws(HTTPError) {
      again = try parser.next(&input)
    } catch {
      throw FuzzFailure("what was read is refused when written again: \(error): \(out.description)")
    }
    guard let again else { throw FuzzFailure("what was read is not whole when written again: \(out.description)") }
    try require(again.head.method == head.method && again.head.target == head.target, "another request line")
    let length = again.head.fields.fields.filter { $0.name != "Content-Length" }
    try requireSame(length, copy.fields.fields.filter { $0.name != "Content-Length" }, "other fields")
    try requireSame(again.body, body, "another body")
    try require(input.isEmpty, "something is left over")
  }

  // MARK: Responses

  private static func responses(
    _ pieces: [[UInt8]], _ limits: HTTPLimits, isHead: Bool
  ) throws(FuzzFailure) -> [String] {
    var parser = HTTPResponseParser(limits: limits, isHead: isHead)
    var said: [String] = []
    func say(_ head: HTTPResponseHead, _ body: [UInt8]) {
      said.append("\(head.status) \(head.reason) \(head.isHTTP11) \(head.keepsAlive) \(head.fields.fields) \(body)")
    }
    for piece in pieces {
      var failure: HTTPError?
      piece.withUnsafeBytes { raw in
        var input = raw
        do throws(HTTPError) {
          while let (head, body) = try parser.next(&input) { say(head, body) }
        } catch {
          failure = error
        }
      }
      if let failure {
        try require(!failure.reason.isEmpty, "an error without words")
        return said + ["error \(failure.status) \(failure.reason)"]
      }
      try require(
        parser.pendingBytes <= limits.headBytes + limits.bodyBytes, "\(parser.pendingBytes) bytes are held")
    }
    do throws(HTTPError) {
      if let (head, body) = try parser.finish() { say(head, body) }
    } catch {
      said.append("error \(error.status) \(error.reason)")
    }
    return said
  }
}
