import Bytes
import MarketData

extension SubscriberHub {
  /// Protocol errors in a row that close the connection.
  static let errorLimit = 50
  /// What a client may do before it has shown a token, where one is asked for: requests a second, bytes of one, and work at once.
  static let strangerRequestsPerSecond = 5
  static let strangerMessageBytes = 16 << 10
  static let strangerWorkBurst = 64 << 10
  /// How long a client may send over the rate before it is closed, µs.
  static let abuseLimit = 5 * Microseconds.second
  /// Messages that may wait for the request before them, and their bytes.
  static let waitingLimit = 64
  static let waitingBytesLimit = 256 << 10

  /// A text message from the client. Take the next only when `inputDelay` says so.
  package func receive(
    _ message: RawSpan, from client: ClientID, now: Timestamp, into actions: inout [HubAction]
  ) {
    guard let state = state(of: client) else { return }
    charge(ClientAllowance.requestWork, state, now: now)
    var refusal: ParsedRequest?
    let wait = state.allowance.takeRequest(perSecond: requestLimit(state), now: now)
    if wait > 0 {
      if endIfAbusive(client, state, now: now, into: &actions) { return }
      var error = ProtocolError(
        .rateLimited, "more than \(requestLimit(state)) requests in 1 s", hint: "retry after the time given")
      error.retry = true
      error.retryAfterMilliseconds = (wait + 999) / 1000
      // The id is worth reading, to answer to; a large message is not worth it.
      refusal = ParsedRequest(
        id: message.byteCount <= 4096 ? RequestParser.parse(message).id : nil, error: error)
    } else if message.byteCount > messageLimit(state) {
      refusal = ParsedRequest(
        error: ProtocolError(
          .messageTooLarge, "\(message.byteCount) bytes; the limit is \(messageLimit(state))",
          hint: state.grant == nil ? "say hello with a token first" : "split the request"))
    }
    if state.pending != nil || state.greeting != nil {
      let bytes = message.withUnsafeBytes { Array($0) }
      guard state.waiting.count < Self.waitingLimit, state.waitingBytes + bytes.count <= Self.waitingBytesLimit else {
        disconnect(
          client, code: CloseCode.rateLimited, reason: "too many requests wait for the one before them", into: &actions)
        return
      }
      state.waiting.append(refusal.map { .refused($0) } ?? .message(bytes))
      state.waitingBytes += bytes.count
      return
    }
    handle(refusal ?? RequestParser.parse(message), client, state, now: now, into: &actions)
  }

  /// Takes up requests that waited for the one that is now answered, until one must wait for publishers again.
  func resumeWaiting(
    _ client: ClientID, _ state: ClientState, now: Timestamp, into actions: inout [HubAction]
  ) {
    while state.pending == nil, state.greeting == nil, !state.waiting.isEmpty {
      guard self.state(of: client) != nil else { return }
      switch state.waiting.removeFirst() {
      case .refused(let request): handle(request, client, state, now: now, into: &actions)
      case .message(let bytes):
        state.waitingBytes -= bytes.count
        handle(RequestParser.parse(bytes.span.bytes), client, state, now: now, into: &actions)
      }
    }
    if state.waiting.isEmpty { state.waitingBytes = 0 }
  }

  // MARK: What a client may ask for

  /// A ping or a pong from the client: counted like a request. One over the rate is answered, and the client waits for it.
  package func receiveControlFrame(from client: ClientID, now: Timestamp, into actions: inout [HubAction]) {
    guard let state = state(of: client) else { return }
    charge(ClientAllowance.requestWork / 4, state, now: now)
    state.allowance.takeControlFrame(perSecond: requestLimit(state), now: now)
    _ = endIfAbusive(client, state, now: now, into: &actions)
  }

  /// Books what a client's input has cost before it was a message.
  /// - Parameters:
  ///   - bytes: read from it, and what they were inflated to.
  ///   - frames: that they were in.
  package func charge(bytes: Int, frames: Int, to client: ClientID, now: Timestamp) {
    guard let state = state(of: client) else { return }
    charge(bytes + frames * ClientAllowance.frameWork, state, now: now)
  }

  /// How long the client's next bytes have to wait, µs; 0 if they may be taken. `max`: until something of it is written or answered.
  ///
  /// While they wait, the kernel holds the client back. They wait over its rates of requests and of work, while a request waits for its
  /// answer, and while replies wait for the client.
  package func inputDelay(of client: ClientID, now: Timestamp) -> Int64 {
    // One that is being closed is asked nothing more.
    guard let state = state(of: client) else { return .max }
    if state.pending != nil || state.greeting != nil || state.queue.control.bytes > Self.replyLimit { return .max }
    return state.allowance.delay(burst: workBurst(state), perSecond: workLimit(state), at: now)
  }

