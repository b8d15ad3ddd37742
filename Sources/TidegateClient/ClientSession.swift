import Synchronization

/// Carries a `ClientCore` out: its transport, its timer, its buffer. One lock around all of it, held for no longer than
/// a message.
final class ClientSession: Sendable {
  private struct State: Sendable {
    var core: ClientCore
    var buffer: EventBuffer
    var connection: (any ClientTransportConnection)?
    /// Of the connection; events of an older one are ignored.
    var generation = 0
    var timer: Task<Void, Never>?
    var timerAt: UInt64?
    var waiter: CheckedContinuation<TidegateEvent?, Never>?
    var isFinished = false
    var isTaken = false
  }

  /// Ends the session when the iterator is gone.
  final class Lease: Sendable {
    private let session: ClientSession
    private let isOwner: Bool

    init(_ session: ClientSession) {
      self.session = session
      isOwner = session.take()
    }

    deinit { if isOwner { session.stop() } }

    func next() async -> TidegateEvent? { isOwner ? await session.next() : nil }
  }

  private let url: TidegateURL
  private let transport: any ClientTransport
  private let tokenSource: TidegateClient.TokenSource?
  private let state: Mutex<State>
  private let origin = ContinuousClock.now

  init(
    url: TidegateURL, subscriptions: [TidegateSubscription], options: TidegateOptions, transport: any ClientTransport,
    tokenSource: TidegateClient.TokenSource? = nil
  ) {
    self.url = url
    self.tokenSource = tokenSource
    self.transport = transport
    var random = SystemRandomNumberGenerator()
    state = Mutex(
      State(
        core: ClientCore(
          subscriptions: subscriptions, options: options, refreshesToken: tokenSource != nil, seed: random.next()),
        buffer: EventBuffer(limit: options.bufferLimit)))
  }

  /// Nanoseconds since the session was made.
  private var now: UInt64 { origin.duration(to: .now).nanoseconds }

  /// Starts the connection for the first taker; false for any other.
  private func take() -> Bool {
    state.withLock { state in
      guard !state.isTaken else { return false }
      state.isTaken = true
      perform(&state) { core, now, actions in core.start(now: now, into: &actions) }
      return true
    }
  }

  private func stop() {
    state.withLock { state in perform(&state) { core, _, actions in core.stop(into: &actions) } }
  }

  func next() async -> TidegateEvent? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ready: TidegateEvent?? = state.withLock { state in
          if Task.isCancelled { return .some(nil) }
          if let event = state.buffer.next() { return event }
          if state.isFinished { return .some(nil) }
          state.waiter = continuation
          return nil
        }
        if let ready { continuation.resume(returning: ready) }
      }
    } onCancel: {
      stop()
    }
  }

  /// Lets the core do what the consumer wants.
  func want(_ body: @Sendable (inout ClientCore, UInt64, inout [ClientAction]) -> Void) {
    state.withLock { state in perform(&state, body) }
  }

  private func received(_ event: ClientTransportEvent, generation: Int) {
    state.withLock { state in
      guard generation == state.generation else { return }
      perform(&state) { core, now, actions in
        switch event {
        case .opened: core.opened(now: now, into: &actions)
        case .message(let text): core.receive(text, now: now, into: &actions)
        case .refused(let status, let retryAfter, let reason):
          core.refused(status: status, retryAfter: retryAfter, reason: reason, now: now, into: &actions)
        case .closed(let code, let reason): core.closed(code: code, reason: reason, now: now, into: &actions)
        }
      }
    }
  }

  /// Lets the core act and carries out what it wants. Under the lock: transports do not call back from inside their
  /// functions.
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
        state.connection = transport.connect(to: url, subprotocol: "tidegate.v1.json") { [weak self] event in
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
          self?.want { core, now, actions in core.renewed(token, now: now, into: &actions) }
        }
      case .emit(let event): state.buffer.append(event)
      case .finish:
        state.isFinished = true
        state.timer?.cancel()
        state.timer = nil
      }
    }
    if let waiter = state.waiter {
      if let event = state.buffer.next() {
        state.waiter = nil
        waiter.resume(returning: event)
      } else if state.isFinished {
        state.waiter = nil
        waiter.resume(returning: nil)
      }
    }
    schedule(&state)
  }

  /// Sees to it that the core is called at its next deadline. A timer that is early finds nothing to do and is set
  /// again, so that deadlines that move back, as that of the heartbeat does all the time, cost nothing.
  private func schedule(_ state: inout sending State) {
    guard !state.isFinished, let deadline = state.core.nextDeadline else { return }
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
