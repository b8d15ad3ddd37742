import Bytes
import MarketData
import PubSub
import Transport

/// From the hub's queues to the clients' connections.
extension LoopNode {
  /// How often a turn writes again because a write led to more: snapshots that there is now room for. Then the next
  /// turn goes on.
  private static let writeRounds = 4

  /// Delivers, carries out what that leads to, and writes, until there is nothing to do.
  func deliverAndWrite(_ now: Timestamp) {
    for _ in 0..<Self.writeRounds {
      settle(now)
      if hub.dirtyCount == 0 { return }
      writeDirty(now)
    }
    settle(now)
    if hub.dirtyCount > 0 { loop.execute {} }
  }

  private func writeDirty(_ now: Timestamp) {
    for index in 0..<hub.dirtyCount {
      let client = hub.dirtyClient(at: index)
      if let way = ports.writableWay(client.slot), let turn = hub.takeTurn(from: client) {
        write(turn, to: client.slot, way)
      } else if let session = sessions[Int(client.slot)], session.client == client {
        write(to: session, now)
        // A reply it waited for may be among what was written.
        if session.waitsForReplies { session.waitForTurn() }
      }
    }
    hub.removeDirty()
  }

  /// Sends what a turn has brought a client about which nothing is special.
  @inline(__always)
  private func write(_ turn: TurnBytes, to slot: UInt32, _ way: ClientPorts.Way) {
    metrics.framesSent &+= UInt64(truncatingIfNeeded: turn.frames)
    guard way == .plain else { return ports.write(compression.form(turn, of: hub), to: slot) }
    let sent = ports.send(turn.bytes, to: slot)
    if sent < turn.bytes.count { ports.write(hub.sharedBytes(of: turn), from: sent, to: slot) }
  }

  /// Hands the client's queued frames to its connection, while the kernel takes them; the rest can still be merged. A
  /// client that is known to be slow gets small portions, since what is handed over gets old on the way.
  func write(to session: StreamSession, _ now: Timestamp) {
    let connection = session.connection
    let most =
      hub.isWatched(session.client) ? StreamSession.slowHandOverBytes : StreamSession.handOverBytes
    while session.mayTake {
      let portion = min(most, session.room)
      hub.take(from: session.client, byteLimit: portion, now: now, into: &frames, actions: &actions)
      var bytes = 0
      for index in frames.indices {
        bytes += frames[index].count
        session.write(compression.form(frames[index], for: session), isLast: index == frames.count - 1)
      }
      metrics.framesSent &+= UInt64(truncatingIfNeeded: frames.count)
      frames.removeAll(keepingCapacity: true)
      // Less than asked for was all there was; it goes out with the turn's one send.
      if bytes < portion { return }
      connection.flush()
      // They are fresher than anything that waits, and would find no room behind it.
      if connection.isWritable, hub.isAwaitingSnapshots(session.client) { return }
    }
    hub.setUnsent(connection.queuedBytes, for: session.client, now: now)
  }

  /// The session has sent its close frame: turns no longer write past it.
  func willClose(_ session: StreamSession) { ports.close(session.client.slot) }

  /// Gives a connection that is about to be closed the replies and notices that it had no room for.
  func writeControl(to session: StreamSession) {
    hub.takeControl(from: session.client, into: &frames)
    for frame in frames { session.write(compression.form(frame, for: session), isLast: false) }
    frames.removeAll(keepingCapacity: true)
  }

  /// Asks the kernel whether the peers of clients that seem to stall have taken something: below the mark at which a
  /// socket counts as writable again, that is the only sign. About once a second for each: 10,000 at once kept the
  /// others waiting for 5 ms.
  func noteKernelProgress(_ now: Timestamp, part: UInt, of parts: UInt) {
    for client in hub.stallingClients(now: now, part: part, of: parts) {
      guard let session = sessions[Int(client.slot)], session.client == client,
        let queued = session.connection.kernelQueuedBytes
      else { continue }
      if queued < session.kernelQueuedBytes { hub.noteProgress(of: client, now: now) }
      session.kernelQueuedBytes = queued
    }
  }
}
