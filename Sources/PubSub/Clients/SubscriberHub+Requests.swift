import Bytes
import MarketData

/// Requests, authentication and their results.
extension SubscriberHub {
  // MARK: Input

  /// A text message from the client. Take the next only when `inputDelay` says so.
  package func receive(
    _ message: RawSpan, from client: ClientID, now: Timestamp, into actions: inout [HubAction]
  ) {
    guard let state = state(of: client) else { return }
    if dialects.has(client.slot) {
      switch admission.receiveDialect(message, from: &state.requests, state.grant, now: now) {
      case .handle: receiveDialect(message, client, state, now: now, into: &actions)
      case .wait: break
      case .disconnect(let code, let reason): disconnect(client, code: code, reason: reason, into: &actions)
      }
      return
    }
    switch admission.receive(message, from: &state.requests, state.grant, now: now) {
    case .handle(let request): handle(request, client, state, now: now, into: &actions)
    case .wait: break
    case .disconnect(let code, let reason): disconnect(client, code: code, reason: reason, into: &actions)
    }
  }

  /// A ping or a pong from the client: counted like a request. One over the rate is answered, and the client waits for
  /// it.
  package func receiveControlFrame(from client: ClientID, now: Timestamp, into actions: inout [HubAction]) {
    guard let state = state(of: client) else { return }
    let verdict = admission.receiveControlFrame(from: &state.requests, state.grant, now: now)
    if case .disconnect(let code, let reason) = verdict {
      disconnect(client, code: code, reason: reason, into: &actions)
    }
  }

  /// Records the cost of a client's input before it was a message.
  /// - Parameters:
  ///   - bytes: the bytes read, and their inflated size.
  ///   - frames: the number of their frames.
  package func charge(bytes: Int, frames: Int, to client: ClientID, now: Timestamp) {
    guard let state = state(of: client) else { return }
    admission.charge(bytes + frames * ClientAllowance.frameWork, to: &state.requests, state.grant, now: now)
  }

  /// How long the client's next bytes have to wait, µs; 0 if they may be taken. `max`: until something of it is written
  /// or answered.
  ///
  /// While they wait, the kernel holds the client back. They wait over its rates of requests and of work, while a
  /// request waits for its answer, and while replies wait for the client.
  package func inputDelay(of client: ClientID, now: Timestamp) -> Int64 {
    // One that is being closed is asked nothing more.
    guard let state = state(of: client) else { return .max }
    return admission.inputDelay(of: state.requests, state.grant, replyBytes: state.queue.control.bytes, now: now)
  }

  /// Whether what has been done for the client is more than its rates have paid for by now: it lives on its burst, or
  /// on the debt of its address.
  package func isAheadOfRate(_ client: ClientID, now: Timestamp) -> Bool {
    state(of: client).map { admission.isAheadOfRate($0.requests, now: now) } ?? false
  }

  /// Takes up requests that waited for the one that is now answered, until one must wait for publishers again.
  func resumeWaiting(_ client: ClientID, _ state: ClientState, now: Timestamp, into actions: inout [HubAction]) {
    if dialects.has(client.slot) {
      while self.state(of: client) != nil, let message = admission.nextMessage(of: &state.requests) {
        receiveDialect(message.span.bytes, client, state, now: now, into: &actions)
      }
      return
    }
    while self.state(of: client) != nil, let request = admission.next(of: &state.requests) {
      handle(request, client, state, now: now, into: &actions)
    }
  }

