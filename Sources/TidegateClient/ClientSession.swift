import Synchronization

/// Runs a `ClientCore`: owns its transport, its timer, and its waiting iterations. One lock protects all of it, and is
/// held no longer than a message takes.
final class ClientSession: Sendable {
  private struct State: Sendable {
    var core: ClientCore
    var connection: (any ClientTransportConnection)?
    /// The number of the connection; events of earlier connections are ignored.
    var generation = 0
    var timer: Task<Void, Never>?
    var timerAt: UInt64?
    /// Iterations that wait for a consumer's next event, by consumer. Resumed, an iteration checks again.
    var waiters: [Int: [(number: Int, wake: CheckedContinuation<Void, Never>)]] = [:]
    var nextWaiter = 0
  }

  private let url: GatewayURL
  private let transport: any ClientTransport
  private let tokenSource: GatewayClient.TokenSource?
  private let state: Mutex<State>
  private let origin = ContinuousClock.now

  init(
    url: GatewayURL, options: ClientOptions, transport: any ClientTransport,
    tokenSource: GatewayClient.TokenSource? = nil
  ) {
    self.url = url
    self.tokenSource = tokenSource
    self.transport = transport
    var random = SystemRandomNumberGenerator()
    state = Mutex(
      State(core: ClientCore(options: options, refreshesToken: tokenSource != nil, seed: random.next())))
  }

  deinit {
    state.withLock { state in
      state.timer?.cancel()
      state.connection?.close(code: 1000, reason: "")
    }
  }

  /// Nanoseconds since the session was made.
  private var now: UInt64 { origin.duration(to: .now).nanoseconds }

  // MARK: Consumers

  func subscribe(_ items: [StreamItem]) -> Int {
    var id = 0
    act { core, now, actions in
      id = core.subscribe(items, now: now, into: &actions)
      core.start(now: now, into: &actions)
    }
    return id
  }

  func listen() -> Int {
    var id = 0
    act { core, now, actions in
      id = core.listen()
      core.start(now: now, into: &actions)
    }
    return id
  }

  /// Sends a request and waits for its answer.
  func perform(_ request: AlertRequest) async throws(RequestFailure) -> Alert? {
    var id = 0
    act { core, now, actions in
      id = core.ask(request, now: now, into: &actions)
      core.start(now: now, into: &actions)
    }
    let answer = try? await next(id) { core, id in core.answer(id) }
    act { core, _, _ in core.forget(id) }
    guard let answer else { throw Task.isCancelled ? .cancelled : .notConnected }
    return try answer.get().alert
  }

  func cancel(_ id: Int) { act { core, now, actions in core.cancel(id, now: now, into: &actions) } }

  /// Waits until `take` has something, or the consumer will get no more.
  func next<Event: Sendable>(
    _ id: Int, _ take: @Sendable (inout ClientCore, Int) -> Event?
  ) async throws(ConnectionFailure) -> Event? {
    while true {
      if Task.isCancelled { return nil }
      let found: (event: Event?, isOver: Bool, failure: ConnectionFailure?) = state.withLock { state in
        if let event = take(&state.core, id) { return (event, false, nil) }
        return (nil, state.core.isOver(id), state.core.failure)
      }
      if let event = found.event { return event }
      if found.isOver {
        if let failure = found.failure { throw failure }
        return nil
      }
      await wait(id)
    }
  }

  /// Waits until the consumer is woken or the task is cancelled.
  private func wait(_ id: Int) async {
    let number = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isLate = state.withLock { state in
          // Events that arrived after the consumer's check woke no iteration.
          if Task.isCancelled || state.core.hasNews(id) { return true }
          state.waiters[id, default: []].append((number, continuation))
          return false
        }
        if isLate { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
        guard let index = state.waiters[id]?.firstIndex(where: { $0.number == number }) else { return nil }
        return state.waiters[id]?.remove(at: index).wake
      }
      waiter?.resume()
    }
  }

  // MARK: The core

  var traffic: Traffic { state.withLock { $0.core.traffic } }

  /// Calls the core for the app, and executes the resulting actions.
  func act(_ body: (inout ClientCore, UInt64, inout [ClientAction]) -> Void) {
    state.withLock { state in perform(&state, body) }
  }

  private func received(_ event: ClientTransportEvent, generation: Int) {
    state.withLock { state in
      guard generation == state.generation else { return }
      perform(&state) { core, now, actions in
        switch event {
        case .opened: core.opened(now: now, into: &actions)
        case .message(let text): core.receive(text, now: now, into: &actions)
        case .binary(let message): core.receive(binary: message, now: now, into: &actions)
        case .refused(let status, let retryAfter, let reason):
          core.refused(status: status, retryAfter: retryAfter, reason: reason, now: now, into: &actions)
        case .unusable(let reason): core.unusable(reason: reason, now: now, into: &actions)
        case .closed(let code, let reason): core.closed(code: code, reason: reason, now: now, into: &actions)
        }
      }
    }
  }

  /// Calls the core and executes its actions. The caller holds the lock, which is safe: transports do not call back
  /// from inside their functions, and a resumed continuation runs elsewhere.
  private func perform(
    _ state: inout sending State, _ body: (inout ClientCore, UInt64, inout [ClientAction]) -> Void
  ) {
    var actions: [ClientAction] = []
    body(&state.core, now, &actions)
    for action in actions {
      switch action {
      case .connect:
        state.generation += 1
        let generation = state.generation
        let offers = [Subprotocol.binary, Subprotocol.json]
        state.connection = transport.connect(to: url, subprotocols: offers) { [weak self] event in
          self?.received(event, generation: generation)
        }
      case .send(let text): state.connection?.send(text)
      case .close(let code, let reason):
        state.connection?.close(code: code, reason: reason)
        state.connection = nil
        state.generation += 1
      case .refreshToken:
        guard let tokenSource else { continue }
        Task { [weak self] in
          let token = await tokenSource()
          self?.act { core, now, actions in core.renewed(token, now: now, into: &actions) }
        }
      case .wake(let id):
        for waiter in state.waiters.removeValue(forKey: id) ?? [] { waiter.wake.resume() }
      }
    }
    schedule(&state)
  }

  /// Sets the timer to the core's next deadline. A timer that fires early finds nothing to do and is set again. So a
  /// deadline that moves back costs nothing; the heartbeat's does so all the time.
  private func schedule(_ state: inout sending State) {
    guard let deadline = state.core.nextDeadline else {
      state.timer?.cancel()
      (state.timer, state.timerAt) = (nil, nil)
      return
    }
    if let at = state.timerAt, at <= deadline, state.timer != nil { return }
    state.timer?.cancel()
    state.timerAt = deadline
    let instant = origin + .nanoseconds(Int64(clamping: deadline))
    state.timer = Task { [weak self] in
      guard (try? await Task.sleep(until: instant, clock: .continuous)) != nil else { return }
      self?.timerFired(deadline)
    }
  }

  private func timerFired(_ deadline: UInt64) {
    state.withLock { state in
      guard state.timerAt == deadline else { return }
      state.timer = nil
      state.timerAt = nil
      perform(&state) { core, now, actions in core.advance(to: now, into: &actions) }
    }
  }
}
