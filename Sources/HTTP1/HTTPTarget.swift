/// The request target (RFC 9112 section 3.2) and its percent-encoding (RFC 3986 section 2.1).
enum HTTPTarget {
  /// Checks a target for its method.
  /// - Throws: 400 for a form that the method does not allow, a malformed authority, or a malformed escape.
  static func validate(_ target: UnsafeRawBufferPointer, method: String) throws(HTTPError) {
    guard let first = target.first else { throw HTTPError(status: 400, reason: "the request target is empty") }
    guard target.allSatisfy({ ASCII.isTarget($0) }) else {
      throw HTTPError(status: 400, reason: "the request target holds a character that must be percent-encoded")
    }
    if method == "CONNECT" {
      guard isAuthority(target, portRequired: true) else {
        throw HTTPError(status: 400, reason: "the target of CONNECT must be host:port")
      }
      return
    }
    if target.count == 1, first == UInt8(ascii: "*") {
      guard method == "OPTIONS" else { throw HTTPError(status: 400, reason: "the target * is for OPTIONS only") }
      return
    }
    if first != UInt8(ascii: "/") {
      guard let authority = authority(of: target) else {
        throw HTTPError(status: 400, reason: "the request target must begin with / or be an http, https, ws or wss URL")
      }
      guard isAuthority(UnsafeRawBufferPointer(rebasing: target[authority]), portRequired: false) else {
        throw HTTPError(status: 400, reason: "the request target's authority is not host or host:port")
      }
    }
    // Some receivers read a backslash as a slash. Browsers send it as a slash, and encode a real one.
    guard !target.prefix(while: { $0 != UInt8(ascii: "?") }).contains(UInt8(ascii: "\\")) else {
      throw HTTPError(status: 400, reason: "the request target's path holds a backslash")
    }
    try validateEscapes(target)
  }

  /// Whether `bytes` are `host` or `host:port`: a name of letters, digits, `-._~`, an IPv4 address, or an address in
  /// brackets; the port is up to 65535 and may be empty (RFC 3986 section 3.2). Sub-delimiters and escapes, which RFC
  /// 3986 allows and no host name has, are refused.
  static func isAuthority(_ bytes: UnsafeRawBufferPointer, portRequired: Bool) -> Bool {
    var index = 0
    if bytes.first == UInt8(ascii: "[") {
      guard let end = bytes.firstIndex(of: UInt8(ascii: "]")), end > 2 else { return false }
      for byte in bytes[1..<end] where ASCII.hexValue(byte) == nil && byte != 0x3A && byte != 0x2E { return false }
      guard bytes[1..<end].contains(0x3A) else { return false }
      index = end + 1
    } else {
      while index < bytes.count {
        let byte = bytes[index]
        guard
          ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F || byte == 0x7E
        else { break }
        index += 1
      }
      guard index > 0 else { return false }
    }
    if index == bytes.count { return !portRequired }
    guard bytes[index] == UInt8(ascii: ":") else { return false }
    let digits = bytes[(index + 1)...]
    if digits.isEmpty { return !portRequired }
    var port = 0
    for byte in digits {
      guard ASCII.isDigit(byte) else { return false }
      port = port * 10 + Int(byte - UInt8(ascii: "0"))
      if port > 65535 { return false }
    }
    return true
  }

  /// The path and query of a target as sent. The path of a URL without one is `/`; the path of a target that is not a
  /// URL is the whole target.
  static func split(_ target: String) -> (path: ArraySlice<UInt8>, query: ArraySlice<UInt8>?) {
    let bytes = Array(target.utf8)
    var rest = bytes[...]
    if bytes.first != UInt8(ascii: "/"), let authority = bytes.withUnsafeBytes({ self.authority(of: $0) }) {
      rest = bytes[authority.upperBound...]
    }
    let mark = rest.firstIndex(of: UInt8(ascii: "?"))
    let path = rest[..<(mark ?? rest.endIndex)]
    return (path.isEmpty ? [UInt8(ascii: "/")] : path, mark.map { rest[($0 + 1)...] })
  }

  /// `bytes` with escapes decoded; a malformed escape stays as it is, and octets that are not UTF-8 become U+FFFD.
  /// O(n).
  static func decode(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool) -> String {
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%"), index + 2 < bytes.endIndex, let high = ASCII.hexValue(bytes[index + 1]),
        let low = ASCII.hexValue(bytes[index + 2])
      {
        out.append(high << 4 | low)
        index += 3
        continue
      }
      out.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
      index += 1
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// The range of the authority of a URL with a supported scheme; nil if `target` is not such a URL.
  private static func authority(of target: UnsafeRawBufferPointer) -> Range<Int>? {
    for scheme in ["http://", "https://", "ws://", "wss://"] {
      let length = scheme.utf8.count
      guard target.count >= length, zip(target, scheme.utf8).allSatisfy({ ASCII.lowercased($0) == $1 }) else {
        continue
      }
      let end = target[length...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? target.count
      return length..<end
    }
    return nil
  }

  /// Every `%` must be followed by two hexadecimal digits, and what they spell must be UTF-8 without control
  /// characters.
  private static func validateEscapes(_ target: UnsafeRawBufferPointer) throws(HTTPError) {
    guard target.contains(UInt8(ascii: "%")) else { return }
    var decoded: [UInt8] = []
    var index = 0
    while index < target.count {
      guard target[index] == UInt8(ascii: "%") else {
        decoded.append(target[index])
        index += 1
        continue
      }
      guard index + 2 < target.count, let high = ASCII.hexValue(target[index + 1]),
        let low = ASCII.hexValue(target[index + 2])
      else {
        throw HTTPError(status: 400, reason: "the request target holds a % that is not followed by two hex digits")
      }
      decoded.append(high << 4 | low)
      index += 3
    }
    guard decoded.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), String(validating: decoded, as: UTF8.self) != nil else {
      throw HTTPError(
        status: 400, reason: "the escapes of the request target do not spell UTF-8 text, or spell control characters")
    }
  }
}
