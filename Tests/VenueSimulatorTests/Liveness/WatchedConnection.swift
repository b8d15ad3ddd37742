import Bytes
import MarketData
import Venues

@testable import VenueSimulator

/// A feed at a simulated venue as a session keeps it: connects, pings, watches, and connects again when the connection
/// is dead. Without sockets, clocks or latency; `run` moves its time.
final class WatchedConnection {
  /// What became of it, and when.
  struct Event {
    enum Kind: Equatable { case stale, dead }
    let kind: Kind
    let reason: String
    let at: Timestamp
  }

  static let step = 50 * Microseconds.millisecond

  private(set) var simulated: SimulatedVenue
  let pipeline: FeedPipeline
  private(set) var now: Timestamp
  private(set) var events: [Event] = []
  private(set) var connects = 0
  /// Symbols that failed, with the reason.
  private(set) var failures: [String] = []
  private(set) var pongs = 0
  private(set) var health = ConnectionWatch.Health.fine

  /// Sees the changes of the market before they are dropped.
  var changed: (FeedPipeline) -> Void = { _ in }
  /// Is shown what changed, before it is forgotten.
  var onChanges: (borrowing MarketChanges, Timestamp) -> Void = { _, _ in }
  /// Is shown all changes of the market.
  var observe: ((borrowing MarketChanges) -> Void)?
  /// REST requests that were made.
  private(set) var requests = 0
  /// Until when every REST request is answered with 429, and how long to wait.
  var limitedUntil: Timestamp?

  private var session: SimulatedSession?
  private var watch: ConnectionWatch
  private var nextTick: Timestamp
  private var isPreparing = true

  /// - Parameter bridgesTrades: whether trades wait for those of an earlier run.
  init(
    _ venue: Venue, symbols: [String], _ simulated: SimulatedVenue, bridgesTrades: Bool = false,
    changed: @escaping (FeedPipeline) -> Void = { _ in }
  ) {
    self.simulated = simulated
    self.changed = changed
    pipeline = FeedPipeline(venue: venue, configuration: FeedConfiguration(symbols: symbols))
    pipeline.market.bridgesTrades = bridgesTrades
    now = simulated.now
    nextTick = now
    watch = ConnectionWatch(staleAfter: venue.staleAfter, now: now)
    pipeline.prepare(now: now)
    settle()
  }

  /// Whether it may call itself live: nothing is known against the connection, and every book is in sync.
  var isLive: Bool {
    session != nil && watch.hasHeardMarket && health == .fine && !pipeline.market.instruments.isEmpty
      && pipeline.market.instruments.allSatisfy { $0.bookState == .live }
  }

  /// Goes on for so many seconds, or until `isDone`.
  func run(_ seconds: Double, step: Int64 = step, until isDone: () -> Bool = { false }) {
    let end = now + Int64(seconds * Double(Microseconds.second))
    while now < end, !isDone() {
      now = now + step
      simulated.advance(to: now)
      if session == nil { connectIfPrepared() }
      take()
      if now >= nextTick {
        nextTick = now + 250 * Microseconds.millisecond
        tick()
      }
      if pipeline.market.nextDeadline <= now {
        pipeline.advance(now: now)
        settle()
      }
    }
  }

  private func connectIfPrepared() {
    guard pipeline.engine.isPrepared else { return }
    let (path, query) = VenueTrial.target(of: pipeline.engine.url)
    session = try? simulated.open(path: path, query: query)
    guard session != nil else { return }
    isPreparing = false
    connects += 1
    health = .fine
    watch = ConnectionWatch(staleAfter: pipeline.venue.staleAfter, now: now)
    probe()
    pipeline.connected(now: now)
    settle()
  }

  private func take() {
    for output in session?.takeOutput() ?? [] {
      switch output {
      case .text(let bytes):
        watch.heard(now: now)
        pipeline.receive(RawSpan(_unsafeBytes: bytes.unsafeBytes), now: now)
        if pipeline.engine.marketHeard == now { watch.heardMarket(now: now) }
        settle()
      case .ping(let payload):
        watch.heard(now: now)
        if let session { payload.withUnsafeBytes { simulated.receivedPong($0, from: session) } }
      case .close(let code, let reason): lose("closed by the venue: \(code) \(reason)")
      case .abort: lose("cut by the venue")
      case .witness: break
      }
    }
  }

  private func tick() {
    pipeline.tick(now: now)
    settle()
    guard session != nil else { return }
    let before = health
    health = watch.check(now: now, expectsMarket: pipeline.engine.expectsMarket)
    switch health {
    case .fine: break
    case .stale(let reason): if before == .fine { events.append(Event(kind: .stale, reason: reason, at: now)) }
    case .dead(let reason): return lose(reason)
    }
    if watch.isProbeDue(now: now) { probe() }
  }

  /// As servers do: the pong comes from the socket, whatever is behind it.
  private func probe() {
    watch.probed(now: now)
    guard let session else { return }
    simulated.receivedPing(from: session)
    guard !session.isEnded, !session.isHalfOpen, !simulated.isSilent else { return }
    pongs += 1
    watch.heard(isPong: true, now: now)
  }

  /// Ends the connection; the next one is made at once.
  func lose(_ reason: String) {
    events.append(Event(kind: .dead, reason: reason, at: now))
    if let session { simulated.close(session) }
    session = nil
    pipeline.disconnected(now: now)
    settle()
    pipeline.prepare(now: now)
    settle()
  }

  /// The venue has begun anew: the connection ends, and the next one is to `simulated`.
  func move(to simulated: SimulatedVenue) {
    self.simulated = simulated
    now = max(now, simulated.now)
    session = nil
    lose("the venue begins anew")
  }

  private func settle() {
    changed(pipeline)
    onChanges(pipeline.changes, now)
    observe?(pipeline.changes)
    pipeline.clear()
    for action in pipeline.takeActions() {
      switch action {
      case .send(let text): if let session { simulated.receive(text, from: session) }
      case .get(let request, let text, _):
        requests += 1
        if let until = limitedUntil, now < until {
          let reason: [UInt8] = []
          pipeline.response(to: request, status: 429, body: reason.span.bytes, now: now, retryAfter: until - now)
          settle()
          continue
        }
        let (path, query) = VenueTrial.target(of: text)
        let response = simulated.respond(path: path, query: query)
        let body = Array(response.body.utf8)
        pipeline.response(
          to: request, status: response.status, body: body.span.bytes, now: now, retryAfter: response.retryAfter)
        settle()
      case .reconnect(let reason), .renew(let reason, _): lose(reason)
      case .symbolFailed(let symbol, let reason): failures.append("\(symbol): \(reason)")
      case .symbolAccepted, .maintenance: break
      }
    }
  }
}
