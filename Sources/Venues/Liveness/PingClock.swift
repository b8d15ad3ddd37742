import MarketData

/// When the next ping of a connection is due, by its venue's habit (`DialectFacts.Ping`). A value; time is a parameter.
struct PingClock {
  private let ping: DialectFacts.Ping?
  private var after: Int64
  private var last = Timestamp.distantPast

  init(_ ping: DialectFacts.Ping?) {
    self.ping = ping
    after = ping?.after ?? .max
  }

  mutating func connected(now: Timestamp) { last = now }
  mutating func disconnected() { after = ping?.after ?? .max }

  /// The venue wants a ping this often on this connection, µs.
  mutating func set(_ interval: Int64) { if let ping { after = min(ping.after, interval) } }

  /// Whether a ping is due; true once.
  /// - Parameters:
  ///   - sent: when the last text was sent on the connection.
  ///   - heard: when the last one came.
  mutating func takeDue(sent: Timestamp, heard: Timestamp, now: Timestamp) -> Bool {
    guard let ping else { return false }
    let since =
      switch ping.since {
      case .ping: last
      case .sent: sent
      case .heard: max(heard, last)
      }
    guard now - since >= after else { return false }
    last = now
    return true
  }
}
