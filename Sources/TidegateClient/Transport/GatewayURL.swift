/// The URL of a gateway: `ws://127.0.0.1:8080/v1/stream`, `wss://…`.
public struct GatewayURL: Sendable, Hashable, CustomStringConvertible {
  /// Whether it is `wss`.
  public let isSecure: Bool
  /// A name or numeric address, IPv6 without its brackets.
  public let host: String
  /// 80 for `ws` and 443 for `wss` unless given.
  public let port: UInt16
  /// Path and query; `/v1/stream` where the URL has none.
  public let target: String

  /// Reads a `ws` or `wss` URL.
  /// - Throws: the mistake in it.
  public init(_ text: String) throws(InvalidURL) {
    guard let url = GatewayURL(reading: text) else { throw InvalidURL(text: text) }
    self = url
  }

  /// Reads a `ws` or `wss` URL; nil if `text` is something else.
  private init?(reading text: String) {
    let lower = text.lowercased()
    guard lower.hasPrefix("ws://") || lower.hasPrefix("wss://"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      !text.contains("#"), !text.contains("@")
    else { return nil }
    isSecure = lower.hasPrefix("wss")
    let rest = text.dropFirst(isSecure ? 6 : 5)
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let authority = rest[..<end]
    var host = authority
    var portText: Substring = ""
    if authority.first == "[" {
      guard let close = authority.firstIndex(of: "]") else { return nil }
      host = authority[authority.index(after: authority.startIndex)..<close]
      let tail = authority[authority.index(after: close)...]
      guard host.contains(":"), tail.isEmpty || tail.first == ":" && tail.count > 1 else { return nil }
      portText = tail.dropFirst()
    } else if let colon = authority.firstIndex(of: ":") {
      host = authority[..<colon]
      portText = authority[authority.index(after: colon)...]
      guard !portText.isEmpty else { return nil }
    }
    guard !host.isEmpty else { return nil }
    if portText.isEmpty {
      port = isSecure ? 443 : 80
    } else {
      guard let number = UInt16(portText), number > 0 else { return nil }
      port = number
    }
    self.host = String(host)
    let path = String(rest[end...])
    target = path.isEmpty || path == "/" ? "/v1/stream" : path.first == "?" ? "/v1/stream" + path : path
  }

  /// `host:port`, IPv6 in brackets.
  public var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// The URL with its port.
  public var description: String { "\(isSecure ? "wss" : "ws")://\(authority)\(target)" }
}

/// A text that is not a URL of a gateway: the app's mistake.
public struct InvalidURL: Error, Sendable, Hashable, CustomStringConvertible {
  /// The text.
  public let text: String

  /// The mistake, and what to write instead.
  public var description: String {
    "\"\(text)\" is not a gateway's URL; give one like ws://127.0.0.1:8080/v1/stream or wss://host/v1/stream"
  }
}
