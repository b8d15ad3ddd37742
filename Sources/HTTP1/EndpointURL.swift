/// The parts of a `ws`, `wss`, `http` or `https` URL that a connection needs. No user info and no fragment.
package struct EndpointURL: Sendable, Equatable {
  package enum Scheme: String, Sendable { case ws, wss, http, https }

  package var scheme: Scheme
  /// A name or numeric address, IPv6 without its brackets.
  package var host: String
  package var port: UInt16
  /// Path and query, at least `/`.
  package var target: String

  /// Whether the connection uses TLS.
  package var isSecure: Bool { scheme == .wss || scheme == .https }

  /// The value of a `Host` field: the host, IPv6 in brackets, and the port unless it is the scheme's own.
  package var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  package var description: String { "\(scheme.rawValue)://\(authority)\(target)" }

  /// `http` for `ws`, `https` for `wss`, on the same host and port, without a path.
  package var restBase: String { "\(isSecure ? "https" : "http")://\(authority)" }

  /// The target of a request for `path` under this URL, with one slash between.
  package func target(of path: String) -> String {
    (target == "/" ? "" : target.hasSuffix("/") ? String(target.dropLast()) : target) + path
  }

  /// Nil if `text` is not such a URL.
  package init?(_ text: String) {
    guard let mark = text.firstRange(of: "://"), let scheme = Scheme(rawValue: text[..<mark.lowerBound].lowercased()),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !text.contains("#")
    else { return nil }
    let rest = text[mark.upperBound...]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let authority = rest[..<end]
    guard !authority.contains("@") else { return nil }
    var host = authority
    var portText: Substring?
    if authority.first == "[" {
      guard let close = authority.firstIndex(of: "]") else { return nil }
      host = authority[authority.index(after: authority.startIndex)..<close]
      let tail = authority[authority.index(after: close)...]
      guard host.contains(":"), tail.isEmpty || tail.first == ":" else { return nil }
      if !tail.isEmpty { portText = tail.dropFirst() }
    } else if let colon = authority.firstIndex(of: ":") {
      host = authority[..<colon]
      portText = authority[authority.index(after: colon)...]
      guard !host.contains(where: { "[]".contains($0) }) else { return nil }
    }
    guard !host.isEmpty else { return nil }
    let defaultPort: UInt16 = scheme == .wss || scheme == .https ? 443 : 80
    if let portText {
      guard let port = UInt16(portText), port > 0 else { return nil }
      self.port = port
    } else {
      self.port = defaultPort
    }
    self.scheme = scheme
    self.host = String(host)
    let target = String(rest[end...])
    self.target = target.isEmpty ? "/" : target.first == "?" ? "/" + target : target
  }
}
