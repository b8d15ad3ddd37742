import Bytes
import HTTP1

/// The names that the internal port answers to. A page can point its own name to this machine (DNS rebinding); then the
/// browser lets it read, as same-origin. But the browser sends that name in `Host`.
struct InternalHosts: Sendable {
  private let names: [String]

  /// - Parameter names: allowed beside addresses and `localhost`; `*` allows any.
  init(names: [String]) { self.names = names }

  /// Whether `host`, with or without a port, is an address, `localhost` or one of the names. Only HTTP/1.0 clients omit
  /// the field; no browser does.
  func allows(_ host: String?) -> Bool {
    guard let host else { return true }
    if names.contains("*") || host.hasPrefix("[") { return true }
    let name = host.prefix { $0 != ":" }
    return ASCII.equalIgnoringCase(name, "localhost") || Self.isAddress(name)
      || names.contains { ASCII.equalIgnoringCase($0, name) }
  }

  /// Four numbers with points between them, as browsers write an IPv4 address.
  private static func isAddress(_ text: Substring) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { !$0.hasPrefix("+") && UInt8($0) != nil }
  }

  /// Whether a text is a valid name: letters, digits, `-`, `.` and `_`, or `*`.
  static func isName(_ text: String) -> Bool {
    let isPlain = text.utf8.allSatisfy { byte in
      (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || "-._".utf8.contains(byte)
    }
    return text == "*" || (!text.isEmpty && isPlain)
  }
}
