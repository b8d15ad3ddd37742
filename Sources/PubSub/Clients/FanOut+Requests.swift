import Bytes
import MarketData

extension FanOut {
  /// Protocol errors in a row that close the connection.
  static let errorLimit = 50
  /// How long a client may send over the rate before it is closed, µs.
  static let abuseLimit = 5 * Microseconds.second
  /// Messages that may wait for the request before them, and their bytes.
  static let waitingLimit = 64
  static let waitingBytesLimit = 256 << 10

  /// A text message from the client.
  package func receive(
    _ message: RawSpan, from client: ClientID, now: Timestamp, into actions: inout [FanOutAction]
  ) {
    guard let state = state(of: client) else { return }
    var refusal: ParsedRequest?
    if let wait = overRate(state, now: now) {
      if now - state.abuseSince >= Self.abuseLimit {
        expel(
          client, code: CloseCode.rateLimited,
          reason: "over \(requestLimit(state)) requests/s for 5 s", into: &actions)
        return
      }
      var error = ProtocolError(
        .rateLimited, "more than \(requestLimit(state)) requests in 1 s", hint: "retry after the time given")
      error.retry = true
      error.retryAfterMilliseconds = wait
      // The id is worth reading, to answer to; a large message is not worth it.
      refusal = ParsedRequest(
        id: message.byteCount <= 4096 ? RequestParser.parse(message).id : nil, error: error)
    } else if message.byteCount > limits.messageBytes {
      refusal = ParsedRequest(
        error: ProtocolError(
          .messageTooLarge, "\(message.byteCount) bytes; the limit is \(limits.messageBytes)",
          hint: "split the request"))
    }
    if state.pending != nil || state.greeting != nil {
      let bytes = message.withUnsafeBytes { Array($0) }
      guard state.waiting.count < Self.waitingLimit, state.waitingBytes + bytes.count <= Self.waitingBytesLimit else {
        expel(
          client, code: CloseCode.rateLimited, reason: "too many requests wait for the one before them", into: &actions)
        return
      }
      state.waiting.append(refusal.map { .refused($0) } ?? .message(bytes))
      state.waitingBytes += bytes.count
      return
    }
    handle(refusal ?? RequestParser.parse(message), client, state, now: now, into: &actions)
  }

  /// Takes up requests that waited for the one that is now answered, until one must wait for hubs again.
  func resumeWaiting(
    _ client: ClientID, _ state: ClientState, now: Timestamp, into actions: inout [FanOutAction]
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

  /// Milliseconds until a request would be within the rate; nil if this one is, which is then counted.
  private func overRate(_ state: ClientState, now: Timestamp) -> Int64? {
    let increment = Microseconds.second / Int64(max(1, requestLimit(state)))
    let burst = Microseconds.second - increment
    if state.allowance < now { state.allowance = now }
    let ahead = state.allowance - now
    guard ahead > burst else {
      state.allowance = state.allowance + increment
      return nil
    }
    if now - state.lastRefusal > Microseconds.second { state.abuseSince = now }
    state.lastRefusal = now
    return (ahead - burst + 999) / 1000
  }

  private func handle(
    _ parsed: ParsedRequest, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [FanOutAction]
  ) {
    guard let request = parsed.request, parsed.error == nil else {
      refuse(
        parsed.error ?? ProtocolError(.badRequest, "empty request"), parsed.id, client, state, now: now, into: &actions)
      return
    }
    if asksForTokens {
      if case .hello(let hello) = request, let token = hello.token {
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
    into actions: inout [FanOutAction]
  ) {
    send(to: client, now: now) { Replies.appendError(error, id: id, to: &$0) }
    if error.code == .rateLimited { return }
    state.errorsInRow += 1
    if state.errorsInRow >= Self.errorLimit {
      expel(
        client, code: CloseCode.protocolErrors,
        reason: "\(Self.errorLimit) bad requests in a row; the last: \(error.code.rawValue)",
        into: &actions)
    }
  }

  func greet(
    _ hello: ClientRequest.Hello, _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [FanOutAction]
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
    into actions: inout [FanOutAction]
  ) {
    var done: [UInt32] = []
    var unknown: [UInt32] = []
    for stream in streams {
      if let index = state.index(of: stream) {
        exit(client.slot, state, index: index, into: &actions)
        done.append(stream)
      } else if !done.contains(stream) {
        unknown.append(stream)
      }
    }
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
