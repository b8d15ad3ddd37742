import Bytes

/// The messages of the gateway.
extension ClientCore {
  /// A message of the gateway. O(length).
  package mutating func receive(_ text: [UInt8], now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .open else { return }
    let message: ServerMessage
    do {
      message = try ServerMessage(parsing: text)
    } catch {
      actions.append(.close(code: 1007, reason: "not tidegate.v1"))
      let detail = (error as? JSONError).map { "\($0.reason) at byte \($0.offset)" } ?? "\(error)"
      return disconnect(.badMessage(detail), now: now, into: &actions)
    }
    if options.includesFrames, !listeners.isEmpty {
      tell(.frame(String(decoding: text, as: UTF8.self)), into: &actions)
    }
    switch message {
    case .welcome(let id, let welcome, let ok, let failed):
      if let id { pending[id] = nil }
      self.welcome(welcome, ok: ok, failed: failed, now: now, into: &actions)
    case .subscribed(let id, let ok, let failed):
      subscribed(id: id, ok: ok, failed: failed, now: now, into: &actions)
    case .done(let id): if let id { pending[id] = nil }
    case .moved(let id, let moves, let notice):
      if let id { pending[id] = nil }
      if let notice { tell(.notice(notice), into: &actions) }
      moved(moves, into: &actions)
    case .unknown: break
    case .unknownData: countData()
    case .stream(let message):
      countData()
      take(message, now: now, into: &actions)
    case .heartbeat(let heartbeat): receive(heartbeat, now: now, into: &actions)
    case .lost(let stream, let from, let to, let events):
      lost(stream, from: from, to: to, events: events, into: &actions)
    case .expiring: if refreshesToken { refreshToken(into: &actions) }
    case .notice(let notice):
      if case .draining(let wait, _) = notice { drainAt = now + min(wait.nanoseconds, Self.retryAfterLimit) }
      tell(.notice(notice), into: &actions)
    case .error(let error): receive(error, now: now, into: &actions)
    case .answer(let id, let alert):
      guard let id, case .ask(let asker)? = pending.removeValue(forKey: id)?.request else { break }
      answered(asker, .success(AlertAnswer(alert: alert)), into: &actions)
    }
  }

  private mutating func welcome(
    _ welcome: Welcome, ok: [ServerMessage.Accepted], failed: [ServerMessage.Failure], now: UInt64,
    into actions: inout [ClientAction]
  ) {
    isTokenRefused = false
    session = welcome.session
    heartbeatInterval = welcome.heartbeatInterval.nanoseconds
    heartbeatAt = now
    // The gateway answers a fresh token with another `welcome`.
    guard !isWelcome else { return }
    isWelcome = true
    hasMetGateway = true
    tell(.connected(welcome), into: &actions)
    sendAsked(now: now, into: &actions)
    let items = AskedItems(resuming.values.map(\.self))
    resumed(ok, into: &actions)
    // The client subscribed to the other streams beside `hello`; that request's answer schedules the retry.
    for failure in failed where failure.retryAfterMilliseconds == nil {
      for item in items.matching(failure.channel, failure.symbol) { refuse(item, Refusal(failure), into: &actions) }
    }
  }

  private mutating func receive(_ heartbeat: Heartbeat, now: UInt64, into actions: inout [ClientAction]) {
    // The gateway's heartbeats begin with the connection, so one may arrive before the answer to `hello`. Consumers get
    // `.connected` first.
    guard isWelcome else { return }
    heartbeatAt = now
    compare(heartbeat.sent, now: now, into: &actions)
    // The connection works: the back-off begins anew with the next failure.
    attempt = 0
    tellHeartbeat(heartbeat, into: &actions)
  }

