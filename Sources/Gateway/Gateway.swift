import Access
import Compatibility
import Bytes
import Dispatch
import Documents
import Feeds
import HTTP1
import HTTPAPI
import History
import Logging
import MarketData
import Operations
import PubSub
import Recordings
import Settings
import Synchronization
import Transport
import Venues

/// The whole gateway: loops, feeds, client port and internal port.
///
///     let gateway = try Gateway(configuration: configuration, log: log)
///     try gateway.start()
///     print(gateway.address)
///     gateway.stop { exit(0) }
///
/// It connects the parts of the lower targets and computes nothing itself.
package final class Gateway: Sendable {
  let configuration: GatewayConfiguration
  let log: Logger
  let logs: LogSink?
  let loops: [EventLoop]
  let nodes: [LoopNode]
  let publicListener: Listener
  let internalListener: Listener
  /// Nil if clients are served without TLS.
  let serverTLS: TLSServerContext?
  /// The TLS context of connections to venues.
  let feedTLS: TLSClientContext
  let ending = GatewayEnd()
  let opening = GatewayOpening()
  /// Whether the clients' port has the socket of an earlier process.
  private let continues: Bool
  /// The end of everything that writes to the data file.
  let storeEnd = GatewayEnd()
  private let startedAt: Int64
  let access: Authenticator?
  let history: HistoryKeeper?
  let alerts: AlertDesk
  let portfolios: PortfolioDesk
  let recordings = RecordingList()
  /// The settings that the nodes started with.
  let settings: NodeSettings
  let running: Mutex<RunningConfiguration>
  let adminToken: AdminToken
  let adminControl = AdminControl()
  private let state: StateCollector
  /// Nil: complete recordings are not indexed here.
  let indexes: IndexKeeper?
  private let warm: WarmFeeds?
  /// Reads files, one reload after the other, off the loops.
  let reloads = DispatchQueue(label: "tidegate.gateway.reload")

  /// Opens the ports; nothing is fetched or accepted from venues before `start`.
  /// - Parameters:
  ///   - access: the accepted tokens; nil: no token is required.
  ///   - history: stores what survives a restart; nil: nothing is stored.
  ///   - logs: the sink of `log`, through which levels can change; nil: they cannot.
  ///   - sockets: listening sockets from an earlier process of the service; `KeptPorts` decides which of them are used.
  ///   - warm: feeds that already run on the gateway's loops; `start` continues with them.
  /// - Throws: `TransportError` with the address, file or limit that is not available.
  package convenience init(
    configuration: GatewayConfiguration, access: Authenticator? = nil, history: HistoryKeeper? = nil, log: Logger,
    logs: LogSink? = nil, sockets: [ServiceManager.KeptSocket] = [], warm: WarmFeeds? = nil
  ) throws(TransportError) {
    let loops = if let warm { warm.loops } else { try Self.makeLoops(configuration.loops) }
    try self.init(
      configuration: configuration, access: access, history: history, log: log, logs: logs, sockets: sockets,
      loops: loops, warm: warm)
  }

  static func makeLoops(_ count: Int) throws(TransportError) -> [EventLoop] {
    var loops: [EventLoop] = []
    for index in 0..<count { loops.append(try EventLoop(index: index, label: "tidegate.loop.\(index)")) }
    return loops
  }

  /// Makes a gateway on the caller's loops, with their time and random numbers. The loops are numbered from 0 in order;
  /// `configuration.loops` is ignored. `stop` ends them.
  package init(
    configuration: GatewayConfiguration, access: Authenticator? = nil, history: HistoryKeeper? = nil, log: Logger,
    logs: LogSink? = nil, sockets: [ServiceManager.KeptSocket] = [], loops: [EventLoop], warm: WarmFeeds? = nil
  ) throws(TransportError) {
    precondition(!loops.isEmpty, "a gateway needs a loop")
    let kernel = loops[0].kernel
    self.access = access
    self.history = history
    let alerts = AlertDesk.open(history?.store.file, limits: configuration.alerts, log: log, kernel: kernel)
    self.alerts = alerts
    let portfolios = PortfolioDesk.open(
      history?.store.file, limits: configuration.portfolios, log: log, kernel: kernel)
    self.portfolios = portfolios
    let decks = DeckDesk(configuration.decks.shown(isDemo: configuration.demo))
    self.configuration = configuration
    self.log = log
    self.logs = logs
    adminToken = AdminToken(path: configuration.adminTokenFile)
    self.startedAt = kernel.monotonicMicroseconds
    let kept = history?.takeStreams().map { KeptRun($0, loops: loops.count) }
    let tlsLog = TLSLog(FoldedLog(log.of(.tls)) { kernel.monotonicMicroseconds })
    let settings = Self.settings(
      configuration, access: access, history: history, kept: kept, log: log, tlsLog: tlsLog, alerts: alerts,
      portfolios: portfolios, decks: decks, loops: loops)
    self.settings = settings
    running = Mutex(RunningConfiguration(configuration, schedules: warm?.schedules ?? [:]))
    self.warm = warm
    let nodes = loops.map { LoopNode(loop: $0, loops: loops.count, settings: settings) }
    for node in nodes {
      node.connect(to: nodes)
      node.hub.findPortfolios { portfolios.exists($0, of: $1) }
      node.hub.findDecks { decks.refusal($0, zone: $1) }
      node.hub.watchlists = node.settings.watchlists
    }
    self.loops = loops
    self.nodes = nodes
    let tls = try Self.serverTLS(configuration, tlsLog)
    self.serverTLS = tls
    self.feedTLS = if let warm { warm.tls } else { try TLSClientContext(caFile: configuration.caFile) }
    // The largest snapshot must fit beside what may be queued; the hub's own limits end a slow client long before.
    // The gateway keeps what it has read of a client that exceeds its rates: 40 MB for ten thousand such clients.
    // Clients send little. A larger window would let each hostile one fill it.
    let limits = Connection.Limits(
      queuedBytes: settings.clientLimits.hardQueuedBytes + (8 << 20), readBytes: 4 << 10,
      kernelReceivedBytes: 32 << 10)
    let ports = KeptPorts(sockets, kernel)
    let keptPort = ports.take(.clients, configuration.listen)
    continues = keptPort != nil
    let publicListener = try Self.clientListener(configuration, nodes, settings.admission, tls, limits, kept: keptPort)
    self.publicListener = publicListener
    let started = startedAt
    let recordings = recordings
    let (adminToken, adminControl) = (adminToken, adminControl)
    let state = StateCollector(
      gateway: nodes[0], loops: nodes, startedAt: started, history: history, events: logs?.events, tls: tls,
      recorders: { recordings.figures })
    self.state = state
    indexes = IndexKeeper(configuration, kernel, log: log)
    let desk = StatePages(loop: loops[0]) { state.gather($0) }
    let internalAPI = nodes.map {
      InternalAPI(
        gateway: $0, startedAt: started, tls: tls, shedCount: { publicListener.shedCount },
        recorders: { recordings.figures }, history: history,
        admin: AdminAPI(gateway: $0, token: adminToken, control: adminControl, desk: desk))
    }
    self.internalListener = try Listener(
      address: configuration.internalListen, loops: [loops[0]], limits: limits, sharesPort: configuration.reusePort,
      kept: ports.take(.internal, configuration.internalListen)
    ) { connection in internalAPI[connection.loop.index].accept(connection) }
  }

  private static func serverTLS(
    _ configuration: GatewayConfiguration, _ log: TLSLog
  ) throws(TransportError) -> TLSServerContext? {
    guard let server = configuration.tls else { return nil }
    return try TLSServerContext(server) { peer, name, failure in log.failed(peer, name, failure) }
  }

  /// What every node starts with.
  private static func settings(
    _ configuration: GatewayConfiguration, access: Authenticator?, history: HistoryKeeper?, kept: KeptRun?,
    log: Logger, tlsLog: TLSLog, alerts: AlertDesk, portfolios: PortfolioDesk, decks: DeckDesk, loops: [EventLoop]
  ) -> NodeSettings {
    let kernel = loops[0].kernel
    let refusalLog = RefusalLog(
      FoldedLog(log.of(.clients)) { kernel.monotonicMicroseconds }, limits: configuration.limits.admission)
    let run = RandomName.hex(4, from: kernel)
    var settings = NodeSettings(
      node: configuration.node, venues: Set(configuration.feedConnections.map(\.venue.name)),
      source: configuration.demo ? .simulated : .live,
      epoch: kept?.numbering.epoch ?? run, run: run, clientLimits: configuration.limits.ofClients,
      heartbeatSeconds: configuration.heartbeatSeconds, compression: configuration.compression,
      reconnectLimitSeconds: configuration.reconnectLimitSeconds,
      admission: Admission(
        limits: configuration.limits.admission,
        proxies: TrustedProxies(networks: configuration.trustedProxies, header: configuration.proxyHeader),
        budget: QueueBudget(limit: configuration.limits.totalQueuedBytes, loops: loops.count),
        report: { refusalLog.refused($0, $1) }),
      access: access, kept: kept, history: history, backfills: history != nil && configuration.data.backfill, log: log,
      tlsLog: tlsLog, topics: PublishedTopics(history?.store.file, epoch: run, log: log), alerts: alerts,
      portfolios: portfolios, decks: decks, webhookNetworks: configuration.webhookNetworks,
      accessLog: AccessLog(log, configuration.logs.access) { kernel.monotonicMicroseconds }, refusalLog: refusalLog)
    settings.take(configuration)
    settings.past = PastReader(configuration, log: log)
    _ = settings.topics.setSchemas(configuration.topics.schemas)
    return settings
  }

  /// The port of the clients: a handshake each takes a slot of admission, then a loop in turn.
  private static func clientListener(
    _ configuration: GatewayConfiguration, _ nodes: [LoopNode], _ admission: Admission, _ tls: TLSServerContext?,
    _ limits: Connection.Limits, kept: Int32?
  ) throws(TransportError) -> Listener {
    let kernel = nodes[0].loop.kernel
    let publicAPI = nodes.map { PublicAPI($0, .clientPort) }
    return try Listener(
      address: configuration.listen, loops: nodes.map(\.loop), tls: tls, limits: limits,
      sharesPort: configuration.reusePort, kept: kept, waits: kept != nil,
      gate: { peer in
        guard let permit = admission.enter(peer, now: kernel.monotonicMicroseconds) else { return nil }
        if let room = permit.room {
          let node = nodes[room % nodes.count]
          let came = permit.came
          node.loop.execute { node.clients.makeRoom(room, hops: nodes.count, until: came) }
        }
        return permit
      },
      arrived: { connection in nodes[connection.loop.index].clients.arrived(connection) },
      accept: { connection in publicAPI[connection.loop.index].accept(connection) })
  }

  /// The address that clients connect to.
  package var address: SocketAddress { publicListener.address }
  /// The address of metrics and health.
  package var internalAddress: SocketAddress { internalListener.address }

  /// Starts the loops' work and the feeds.
  /// - Parameter recorder: makes the recorder of a venue's feed, if its traffic is to be recorded.
  /// - Throws: `RecordingError` if a recording cannot be replayed.
  package func start(
    recorder: @escaping @Sendable (Venue, FeedConfiguration) -> RecordingSink? = { _, _ in nil }
  ) throws {
    warnOfExpiry()
    warnOfDialects()
    readAdminToken()
    adminControl.connect(
      .init(
        reload: { [weak self] completion in self?.reload(then: completion) },
        start: { [weak self] in self?.beginStopped($0) ?? false },
        settings: { [weak self] in self?.current.shown ?? [] }))
    let replayers = try makeReplayers()
    for node in nodes { node.start() }
    state.start()
    alerts.start(
      LoopOutlet(
        nodes: nodes, addresses: WebhookAddresses(allowed: configuration.webhookNetworks), tls: feedTLS,
        timeout: configuration.alerts.webhookTimeout))
    portfolios.start(PortfolioLoopOutlet(nodes: nodes))
    watchRefusals()
    indexes?.start()
    let connections = configuration.feedConnections
    running.withLock { $0.recorder = recorder }
    for (venue, settings) in connections { begin(venue, settings, among: connections) }
    for (index, replayer) in replayers.enumerated() {
      let number = connections.count + index
      let node = nodes[number % nodes.count]
      let speed = configuration.speed
      node.loop.execute {
        node.feeds.add(replay: replayer.bound.value, origin: replayer.origin, speed: speed, number: number)
      }
    }
    if continues { openWhenPrepared() } else { _ = opening.arrive() }
  }

  /// Starts a feed on the next loop.
  /// - Parameter connections: all of the gateway's.
  func begin(
    _ venue: Venue, _ settings: FeedConfiguration, among connections: [(venue: Venue, configuration: FeedConfiguration)]
  ) {
    let share = connections.count { $0.venue.name == venue.name }
    let (number, schedule, recorder) = running.withLock { $0.assign(venue, loops: nodes.count) }
    let recording = recorder(venue, settings)
    if let recording { recordings.append(recording) }
    let node = nodes[number % nodes.count]
    node.loop.execute { [feedTLS, warm] in
      if let session = warm?.take(venue.label, on: node.loop.index) {
        return node.feeds.adopt(session, number: number, tls: feedTLS, recorder: recording, share: share)
      }
      node.feeds.add(
        venue, configuration: settings, number: number, tls: feedTLS, schedule: schedule, recorder: recording,
        share: share)
    }
  }

  /// Sets the function that ends the process when an operator requests it over HTTP; call it after `start`.
  package func onDrainRequest(_ body: @escaping @Sendable () -> Void) { adminControl.onDrain(body) }
  /// Sets the desk that replaces the process when an operator requests it over HTTP; call it after `start`.
  package func onUpgradeRequest(_ desk: UpgradeCoordinator) {
    adminControl.onUpgrade(.init(request: { desk.request($0) }, report: { desk.report }))
  }

  /// The recordings to serve, each with the record time to play first. Recordings that begin within a day of each other
  /// keep their distance in time; others begin at once.
  private func makeReplayers() throws(RecordingError) -> [(bound: UncheckedTransfer<Replayer>, origin: Timestamp)] {
    guard !configuration.replay.isEmpty else { return [] }
    let run = try ReplayRun(try ReplayPlan(configuration.replay))
    for error in run.skipped {
      log.warning("recording skipped", metadata: ["reason": "\(error.description)"])
    }
    for note in run.plan.tracks.flatMap(\.notes) {
      log.warning("recording incomplete", metadata: ["reason": "\(note)"])
    }
    let replayers = run.replayers
    for (name, reason) in replayers.flatMap(\.skipped).sorted(by: { $0.key < $1.key }) {
      log.warning("recorded market skipped", metadata: ["market": "\(name)", "reason": "\(reason)"])
    }
    let starts = replayers.compactMap(\.nextTime).sorted()
    return replayers.map { replayer in
      let own = replayer.nextTime ?? .distantPast
      var origin = own
      for start in starts.reversed() where start <= own && origin - start <= Microseconds.day { origin = start }
      return (UncheckedTransfer(value: replayer), origin)
    }
  }

  private func warnOfDialects() {
    let misled = configuration.spokenDialects.misled.map(\.rawValue)
    guard !misled.isEmpty else { return }
    log.warning(
      "clients of other protocols take simulated prices for real",
      metadata: ["protocols": "\(misled.joined(separator: ","))"])
  }

  /// Logs once a second when connections are refused, for lack of descriptors or by a limit, and when descriptors are
  /// available again.
  private func watchRefusals() {
    let loop = nodes[0].loop
    let settings = nodes[0].settings
    loop.execute { [publicListener, internalListener, log, logs] in
      var report = ShedReport()
      loop.scheduleRepeating(every: .seconds(1)) {
        settings.refusalLog?.tell()
        settings.tlsLog?.tell()
        settings.accessLog?.tell()
        logs?.tell()
        let count = publicListener.shedCount + internalListener.shedCount
        switch report.look(count, now: loop.moment) {
        case .exhausted(let shed):
          log.error(
            "out of descriptors: connections are turned away",
            metadata: ["connections": "\(shed)", "limit": "\(DescriptorLimit.current)"])
        case .recovered(let shed):
          log.notice("descriptors are available again", metadata: ["turned_away": "\(shed)"])
        case nil: break
        }
      }
    }
  }
}