  private func handle(
    _ parsed: ParsedRequest, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    guard let request = parsed.request, parsed.error == nil else {
      let error = parsed.error ?? ProtocolError(.badRequest, "empty request")
      return refuse(error, parsed.id, client, state, now: now, into: &actions)
    }
    if asksForTokens {
      if case .hello(let hello) = request, let token = hello.token {
        admission.charge(ClientAllowance.tokenWork, to: &state.requests, state.grant, now: now)
        state.requests.begin(.init(hello, id: parsed.id))
        actions.append(.authenticate(client, token: token))
        return
      }
      if state.grant == nil {
        let error = ProtocolError(
          .unauthorized, "say hello with a token first", hint: "{\"op\":\"hello\",\"token\":\"…\"}")
        return refuse(error, parsed.id, client, state, now: now, into: &actions)
      }
    }
    state.requests.errorsInRow = 0
    switch request {
    case .hello(let hello): greet(hello, parsed.id, client, state, now: now, into: &actions)
    case .subscribe(let items):
      if let error = resolver.tooManyNames(items) {
        return refuse(error, parsed.id, client, state, now: now, into: &actions)
      }
      let pending = state.requests.begin(.subscribe, id: parsed.id)
      join(items, pending, client, state, now: now, into: &actions)
    case .unsubscribe(let streams): unsubscribe(streams, parsed.id, client, state, now: now, into: &actions)
    case .unsubscribeAll:
      let streams = state.memberships.subscriptions.map(\.stream)
      unsubscribe(streams, parsed.id, client, state, now: now, into: &actions)
    case .configure(let interval):
      let nearest = RateClass.nearest(notFasterThan: interval)
      move(client, state, .configure(nearest), id: parsed.id, now: now, into: &actions)
    case .pause: pause(parsed.id, client, state, now: now)
    case .resume: resume(parsed.id, client, state, now: now, into: &actions)
    case .list:
      let streams = state.memberships.subscriptions.map { described($0.stream) }
      send(to: client, now: now) { Replies.appendList(streams, id: parsed.id, to: &$0) }
    case .control(let control):
      if let error = ControlRequest.refusal(for: state.grant) {
        return refuse(error, parsed.id, client, state, now: now, into: &actions)
      }
      admission.charge(ClientAllowance.controlWork, to: &state.requests, state.grant, now: now)
      actions.append(
        .control(client, number: state.requests.beginControl(id: parsed.id), control, state.grant ?? .nothing))
    case .ping(let time): send(to: client, now: now) { Replies.appendPong(time, id: parsed.id, now: now, to: &$0) }
    }
  }

  /// Answers a request with an error; closes a client that makes too many.
  private func refuse(
    _ error: ProtocolError, _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    send(to: client, now: now) { Replies.appendError(error, id: id, to: &$0) }
    if case .disconnect(let code, let reason) = admission.noteError(error.code, of: &state.requests) {
      disconnect(client, code: code, reason: reason, into: &actions)
    }
  }

  private func unsubscribe(
    _ streams: [UInt32], _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    guard streams.count <= admission.nameLimit else {
      let error = ProtocolError(
        .outOfRange, "`streams` has \(streams.count) numbers; the limit is \(admission.nameLimit)",
        hint: "\"all\":true ends all")
      return refuse(error, id, client, state, now: now, into: &actions)
    }
    var done: [UInt32] = []
    var unknown: [UInt32] = []
    var seen: Set<UInt32> = []
    for stream in streams where seen.insert(stream).inserted {
      if let index = state.memberships.index(of: stream) {
        removeSubscription(client.slot, state, at: index, into: &actions)
        done.append(stream)
      } else {
        unknown.append(stream)
      }
    }
    admission.charge(done.count * ClientAllowance.joinWork / 4, to: &state.requests, state.grant, now: now)
    send(to: client, now: now) {
      Replies.appendUnsubscribed(done, unknown: unknown, total: state.memberships.count, id: id, to: &$0)
    }
  }

  private func pause(_ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp) {
    let slot = clients[client.slot]
    slot.pointee.flags.insert(.paused)
    slot.pointee.bundle = TurnBundles.empty
    state.queue.removeData()
    for index in state.memberships.indices where state.memberships[index].mark == .behind {
      lists.setMark(.marked, of: index, client.slot, clients, reason: .resume)
    }
    if state.isDrained { slot.pointee.flags.remove(.queued) }
    send(to: client, now: now) { Replies.appendPaused(id: id, to: &$0) }
  }

  private func resume(
    _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp, into actions: inout [HubAction]
  ) {
    let slot = clients[client.slot]
    let wasPaused = slot.pointee.flags.contains(.paused)
    slot.pointee.flags.remove(.paused)
    send(to: client, now: now) { Replies.appendResumed(total: state.memberships.count, id: id, to: &$0) }
    guard wasPaused else { return }
    for index in state.memberships.indices {
      lists.setMark(.marked, of: index, client.slot, clients, reason: .resume)
    }
    askForSnapshots(client, state, into: &actions)
  }

  /// Answers the `.control` of that number. Later requests of the client have waited for it.
  /// - Parameter answer: the fields of the reply behind its `id`, such as `"alert":{…}`.
  package func answer(
    _ client: ClientID, number: UInt32, _ answer: Result<SharedBytes, ProtocolError>, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    guard let state = state(of: client), let control = state.requests.control, control.number == number else { return }
    state.requests.end()
    switch answer {
    case .success(let fields):
      send(to: client, now: now) { Replies.appendControl(fields, id: control.id, to: &$0) }
    case .failure(let error): refuse(error, control.id, client, state, now: now, into: &actions)
    }
    resumeWaiting(client, state, now: now, into: &actions)
  }

