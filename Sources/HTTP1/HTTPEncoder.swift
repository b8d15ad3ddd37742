import Bytes

/// Writes heads.
///
/// No field can be smuggled in: control characters in values and reasons become spaces, and characters that a request
/// target may not have are percent-encoded. Names and methods come from code; one that is not a token is a programming
/// error and traps.
package enum HTTPEncoder {
  /// Appends a response head with `Content-Length` for `bodyLength` (none if nil, and for 1xx and 204), `Date` from
  /// `date` if given, and `Connection`; fields that are already present are not repeated. For an answer to HEAD, pass
  /// the length the body would have and send none.
  package static func append(
    _ head: HTTPResponseHead, bodyLength: Int?, keepAlive: Bool, date: String?, to out: inout ByteBuffer
  ) {
    precondition((100...999).contains(head.status), "a status has three digits")
    out.append("HTTP/1.1 ")
    out.append(integer: UInt64(head.status))
    out.append(UInt8(ascii: " "))
    append(text: head.reason, to: &out)
    out.append("\r\n")
    append(head.fields, to: &out)
    if let bodyLength, head.status >= 200, head.status != 204, head.fields["Content-Length"] == nil {
      append(length: bodyLength, to: &out)
    }
    if let date, head.fields["Date"] == nil { append(HTTPField("Date", date), to: &out) }
    if head.status >= 200 {
      if !keepAlive, !head.fields.contains("close", in: "Connection") {
        out.append("Connection: close\r\n")
      } else if keepAlive, head.fields["Connection"] == nil {
        out.append("Connection: keep-alive\r\n")
      }
    }
    out.append("\r\n")
  }

  /// Appends a request head. `Host` must be among its fields. `Content-Length` is written for a body, and for the
  /// methods that usually have one (RFC 9110 section 8.6).
  package static func append(_ head: HTTPRequestHead, bodyLength: Int, to out: inout ByteBuffer) {
    precondition(ASCII.isToken(head.method), "a method is a token")
    precondition(head.fields["Host"] != nil, "a request needs a Host field")
    out.append(head.method)
    out.append(UInt8(ascii: " "))
    if head.target.isEmpty { out.append(UInt8(ascii: "/")) }
    for byte in head.target.utf8 {
      if ASCII.isTarget(byte) {
        out.append(byte)
      } else {
        out.append(UInt8(ascii: "%"))
        for digit in [byte >> 4, byte & 15] { out.append(digit < 10 ? 0x30 + digit : 0x41 + digit - 10) }
      }
    }
    out.append(head.isHTTP11 ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n")
    append(head.fields, to: &out)
    if head.fields["Content-Length"] == nil, bodyLength > 0 || ["POST", "PUT", "PATCH"].contains(head.method) {
      append(length: bodyLength, to: &out)
    }
    out.append("\r\n")
  }

  private static func append(length: Int, to out: inout ByteBuffer) {
    out.append("Content-Length: ")
    out.append(integer: Int64(length))
    out.append("\r\n")
  }

  private static func append(_ fields: HTTPFields, to out: inout ByteBuffer) {
    for field in fields.fields { append(field, to: &out) }
  }

  private static func append(_ field: HTTPField, to out: inout ByteBuffer) {
    precondition(ASCII.isToken(field.name), "a field name is a token")
    out.append(field.name)
    out.append(": ")
    append(text: field.value, to: &out)
    out.append("\r\n")
  }

  private static func append(text: String, to out: inout ByteBuffer) {
    let isPlain = text.utf8.withContiguousStorageIfAvailable { bytes in
      guard bytes.allSatisfy({ ASCII.isFieldContent($0) }) else { return false }
      out.append(UnsafeRawBufferPointer(bytes))
      return true
    }
    if isPlain == true { return }
    out.reserve(text.utf8.count)
    for byte in text.utf8 { out.append(ASCII.isFieldContent(byte) ? byte : 0x20) }
  }
}
