import Access
import Bytes
import HTTPAPI
import MarketData
import Operations
import PubSub
import Transport
import WebSocket

/// The clients of one loop: their sessions, including those of HTTP, and their input that waits for its turn.
final class LoopClients: @unchecked Sendable {
  // `@unchecked`: a part of its node, which alone holds it and uses it on its own loop.

  unowned let node: LoopNode
  let loop: EventLoop
  let hub: SubscriberHub
  let compression: ClientCompression
  let compressor: ResponseCompressor

  /// By the slot of the client in the hub.
  private(set) var sessions: [StreamSession?] = []
  /// The connections of ordinary clients: a turn writes to these directly, past their sessions.
  var ports = ClientPorts()
  var httpSessions = HTTPSessionTable()
  /// The closing of clients that are slow or have too many queued bytes (`LoopClients+Limits.swift`).
  var excess = ExcessState()
  /// Connections that may not have sent anything yet.
  var newcomers = ArrivalQueue()
  /// Clients that have sent more than one turn reads (`LoopClients+Input.swift`).
  var inputTurn = InputTurn<StreamSession>()
  /// The frames of one hand-over; kept for their capacity.
  private var frames: [SharedBytes] = []
  private var watchCursor = 0
  private var advances: UInt = 0

  init(node: LoopNode) {
    self.node = node
    (loop, hub) = (node.loop, node.hub)
    compression = ClientCompression(node.settings.compression)
    compressor = ResponseCompressor(loop: node.loop)
  }

  /// The session of a client; nil if it has gone.
  func session(of client: ClientID) -> StreamSession? {
    guard Int(client.slot) < sessions.count, let session = sessions[Int(client.slot)], session.client == client else {
      return nil
    }
    return session
  }

  var openCount: Int { sessions.reduce(0) { $0 + ($1 == nil ? 0 : 1) } }

  // MARK: Arrival and departure

  /// Takes over a connection that has upgraded, or that reads events.
  /// - Parameters:
  ///   - isBinary: whether the client takes data as binary records.
  ///   - events: writes its messages as server-sent events; nil: the client speaks WebSocket.
  ///   - dialect: its side of another protocol; nil: it speaks ours.
  @discardableResult
  func admit(
    _ connection: Connection, deflate: PerMessageDeflate?, isBinary: Bool = false, events: EventWriter? = nil,
    dialect: (any DialectSession)? = nil, credential: AccessPolicy.Credential?, grant: Grant?, address: IPAddress,
    rest: UnsafeMutableRawBufferPointer
  ) -> StreamSession {
    httpSessions.remove(for: connection)
    let client = hub.open(
      secret: SessionSecret(loop.kernel.randomBytes(12)), grant: grant ?? credential?.grant,
      address: ClientAddress(address.subscriber), isBinary: isBinary, dialect: dialect, now: node.clock.now())
    let session = StreamSession(
      client: client, connection: connection, clients: self,
      limits: WebSocketLimits(messageBytes: node.settings.clientLimits.messageBytes), deflate: deflate,
      events: events, credential: credential, address: address)
    while sessions.count <= Int(client.slot) { sessions.append(nil) }
    sessions[Int(client.slot)] = session
    connection.handler = session
    node.metrics.clients += 1
    node.metrics.clientsTotal += 1
    node.metrics.ends.came(isTLS: connection.isTLS, session.encoding)
    if deflate != nil { node.metrics.compressingClients += 1 }
    session.greet()
    if dialect != nil { hub.greetDialect(client, now: node.clock.now(), into: &node.work.actions) }
    if rest.count > 0 { session.connection(connection, didReceive: rest) }
    return session
  }

  /// Adds a connection that speaks HTTP.
  func add(_ session: HTTPSession, for connection: Connection) { httpSessions.add(session, for: connection) }
  func remove(_ connection: Connection) { httpSessions.remove(for: connection) }

  /// The client has shown that it reads: turns write to it directly from now on.
  func proved(_ session: StreamSession) {
    ports.open(session.client.slot, session.connection, way: session.deflates ? .compressed : .plain)
  }

