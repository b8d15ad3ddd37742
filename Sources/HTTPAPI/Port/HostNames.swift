import Bytes
import HTTP1

/// The names that a port answers to. A page can point its own name to this machine (DNS rebinding); then the browser
/// lets it read, as same-origin. But the browser sends that name in `Host`.
///
/// An address needs no check: a page has the address as its origin only if that address has sent the page.
package struct HostNames: Sendable {
  private let names: [String]

  /// - Parameter names: allowed beside addresses and `localhost`; `*` allows any.
  package init(_ names: [String]) { self.names = names }

  /// Whether `host`, with or without a port, is an address, `localhost`, a name below it or one of the names. Only
  /// HTTP/1.0 clients omit the field; no browser does.
  package func allows(_ host: String?) -> Bool {
    guard let host else { return true }
    if names.contains("*") || host.hasPrefix("[") { return true }
    let name = host.prefix { $0 != ":" }
    return Self.isLocal(name) || Self.isAddress(name) || names.contains { ASCII.equalIgnoringCase($0, name) }
  }

  /// `localhost`, and the names below it, which browsers never look up (RFC 6761 section 6.3).
  private static func isLocal(_ name: Substring) -> Bool {
    let last = name.split(separator: ".", omittingEmptySubsequences: false).last
    return last.map { ASCII.equalIgnoringCase($0, "localhost") } ?? false
  }

  /// Four numbers with points between them, as browsers write an IPv4 address.
  private static func isAddress(_ text: Substring) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { !$0.hasPrefix("+") && UInt8($0) != nil }
  }

  /// Whether a text is a valid name: letters, digits, `-`, `.` and `_`, or `*`.
  package static func isName(_ text: String) -> Bool {
    let isPlain = text.utf8.allSatisfy { byte in
      (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || "-._".utf8.contains(byte)
    }
    return text == "*" || (!text.isEmpty && isPlain)
  }
}

extension HTTPResponse {
  /// 421 (RFC 9110 section 15.5.20): the request names a host that is not served.
  /// - Parameters:
  ///   - what: what is not served under that name.
  ///   - setting: the setting that would allow it.
  package static func foreignHost(_ request: HTTPRequestHead, _ what: String, setting: String) -> HTTPResponse {
    .error(
      421, code: "foreign_host",
      message: "\(what) does not answer to the name \((request.fields["Host"] ?? "").prefix(80))",
      hint: "use its address or localhost, or name the host in \(setting)")
  }
}
