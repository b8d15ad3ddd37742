import Bytes
import HTTP1
import Logging
import MarketData
import Synchronization
import Transport
import Venues
import WebSocket

/// A simulated exchange on a socket: WebSocket and REST on one port, over TLS or in the clear.
package final class SimulatedExchange: Sendable {
  /// What an exchange has done so far.
  package struct Statistics: Sendable, Equatable {
    /// WebSocket clients now.
    package var clients = 0
    /// TCP connections accepted, REST included.
    package var connections = 0
    package var framesSent = 0
    package var faultsInjected = 0
    package var requests = 0
    /// Clients that have agreed on compression.
    package var compressingClients = 0
  }

  /// `kraken`, `coinbase` or `binance`.
  package let venue: String
  /// The address in use, with the port the system chose.
  package let address: SocketAddress
  /// What a client of the venue connects to: `wss://localhost:40123/v2`.
  package let webSocketURL: String
  /// The base of REST requests: `https://localhost:40123`.
  package let restURL: String
  private let loop: EventLoop
  private let listener: Listener
  private let core: ExchangeCore

  /// Starts the exchange.
  /// - Parameters:
  ///   - venue: one of `SimulatedVenue.names`.
  ///   - rate: moments (book updates or trades) a second and instrument on average; 60 is a lively market.
  ///   - excerpt: a part of what the venue lists; nil for all of it.
  ///   - faults: what goes wrong, counted from now.
  ///   - listen: port 0 for any.
  /// - Throws: `SimulatorError`, or `TransportError` if the address cannot be listened on.
  package convenience init(
    venue: String, seed: UInt64, rate: Double, excerpt: SimulatedExcerpt? = nil, faults: [Fault] = [],
    origin: SimulatedOrigin = .own, listen: SocketAddress, tls: TLSServerContext?, loop: EventLoop,
    log: Logger = Logger(label: "tidegate.simulator")
  ) throws {
    try self.init(
      SimulatedVenue(
        venue: venue, seed: seed, rate: rate, faults: faults, start: ExchangeCore.wallClock(loop), excerpt: excerpt,
        origin: origin),
      listen: listen, tls: tls, loop: loop, log: log)
  }

  /// Starts an exchange that sends a recording to every client, from its beginning and at its pace.
  /// - Parameters:
  ///   - faults: what goes wrong, counted from now; without symbols.
  ///   - listen: port 0 for any.
  /// - Throws: `SimulatorError`, or `TransportError` if the address cannot be listened on.
  package convenience init(
    recording: RecordedSource, faults: [Fault] = [], listen: SocketAddress, tls: TLSServerContext?, loop: EventLoop,
    log: Logger = Logger(label: "tidegate.simulator")
  ) throws {
    try self.init(
      SimulatedVenue(recording: recording, faults: faults, start: ExchangeCore.wallClock(loop)), listen: listen,
      tls: tls,
      loop: loop, log: log)
  }

  private init(
    _ simulated: SimulatedVenue, listen: SocketAddress, tls: TLSServerContext?, loop: EventLoop, log: Logger
  ) throws {
    let core = ExchangeCore(simulated, loop: loop, log: log)
    listener = try Listener(
      address: listen, loops: [loop], tls: tls, limits: Connection.Limits(queuedBytes: ExchangeCore.queueLimit)
    ) { connection in core.accept(connection) }
    venue = simulated.venueProtocol.name
    self.loop = loop
    self.core = core
    address = listener.address
    let isLocal = ["127.0.0.1", "::1", "0.0.0.0", "::"].contains(address.host)
    let host = isLocal ? "localhost:\(address.port)" : address.description
    webSocketURL = (tls == nil ? "ws://" : "wss://") + host + simulated.venueProtocol.webSocketPath
    restURL = (tls == nil ? "http://" : "https://") + host
    loop.execute { core.start() }
  }

  /// Lets a fault happen: at once if it has no time, else so many seconds from now. Callable from anywhere. One that
  /// the venue cannot have is logged and ignored.
  package func inject(_ fault: Fault) {
    let core = core
    loop.execute { core.inject(fault) }
  }

  /// Shows `body` the venue itself, on the loop, between two of its moments: for tests that compare.
  package func inspect(_ body: @escaping @Sendable (SimulatedVenue) -> Void) {
    let core = core
    loop.execute { body(core.venue) }
  }

  /// The latest figures, at most 10 ms old. Callable from anywhere.
  package var statistics: Statistics { core.published.withLock { $0 } }

  /// Stops listening and cuts all connections. Callable from anywhere.
  package func stop() {
    listener.close()
    let core = core
    loop.execute { core.stop() }
  }
}