  private mutating func receive(
    _ error: ServerMessage.ErrorReply, now: UInt64, into actions: inout [ClientAction]
  ) {
    let request = error.id.flatMap { pending.removeValue(forKey: $0)?.request }
    var refusal = Refusal(
      channel: nil, symbol: "", code: RefusalCode(rawValue: error.code), message: error.message, hint: error.hint)
    if case .ask(let asker)? = request { return answered(asker, .failure(.refused(refusal)), into: &actions) }
    switch request {
    case .subscribe(let items)? where error.retry:
      retryLater(items, afterMilliseconds: error.retryAfterMilliseconds ?? 1_000, now: now)
    case .unsubscribe(let numbers)? where error.retry:
      retryLater([], leaving: numbers, afterMilliseconds: error.retryAfterMilliseconds ?? 1_000, now: now)
    case .subscribe(let items)?:
      for item in items {
        (refusal.channel, refusal.symbol) = (item.channel, item.symbol)
        refuse(item, refusal, into: &actions)
      }
    default: tell(.notice(.refused(refusal)), into: &actions)
    }
    leaveUnfollowed(now: now, into: &actions)
  }

  /// Counts a received snapshot or update. A gateway may claim to have sent any number, also the largest.
  private mutating func countData() { if received < .max { received += 1 } }
}

/// Requests that have an answer of their own.
extension ClientCore {
  /// Sends a request as soon as there is a connection; never, if that takes longer than a reply may. Returns the number
  /// under which `answer` has the reply.
  mutating func ask(_ request: AlertRequest, now: UInt64, into actions: inout [ClientAction]) -> Int {
    let id = takeSerial()
    guard let fields = request.fields else {
      asked[id] = .failure(.invalid)
      return id
    }
    guard phase != .stopped, unsent.count < Self.unsentLimit else {
      asked[id] = .failure(lostConnection)
      return id
    }
    asked[id] = .some(nil)
    unsent.append((id, fields, now + options.replyTimeout.nanoseconds))
    if phase == .open, isWelcome { sendAsked(now: now, into: &actions) }
    return id
  }

  /// Takes the answer of a request; nil: it has not arrived.
  mutating func answer(_ id: Int) -> Result<AlertAnswer, RequestFailure>? {
    guard let answer = asked[id] ?? nil else { return nil }
    asked[id] = nil
    return answer
  }

  /// Forgets a request whose caller no longer waits.
  mutating func forget(_ id: Int) { asked[id] = nil }

  mutating func answered(
    _ id: Int, _ answer: Result<AlertAnswer, RequestFailure>, into actions: inout [ClientAction]
  ) {
    guard asked[id] != nil else { return }
    asked[id] = answer
    actions.append(.wake(id))
  }

  /// Sends the requests that wait for a connection.
  mutating func sendAsked(now: UInt64, into actions: inout [ClientAction]) {
    let waiting = unsent
    unsent.removeAll()
    for (id, fields, _) in waiting where asked[id] == .some(nil) {
      actions.append(.send(Requests.alert(id: takeID(.ask(id), now: now), fields: fields)))
    }
  }

  /// Fails requests that have waited for a connection as long as a reply may take.
  mutating func expireAsked(now: UInt64, into actions: inout [ClientAction]) {
    let late = unsent.filter { $0.deadline <= now }
    unsent.removeAll { $0.deadline <= now }
    for (id, _, _) in late { answered(id, .failure(lostConnection), into: &actions) }
  }

  /// Fails the requests that were sent: the connection ended before their answers.
  mutating func failAsked(into actions: inout [ClientAction]) {
    let waiting = Set(unsent.map(\.id))
    for id in asked.keys.sorted() where asked[id] == .some(nil) && !waiting.contains(id) {
      answered(id, .failure(lostConnection), into: &actions)
    }
  }

  /// Why a request has no answer.
  private var lostConnection: RequestFailure { failure.map { .ended($0) } ?? .notConnected }

  /// Fails all requests: there will be no connection.
  mutating func endAsked(into actions: inout [ClientAction]) {
    unsent.removeAll()
    failAsked(into: &actions)
  }
}
