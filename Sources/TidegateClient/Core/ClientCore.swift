import Bytes

/// The client's side of `tidegate.v1` for one connection at a time: what to send, what arrived, when to come back.
///
/// Sans-IO: messages and `now` (nanoseconds of any clock that does not go back) in, actions out. The owner calls
/// `advance` no later than `nextDeadline`.
package struct ClientCore {
  /// One (channel, symbol) that is wanted, with its parameters.
  struct Item: Hashable {
    var channel: TidegateChannel
    var symbol: String
    var depth: Int?
    var points: Int?
    var interval: Int?
  }

  /// What a gateway's answer names an item by.
  struct Name: Hashable {
    var channel: TidegateChannel
    var symbol: String
  }

  enum Phase: Equatable {
    case idle, connecting, open, waiting, stopped
  }

  enum Pending {
    case hello
    case subscribe([Item])
    /// One whose answer says no more than that it was done.
    case other
  }

  /// Items per request, so that it stays well under the gateway's limit of 64 KiB.
  static let itemsPerRequest = 400
  /// Streams a connection may have, as the gateway allows at most.
  static let streamLimit = 100_000

  var options: TidegateOptions
  /// Whether there is somebody to get a fresh token from.
  let refreshesToken: Bool
  /// A fresh token has been asked for and is not there yet.
  var awaitsToken = false
  /// The gateway refused the last token; a second refusal in a row is final.
  var isTokenRefused = false
  var items: [Item]
  var phase = Phase.idle
  var streams: [Int64: Stream] = [:]
  /// The streams that wait for a snapshot after a gap.
  var gapped: Set<Int64> = []
  var pending: [Int64: (request: Pending, deadline: UInt64)] = [:]
  /// Requests that the gateway asked to repeat later.
  var repeats: [(due: UInt64, items: [Item])] = []
  var nextID: Int64 = 1
  var attempt = 0
  var retryAt: UInt64?
  var heartbeatInterval: UInt64?
  var heartbeatAt: UInt64 = 0
  var drainAt: UInt64?
  /// Snapshots and updates received on this connection, to be compared with the `sent` of its heartbeats.
  var received: Int64 = 0
  var isPaused = false
  /// The token of the connection's session, and what the one before it left.
  var session: String?
  var left: Left?
  var random: UInt64

  /// - Parameter seed: of the jitter.
  package init(
    subscriptions: [TidegateSubscription], options: TidegateOptions, refreshesToken: Bool = false, seed: UInt64
  ) {
    self.options = options
    self.refreshesToken = refreshesToken
    self.random = seed
    var seen = Set<Item>()
    self.items = subscriptions.flatMap { subscription in
      subscription.channels.flatMap { channel in
        (channel == .status ? [""] : subscription.symbols).map { symbol in
          Item(
            channel: channel, symbol: symbol, depth: channel == .book ? subscription.depth : nil,
            points: channel == .sparkline ? subscription.points : nil, interval: subscription.intervalMilliseconds)
        }
      }
    }.filter { seen.insert($0).inserted }
  }

  /// When `advance` has something to do; nil: nothing.
  package var nextDeadline: UInt64? {
    var deadline = retryAt
    func take(_ other: UInt64?) { if let other, other < deadline ?? .max { deadline = other } }
    take(drainAt)
    if phase == .open, let heartbeatInterval { take(heartbeatAt + heartbeatInterval * 5 / 2) }
    for entry in pending.values { take(entry.deadline) }
    for entry in repeats { take(entry.due) }
    for stream in gapped { take(streams[stream]?.gapDeadline) }
    return deadline
  }

  // MARK: What happens

  /// Starts; once.
  package mutating func start(now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .idle else { return }
    guard refreshesToken, options.token == nil else { return connect(now: now, into: &actions) }
    phase = .waiting
    refreshToken(into: &actions)
  }

  /// The token that `.refreshToken` asked for; nil: none is available.
  package mutating func renewed(_ token: String?, now: UInt64, into actions: inout [ClientAction]) {
    guard awaitsToken else { return }
    awaitsToken = false
    if let token { options.token = token }
    switch phase {
    case .open:
      guard token != nil else { return }
      actions.append(.send(Requests.hello(id: takeID(.hello, now: now), options: options, session: nil, streams: [])))
    case .waiting where retryAt == nil:
      if token != nil { return connect(now: now, into: &actions) }
      finish(.closed(code: 4001, reason: "there is no token"), into: &actions)
    default: break
    }
  }

  private mutating func refreshToken(into actions: inout [ClientAction]) {
    guard !awaitsToken else { return }
    awaitsToken = true
    actions.append(.refreshToken)
  }

  /// Stops for good.
  package mutating func stop(into actions: inout [ClientAction]) {
    guard phase != .stopped else { return }
    if phase == .open || phase == .connecting { actions.append(.close(code: 1000, reason: "")) }
    reset()
    phase = .stopped
    retryAt = nil
    actions.append(.finish)
  }

  /// The transport is open.
  package mutating func opened(now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .connecting else { return }
    phase = .open
    pending.removeAll()
    let id = takeID(.hello, now: now)
    actions.append(
      .send(Requests.hello(id: id, options: options, session: left?.session, streams: streamsToResume())))
    subscribe(items, now: now, into: &actions)
    if isPaused { ask("pause", now: now, into: &actions) }
  }

  /// The transport is gone; `code` is nil if there was no close frame.
  package mutating func closed(code: UInt16?, reason: String, now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .connecting || phase == .open else { return }
    guard let code else { return disconnect(.transport(reason), now: now, into: &actions) }
    disconnect(.closed(code: code, reason: reason), now: now, into: &actions)
  }

  /// The server refused the opening handshake. Whether it is asked again is for `isFinal` to say; then not before
  /// `retryAfter`, of which at most ten minutes are believed.
  package mutating func refused(
    status: Int, retryAfter: Duration?, reason: String, now: UInt64, into actions: inout [ClientAction]
  ) {
    guard phase == .connecting || phase == .open else { return }
    let reason = TidegateEvent.DisconnectReason.refused(status: status, reason: reason)
    if Self.isFinal(status: status) {
      reset()
      return finish(reason, into: &actions)
    }
    let least = min(retryAfter?.nanoseconds ?? 0, Self.retryAfterLimit)
    reset()
    // The jitter on top, so that those who were told the same do not come together.
    wait(least + backOff(), reason, now: now, into: &actions)
  }

  /// Whether asking again cannot help, because the request is wrong: 4xx, but for a path that a proxy may not know yet
  /// (404, 421) and for what only time can change (408, 425, 429).
  static func isFinal(status: Int) -> Bool {
    (400..<500).contains(status) && ![404, 408, 421, 425, 429].contains(status)
  }

  /// The longest `Retry-After` that is heeded, ns.
  static let retryAfterLimit: UInt64 = 600_000_000_000

  /// Time has passed.
  package mutating func advance(to now: UInt64, into actions: inout [ClientAction]) {
    if let retryAt, retryAt <= now {
      self.retryAt = nil
      connect(now: now, into: &actions)
    }
    if let drainAt, drainAt <= now {
      actions.append(.close(code: 1000, reason: "drain"))
      disconnect(.draining, now: now, into: &actions)
    }
    guard phase == .open || phase == .connecting else { return }
    if pending.values.contains(where: { $0.deadline <= now }) {
      actions.append(.close(code: 1000, reason: "no answer"))
      return disconnect(.noAnswer, now: now, into: &actions)
    }
    if phase == .open, let heartbeatInterval, heartbeatAt + heartbeatInterval * 5 / 2 <= now {
      actions.append(.close(code: 1000, reason: "no heartbeat"))
      return disconnect(.noHeartbeat, now: now, into: &actions)
    }
    let due = repeats.filter { $0.due <= now }
    repeats.removeAll { $0.due <= now }
    for entry in due { subscribe(entry.items, now: now, into: &actions) }
    subscribeAgain(
      gapped.sorted().filter { streams[$0]?.gapDeadline ?? .max <= now }, now: now, into: &actions)
  }

  /// A message of the gateway.
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
    if options.includesFrames { actions.append(.emit(.frame(String(decoding: text, as: UTF8.self)))) }
    switch message {
    case .welcome(let id, let welcome, let ok, let failed):
      if let id { pending[id] = nil }
      isTokenRefused = false
      session = welcome.session
      heartbeatInterval = UInt64(max(0.1, min(welcome.heartbeatSeconds, 3600)) * 1e9)
      heartbeatAt = now
      actions.append(.emit(.connected(welcome)))
      resumed(ok, failed: failed, into: &actions)
    case .subscribed(let id, let ok, let failed):
      subscribed(id: id, ok: ok, failed: failed, now: now, into: &actions)
    case .done(let id): if let id { pending[id] = nil }
    case .moved(let id, let moves, let notice):
      if let id { pending[id] = nil }
      if let notice { actions.append(.emit(.notice(notice))) }
      moved(moves, into: &actions)
    case .unknown: break
    case .unknownData: countData()
    case .stream(let message):
      countData()
      received(message, now: now, into: &actions)
    case .heartbeat(let heartbeat):
      // The gateway's cadence begins with the connection, so that one may come before `hello` is answered; `.connected`
      // is first.
      guard heartbeatInterval != nil else { return }
      heartbeatAt = now
      compare(heartbeat.sent, now: now, into: &actions)
      // The connection has proved itself: the next trouble is a new one.
      attempt = 0
      actions.append(.emit(.heartbeat(heartbeat)))
    case .notice(let notice):
      switch notice {
      case .lost(let stream, let from, let to, _):
        if let last = streams[stream]?.seq, from == 0 || from - 1 <= last, to > last { streams[stream]?.seq = to }
      case .drain(let milliseconds, _): drainAt = now + UInt64(min(milliseconds, 600_000)) * 1_000_000
      case .other("expiring"): if refreshesToken { refreshToken(into: &actions) }
      case .slow, .other: break
      }
      actions.append(.emit(.notice(notice)))
    case .error(let error): received(error, now: now, into: &actions)
    }
  }

  // MARK: Parts

  mutating func subscribeAgain(_ keys: [Int64], now: UInt64, into actions: inout [ClientAction]) {
    guard !keys.isEmpty else { return }
    let items = keys.compactMap { streams[$0]?.item }
    for key in keys {
      streams[key] = nil
      gapped.remove(key)
    }
    // 64 KiB hold more than 3000 numbers of 20 digits.
    for start in stride(from: 0, to: keys.count, by: 2_000) {
      let part = Array(keys[start..<min(start + 2_000, keys.count)])
      actions.append(.send(Requests.unsubscribe(id: takeID(.other, now: now), streams: part)))
    }
    subscribe(items, now: now, into: &actions)
  }

  private mutating func subscribed(
    id: Int64?, ok: [ServerMessage.Accepted], failed: [TidegateEvent.FailedItem], now: UInt64,
    into actions: inout [ClientAction]
  ) {
    guard let id, case .subscribe(let asked)? = pending.removeValue(forKey: id)?.request else { return }
    let names = Dictionary(
      asked.map { (Name(channel: $0.channel, symbol: $0.symbol), $0) }, uniquingKeysWith: { first, _ in first })
    let channels = Dictionary(asked.map { ($0.channel, $0) }, uniquingKeysWith: { first, _ in first })
    for accepted in ok {
      guard let channel = TidegateChannel(rawValue: accepted.channel), streams.count < Self.streamLimit else {
        continue
      }
      if streams[accepted.stream] != nil { continue }
      // A wildcard is answered with what it stands for; the parameters are those of the item that matches best.
      var item =
        names[Name(channel: channel, symbol: accepted.symbol)] ?? channels[channel]
        ?? Item(channel: channel, symbol: accepted.symbol)
      item.symbol = accepted.symbol
      streams[accepted.stream] = Stream(
        item: item, priceIncrement: accepted.priceIncrement, epoch: accepted.epoch, seq: accepted.seq)
    }
    var again: [Item] = []
    // Each once, however often it is refused.
    var repeated: Set<Name> = []
    var wait: Int64 = 0
    for failure in failed {
      if let after = failure.retryAfterMilliseconds, let channel = TidegateChannel(rawValue: failure.channel),
        let item = names[Name(channel: channel, symbol: failure.symbol)]
      {
        if repeated.insert(Name(channel: channel, symbol: failure.symbol)).inserted { again.append(item) }
        wait = max(wait, after)
      } else {
        actions.append(.emit(.failed(failure)))
      }
    }
    if !again.isEmpty { repeatLater(again, afterMilliseconds: wait, now: now) }
  }

  /// Subscribes to `items` again after what the gateway said, 100 ms to a minute.
  private mutating func repeatLater(_ items: [Item], afterMilliseconds: Int64, now: UInt64) {
    let wait = UInt64(max(100, min(afterMilliseconds, 60_000)))
    repeats.append((due: now + wait * 1_000_000, items: items))
  }

  private mutating func received(
    _ error: ServerMessage.ErrorReply, now: UInt64, into actions: inout [ClientAction]
  ) {
    let request = error.id.flatMap { pending.removeValue(forKey: $0)?.request }
    if case .subscribe(let items)? = request, error.retry {
      return repeatLater(items, afterMilliseconds: error.retryAfterMilliseconds ?? 1_000, now: now)
    }
    var refused: [Item] = []
    if case .subscribe(let items)? = request { refused = items }
    for item in refused {
      actions.append(
        .emit(
          .failed(
            .init(
              channel: item.channel.rawValue, symbol: item.symbol, code: error.code, message: error.message,
              hint: error.hint))))
    }
    if refused.isEmpty {
      actions.append(
        .emit(.failed(.init(channel: "", symbol: "", code: error.code, message: error.message, hint: error.hint))))
    }
  }

  private mutating func received(
    _ message: ServerMessage.StreamMessage, now: UInt64, into actions: inout [ClientAction]
  ) {
    guard let channel = TidegateChannel(rawValue: message.channel) else { return }
    if streams[message.stream] == nil, message.isSnapshot, streams.count < Self.streamLimit {
      streams[message.stream] = Stream(item: Item(channel: channel, symbol: message.symbol))
    }
    guard var stream = streams[message.stream] else { return }
    defer {
      streams[message.stream] = stream
      if stream.gapDeadline != nil { gapped.insert(message.stream) } else { gapped.remove(message.stream) }
    }
    let info = TidegateEvent.StreamInfo(
      channel: channel, symbol: message.symbol, stream: message.stream, reason: message.reason,
      priceIncrement: stream.priceIncrement)
    if case .outOfSync(let reason) = message.data {
      stream.seq = message.seq
      stream.hasSnapshot = false
      // The gateway sends a snapshot when the exchange has given it one, which subscribing again would not hasten.
      stream.gapDeadline = nil
      actions.append(.emit(.outOfSync(info, reason: reason)))
      return
    }
    if message.isSnapshot {
      guard case .payload(let payload) = message.data else { return }
      stream.seq = message.seq
      stream.hasSnapshot = true
      stream.gapDeadline = nil
      if case .sparkline(let line) = payload { stream.sparkline = line }
      actions.append(.emit(.snapshot(info, payload)))
      return
    }
    // Waiting for the snapshot after a gap: what comes before it says nothing.
    if stream.gapDeadline != nil { return }
    let links = stream.seq == nil || message.prev == stream.seq
    let needsSnapshot = (channel == .book || channel == .sparkline) && !stream.hasSnapshot
    stream.seq = message.seq
    guard links, !needsSnapshot else {
      actions.append(.emit(.gap(info)))
      if channel.isState {
        stream.gapDeadline = now + options.snapshotTimeout.nanoseconds
        return
      }
      if case .payload(let payload) = message.data { actions.append(.emit(.update(info, payload))) }
      return
    }
    switch message.data {
    case .payload(let payload): actions.append(.emit(.update(info, payload)))
    case .outOfSync: break
    case .sparklineChange(let index, let price, let from):
      guard stream.sparkline?.apply(index: index, price: price, from: from) == true, let line = stream.sparkline else {
        stream.gapDeadline = now + options.snapshotTimeout.nanoseconds
        actions.append(.emit(.gap(info)))
        return
      }
      actions.append(.emit(.update(info, .sparkline(line))))
    }
  }

  private mutating func connect(now: UInt64, into actions: inout [ClientAction]) {
    phase = .connecting
    _ = takeID(.hello, now: now)
    actions.append(.connect)
  }

  private mutating func subscribe(_ items: [Item], now: UInt64, into actions: inout [ClientAction]) {
    var rest = items[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.itemsPerRequest))
      rest = rest.dropFirst(Self.itemsPerRequest)
      let id = takeID(.subscribe(part), now: now)
      actions.append(.send(Requests.subscribe(id: id, items: part)))
    }
  }

  mutating func takeID(_ request: Pending, now: UInt64) -> Int64 {
    defer { nextID += 1 }
    pending[nextID] = (request, now + options.replyTimeout.nanoseconds)
    return nextID
  }

  /// Forgets the connection, but for what can be resumed.
  private mutating func reset() {
    leave()
    session = nil
    streams.removeAll()
    gapped.removeAll()
    pending.removeAll()
    repeats.removeAll()
    heartbeatInterval = nil
    drainAt = nil
    received = 0
  }

  private mutating func disconnect(
    _ reason: TidegateEvent.DisconnectReason, now: UInt64, into actions: inout [ClientAction]
  ) {
    reset()
    switch reason {
    case .closed(4001, _) where refreshesToken && !isTokenRefused:
      isTokenRefused = true
      phase = .waiting
      actions.append(.emit(.disconnected(reason: reason, retryIn: .zero)))
      refreshToken(into: &actions)
    case .closed(4000...4099, _): finish(reason, into: &actions)
    case .closed(4200...4299, _) where attempt == 0, .draining where attempt == 0:
      wait(0, reason, now: now, into: &actions)
    default: wait(backOff(), reason, now: now, into: &actions)
    }
  }

  /// The end: there will be no other connection.
  private mutating func finish(_ reason: TidegateEvent.DisconnectReason, into actions: inout [ClientAction]) {
    phase = .stopped
    actions.append(.emit(.disconnected(reason: reason, retryIn: nil)))
    actions.append(.finish)
  }

  private mutating func wait(
    _ nanoseconds: UInt64, _ reason: TidegateEvent.DisconnectReason, now: UInt64, into actions: inout [ClientAction]
  ) {
    attempt += 1
    phase = .waiting
    retryAt = now + nanoseconds
    actions.append(.emit(.disconnected(reason: reason, retryIn: .nanoseconds(Int64(nanoseconds)))))
  }

  /// Full jitter: uniform from zero to a cap that doubles with each attempt, so that clients of one gateway come back
  /// spread out.
  private mutating func backOff() -> UInt64 {
    let first = options.backOff.lowerBound.nanoseconds
    let last = options.backOff.upperBound.nanoseconds
    let cap = min(last, first << UInt64(min(attempt, 20)))
    // SplitMix64: small, seeded, good enough for spreading.
    random &+= 0x9E37_79B9_7F4A_7C15
    var z = random
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return (z ^ (z >> 31)) % (cap + 1)
  }
}
