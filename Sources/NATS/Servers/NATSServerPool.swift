import Bytes

/// The servers of a cluster: the configured ones, and those that a server names in `INFO`. It says which server to
/// connect to, and when. Sans-IO: `now` is a monotonic time in µs, and random numbers come from the caller.
///
/// Each server has a back-off of its own, so a client goes to the next server at once and comes back to a failed one
/// later. Among servers that may be tried, the order is random for each client: clients of a dead server spread.
package struct NATSServerPool {
  private struct Server {
    let address: NATSServerAddress
    let isConfigured: Bool
    var backoff: Backoff
    /// Not to be tried before.
    var notBefore: Int64 = .min
    /// Decides between servers that may be tried.
    var rank: UInt64
  }

  /// The most servers beside the configured ones.
  package static let discoveredLimit = NATSServerInfo.urlLimit
  /// How long a server in lame duck mode is avoided, µs: it closes its connections within 10 s to 2 min.
  package static let lameDuckTime: Int64 = 120_000_000

  private var servers: [Server]
  private let firstWait: Int64
  private let lastWait: Int64

  /// - Parameters:
  ///   - configured: at least one.
  ///   - firstWait: the ceiling of the wait after the first failure of a server, µs; it doubles up to `lastWait`.
  package init(_ configured: [NATSServerAddress], firstWait: Int64 = 100_000, lastWait: Int64 = 5_000_000, seed: UInt64)
  {
    precondition(!configured.isEmpty)
    self.firstWait = firstWait
    self.lastWait = lastWait
    servers = []
    for (index, address) in configured.enumerated() where !configured[..<index].contains(address) {
      add(address, isConfigured: true, seed)
    }
  }

  private mutating func add(_ address: NATSServerAddress, isConfigured: Bool, _ seed: UInt64) {
    var hash = (seed ^ UInt64(servers.count + 1)) &* 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ hash >> 32) &* 0xBF58_476D_1CE4_E5B9
    servers.append(
      Server(
        address: address, isConfigured: isConfigured, backoff: Backoff(first: firstWait, limit: lastWait),
        rank: hash ^ hash >> 29))
  }

  package var addresses: [NATSServerAddress] { servers.map(\.address) }

  /// The server to connect to, and the time to do so: `now` or later.
  package func next(now: Int64) -> (address: NATSServerAddress, at: Int64) {
    let best = servers.min { a, b in
      let (first, second) = (max(a.notBefore, now), max(b.notBefore, now))
      return first != second ? first < second : a.rank < b.rank
    }
    // A pool has a configured server at least.
    return (best.unsafelyUnwrapped.address, max(best.unsafelyUnwrapped.notBefore, now))
  }

  /// The connection failed or broke. It may be tried again after a wait that doubles each time.
  package mutating func failed(_ address: NATSServerAddress, now: Int64, random: UInt64) {
    update(address) { server in
      // Half of the ceiling at least: an answer as fast as a refusal must not become a loop.
      let ceiling = server.backoff.next()
      server.notBefore = now + ceiling / 2 + Int64(random % UInt64(ceiling / 2 + 1))
      server.rank = random.multipliedReportingOverflow(by: 0x9E37_79B9_7F4A_7C15).partialValue
    }
  }

  /// The server has accepted the connection.
  package mutating func connected(_ address: NATSServerAddress) {
    update(address) { server in
      server.backoff.reset()
      server.notBefore = .min
    }
  }

  /// The server shuts down soon: others come first.
  package mutating func isLameDuck(_ address: NATSServerAddress, now: Int64) {
    update(address) { $0.notBefore = now + Self.lameDuckTime }
  }

  private mutating func update(_ address: NATSServerAddress, _ body: (inout Server) -> Void) {
    if let index = servers.firstIndex(where: { $0.address == address }) { body(&servers[index]) }
  }

  /// The servers that an `INFO` names replace those of the last one. Malformed addresses are ignored.
  /// - Parameter current: the server that named them; it stays.
  package mutating func discovered(_ urls: [String], from current: NATSServerAddress, seed: UInt64) {
    guard !urls.isEmpty else { return }
    let found = Array(
      urls.prefix(Self.discoveredLimit).compactMap { NATSServerAddress($0, isTLS: current.isTLS) })
    servers.removeAll { !$0.isConfigured && $0.address != current && !found.contains($0.address) }
    for address in found where !servers.contains(where: { $0.address == address }) {
      guard servers.count(where: { !$0.isConfigured }) < Self.discoveredLimit else { return }
      add(address, isConfigured: false, seed)
    }
  }
}