  /// Whether what has been done for the client is more than its rates have paid for by now: it lives on its burst.
  package func isAheadOfRate(_ client: ClientID, now: Timestamp) -> Bool {
    state(of: client)?.allowance.isAhead(at: now) ?? false
  }

  /// Bytes of replies that may wait for a client while it asks for more.
  static let replyLimit = 16 << 10

  func charge(_ work: Int, _ state: ClientState, now: Timestamp) {
    workDone &+= UInt64(work)
    state.allowance.charge(work, perSecond: workLimit(state), now: now)
  }

  private func workLimit(_ state: ClientState) -> Int { requestLimit(state) * ClientAllowance.workPerRequest }
  private func workBurst(_ state: ClientState) -> Int {
    state.grant == nil ? Self.strangerWorkBurst : ClientAllowance.workBurst(messageBytes: limits.messageBytes)
  }
  private func messageLimit(_ state: ClientState) -> Int {
    state.grant == nil ? min(limits.messageBytes, Self.strangerMessageBytes) : limits.messageBytes
  }

  /// Closes a client that was over its rate for too long.
  private func endIfAbusive(
    _ client: ClientID, _ state: ClientState, now: Timestamp, into actions: inout [HubAction]
  ) -> Bool {
    guard state.allowance.overRate(at: now) >= Self.abuseLimit else { return false }
    disconnect(
      client, code: CloseCode.rateLimited,
      reason: "over \(requestLimit(state)) requests/s for \(Self.abuseLimit / Microseconds.second) s", into: &actions)
    return true
  }

  private func handle(
    _ parsed: ParsedRequest, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    guard let request = parsed.request, parsed.error == nil else {
      refuse(
        parsed.error ?? ProtocolError(.badRequest, "empty request"), parsed.id, client, state, now: now, into: &actions)
      return
    }
    if asksForTokens {
      if case .hello(let hello) = request, let token = hello.token {
        charge(ClientAllowance.tokenWork, state, now: now)
        state.greeting = (hello, parsed.id)
        actions.append(.authenticate(client, token: token))
        return
      }
      if state.grant == nil {
        let error = ProtocolError(
          .unauthorized, "say hello with a token first", hint: "{\"op\":\"hello\",\"token\":\"…\"}")
        refuse(error, parsed.id, client, state, now: now, into: &actions)
        return
      }
    }
    state.errorsInRow = 0
    switch request {
    case .hello(let hello): greet(hello, parsed.id, client, state, now: now, into: &actions)
    case .subscribe(let items): subscribe(items, parsed.id, client, state, now: now, into: &actions)
    case .unsubscribe(let streams): unsubscribe(streams, parsed.id, client, state, now: now, into: &actions)
    case .unsubscribeAll:
      unsubscribe(state.subscriptions.map(\.stream), parsed.id, client, state, now: now, into: &actions)
    case .configure(let interval):
      let nearest = RateClass.nearest(notFasterThan: interval)
      move(client, state, .configure(nearest), id: parsed.id, now: now, into: &actions)
    case .pause:
      slots[Int(client.slot)].flags.insert(.paused)
      slots[Int(client.slot)].first = nil
      state.queue.removeData()
      for index in state.subscriptions.indices where state.subscriptions[index].mark == .behind {
        setMark(.marked, of: index, state, slot: client.slot, reason: .resume)
      }
      if state.isDrained { slots[Int(client.slot)].flags.remove(.queued) }
      send(to: client, now: now) {
        Replies.begin("paused", id: parsed.id, to: &$0)
        $0.append(UInt8(ascii: "}"))
      }
    case .resume:
      let wasPaused = slots[Int(client.slot)].flags.contains(.paused)
      slots[Int(client.slot)].flags.remove(.paused)
      send(to: client, now: now) {
        Replies.begin("resumed", id: parsed.id, to: &$0)
        $0.append(",\"total\":")
        $0.append(integer: UInt64(state.subscriptions.count))
        $0.append(UInt8(ascii: "}"))
      }
      if wasPaused {
        for index in state.subscriptions.indices {
          setMark(.marked, of: index, state, slot: client.slot, reason: .resume)
        }
        askForSnapshots(client, state, into: &actions)
      }
    case .list:
      send(to: client, now: now) { out in
        Replies.begin("list", id: parsed.id, to: &out)
        out.append(",\"streams\":[")
        var isFirst = true
        for subscription in state.subscriptions {
          if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
          appendPresent(subscription.stream, from: 0, to: &out)
        }
        out.append("],\"total\":")
        out.append(integer: UInt64(state.subscriptions.count))
        out.append(UInt8(ascii: "}"))
      }
    case .ping(let time):
      send(to: client, now: now) {
        Replies.begin("pong", id: parsed.id, to: &$0)
        if let time {
          $0.append(",\"client_time\":")
          $0.append(integer: time)
        }
        $0.append(",\"time\":")
        $0.append(integer: now.microseconds)
        $0.append(UInt8(ascii: "}"))
      }
    }
  }

