import Transport

/// The allowed addresses of webhook receivers: those of the public Internet, and those that the operator allows. An
/// owner's URL must not reach machines near the gateway (server-side request forgery).
package struct WebhookAddresses: Sendable {
  /// The networks of IPv4 that are not public (IANA IPv4 Special-Purpose Address Registry, RFC 6890, and multicast).
  private static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
    // Within 2000::/3 of IPv6: networks that lead to IPv4 addresses (Teredo, 6to4), benchmarks, documentation.
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
  ].compactMap { IPNetwork($0) }
  /// The allocated part of IPv6; anything else is link-local, unique local, mapped or reserved.
  private static let global = IPNetwork("2000::/3")!

  /// The networks that the operator allows in addition.
  let allowed: [IPNetwork]

  package init(allowed: [IPNetwork]) { self.allowed = allowed }

  package func allows(_ address: IPAddress) -> Bool {
    if allowed.contains(where: { $0.contains(address) }) { return true }
    guard address.isIPv4 || Self.global.contains(address) else { return false }
    return !Self.special.contains { $0.contains(address) }
  }
}
