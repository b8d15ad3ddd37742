import HTTP1
import Transport

/// Reads a client's address from the header of trusted proxies.
///
/// It reads only the configured header, which the proxies write: a proxy that writes `X-Forwarded-For` passes on a
/// forged `Forwarded` of the client, and the other way round.
package struct TrustedProxies: Sendable {
  package enum Header: String, Sendable, CaseIterable {
    /// `X-Forwarded-For: 203.0.113.7, 10.0.0.2`.
    case xForwardedFor = "x-forwarded-for"
    /// RFC 7239: `Forwarded: for=203.0.113.7;proto=https, for="[2001:db8::1]:4711"`.
    case forwarded
  }

  /// The most hops that are read, from the nearest on.
  static let hopLimit = 32

  private let networks: [IPNetwork]
  private let header: Header

  package init(networks: [IPNetwork] = [], header: Header = .xForwardedFor) {
    self.networks = networks
    self.header = header
  }

  func trusts(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }

  /// The client's address: the connection's own unless that is a trusted proxy's; then the rightmost hop that is not a
  /// trusted proxy. A hop that is not an address (`unknown`, an obfuscated name) ends the search at the proxy that
  /// reported it.
  package func client(of peer: IPAddress, _ fields: HTTPFields) -> IPAddress {
    guard trusts(peer) else { return peer }
    var client = peer
    for hop in hops(fields).suffix(Self.hopLimit).reversed() {
      guard let address = hop else { return client }
      client = address
      guard trusts(address) else { return client }
    }
    return client
  }

  /// The hops in order, the nearest last; nil for a hop that is not an address.
  private func hops(_ fields: HTTPFields) -> [IPAddress?] {
    switch header {
    case .xForwardedFor: fields.list("X-Forwarded-For").map { Self.address(String($0)) }
    case .forwarded: fields.list("Forwarded").map { Self.forwarded($0) }
    }
  }

  /// The `for` of one element of `Forwarded` (RFC 7239 section 4).
  private static func forwarded(_ element: Substring) -> IPAddress? {
    var found: IPAddress?
    var count = 0
    for pair in element.split(separator: ";") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, ASCII.equalIgnoringCase(parts[0].trimmed, "for") else { continue }
      count += 1
      var value = String(parts[1].trimmed)
      if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") { value = String(value.dropFirst().dropLast()) }
      found = address(value)
    }
    return count == 1 ? found : nil
  }

  /// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
  private static func address(_ text: String) -> IPAddress? {
    if let address = IPAddress(text) { return address }
    guard let end = text.lastIndex(of: text.hasPrefix("[") ? "]" : ":") else { return nil }
    if !text.hasPrefix("[") { return isPort(text[text.index(after: end)...]) ? v4(text[..<end]) : nil }
    let rest = text[text.index(after: end)...]
    guard rest.isEmpty || (rest.hasPrefix(":") && isPort(rest.dropFirst())) else { return nil }
    let host = text[text.index(after: text.startIndex)..<end]
    return host.contains(":") ? IPAddress(String(host)) : nil
  }

  private static func v4(_ text: Substring) -> IPAddress? {
    text.contains(":") ? nil : IPAddress(String(text))
  }

  private static func isPort(_ text: Substring) -> Bool {
    (1...5).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    var view = utf8
    while let first = view.first, first == 0x20 || first == 0x09 { view.removeFirst() }
    while let last = view.last, last == 0x20 || last == 0x09 { view.removeLast() }
    return Substring(view)
  }
}