  func refuse(
    _ error: ProtocolError, _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    send(to: client, now: now) { Replies.appendError(error, id: id, to: &$0) }
    state.errorsInRow += 1
    if state.errorsInRow >= Self.errorLimit {
      disconnect(
        client, code: CloseCode.protocolErrors,
        reason: "\(Self.errorLimit) bad requests in a row; the last: \(error.code.rawValue)",
        into: &actions)
    }
  }

  func greet(
    _ hello: ClientRequest.Hello, _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    if let seconds = hello.heartbeatSeconds {
      state.heartbeatTicks = Int32(seconds) * HeartbeatWheel.ticksPerSecond
      startHeartbeats(client, state, now: now)
    }
    if let wish = hello.resume { return resume(wish, id, client, state, now: now, into: &actions) }
    send(to: client, now: now) { out in
      beginWelcome(id, state, isResumed: false, now: now, to: &out)
      out.append(UInt8(ascii: "}"))
    }
  }

  /// A `welcome` up to where the streams of a resumed session stand.
  func beginWelcome(_ id: String?, _ state: ClientState, isResumed: Bool, now: Timestamp, to out: inout ByteBuffer) {
    Replies.begin("welcome", id: id, to: &out)
    out.append(",\"session\":")
    out.append(json: state.session)
    out.append(",\"node\":")
    out.append(json: identity.node)
    out.append(",\"version\":")
    out.append(json: identity.version)
    out.append(",\"time\":")
    out.append(integer: now.microseconds)
    out.append(",\"heartbeat_s\":")
    out.append(integer: UInt64(state.heartbeatTicks / HeartbeatWheel.ticksPerSecond))
    if let expires = state.grant?.expires {
      out.append(",\"expires\":")
      out.append(integer: expires.microseconds)
    }
    out.append(isResumed ? ",\"resumed\":true" : ",\"resumed\":false")
    if feeds.contains(where: { $0.source != .live }) { out.append(",\"simulated\":true") }
    out.append(",\"limits\":{\"subscriptions\":")
    out.append(integer: UInt64(subscriptionLimit(state)))
    out.append(",\"requests_per_s\":")
    out.append(integer: UInt64(requestLimit(state)))
    out.append(",\"message_bytes\":")
    out.append(integer: UInt64(limits.messageBytes))
    out.append(UInt8(ascii: "}"))
  }

  private func unsubscribe(
    _ streams: [UInt32], _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    guard streams.count <= nameLimit else {
      let error = ProtocolError(
        .outOfRange, "`streams` has \(streams.count) numbers; the limit is \(nameLimit)", hint: "\"all\":true ends all")
      return refuse(error, id, client, state, now: now, into: &actions)
    }
    var done: [UInt32] = []
    var unknown: [UInt32] = []
    var seen: Set<UInt32> = []
    for stream in streams where seen.insert(stream).inserted {
      if let index = state.index(of: stream) {
        exit(client.slot, state, index: index, into: &actions)
        done.append(stream)
      } else {
        unknown.append(stream)
      }
    }
    charge(done.count * ClientAllowance.joinWork / 4, state, now: now)
    send(to: client, now: now) { out in
      Replies.begin("unsubscribed", id: id, to: &out)
      out.append(",\"streams\":[")
      for (place, stream) in done.enumerated() {
        if place > 0 { out.append(UInt8(ascii: ",")) }
        out.append(integer: UInt64(stream))
      }
      out.append("],\"total\":")
      out.append(integer: UInt64(state.subscriptions.count))
      if !unknown.isEmpty {
        out.append(",\"failed\":[")
        for (place, stream) in unknown.enumerated() {
          if place > 0 { out.append(UInt8(ascii: ",")) }
          out.append("{\"stream\":")
          out.append(integer: UInt64(stream))
          out.append(",\"error\":{")
          ProtocolError(.unknownStream, "not subscribed to stream \(stream)", hint: "{\"op\":\"list\"}").append(
            to: &out)
          out.append("}}")
        }
        out.append(UInt8(ascii: "]"))
      }
      out.append(UInt8(ascii: "}"))
    }
  }
}
