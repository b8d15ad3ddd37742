/// How much a client receives per second at present. A value of its session, 28 bytes.
package struct ClientPace {
  package struct Rates: Sendable, Equatable {
    /// Data messages, and bytes as they are sent on the connection.
    package var messages: Double
    package var bytes: Double
  }

  /// The time between two measurements, µs: rates are means over it.
  static let interval: Int64 = 5_000_000

  private var lookedAt: Int64
  /// The last 32 bits of the totals. They are enough for 4 GiB between two measurements, 7 Gbit/s.
  private var messages: UInt32 = 0
  private var bytes: UInt32 = 0
  /// Of the last interval, with its length, µs; 0: none is over.
  private var newMessages: UInt32 = 0
  private var newBytes: UInt32 = 0
  private var length: UInt32 = 0

  /// - Parameter moment: monotonic µs, as everywhere in this type.
  package init(at moment: Int64) { lookedAt = moment }

  package func isDue(at moment: Int64) -> Bool { moment - lookedAt >= Self.interval }

  /// Takes the running totals; call when it is due.
  package mutating func look(messages: UInt64, bytes: UInt64, at moment: Int64) {
    let (messages, bytes) = (UInt32(truncatingIfNeeded: messages), UInt32(truncatingIfNeeded: bytes))
    (newMessages, newBytes) = (messages &- self.messages, bytes &- self.bytes)
    length = UInt32(clamping: moment - lookedAt)
    (self.messages, self.bytes, lookedAt) = (messages, bytes, moment)
  }

  /// Nil before the first interval is over.
  package var rates: Rates? {
    guard length > 0 else { return nil }
    let seconds = Double(length) / 1e6
    return Rates(messages: Double(newMessages) / seconds, bytes: Double(newBytes) / seconds)
  }
}