  // MARK: Who a client is

  // The hub knows only grants. Other code verifies tokens: `HubAction.authenticate` requests it, `authorize` and
  // `refuse` answer.

  /// Gives a client a grant: in answer to `.authenticate`, or in place of the one that it has. Subscriptions that it
  /// does not allow end, with a notice.
  package func authorize(_ client: ClientID, _ grant: Grant, now: Timestamp, into actions: inout [HubAction]) {
    guard let state = state(of: client) else { return }
    // What it did as a stranger is paid for by having been one.
    if state.grant == nil { state.requests.allowance = ClientAllowance() }
    state.setGrant(grant, deadline: GrantReview.deadline(of: grant))
    endForbidden(client, state, grant, now: now, into: &actions)
    guard let greeting = state.requests.greeting else { return }
    state.requests.end()
    state.requests.errorsInRow = 0
    greet(greeting.hello, greeting.id, client, state, now: now, into: &actions)
    resumeWaiting(client, state, now: now, into: &actions)
  }

  /// Refuses a token. A client that has a grant keeps it and gets an error; one that has none is closed.
  /// - Parameters:
  ///   - why: for the client; at most 100 bytes, and nothing of the token.
  ///   - code: 4001, or 4129 if it may come back.
  package func refuse(
    _ client: ClientID, why: String, code: UInt16 = CloseCode.unauthorized, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    guard let state = state(of: client) else { return }
    guard state.grant != nil, let greeting = state.requests.greeting else {
      let reason = code == CloseCode.unauthorized ? "unauthorized: \(why)" : why
      return disconnect(client, code: code, reason: reason, into: &actions)
    }
    state.requests.end()
    let isUnauthorized = code == CloseCode.unauthorized
    let error = ProtocolError(
      isUnauthorized ? .unauthorized : .rateLimited, why, hint: "the earlier grant stays valid until it expires")
    refuse(error, greeting.id, client, state, now: now, into: &actions)
    resumeWaiting(client, state, now: now, into: &actions)
  }

  /// Takes a client's grant away and closes it with 4001.
  package func revoke(from client: ClientID, why: String, into actions: inout [HubAction]) {
    disconnect(client, code: CloseCode.unauthorized, reason: "unauthorized: \(why)", into: &actions)
  }

  private func endForbidden(
    _ client: ClientID, _ state: ClientState, _ grant: Grant, now: Timestamp, into actions: inout [HubAction]
  ) {
    let forbidden = state.memberships.subscriptions.map(\.stream).filter { stream in
      let key = lists[stream].key
      let isAllowed =
        key.group.isEmpty
        ? grant.allows(key.channel, key.symbol) : key.group.allSatisfy { grant.allows(key.channel, $0) }
      return !isAllowed || !key.isShared(with: grant)
    }
    guard !forbidden.isEmpty else { return }
    if dialects.has(client.slot) { return revoke(from: client, why: "the token allows less", into: &actions) }
    for stream in forbidden {
      if let index = state.memberships.index(of: stream) {
        removeSubscription(client.slot, state, at: index, into: &actions)
      }
    }
    send(to: client, now: now) { Replies.appendForbidden(forbidden, total: state.memberships.count, to: &$0) }
  }

  private func greet(
    _ hello: ClientRequest.Hello, _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    if let seconds = hello.heartbeatSeconds {
      state.heartbeat.cadence = ClientHeartbeat(seconds: seconds).cadence
      heartbeats.start(client, &state.heartbeat, now: now)
    }
    if let resume = hello.resume { return beginResume(resume, id, client, state, now: now, into: &actions) }
    let welcome = welcome(client, state, isResumed: false, now: now)
    send(to: client, now: now) { out in
      Replies.beginWelcome(welcome, id: id, to: &out)
      out.append(UInt8(ascii: "}"))
    }
  }

  func token(of client: ClientID, _ state: ClientState) -> SessionToken {
    SessionToken(state.secret, loop: loop, client: client)
  }

