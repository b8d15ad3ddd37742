import MarketData

/// The signs of life of one connection: when something came, what promises to speak, and when a ping is due.
///
/// | value | what it knows |
/// |---|---|
/// | `ChannelWatches` | the channels that promise to speak, and are silent |
/// | `Canary` | the markets that are followed for a sign of life alone |
/// | `PingClock` | when a ping is due |
/// | `Maintenance` | the venue's maintenance |
struct ConnectionLife {
  /// When the first subscription may be sent on a connection.
  let opening: ConnectionOpening
  private(set) var isConnected = false
  /// When anything last came on the connection.
  var heard = Timestamp.distantPast
  /// When something of a market last came, or a heartbeat that the venue sends by itself. Answers, those to pings
  /// among them, are neither.
  var marketHeard = Timestamp.distantPast
  var watches: ChannelWatches
  var canary: Canary
  var ping: PingClock
  var maintenance: Maintenance

  init(_ facts: DialectFacts, _ cadence: Cadence, _ opening: ConnectionOpening) {
    self.opening = opening
    watches = ChannelWatches(facts)
    canary = Canary(cadence.source)
    ping = PingClock(facts.ping)
    maintenance = Maintenance(facts.maintenance)
  }

  mutating func connected(now: Timestamp) {
    isConnected = true
    ping.connected(now: now)
  }

  mutating func disconnected() {
    isConnected = false
    ping.disconnected()
    maintenance.disconnected()
    watches.disconnected()
  }
}
