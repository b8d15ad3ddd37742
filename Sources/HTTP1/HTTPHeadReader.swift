/// Reads a whole head, as `HTTPHeadScanner` has delimited it, line by line.
struct HTTPHeadReader {
  /// How the body is delimited (RFC 9112 section 6.3).
  enum Framing: Equatable {
    /// Neither `Content-Length` nor `Transfer-Encoding`.
    case unspecified
    case length(Int)
    case chunked
  }

  private let bytes: UnsafeRawBufferPointer
  private var index = 0
  private(set) var framing = Framing.unspecified

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The next line without its CR LF. The scanner has made sure that every CR is followed by LF.
  mutating func line() -> UnsafeRawBufferPointer {
    let start = index
    while bytes[index] != 0x0D { index += 1 }
    defer { index += 2 }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<index])
  }

  /// `GET /path HTTP/1.1`, single spaces, nothing else (RFC 9112 section 3).
  mutating func requestLine() throws(HTTPError) -> (method: String, target: String, isHTTP11: Bool) {
    let line = line()
    guard let first = line.firstIndex(of: 0x20), first > 0, line[..<first].allSatisfy({ ASCII.isToken($0) }) else {
      throw HTTPError(
        status: 400, reason: "the request line must be a method, a target and a version, a space between them")
    }
    let method = String(decoding: line[..<first], as: UTF8.self)
    let rest = line[(first + 1)...]
    guard let second = rest.firstIndex(of: 0x20) else {
      throw HTTPError(status: 400, reason: "the request line has no version")
    }
    let isHTTP11 = try Self.version(UnsafeRawBufferPointer(rebasing: rest[(second + 1)...]))
    let target = UnsafeRawBufferPointer(rebasing: rest[..<second])
    try HTTPTarget.validate(target, method: method)
    return (method, String(decoding: target, as: UTF8.self), isHTTP11)
  }

  /// `HTTP/1.1 200 OK`; the reason, and the space before it, may be missing (RFC 9112 section 4).
  mutating func statusLine() throws(HTTPError) -> (status: Int, reason: String, isHTTP11: Bool) {
    let line = line()
    guard line.count >= 12, line[8] == 0x20, line.count == 12 || line[12] == 0x20 else {
      throw HTTPError(status: 400, reason: "the status line must be a version and a status of three digits")
    }
    let isHTTP11 = try Self.version(UnsafeRawBufferPointer(rebasing: line[..<8]))
    var status = 0
    for byte in line[9..<12] {
      guard ASCII.isDigit(byte) else { throw HTTPError(status: 400, reason: "the status is not three digits") }
      status = status * 10 + Int(byte - UInt8(ascii: "0"))
    }
    guard status >= 100 else { throw HTTPError(status: 400, reason: "the status is below 100") }
    return (status, String(decoding: line.dropFirst(13), as: UTF8.self), isHTTP11)
  }

  /// The field lines up to the empty one; `framing` is set from them.
  mutating func fields(limit: Int, isHTTP11: Bool) throws(HTTPError) -> HTTPFields {
    var fields = HTTPFields(capacity: 12)
    var transferEncodings = 0
    while index + 2 < bytes.count {
      guard fields.fields.count < limit else {
        throw HTTPError(status: 431, reason: "the head has more than \(limit) fields")
      }
      let field = try Self.field(line())
      if ASCII.equalIgnoringCase(field.name, "Content-Length") {
        guard framing == .unspecified else {
          throw HTTPError(status: 400, reason: "Content-Length must not be repeated or combined with Transfer-Encoding")
        }
        framing = .length(try Self.length(field.value))
      } else if ASCII.equalIgnoringCase(field.name, "Transfer-Encoding") {
        guard framing == .unspecified, transferEncodings == 0 else {
          throw HTTPError(status: 400, reason: "Transfer-Encoding must not be repeated or combined with Content-Length")
        }
        guard isHTTP11 else { throw HTTPError(status: 400, reason: "HTTP/1.0 has no Transfer-Encoding") }
        try Self.checkTransferEncoding(field.value)
        transferEncodings += 1
        framing = .chunked
      }
      fields.append(field.name, field.value)
    }
    return fields
  }

  /// Exactly one valid `Host` in HTTP/1.1, at most one in HTTP/1.0 (RFC 9112 section 3.2).
  static func checkHost(_ fields: HTTPFields, isHTTP11: Bool) throws(HTTPError) {
    let hosts = fields.values("Host")
    if hosts.isEmpty, !isHTTP11 { return }
    guard hosts.count == 1, var host = hosts.first else {
      throw HTTPError(status: 400, reason: "a request needs exactly one Host field, not \(hosts.count)")
    }
    guard host.withUTF8({ HTTPTarget.isAuthority(UnsafeRawBufferPointer($0), portRequired: false) }) else {
      throw HTTPError(status: 400, reason: "Host must be a host, or host:port")
    }
  }

  /// `name: value` with the space around the value dropped (RFC 9112 section 5).
  static func field(_ line: UnsafeRawBufferPointer) throws(HTTPError) -> HTTPField {
    guard line.first != 0x20, line.first != 0x09 else {
      throw HTTPError(status: 400, reason: "a field line begins with space; folded lines are not accepted")
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
      line[..<colon].allSatisfy({ ASCII.isToken($0) })
    else { throw HTTPError(status: 400, reason: "a field line must be a name, a colon right after it, and a value") }
    var start = colon + 1
    var end = line.count
    while start < end, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
    while end > start, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
    return HTTPField(
      String(decoding: line[..<colon], as: UTF8.self), String(decoding: line[start..<end], as: UTF8.self))
  }

  /// Exactly `HTTP/1.1` (true) or `HTTP/1.0`.
  private static func version(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> Bool {
    guard bytes.count == 8, zip(bytes, "HTTP/".utf8).allSatisfy({ $0 == $1 }), ASCII.isDigit(bytes[5]),
      bytes[6] == UInt8(ascii: "."), ASCII.isDigit(bytes[7])
    else { throw HTTPError(status: 400, reason: "the version must be HTTP/1.1 or HTTP/1.0") }
    guard bytes[5] == UInt8(ascii: "1"), bytes[7] <= UInt8(ascii: "1") else {
      throw HTTPError(status: 505, reason: "this port speaks only HTTP/1.1 and HTTP/1.0")
    }
    return bytes[7] == UInt8(ascii: "1")
  }

  private static func length(_ value: String) throws(HTTPError) -> Int {
    // `1*DIGIT` (RFC 9110 section 8.6) allows leading zeros. They are refused, because no sender writes them and some
    // receivers read them as octal.
    guard value.utf8.count == 1 || value.utf8.first != UInt8(ascii: "0") else {
      throw HTTPError(status: 400, reason: "Content-Length must not begin with 0")
    }
    var length = 0
    for byte in value.utf8 {
      guard ASCII.isDigit(byte) else {
        throw HTTPError(status: 400, reason: "Content-Length must be digits and nothing else")
      }
      let (tens, over) = length.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tens.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
      guard !over, !carry else { throw HTTPError(status: 400, reason: "Content-Length does not fit 63 bits") }
      length = sum
    }
    guard !value.isEmpty else { throw HTTPError(status: 400, reason: "Content-Length is empty") }
    return length
  }

  private static func checkTransferEncoding(_ value: String) throws(HTTPError) {
    if ASCII.equalIgnoringCase(value, "chunked") { return }
    let codings = HTTPFields([HTTPField("", value)]).list("")
    let chunked = codings.indices.filter { ASCII.equalIgnoringCase(codings[$0], "chunked") }
    // Chunked must be named once and last (RFC 9112 section 6.3). A list of only chunked and empty elements is an
    // attempt to deceive. A list with another coding is only unsupported.
    guard codings.allSatisfy({ ASCII.isToken($0) }),
      codings.contains(where: { !ASCII.equalIgnoringCase($0, "chunked") }),
      chunked.allSatisfy({ $0 == codings.count - 1 })
    else { throw HTTPError(status: 400, reason: "Transfer-Encoding is malformed") }
    throw HTTPError(status: 501, reason: "the only Transfer-Encoding accepted is chunked")
  }
}
