/// How much a client receives per second at present. A value of its session.
struct ClientPace {
  struct Rates: Sendable, Equatable {
    /// Data messages, and bytes as they are sent on the connection.
    var messages: Double
    var bytes: Double
  }

  /// The time between two measurements, µs: rates are means over it.
  static let interval: Int64 = 5_000_000

  private var messages: UInt64 = 0
  private var bytes: UInt64 = 0
  private var lookedAt: Int64
  private(set) var rates: Rates?

  /// - Parameter moment: monotonic µs, as everywhere in this type.
  init(at moment: Int64) { lookedAt = moment }

  func isDue(at moment: Int64) -> Bool { moment - lookedAt >= Self.interval }

  /// Takes the running totals; call when it is due.
  mutating func look(messages: UInt64, bytes: UInt64, at moment: Int64) {
    let seconds = Double(moment - lookedAt) / 1e6
    rates = Rates(
      messages: Double(messages &- self.messages) / seconds, bytes: Double(bytes &- self.bytes) / seconds)
    (self.messages, self.bytes, lookedAt) = (messages, bytes, moment)
  }
}
