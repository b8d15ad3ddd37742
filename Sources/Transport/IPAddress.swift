import Glibc

/// An IPv4 or IPv6 address as a number. IPv4 has its mapped form (`::ffff:a.b.c.d`, RFC 4291 section 2.5.5.2), so that
/// a client has the same value on sockets of both kinds.
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// The first and the last 64 bits.
  package let high: UInt64
  package let low: UInt64

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads a numeric address: `192.0.2.1`, `2001:db8::1`. No zone, port or brackets.
  package init?(_ text: String) {
    var v4 = in_addr()
    var v6 = in6_addr()
    if inet_pton(AF_INET, text, &v4) == 1 {
      high = 0
      low = 0xFFFF_0000_0000 | UInt64(UInt32(bigEndian: v4.s_addr))
    } else if inet_pton(AF_INET6, text, &v6) == 1 {
      (high, low) = withUnsafeBytes(of: v6) { bytes in
        (
          UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
          UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
      }
    } else {
      return nil
    }
  }

  /// `192.0.2.1`, `2001:db8::1`.
  package var description: String {
    var v6 = in6_addr()
    withUnsafeMutableBytes(of: &v6) { bytes in
      bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
      bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
      text[0] = 0
      inet_ntop(AF_INET6, &v6, text.baseAddress, 64)
      let shown = String(cString: text.baseAddress!)
      return isIPv4 ? String(shown.dropFirst(7)) : shown
    }
  }

  package var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

  /// The unit of limits per address: an IPv4 address, or the /64 of an IPv6 address, which one customer gets (RFC
  /// 6177).
  package var subscriber: IPAddress { isIPv4 ? self : IPAddress(high: high, low: 0) }
}

/// An address and the number of its significant first bits: `10.0.0.0/8`, `2001:db8::/32`, `127.0.0.1`.
package struct IPNetwork: Sendable, Hashable, CustomStringConvertible {
  package let address: IPAddress
  /// The number of bits, of the 128 bits of the mapped form.
  private let prefix: Int

  /// Reads `ADDRESS` or `ADDRESS/BITS`; nil also if bits after the prefix are set, which is usually a mistake.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = IPAddress(String(parts[0])) else { return nil }
    let width = address.isIPv4 && !parts[0].contains(":") ? 32 : 128
    var bits = width
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let given = Int(parts[1]), given <= width else {
        return nil
      }
      bits = given
    }
    self.address = address
    prefix = 128 - width + bits
    let (high, low) = Self.mask(prefix)
    guard address.high & ~high == 0, address.low & ~low == 0 else { return nil }
  }

  package var description: String {
    let bits = address.isIPv4 ? prefix - 96 : prefix
    return bits == (address.isIPv4 ? 32 : 128) ? "\(address)" : "\(address)/\(bits)"
  }

  package func contains(_ other: IPAddress) -> Bool {
    let (high, low) = Self.mask(prefix)
    return other.high & high == address.high && other.low & low == address.low
  }

  private static func mask(_ prefix: Int) -> (high: UInt64, low: UInt64) {
    // Shifts by 64 and more give 0 in Swift.
    (~(UInt64.max >> UInt64(min(prefix, 64))), ~(UInt64.max >> UInt64(max(0, prefix - 64))))
  }
}
