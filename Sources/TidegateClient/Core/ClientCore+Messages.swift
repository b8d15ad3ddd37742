import Bytes

/// The messages of the gateway.
extension ClientCore {
  /// A message of the gateway. O(length).
  package mutating func receive(_ text: [UInt8], now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .open else { return }
    count(text.count, now: now)
    take(text, now: now, into: &actions)
  }

  private mutating func take(_ text: [UInt8], now: UInt64, into actions: inout [ClientAction]) {
    let message: ServerMessage
    do {
      message = try ServerMessage(parsing: text)
    } catch {
      let detail = (error as? JSONError).map { "\($0.reason) at byte \($0.offset)" } ?? "\(error)"
      return refuse(detail, now: now, into: &actions)
    }
    if options.includesFrames, consumers.hasListeners {
      consumers.tell(.frame(String(decoding: text, as: UTF8.self)), into: &actions)
    }
    switch message {
    case .welcome(let id, let welcome, let ok, let failed):
      _ = requests.answered(id)
      self.welcome(welcome, ok: ok, failed: failed, now: now, into: &actions)
    case .subscribed(let id, let ok, let failed):
      subscribed(id: id, ok: ok, failed: failed, now: now, into: &actions)
    case .done(let id): _ = requests.answered(id)
    case .moved(let id, let moves, let notice):
      _ = requests.answered(id)
      if let notice { consumers.tell(.notice(notice), into: &actions) }
      moved(moves, into: &actions)
    case .unknown: break
    case .unknownData: liveness.countData()
    case .stream(let message):
      liveness.countData()
      take(message, now: now, into: &actions)
    case .group(let message):
      liveness.countData()
      take(message, now: now, into: &actions)
    case .heartbeat(let heartbeat): receive(heartbeat, now: now, into: &actions)
    case .lost(let stream, let from, let to, let events):
      lost(stream, from: from, to: to, events: events, into: &actions)
    case .forbidden(let numbers):
      consumers.tell(.notice(.unknown("forbidden")), into: &actions)
      // Some members of a group may still be allowed.
      ask(streams.detachGroups(numbers).filter(isWanted), now: now, into: &actions)
    case .expiring: if token.isPossible { refreshToken(into: &actions) }
    case .notice(let notice):
      if case .draining(let wait, _) = notice {
        liveness.drain(at: now + min(wait.nanoseconds, Reconnection.retryAfterLimit))
      }
      consumers.tell(.notice(notice), into: &actions)
    case .error(let error): receive(error, now: now, into: &actions)
    case .answer(let id, let alert):
      guard case .ask(let asker)? = requests.answered(id) else { break }
      answered(asker, .success(AlertAnswer(alert: alert)), into: &actions)
    }
  }

  /// A binary message of the gateway. O(length).
  package mutating func receive(binary message: [UInt8], now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .open else { return }
    count(message.count, isRecord: true, now: now)
    do throws(BinaryError) {
      let record = try BinaryDecoder.decode(message) { streams.binary[$0] }
      if let scale = record.scale { streams.rescale(record.stream, scale) }
      if let text = record.text { take(text, now: now, into: &actions) } else { liveness.countData() }
    } catch {
      refuse(error.description, now: now, into: &actions)
    }
  }

  /// Ends the connection, because a message is invalid.
  private mutating func refuse(_ detail: String, now: UInt64, into actions: inout [ClientAction]) {
    actions.append(.close(code: 1007, reason: "not tidegate.v1"))
    disconnect(.badMessage(detail), now: now, into: &actions)
  }

  private mutating func welcome(
    _ welcome: Welcome, ok: [ServerMessage.Accepted], failed: [ServerMessage.Failure], now: UInt64,
    into actions: inout [ClientAction]
  ) {
    token.accept()
    resumption.session = welcome.session
    groupChoice.meet(welcome.version)
    guard liveness.welcome(welcome.heartbeatInterval, now: now) else { return }
    reconnection.meet()
    consumers.tell(.connected(welcome), into: &actions)
    sendAsked(now: now, into: &actions)
    let items = AskedItems(resumption.items)
    resumed(ok, into: &actions)
    // The client subscribed to the other streams beside `hello`; that request's answer schedules the retry.
    for failure in failed where failure.retryAfterMilliseconds == nil {
      for item in items.matching(failure.channel, failure.symbol) { refuse(item, Refusal(failure), into: &actions) }
    }
  }