/// What an exchange has on its loop.
final class ExchangeCore: @unchecked Sendable {
  // `@unchecked`: everything is touched on `loop` only (asserted by its connections), but for `published`, which is a
  // mutex.
  /// Unsent bytes of a client that does not read, after which it is cut off.
  static let queueLimit = 16 << 20
  /// TCP connections at once, REST included.
  static let connectionLimit = 256
  /// How often the market moves on, ns.
  private static let turnInterval: Duration = .milliseconds(10)
  /// Behind by more than that, in µs, the market skips what it has missed.
  private static let lagLimit = Microseconds.second

  let venue: SimulatedVenue
  let loop: EventLoop
  let log: Logger
  let published = Mutex(SimulatedExchange.Statistics())
  private(set) var clients: [ExchangeClient] = []
  private var timer: LoopTimer?
  private var statistics = SimulatedExchange.Statistics()
  private let startTime: Timestamp
  private var startUptime: UInt64 = 0
  private var isStopped = false
  private var scratch = ByteBuffer()

  init(_ venue: SimulatedVenue, loop: EventLoop, log: Logger) {
    self.venue = venue
    self.loop = loop
    self.log = log
    startTime = venue.now
  }

  /// By the wall clock of `loop`; read once, then the loop's monotonic clock counts.
  static func wallClock(_ loop: EventLoop) -> Timestamp {
    Timestamp(microseconds: loop.kernel.wallMicroseconds())
  }

  func start() {
    guard !isStopped else { return }
    startUptime = loop.uptime
    timer = loop.scheduleRepeating(every: Self.turnInterval) { [weak self] in self?.turn() }
  }

  func stop() {
    isStopped = true
    timer?.cancel()
    timer = nil
    for client in clients { client.connection.abort() }
  }

  func inject(_ fault: Fault) {
    do throws(FaultError) {
      try venue.inject(fault)
    } catch {
      log.warning("fault ignored", metadata: ["reason": "\(error.description)"])
    }
    flush()
  }

  /// Brings the venue to the present.
  func catchUp() {
    guard startUptime > 0 else { return }
    let now = startTime + Int64((loop.uptime - startUptime) / 1_000)
    if now - venue.now > Self.lagLimit, !venue.isSilent {
      log.debug("skipped", metadata: ["us": "\(now - venue.now)"])
      venue.skip(to: now - Microseconds.millisecond)
    }
    venue.advance(to: now)
  }

  private func turn() {
    catchUp()
    flush()
  }

  /// Writes what the venue owes its clients.
  func flush() {
    for client in clients { client.flush(&scratch) }
    statistics.clients = venue.sessions.count
    statistics.framesSent = venue.framesSent
    statistics.faultsInjected = venue.faultsInjected
    published.withLock { $0 = statistics }
  }

  func accept(_ connection: Connection) -> ExchangeClient? {
    guard !isStopped, clients.count < Self.connectionLimit else { return nil }
    statistics.connections += 1
    let client = ExchangeClient(connection, self)
    clients.append(client)
    log.debug("accepted", metadata: ["venue": "\(venue.venueProtocol.name)", "peer": "\(connection.peer.description)"])
    return client
  }

  func remove(_ client: ExchangeClient) {
    clients.removeAll { $0 === client }
    if let session = client.session { venue.close(session) }
    log.debug(
      "closed", metadata: ["venue": "\(venue.venueProtocol.name)", "peer": "\(client.connection.peer.description)"])
  }

  func countRequest() { statistics.requests += 1 }
  func countCompressing() { statistics.compressingClients += 1 }

  /// Whether the venue speaks permessage-deflate, as the real one says that it does.
  var compresses: Bool { VenueRegistry.venue(named: venue.venueProtocol.name)?.offersCompression ?? false }
}
