/// Where a venue is: scheme, host, port and path of a `ws`, `wss`, `http` or `https` URL.
package struct Endpoint: Sendable, Equatable {
  package let isSecure: Bool
  package let host: String
  package let port: UInt16
  /// With a leading slash, query included.
  package let path: String

  /// Nil if `url` is not such a URL; user information and fragments are not accepted.
  package init?(_ url: String) {
    guard let colon = url.firstRange(of: "://") else { return nil }
    let rest = url[colon.upperBound...]
    let standardPort: UInt16
    switch url[..<colon.lowerBound].lowercased() {
    case "ws", "http": (isSecure, standardPort) = (false, 80)
    case "wss", "https": (isSecure, standardPort) = (true, 443)
    default: return nil
    }
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let authority = rest[..<end]
    guard !authority.contains("@"), !rest.contains("#") else { return nil }
    var host = authority
    var port = standardPort
    if authority.first == "[" {
      guard let close = authority.firstIndex(of: "]") else { return nil }
      host = authority[authority.index(after: authority.startIndex)..<close]
      let tail = authority[authority.index(after: close)...]
      if !tail.isEmpty {
        guard tail.first == ":", let number = UInt16(tail.dropFirst()), number > 0 else { return nil }
        port = number
      }
    } else if let mark = authority.firstIndex(of: ":") {
      guard let number = UInt16(authority[authority.index(after: mark)...]), number > 0 else { return nil }
      host = authority[..<mark]
      port = number
    }
    guard !host.isEmpty else { return nil }
    self.host = String(host)
    self.port = port
    let path = rest[end...]
    self.path = path.isEmpty ? "/" : path.first == "?" ? "/" + path : String(path)
  }

  /// The value of a `Host` field.
  package var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  /// This endpoint's path followed by `path`, with one slash between.
  package func target(_ path: String) -> String {
    (self.path == "/" ? "" : self.path.hasSuffix("/") ? String(self.path.dropLast()) : self.path) + path
  }
}
