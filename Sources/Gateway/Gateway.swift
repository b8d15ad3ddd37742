import Bytes
import HTTP1
import Logging
import MarketData
import PubSub
import Transport
import Venues

/// The whole gateway: loops, feeds, client port and internal port.
///
///     let gateway = try Gateway(configuration: configuration, log: log)
///     try gateway.start()
///     print(gateway.address)
///     gateway.stop { exit(0) }
///
/// It wires what the targets below it compute, and computes nothing itself.
package final class Gateway: Sendable {
  private let configuration: GatewayConfiguration
  let log: Logger
  let loops: [EventLoop]
  let nodes: [LoopNode]
  let publicListener: Listener
  let internalListener: Listener
  let ending = GatewayEnd()
  private let startedAt: Int64

  /// Opens the ports; nothing is fetched or accepted from venues before `start`.
  /// - Throws: `TransportError` with the address, file or limit that could not be had.
  package convenience init(configuration: GatewayConfiguration, log: Logger) throws(TransportError) {
    var loops: [EventLoop] = []
    for index in 0..<configuration.loops {
      loops.append(try EventLoop(index: index, label: "tidegate.loop.\(index)"))
    }
    try self.init(configuration: configuration, log: log, loops: loops)
  }

  /// The same on loops of the caller's, whose time and random numbers it takes. They are numbered from 0 in their order, and
  /// `configuration.loops` does not count. `stop` ends them.
  package init(configuration: GatewayConfiguration, log: Logger, loops: [EventLoop]) throws(TransportError) {
    precondition(!loops.isEmpty, "a gateway needs a loop")
    let kernel = loops[0].kernel
    self.configuration = configuration
    self.log = log
    self.startedAt = kernel.monotonicMicroseconds
    var clientLimits = ClientLimits()
    clientLimits.clients = configuration.limits.clients
    clientLimits.subscriptions = configuration.limits.subscriptions
    clientLimits.requestsPerSecond = configuration.limits.requestsPerSecond
    clientLimits.messageBytes = configuration.limits.messageBytes
    clientLimits.hardQueuedBytes = configuration.limits.queuedBytes
    clientLimits.softQueuedBytes = configuration.limits.queuedBytes / 4
    let settings = NodeSettings(
      node: configuration.node, epoch: RandomName.hex(4, from: kernel), clientLimits: clientLimits,
      heartbeatSeconds: configuration.heartbeatSeconds, compression: configuration.compression,
      reconnectLimitSeconds: configuration.reconnectLimitSeconds,
      log: log)
    let nodes = loops.map { LoopNode(loop: $0, loops: loops.count, settings: settings) }
    for node in nodes { node.connect(to: nodes) }
    self.loops = loops
    self.nodes = nodes
    var tls: TLSServerContext?
    if let files = configuration.tls {
      tls = try TLSServerContext(certificateFile: files.certificate, keyFile: files.key)
    }
    // Room for the largest snapshot beyond what may wait; the fan-out's own limits end a slow client long before.
    let limits = Connection.Limits(queuedBytes: clientLimits.hardQueuedBytes + (8 << 20))
    let publicAPI = nodes.map {
      PublicAPI(node: $0, origins: configuration.origins, clientLimit: configuration.limits.clients)
    }
    self.publicListener = try Listener(address: configuration.listen, loops: loops, tls: tls, limits: limits) {
      connection in
      publicAPI[connection.loop.index].accept(connection)
    }
    let started = startedAt
    let internalAPI = nodes.map { InternalAPI(node: $0, startedAt: started) }
    self.internalListener = try Listener(address: configuration.internalListen, loops: [loops[0]]) { connection in
      internalAPI[connection.loop.index].accept(connection)
    }
  }

  /// The address that clients connect to.
  package var address: SocketAddress { publicListener.address }
  /// The address of metrics and health.
  package var internalAddress: SocketAddress { internalListener.address }

  /// Starts the loops' work and the feeds.
  /// - Parameter recorder: makes the recorder of a venue's feed, if its traffic is to be recorded.
  /// - Throws: `TransportError` if the CA file cannot be read, `RecordingError` if a recording cannot be replayed.
  package func start(
    recorder: @escaping @Sendable (Venue, FeedConfiguration) -> RecordingSink? = { _, _ in nil }
  ) throws {
    let tls = try TLSClientContext(caFile: configuration.caFile)
    let replayers = try configuration.replay.map { LoopBound(value: try Replayer(path: $0)) }
    for node in nodes { node.start() }
    for (number, feed) in configuration.feeds.enumerated() {
      guard let venue = VenueRegistry.venue(named: feed.venue) else { continue }
      let node = nodes[number % nodes.count]
      let settings = feed.feedConfiguration
      let recording = recorder(venue, settings)
      node.loop.execute {
        node.add(feed: venue, configuration: settings, number: number, tls: tls, recorder: recording)
      }
    }
    for (index, replayer) in replayers.enumerated() {
      let number = configuration.feeds.count + index
      let node = nodes[number % nodes.count]
      let speed = configuration.speed
      node.loop.execute { node.add(replay: replayer.value, speed: speed, number: number) }
    }
  }
}