  func welcome(_ client: ClientID, _ state: ClientState, isResumed: Bool, now: Timestamp) -> Replies.Welcome {
    Replies.Welcome(
      session: token(of: client, state).description, identity: settings.identity, now: now,
      heartbeatSeconds: state.heartbeat.seconds,
      expires: state.grant?.expires, isResumed: isResumed, isSimulated: feeds.contains { $0.source != .live },
      subscriptions: admission.subscriptionLimit(state.grant), requestsPerSecond: admission.requestLimit(state.grant),
      messageBytes: limits.messageBytes)
  }

  // MARK: Sessions

  // A session is looked for by the loop that its token names, which may be another than the one its client is now on.
  // There it is either a client that is still connected, whose connection is then closed with 4202, or a parked one. A
  // token serves once: the new connection has its own. Event streams of a parked session keep running without
  // subscribers, so that the publisher's memory of them has no hole.

  /// What another loop, or this one, says about a session.
  package func receive(_ message: SessionMessage, now: Timestamp, into actions: inout [HubAction]) {
    switch message {
    case .claim(let claim):
      let (isGranted, isPaused) = give(claim, now: now, into: &actions)
      actions.append(
        .session(
          .answer(client: claim.client, request: claim.request, isGranted: isGranted, isPaused: isPaused),
          loop: claim.loop))
    case .answer(let client, let request, let isGranted, let isPaused):
      guard let state = state(of: client), let pending = state.requests.pending, pending.number == request else {
        return
      }
      if isGranted {
        pending.resume.isGranted = true
        departures.resumed += 1
      } else {
        departures.notResumed += 1
      }
      if isPaused {
        queues.spill(client.slot, lists, clients)
        clients[client.slot].pointee.flags.insert(.paused)
      }
      joinWhenThere(pending, client, state, now: now, into: &actions)
    }
  }

  /// Begins to carry out `hello` with `resume`; the reply goes out when the session and every stream is answered for.
  private func beginResume(
    _ resume: ClientRequest.Resume, _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    if let error = resolver.tooManyNames(resume.items) {
      return refuse(error, id, client, state, now: now, into: &actions)
    }
    let pending = state.requests.begin(.resume, id: id)
    pending.resume.positions = resume.items
    guard let token = resume.session.flatMap({ SessionToken($0) }), token.loop < settings.loops,
      token != self.token(of: client, state)
    else {
      if resume.session != nil { departures.notResumed += 1 }
      return joinWhenThere(pending, client, state, now: now, into: &actions)
    }
    let claim = SessionClaim(
      token: token, subject: state.subject, loop: loop, client: client, request: pending.number)
    actions.append(.session(.claim(claim), loop: Int(token.loop)))
  }

  /// Gives a session away if it is here and the asker's.
  private func give(
    _ claim: SessionClaim, now: Timestamp, into actions: inout [HubAction]
  ) -> (isGranted: Bool, isPaused: Bool) {
    let owner = claim.token.client
    if let state = clients.anyState(of: owner), !state.isClaimed, token(of: owner, state) == claim.token {
      guard state.subject == claim.subject else { return (false, false) }
      let isPaused = clients[owner.slot].pointee.flags.contains(.paused)
      state.isClaimed = true
      departures.parked.keep(hold(eventStreamsOf: state), now: steady(now))
      disconnect(
        owner, code: CloseCode.takenOver, reason: "another connection has taken this session over",
        into: &actions)
      return (true, isPaused)
    }
    guard let session = departures.parked.take(claim.token, subject: claim.subject, now: steady(now)) else {
      return (false, false)
    }
    return (true, session.isPaused)
  }

  /// Keeps the session of a client that is gone.
  func park(_ client: ClientID, _ state: ClientState, into actions: inout [HubAction]) {
    guard !state.isClaimed, !state.memberships.isEmpty else { return }
    let streams = hold(eventStreamsOf: state)
    let session = ParkedSessions.Session(
      subject: state.subject, isPaused: clients[client.slot].pointee.flags.contains(.paused), streams: streams,
      expires: steady.lastAdvance + ParkedSessions.time)
    release(departures.parked.park(token(of: client, state), session), into: &actions)
  }

  /// Keeps the event streams of a client running without it; returns them.
  private func hold(eventStreamsOf state: ClientState) -> [UInt32] {
    let streams = state.memberships.subscriptions.map(\.stream).filter { lists.isEvent($0) }
    for stream in streams { lists[stream].holds += 1 }
    return streams
  }

  func release(_ streams: [UInt32], into actions: inout [HubAction]) {
    for stream in streams where lists.has(stream) {
      lists[stream].holds -= 1
      leaveIfEmpty(stream, into: &actions)
    }
  }
}
