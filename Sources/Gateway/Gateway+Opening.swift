import Feeds
import Logging
import MarketData
import Operations
import PubSub
import Synchronization
import Transport
import Venues

/// What a gateway cannot answer yet although the process before it could.
struct Preparation: Sendable, Equatable {
  /// What will come in a moment, a few words each: clients wait for it.
  var coming: [String] = []
  /// What will not come soon, such as the markets of a venue that refuses connections: clients do not wait for it.
  var missing: [String] = []
  /// The symbols that clients must find on every loop.
  var symbols: [String] = []

  var isComplete: Bool { coming.isEmpty }

  mutating func add(_ other: Preparation) {
    coming += other.coming
    missing += other.missing
    symbols += other.symbols
  }
}

/// The moment at which a gateway begins to accept clients. One that has sockets of an earlier process waits until it
/// can answer what that one could; connections wait in the kernel.
final class GatewayOpening: Sendable {
  /// How long clients wait at most, µs. Then the gateway answers with what it has, and the log says what is missing.
  static let limit = 10 * Microseconds.second
  static let interval: Duration = .milliseconds(20)

  private struct State {
    var hasOpened = false
    var waiting: [@Sendable () -> Void] = []
  }
  private let state = Mutex(State())

  /// Calls `body` once clients are accepted; at once if they are.
  func wait(_ body: @escaping @Sendable () -> Void) {
    let hasOpened = state.withLock { state in
      if !state.hasOpened { state.waiting.append(body) }
      return state.hasOpened
    }
    if hasOpened { body() }
  }

  /// Clients are accepted. True for the first call.
  func arrive() -> Bool {
    let (isFirst, waiting) = state.withLock { state in
      defer { (state.hasOpened, state.waiting) = (true, []) }
      return (!state.hasOpened, state.waiting)
    }
    for body in waiting { body() }
    return isFirst
  }
}

extension Gateway {
  /// Calls `body` once clients are accepted; at once if they are. Never, if the gateway ends before.
  package func whenOpen(_ body: @escaping @Sendable () -> Void) { opening.wait(body) }

  /// Accepts clients when every loop is prepared, after `GatewayOpening.limit` at the latest. Call it after the feeds
  /// have begun.
  func openWhenPrepared() {
    let first = nodes[0]
    let startedAt = first.loop.kernel.monotonicMicroseconds
    first.loop.execute { [self] in look(from: startedAt) }
  }

  /// On the first loop.
  private func look(from startedAt: Int64) {
    prepare { [self] preparation in
      let waited = nodes[0].loop.moment - startedAt
      if preparation.isComplete || waited >= GatewayOpening.limit { return open(preparation, after: waited) }
      nodes[0].loop.schedule(after: GatewayOpening.interval) { [self] in look(from: startedAt) }
    }
  }

  private func open(_ preparation: Preparation, after waited: Int64) {
    guard opening.arrive() else { return }
    publicListener.begin()
    let missing = preparation.coming + preparation.missing
    let fields: Logger.Metadata = ["waited_ms": "\(waited / Microseconds.millisecond)"]
    guard !missing.isEmpty else { return log.notice("clients are accepted", metadata: fields) }
    let shown = missing.prefix(5).joined(separator: "; ") + (missing.count > 5 ? "; …" : "")
    log.warning(
      "clients are accepted, but the gateway cannot answer all that it could before",
      metadata: fields.merging(["missing": "\(shown)", "count": "\(missing.count)"]) { $1 })
  }

  /// What all loops cannot answer yet. On the first loop.
  private func prepare(then body: @escaping (Preparation) -> Void) {
    gather({ $0.feeds.preparation }) { [self] parts in
      var all = Preparation()
      for part in parts { all.add(part) }
      let symbols = all.symbols
      gather({ node in symbols.filter { node.hub.directory.entries[$0] == nil } }) { absent in
        let names = Set(absent.joined())
        if !names.isEmpty { all.coming.append("\(names.count) markets in the lists") }
        body(all)
      }
    }
  }

  /// Runs `work` on every loop, and `body` with the results on the first one.
  private func gather<T: Sendable>(
    _ work: @escaping @Sendable (LoopNode) -> T, then body: @escaping ([T]) -> Void
  ) {
    let results = Gathered<T>()
    let count = nodes.count
    for loop in 0..<count {
      nodes[0].ask(loop, work) { result in
        results.values.append(result)
        if results.values.count == count { body(results.values) }
      }
    }
  }

  /// Results of loops, on the first one.
  private final class Gathered<T> { var values: [T] = [] }
}

extension LoopFeeds {
  /// What this loop's feeds cannot answer yet. O(instruments).
  var preparation: Preparation {
    node.loop.assertOnLoop()
    var all = Preparation()
    for feed in running {
      let name = feed.pipeline.venue.label
      let status = feed.status
      let states = feed.pipeline.market.instruments
      if node.history?.isHolding(feed.slot) ?? false {
        all.coming.append("the past of \(name)")
      } else {
        all.symbols += states.map(\.instrument.symbol)
      }
      switch status.state {
      case .connecting: all.coming.append("\(name): \(status.reason ?? "connecting")")
      case .syncing, .live:
        let listed = Set(states.map { $0.instrument.symbol.drop { $0 != ":" }.dropFirst() })
        let failed = Set(status.failed.keys.map { $0.drop { $0 != ":" }.dropFirst() })
        let wanted = (feed as? FeedSession)?.followedSymbols ?? []
        let unlisted = wanted.filter { !listed.contains($0[...]) && !failed.contains($0[...]) }
        if states.isEmpty || !unlisted.isEmpty { all.coming.append("\(name): \(max(1, unlisted.count)) markets") }
        let books = states.count { if case .syncing = $0.bookState { true } else { false } }
        if books > 0 { all.coming.append("\(name): \(books) books") }
      case .stale, .reconnecting, .disconnected, .maintenance:
        all.missing.append("\(name): \(status.state.rawValue)\(status.reason.map { " (\($0))" } ?? "")")
      }
    }
    return all
  }
}

extension FeedSession {
  /// The symbols that the feed follows by name, as in its configuration.
  fileprivate var followedSymbols: [String] {
    configured.symbols.filter { !stopped.contains($0) && !MarketSelection.isMeant(by: $0) }
  }
}

extension Gateway {
  /// Checks whether every loop turns: calls back within a second with the indices of loops that are stuck. If the first
  /// loop is stuck, the answer never comes, so a watchdog must not wait for it.
  package func probeLoops(then: @escaping @Sendable (_ silent: [Int]) -> Void) {
    LoopProbe.run(nodes.map(\.loop), from: nodes[0].loop, then: then)
  }
}
