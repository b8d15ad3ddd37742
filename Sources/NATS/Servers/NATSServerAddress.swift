/// The address of a NATS server: `nats://host:port` or `tls://host:port`; the port is 4222 if left out.
package struct NATSServerAddress: Hashable, Sendable, CustomStringConvertible {
  package let host: String
  package let port: UInt16
  /// Whether the address asks for TLS.
  package let isTLS: Bool

  package static let defaultPort: UInt16 = 4222

  /// Nil for anything else: users and passwords in addresses too, which end in logs.
  /// - Parameter isTLS: of an address without a scheme, as in `connect_urls`.
  package init?(_ text: String, isTLS: Bool = false) {
    var rest = text[...]
    var isTLS = isTLS
    if rest.hasPrefix("nats://") {
      rest = rest.dropFirst(7)
      isTLS = false
    } else if rest.hasPrefix("tls://") {
      rest = rest.dropFirst(6)
      isTLS = true
    }
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    var digits: Substring?
    if rest.first == "[" {
      guard let end = rest.firstIndex(of: "]") else { return nil }
      let after = rest[rest.index(after: end)...]
      guard after.isEmpty || after.first == ":" else { return nil }
      if !after.isEmpty { digits = after.dropFirst() }
      rest = rest[rest.index(after: rest.startIndex)..<end]
      guard rest.utf8.allSatisfy({ Self.isHexadecimal($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
      else { return nil }
    } else {
      let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count <= 2 else { return nil }
      if parts.count == 2 { digits = parts[1] }
      rest = parts[0]
      guard rest.utf8.allSatisfy(Self.isNameCharacter) else { return nil }
    }
    guard !rest.isEmpty, rest.utf8.count <= 253 else { return nil }
    if let digits {
      guard digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = UInt16(digits), number > 0 else { return nil }
      port = number
    } else {
      port = Self.defaultPort
    }
    host = String(rest)
    self.isTLS = isTLS
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    0x30...0x39 ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
  }

  private static func isNameCharacter(_ byte: UInt8) -> Bool {
    0x30...0x39 ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
  }

  package var description: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return "\(isTLS ? "tls" : "nats")://\(name):\(port)"
  }
}
