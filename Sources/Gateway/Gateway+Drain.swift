import Logging
import PubSub
import Synchronization
import Transport

/// Who waits for the end of a gateway.
final class GatewayEnd: Sendable {
  private struct State {
    var completions: [@Sendable () -> Void] = []
    var isUnderWay = false
    var hasEnded = false
  }
  private let state = Mutex(State())

  /// Has `completion` called at the end, at once if that has been. True the first time: then the caller brings the end
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
  /// Leaves the ports to the service manager, for the process after this one; after `start`.
  package func leavePorts(to manager: ServiceManager) {
    let listeners: [(KeptPorts.Name, Listener)] = [(.clients, publicListener), (.internal, internalListener)]
    for (name, listener) in listeners {
      listener.leaveSocket { descriptor in
        // In place of one with another address.
        manager.forget(name.rawValue)
        manager.keep(descriptor, as: name.rawValue)
      }
    }
  }

  /// Stops accepting, announces to every client when to reconnect, closes each at that moment with 4201, and ends when
  /// no client is left, after `seconds` at the latest. `stop` cuts it short.
  ///
  /// - Parameter handsOver: whether another process has taken over the ports (`handOver`): then metrics and health go,
  ///   too, at once, and who had connected before is still taken in; otherwise they stay to the end, and `/readyz`
  ///   answers 503.
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

  /// Other descriptors of the sockets of both ports, the clients' first, for the next process; the receiver closes
  /// them. Nil: there are none.
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

  /// Gives up what one process alone may have, for the next one: leaves both ports to it, ends the feeds, writes
  /// streams, sessions and all else into the data file, and closes that. Clients stay and get heartbeats, which say
  /// that their data stand still; `drain` or `stop` ends them. `completion` is called when all of it is done.
  package func handOver(_ completion: @escaping @Sendable () -> Void) {
    for listener in [publicListener, internalListener] {
      listener.leaveSocket { _ in }
      listener.close()
    }
    let countdown = CompletionLatch(nodes.count) { [self] in closeStore(completion) }
    for node in nodes {
      node.loop.execute {
        node.freeze()
        countdown.arrive()
      }
    }
  }

  /// Sends the clients to the process that serves now, over `seconds`, or longer where so many could come back only
  /// with more than half of the handshakes that a second allows; ends when all are gone. After `handOver`.
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

  /// Has rules, portfolios and history written, once, and their file closed; nothing of the nodes is written after it.
  private func closeStore(_ completion: @escaping @Sendable () -> Void) {
    guard storeEnd.wait(completion) else { return }
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

  /// Ends the loops when no node has clients or is to wait for them any longer; after the nodes were told.
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
          if !node.ending.isFrozen { node.keepStreams() }
        }
      }
      for loop in loops { loop.shutdown { ended.arrive() } }
    }
    for node in nodes { node.loop.execute { node.whenEmpty { countdown.arrive() } } }
  }

  /// Says once a second how far a drain is.
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