  func drained(_ session: StreamSession) {
    hub.setUnsent(0, for: session.client, now: node.clock.now())
    write(to: session, node.clock.now())
    if session.waitsForReplies { session.waitForTurn() }
  }

  func closed(_ session: StreamSession) {
    guard sessions[Int(session.client.slot)] === session else { return }
    sessions[Int(session.client.slot)] = nil
    ports.close(session.client.slot)
    node.metrics.clients -= 1
    node.metrics.connections -= 1
    node.metrics.ends.left(isTLS: session.connection.isTLS, session.encoding, code: session.closeCode)
    node.settings.accessLog?.ended(
      AccessLog.Stream(
        peer: session.address, closeCode: session.closeCode, openedAt: session.openedAt,
        bytesWritten: session.connection.bytesWritten), ClientFigures(session.client, of: hub))
    hub.close(session.client, into: &node.work.actions)
  }

  // MARK: Ten times a second

  /// Advances the hub's timers, and checks a part of the clients.
  func advance(_ now: Timestamp) {
    hub.advance(to: now, into: &node.work.actions)
    watchRequests()
    keepWithinBudget()
    advances &+= 1
    noteKernelProgress(now, part: advances % 10, of: 10)
    node.metrics.evicted = UInt64(hub.evictedClients)
    node.metrics.parkedSessions = hub.parkedSessions
    // A slice of the sessions each time: all of them every 5 s.
    let moment = loop.moment
    let slice = sessions.count / 50 + 1
    for _ in 0..<min(slice, sessions.count) {
      watchCursor = watchCursor + 1 < sessions.count ? watchCursor + 1 : 0
      guard let session = sessions[watchCursor] else { continue }
      session.watch(at: moment)
      node.metrics.queues.record(UInt64(hub.queuedBytes(of: session.client.slot)))
    }
  }

  // MARK: From the hub's queues to their connections

  /// Hands the client's queued frames to its connection, while the kernel takes them; the rest can still be merged. A
  /// slow client gets small portions, because bytes in the kernel get old.
  func write(to session: StreamSession, _ now: Timestamp) {
    let connection = session.connection
    let most =
      hub.isWatched(session.client) ? StreamSession.slowHandOverBytes : StreamSession.handOverBytes
    while session.mayTake {
      let portion = min(most, session.room)
      hub.take(from: session.client, byteLimit: portion, now: now, into: &frames, actions: &node.work.actions)
      var bytes = 0
      for index in frames.indices {
        bytes += frames[index].count
        session.write(compression.form(frames[index], for: session), isLast: index == frames.count - 1)
      }
      node.metrics.framesSent &+= UInt64(truncatingIfNeeded: frames.count)
      frames.removeAll(keepingCapacity: true)
      // There was no more; it goes out with the turn's one send.
      if bytes < portion { return }
      connection.flush()
      // Snapshots are fresher than anything that waits, and must not queue behind it.
      if connection.isWritable, hub.isAwaitingSnapshots(session.client) { return }
    }
    hub.setUnsent(connection.queuedBytes, for: session.client, now: now)
  }

  /// The session has sent its close frame: turns no longer write past it.
  func willClose(_ session: StreamSession) { ports.close(session.client.slot) }

  /// Writes the replies and notices that still wait to a connection that is about to be closed.
  func writeControl(to session: StreamSession) {
    hub.takeControl(from: session.client, into: &frames)
    for frame in frames { session.write(compression.form(frame, for: session), isLast: false) }
    frames.removeAll(keepingCapacity: true)
  }

  /// Asks the kernel whether the peers of clients that seem to stall have taken something. Until a socket counts as
  /// writable again, that is the only sign. About once a second for each: asking for 10,000 at once kept other clients
  /// waiting for 5 ms.
  func noteKernelProgress(_ now: Timestamp, part: UInt, of parts: UInt) {
    for client in hub.stallingClients(now: now, part: part, of: parts) {
      guard let session = sessions[Int(client.slot)], session.client == client,
        let queued = session.connection.kernelQueuedBytes
      else { continue }
      hub.noteKernelQueue(queued, of: client, now: now)
    }
  }
}
