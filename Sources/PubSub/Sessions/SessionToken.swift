/// What makes a session unguessable: 96 random bits.
package struct SessionSecret: Sendable, Hashable {
  static let byteCount = 12

  private let high: UInt64
  private let low: UInt32

  package init(high: UInt64, low: UInt32) {
    self.high = high
    self.low = low
  }

  /// - Parameter random: 12 bytes.
  package init(_ random: [UInt8]) {
    precondition(random.count == Self.byteCount, "a secret has 96 bits")
    self.init(
      high: random[..<8].reduce(0) { $0 << 8 | UInt64($1) }, low: random[8...].reduce(0) { $0 << 8 | UInt32($1) })
  }

  /// Compares in constant time, so that nobody can guess a secret digit by digit.
  package static func == (one: SessionSecret, other: SessionSecret) -> Bool {
    (one.high ^ other.high) | UInt64(one.low ^ other.low) == 0
  }

  /// 24 hexadecimal digits.
  fileprivate init?(_ digits: Substring) {
    guard digits.utf8.count == 2 * Self.byteCount,
      digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
      let high = UInt64(digits.prefix(16), radix: 16), let low = UInt32(digits.dropFirst(16), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
  }

  fileprivate var digits: String { Self.digits(high, 16) + Self.digits(UInt64(low), 8) }

  private static func digits(_ number: UInt64, _ count: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: count - digits.utf8.count) + digits
  }
}

/// The name of a session: a secret, then its location (loop, slot and generation of its client),
/// `s_8f2c0d1e5a77ab3094be61c2.0.1a.3`. Kept as numbers, because each client has one and few ever show it.
package struct SessionToken: Sendable, Hashable, CustomStringConvertible {
  let secret: SessionSecret
  let loop: UInt16
  let client: ClientID

  /// The length of a token in bytes; a longer one matches no session.
  private static let limit = 128
  private static let prefix = "s_"

  init(_ secret: SessionSecret, loop: Int, client: ClientID) {
    self.secret = secret
    self.loop = UInt16(truncatingIfNeeded: loop)
    self.client = client
  }

  /// Nil for a text that is no session token.
  package init?(_ text: String) {
    guard text.utf8.count <= Self.limit, text.hasPrefix(Self.prefix) else { return nil }
    let parts = text.dropFirst(Self.prefix.count).split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, let secret = SessionSecret(parts[0]), let loop = UInt16(parts[1]),
      let slot = UInt32(parts[2], radix: 16), let generation = UInt32(parts[3], radix: 16)
    else { return nil }
    self.init(secret, loop: Int(loop), client: ClientID(slot: slot, generation: generation))
  }

  package var description: String {
    Self.prefix + secret.digits + ".\(loop)." + String(client.slot, radix: 16) + "."
      + String(client.generation, radix: 16)
  }
}
