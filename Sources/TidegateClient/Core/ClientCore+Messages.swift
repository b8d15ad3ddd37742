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
    // A fresh token is answered with another one.
    guard !isWelcome else { return }
    isWelcome = true
    tell(.connected(welcome), into: &actions)
    sendAsked(now: now, into: &actions)
    let items = AskedItems(resuming.values.map(\.self))
    resumed(ok, into: &actions)
    // What is not there yet was subscribed to beside `hello`, and is asked for again from there.
    for failure in failed where failure.retryAfterMilliseconds == nil {
      for item in items.matching(failure.channel, failure.symbol) { refuse(item, Refusal(failure), into: &actions) }
    }
  }

  private mutating func receive(_ heartbeat: Heartbeat, now: UInt64, into actions: inout [ClientAction]) {
    // The gateway's cadence begins with the connection, so that one may come before `hello` is answered; `.connected`
    // is first.
    guard isWelcome else { return }
    heartbeatAt = now
    compare(heartbeat.sent, now: now, into: &actions)
    // The connection has proved itself: the next failure is a new one.
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
    guard case .subscribe(let items)? = request else { return tell(.notice(.refused(refusal)), into: &actions) }
    if error.retry {
      return retryLater(items, afterMilliseconds: error.retryAfterMilliseconds ?? 1_000, now: now)
    }
    for item in items {
      (refusal.channel, refusal.symbol) = (item.channel, item.symbol)
      refuse(item, refusal, into: &actions)
    }
  }

  /// One more snapshot or update has come. What a gateway says that it has sent may be any number, also the largest.
  private mutating func countData() { if received < .max { received += 1 } }
}
