import Documents
import History
import Logging
import PubSub
import Settings
import Synchronization
import Transport

/// The completions that wait for the end of a gateway.
final class GatewayEnd: Sendable {
  private struct State {
    var completions: [@Sendable () -> Void] = []
    var isUnderWay = false
    var hasEnded = false
  }
  private let state = Mutex(State())

  /// Calls `completion` at the end, or at once after it. True for the first caller, which must then bring the end
  /// about.
  func wait(_ completion: @escaping @Sendable () -> Void) -> Bool {
    let (isFirst, hasEnded) = state.withLock { state in
      defer { state.isUnderWay = true }
      if !state.hasEnded { state.completions.append(completion) }
      return (!state.isUnderWay, state.hasEnded)
    }
    if hasEnded { completion() }
    return isFirst
  }

  func arrive() {
    let completions = state.withLock { state in
      state.hasEnded = true
      defer { state.completions = [] }
      return state.completions
    }
    for completion in completions { completion() }
  }
}

/// The end of a gateway.
extension Gateway {
  /// Gives the listening sockets to the service manager, which keeps them for the next process. Call it after `start`.
  package func leavePorts(to manager: ServiceManager) {
    let listeners: [(KeptPorts.Name, Listener)] = [(.clients, publicListener), (.internal, internalListener)]
    for (name, listener) in listeners {
      listener.leaveSocket { descriptor in
        // Replaces a kept socket with another address.
        manager.forget(name.rawValue)
        manager.keep(descriptor, as: name.rawValue)
      }
    }
  }

  /// Stops accepting, announces to every client when to reconnect, and closes each at that moment with 4201. Ends when
  /// no client is left, after `seconds` at the latest. `stop` shortens it.
  ///
  /// - Parameter handsOver: whether another process has taken over the ports (`handOver`). Then metrics and health end
  ///   at once, and connections made before are still accepted. Otherwise metrics and health stay to the end, and
  ///   `/readyz` answers 503.
  package func drain(seconds: Int, handsOver: Bool = false, _ completion: @escaping @Sendable () -> Void) {
    publicListener.close()
    if handsOver { internalListener.close() }
    log.notice("draining", metadata: ["seconds": "\(seconds)", "hands_over": "\(handsOver)"])
    for node in nodes {
      node.loop.execute { node.beginDrain(window: Int64(seconds) * 1_000_000, takesLatecomers: handsOver) }
    }
    reportDrain()
    end(completion)
  }

  /// Duplicates the descriptors of both listening sockets for the next process, the clients' port first; the receiver
  /// closes them. Nil if a socket is not open.
  func copySockets(_ body: @escaping @Sendable ([Int32]?) -> Void) {
    let (internalListener, kernel) = (internalListener, loops[0].kernel)
    publicListener.copySocket { clients in
      guard let clients else { return body(nil) }
      internalListener.copySocket { [kernel] operators in
        if operators == nil { kernel.close(clients) }
        body(operators.map { [clients, $0] })
      }
    }
  }

  /// Gives everything that only one process may have to the next one: leaves both ports to it, ends the feeds, writes
  /// streams, sessions and all other state into the data file, and closes that. Clients stay and get heartbeats, which
  /// say that their data is not live; `drain` or `stop` ends them. Requests that have come are answered first, while
  /// the data is live, and their connections closed. `completion` is called when all of it is done.
  package func handOver(_ completion: @escaping @Sendable () -> Void) {
    for listener in [publicListener, internalListener] {
      listener.leaveSocket { _ in }
      listener.close()
    }
    let countdown = CompletionLatch(nodes.count) { [self] in closeStore(completion) }
    // An answer may need the feeds of any loop: none of them ends before every loop has answered.
    let answered = CompletionLatch(nodes.count) { [self] in
      onEachNode { node in
        node.freeze()
        countdown.arrive()
      }
    }
    onEachNode { node in node.endRequests { answered.arrive() } }
  }

  /// Sends the clients to the process that serves now, over `seconds`, and ends when all are gone. It takes longer if
  /// their reconnections would use more than half of `limits.handshakes-per-second`. Call it after `handOver`.
  package func leave(seconds: Int, _ completion: @escaping @Sendable () -> Void) {
    let clients = Mutex(0)
    let rate = max(1, current.limits.handshakesPerSecond / 2)
    let countdown = CompletionLatch(nodes.count) { [self] in
      let count = clients.withLock { $0 }
      drain(seconds: max(seconds, (count + rate - 1) / rate), handsOver: true, completion)
    }
    for node in nodes {
      node.loop.execute {
        let open = node.clients.openCount
        clients.withLock { $0 += open }
        countdown.arrive()
      }
    }
  }

  /// Writes rules, portfolios and history, once, and closes their file. The nodes must not write after it.
  private func closeStore(_ completion: @escaping @Sendable () -> Void) {
    guard storeEnd.wait(completion) else { return }
    indexes?.stop()
    // Rules and portfolios are in history's file, which closes with it.
    alerts.finish { [portfolios, history, storeEnd] in
      portfolios.finish {
        guard let history else { return storeEnd.arrive() }
        history.finish { storeEnd.arrive() }
      }
    }
  }

  /// Stops accepting, closes every client with 4201, and ends when they are gone or `limit` has passed.
  package func stop(within limit: Duration = .seconds(5), _ completion: @escaping @Sendable () -> Void) {
    publicListener.close()
    internalListener.close()
    for node in nodes { node.loop.execute { node.closeAll(within: Int64(clamping: limit.wholeNanoseconds / 1_000)) } }
    end(completion)
  }

  /// Ends the loops when no node has clients or waits for them any longer. Call it after the nodes began to drain or
  /// close.
  private func end(_ completion: @escaping @Sendable () -> Void) {
    guard ending.wait(completion) else { return }
    let countdown = CompletionLatch(nodes.count) { [self, loops, nodes, ending] in
      // The loops have ended and nothing else touches the nodes; each holds all of them, itself included.
      let ended = CompletionLatch(loops.count) {
        for node in nodes { node.connect(to: []) }
        self.closeStore { ending.arrive() }
      }
      for node in nodes {
        node.loop.execute {
          node.stopFeeds()
          if !node.ending.isFrozen { node.history?.keepStreams() }
        }
      }
      for loop in loops { loop.shutdown { ended.arrive() } }
    }
    onEachNode { node in node.whenEmpty { countdown.arrive() } }
  }

  /// Calls `body` for every node on its loop, after the connections that were accepted until now have come there: the
  /// first loop accepts them, and passes them on. O(loops).
  private func onEachNode(_ body: @escaping @Sendable (LoopNode) -> Void) {
    loops[0].execute { [nodes] in
      for node in nodes { node.loop.execute { body(node) } }
    }
  }

  /// Logs the progress of a drain once a second.
  private func reportDrain() {
    let first = nodes[0]
    let log = log
    let count = nodes.count
    first.loop.execute {
      let startedAt = first.loop.moment
      first.loop.scheduleRepeating(every: .seconds(1)) {
        let total = DrainProgress()
        for loop in 0..<count {
          first.ask(loop) { node in
            (node.clients.openCount, node.hub.evictedClients)
          } then: { open, evicted in
            total.open += open
            total.evicted += evicted
            total.parts += 1
            guard total.parts == count else { return }
            let elapsed = (first.loop.moment - startedAt) / 1_000_000
            log.notice(
              "draining",
              metadata: ["clients": "\(total.open)", "closed": "\(total.evicted)", "elapsed_s": "\(elapsed)"])
          }
        }
      }
    }
  }

  private final class DrainProgress {
    var open = 0
    var evicted = 0
    var parts = 0
  }
}
