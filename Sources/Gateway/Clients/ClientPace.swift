/// How much a client is given per second at present. A value of its session.
struct ClientPace {
  struct Rates: Sendable, Equatable {
    /// Data messages, and bytes as they stand on the connection.
    var messages: Double
    var bytes: Double
  }

  /// Between two looks, µs: rates are the mean of that.
  static let interval: Int64 = 5_000_000

  private var messages: UInt64 = 0
  private var bytes: UInt64 = 0
  private var lookedAt: Int64
  private(set) var rates: Rates?

  /// - Parameter moment: monotonic µs, as all of them here.
  init(at moment: Int64) { lookedAt = moment }

  func isDue(at moment: Int64) -> Bool { moment - lookedAt >= Self.interval }

  /// Takes running totals in, when it is due.
  mutating func look(messages: UInt64, bytes: UInt64, at moment: Int64) {
    let seconds = Double(moment - lookedAt) / 1e6
    rates = Rates(
      messages: Double(messages &- self.messages) / seconds, bytes: Double(bytes &- self.bytes) / seconds)
    (self.messages, self.bytes, lookedAt) = (messages, bytes, moment)
  }
}
