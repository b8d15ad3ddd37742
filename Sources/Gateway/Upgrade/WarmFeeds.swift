import Feeds
import Logging
import MarketData
import Operations
import PubSub
import Settings
import Synchronization
import Transport
import Venues

/// The feeds of a process that takes over from another: they connect and build their books while that one serves.
/// Nothing is published, written or accepted in the meantime. Trades are held back in their market (`TradeBridge`,
/// bounded), until it is known which of them the other process has published.
///
/// Each runs on the loop that it will stay on; `Gateway.start` takes them from here.
package final class WarmFeeds: Sendable {
  let loops: [EventLoop]
  let tls: TLSClientContext
  /// By venue, as the gateway continues with them.
  let schedules: [String: ConnectSchedule]
  private let nurseries: [FeedNursery]
  /// By connection.
  private let statuses = Mutex<[String: FeedStatus]>([:])

  /// Begins to connect.
  /// - Parameter changed: called on any loop when the number of live feeds may have changed.
  /// - Throws: `TransportError` with the file or limit.
  init(
    _ configuration: GatewayConfiguration, log: Logger, changed: @escaping @Sendable (IncomingUpgrade.Warmth) -> Void
  ) throws(TransportError) {
    let tls = try TLSClientContext(caFile: configuration.caFile)
    self.tls = tls
    let loops = try Gateway.makeLoops(configuration.loops)
    self.loops = loops
    nurseries = loops.map { FeedNursery(loop: $0) }
    let connections = configuration.feedConnections
    var schedules: [String: ConnectSchedule] = [:]
    for (venue, _) in connections where schedules[venue.name] == nil {
      schedules[venue.name] = ConnectSchedule(venue.connectLimit)
    }
    self.schedules = schedules
    for (venue, _) in connections {
      // All connections count from the start.
      statuses.withLock {
        $0[venue.label] = FeedStatus(venue: venue.name, state: .connecting, since: .distantPast)
      }
    }
    let (limit, bridges) = (configuration.reconnectLimitSeconds, configuration.data.directory != nil)
    for (number, (venue, settings)) in connections.enumerated() {
      let nursery = nurseries[number % loops.count]
      let schedule = schedules[venue.name]
      nursery.loop.execute { [self] in
        let parts = FeedParts(
          tls: tls, schedule: schedule, recorder: nil, reconnectLimitSeconds: limit, source: .live, log: log.of(.feeds))
        nursery.add(venue, settings, parts, bridgesTrades: bridges) { [weak self] label, status in
          guard let self else { return }
          statuses.withLock { $0[label] = status }
          changed(warmth)
        }
      }
    }
  }

  /// How many connections and venues are live.
  var warmth: IncomingUpgrade.Warmth {
    let all = statuses.withLock { $0.sorted { $0.key < $1.key }.map(\.value) }
    return .init(
      live: all.count { $0.state == .live }, all: all.count,
      venues: FeedStatus.byVenue(all).count { $0.state == .live })
  }

  /// Hands over the feed of a connection, once; nil if it does not exist. On its loop.
  func take(_ label: String, on loop: Int) -> FeedSession? { nurseries[loop].take(label) }
}

/// The warm feeds of one loop.
private final class FeedNursery: @unchecked Sendable {
  // `@unchecked`: all state but the constants is touched on `loop` only, which `assertOnLoop` checks at each entrance.

  let loop: EventLoop
  private var clock: GatewayClock
  private var sessions: [String: FeedSession] = [:]
  /// By connection, as `sessions`. A session does not retain its port.
  private var ports: [String: Port] = [:]
  private var timers: [LoopTimer] = []
  private var report: ((String, FeedStatus) -> Void)?

  /// The interval at which due feeds advance: a book may be crossed for up to a second.
  private static let advanceInterval: Duration = .milliseconds(50)
  private static let tickInterval: Duration = .milliseconds(250)

  init(loop: EventLoop) {
    self.loop = loop
    clock = GatewayClock(kernel: loop.kernel)
  }

  func add(
    _ venue: Venue, _ settings: FeedConfiguration, _ parts: FeedParts, bridgesTrades: Bool,
    report: @escaping (String, FeedStatus) -> Void
  ) {
    loop.assertOnLoop()
    self.report = report
    if timers.isEmpty { startTimers() }
    let pipeline = FeedPipeline(venue: venue, configuration: settings)
    pipeline.market.bridgesTrades = bridgesTrades
    let now = clock.now()
    let session = FeedSession(pipeline: pipeline, slot: sessions.count, loop: loop, parts: parts, now: now)
    let port = Port(session, of: self)
    session.handler = port
    sessions[venue.label] = session
    ports[venue.label] = port
    session.start(now)
    settle(session, now)
  }

  func take(_ label: String) -> FeedSession? {
    loop.assertOnLoop()
    let session = sessions.removeValue(forKey: label)
    ports[label] = nil
    if sessions.isEmpty {
      for timer in timers { timer.cancel() }
      timers = []
    }
    return session
  }

  private func startTimers() {
    timers.append(
      loop.scheduleRepeating(every: Self.advanceInterval) { [unowned self] in
        let now = clock.now()
        for session in inOrder where session.nextDeadline <= now {
          session.advance(now)
          settle(session, now)
        }
      })
    timers.append(
      loop.scheduleRepeating(every: Self.tickInterval) { [unowned self] in
        let before = clock.now()
        if clock.follow() != nil {
          let jump = clock.now() - before
          for session in inOrder { session.timeJumped(by: jump) }
        }
        let now = clock.now()
        for session in inOrder {
          session.tick(now)
          settle(session, now)
          session.check(now)
          settle(session, now)
        }
      })
  }

  private var inOrder: [FeedSession] { sessions.sorted { $0.key < $1.key }.map(\.value) }

  /// Publishes nothing: the node that takes the feed over reads its market as it is then.
  private func settle(_ session: FeedSession, _ now: Timestamp) {
    while session.settled(now) {}
    guard session.hasNews, session.takeNews().isStatusChanged else { return }
    report?(session.pipeline.venue.label, session.status)
  }

  /// Where the loop calls for one feed.
  private final class Port: FeedHandler {
    private unowned let nursery: FeedNursery
    private let session: FeedSession

    init(_ session: FeedSession, of nursery: FeedNursery) {
      self.session = session
      self.nursery = nursery
    }

    func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
      let now = nursery.clock.now()
      var input = bytes
      while session.receive(&input, from: connection, now) { nursery.settle(session, now) }
    }

    func connectionDidDrain(_ connection: Connection) {}

    func connectionDidClose(_ connection: Connection, reason: CloseReason) {
      let now = nursery.clock.now()
      if session.closed(connection, reason, now) { nursery.settle(session, now) }
    }

    func feedArrived() {
      repeat {
        let now = nursery.clock.now()
        guard session.takeArrival(now) else { return }
        nursery.settle(session, now)
      } while true
    }
  }
}