  private mutating func receive(_ heartbeat: Heartbeat, now: UInt64, into actions: inout [ClientAction]) {
    // The gateway's heartbeats begin with the connection, so one may arrive before the answer to `hello`. Consumers get
    // `.connected` first.
    guard liveness.isWelcome else { return }
    liveness.hear(now: now)
    compare(heartbeat.sent, now: now, into: &actions)
    reconnection.works()
    consumers.tell(heartbeat, into: &actions)
  }

  private mutating func receive(
    _ error: ServerMessage.ErrorReply, now: UInt64, into actions: inout [ClientAction]
  ) {
    let request = requests.answered(error.id)
    var refusal = Refusal(
      channel: nil, symbol: "", code: RefusalCode(rawValue: error.code), message: error.message, hint: error.hint)
    if case .ask(let asker)? = request { return answered(asker, .failure(.refused(refusal)), into: &actions) }
    switch request {
    case .subscribe(let items, _)? where error.retry:
      requests.retry(items, afterMilliseconds: error.retryAfterMilliseconds ?? 1_000, now: now)
    case .unsubscribe(let numbers)? where error.retry:
      requests.retry([], leaving: numbers, afterMilliseconds: error.retryAfterMilliseconds ?? 1_000, now: now)
    case .subscribe(let items, _)?:
      for item in items {
        (refusal.channel, refusal.symbol) = (item.channel, item.symbol)
        refuse(item, refusal, into: &actions)
      }
    default: consumers.tell(.notice(.refused(refusal)), into: &actions)
    }
    leaveUnfollowed(now: now, into: &actions)
  }
}

/// Requests that have an answer of their own.
extension ClientCore {
  /// Sends a request as soon as there is a connection; never, if that takes longer than a reply may. Returns the number
  /// under which `answer` has the reply.
  mutating func ask(_ request: AlertRequest, now: UInt64, into actions: inout [ClientAction]) -> Int {
    let id = takeSerial()
    guard let fields = request.fields else {
      asked.add(id, .invalid)
      return id
    }
    guard phase != .stopped, !asked.isFull else {
      asked.add(id, lostConnection)
      return id
    }
    asked.add(id, fields, deadline: now + requests.timeout)
    if phase == .open, liveness.isWelcome { sendAsked(now: now, into: &actions) }
    return id
  }

  /// Takes the answer of a request; nil: it has not arrived.
  mutating func answer(_ id: Int) -> Result<AlertAnswer, RequestFailure>? { asked.take(id) }

  /// Forgets a request whose caller no longer waits.
  mutating func forget(_ id: Int) { asked.forget(id) }

  mutating func answered(
    _ id: Int, _ answer: Result<AlertAnswer, RequestFailure>, into actions: inout [ClientAction]
  ) {
    if asked.resolve(id, answer) { actions.append(.wake(id)) }
  }

  /// Sends the requests that wait for a connection.
  mutating func sendAsked(now: UInt64, into actions: inout [ClientAction]) {
    for (id, fields) in asked.takeUnsent() {
      actions.append(.send(Requests.alert(id: requests.add(.ask(id), now: now), fields: fields)))
    }
  }

  /// Fails requests that have waited for a connection as long as a reply may take.
  mutating func expireAsked(now: UInt64, into actions: inout [ClientAction]) {
    for id in asked.takeLate(now) { answered(id, .failure(lostConnection), into: &actions) }
  }

  /// Fails the requests that were sent: the connection ended before their answers.
  mutating func failAsked(into actions: inout [ClientAction]) {
    for id in asked.sent { answered(id, .failure(lostConnection), into: &actions) }
  }

  /// Fails all requests: there will be no connection.
  mutating func endAsked(into actions: inout [ClientAction]) {
    for id in asked.takeUnanswered() { answered(id, .failure(lostConnection), into: &actions) }
  }

  /// Why a request has no answer.
  private var lostConnection: RequestFailure { failure.map { .ended($0) } ?? .notConnected }
}
