/// Streams: which are requested, which the gateway grants, and who gets their data.
extension ClientCore {
  // MARK: Asking

  func isWanted(_ item: StreamItem) -> Bool { wants[item] != nil || streams[item] != nil }

  /// Subscribes. Each request has one set of parameters for each channel, so that its answer identifies the item.
  mutating func ask(_ items: [StreamItem], now: UInt64, into actions: inout [ClientAction]) {
    var groups: [[StreamItem]] = []
    var indexes: [StreamItem: Int] = [:]
    for item in items {
      if let index = indexes[item.of("")] {
        groups[index].append(item)
      } else {
        indexes[item.of("")] = groups.count
        groups.append([item])
      }
    }
    // The nth group of each channel goes into the nth round.
    var rounds: [[StreamItem]] = []
    var used: [Channel: Int] = [:]
    for group in groups {
      let round = used[group[0].channel, default: 0]
      used[group[0].channel] = round + 1
      if round == rounds.count { rounds.append([]) }
      rounds[round] += group
    }
    for round in rounds {
      for start in stride(from: 0, to: round.count, by: Self.itemsPerRequest) {
        let part = Array(round[start..<min(start + Self.itemsPerRequest, round.count)])
        let grouped = groupChoice.choose(part, cadence: pace.cadence)
        let id = requests.add(.subscribe(part, grouped: grouped), now: now)
        actions.append(
          .send(Requests.subscribe(id: id, items: part, grouped: grouped, cadence: pace.cadence)))
      }
    }
  }

  mutating func unsubscribe(_ numbers: [Int64], now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .open else { return }
    for start in stride(from: 0, to: numbers.count, by: Self.numbersPerRequest) {
      let part = Array(numbers[start..<min(start + Self.numbersPerRequest, numbers.count)])
      actions.append(.send(Requests.unsubscribe(id: requests.add(.unsubscribe(part), now: now), streams: part)))
    }
  }

  /// Unsubscribes from the streams without a subscriber; without a connection, forgets them.
  ///
  /// It waits until no answer to a `subscribe` is outstanding. Such an answer may name one of these streams, either
  /// because somebody has subscribed to it again, or because another item is the same stream to the gateway. The
  /// gateway would read the `unsubscribe` after that request, and end the stream that its answer has just granted.
  mutating func leaveUnfollowed(now: UInt64, into actions: inout [ClientAction]) {
    guard streams.hasUnfollowed, !requests.awaitsStreams else { return }
    unsubscribe(streams.removeUnfollowed(), now: now, into: &actions)
    subscribeAgain(streams.takeThinned(), now: now, into: &actions)
  }

  /// Subscribes once more to a stream that the gateway has because it refused the `unsubscribe` before, for its rate:
  /// it sends no snapshot then.
  private mutating func awaitEnd(of number: Int64, _ key: StreamItem) {
    guard streams[key] != nil, let due = requests.keep(number) else { return }
    _ = streams[key]?.miss(until: due)
    streams.noteGap(key)
  }

  /// Repeats an `unsubscribe` that the gateway refused for its rate, unless the streams have got subscribers since.
  mutating func unsubscribeAgain(_ numbers: [Int64], now: UInt64, into actions: inout [ClientAction]) {
    unsubscribe(numbers.filter { streams.numbers[$0] == nil }, now: now, into: &actions)
  }

  /// Subscribes to streams anew.
  mutating func subscribeAgain(_ keys: [StreamItem], now: UInt64, into actions: inout [ClientAction]) {
    guard !keys.isEmpty else { return }
    let (left, again) = streams.detach(keys)
    unsubscribe(left, now: now, into: &actions)
    ask(again, now: now, into: &actions)
  }

  // MARK: Granted and refused

  /// The answer to a `subscribe`.
  mutating func subscribed(
    id: Int64?, ok: [ServerMessage.Accepted], failed: [ServerMessage.Failure], now: UInt64,
    into actions: inout [ClientAction]
  ) {
    guard case .subscribe(let asked, let grouped)? = requests.answered(id) else { return }
    let items = AskedItems(asked)
    for item in asked { wants[item]?.phase = .accepted }
    for accepted in ok {
      guard !accepted.symbols.isEmpty else {
        subscribed(accepted, items, into: &actions)
        continue
      }
      for index in accepted.symbols.indices { subscribed(accepted.member(index), items, into: &actions) }
    }
    let alone = groupChoice.refused(grouped, ok: ok, failed: failed)
    leaveUnfollowed(now: now, into: &actions)
    let names = AskedItems(alone)
    refuse(
      alone.isEmpty ? failed : failed.filter { names.matching($0.channel, $0.symbol).isEmpty }, of: items, now: now,
      into: &actions)
    ask(alone.filter(isWanted), now: now, into: &actions)
  }

  /// One stream of the answer, or one member of a group.
  private mutating func subscribed(
    _ accepted: ServerMessage.Accepted, _ items: AskedItems, into actions: inout [ClientAction]
  ) {
    let matching = items.matching(accepted.channel, accepted.symbol)
    guard let key = matching.first?.of(accepted.symbol) else { return }
    accept(accepted, as: key, for: matching, into: &actions)
    awaitEnd(of: accepted.stream, key)
    streams.noteSubscribers(key)
  }

  private mutating func accept(
    _ accepted: ServerMessage.Accepted, as key: StreamItem, for items: [StreamItem], into actions: inout [ClientAction]
  ) {
    if streams[key] == nil {
      guard streams.add(key, serial: takeSerial()) else { return }
    }
    let tookOver = streams.link(accepted, key)
    for item in items {
      guard let want = wants[item] else { continue }
      wants[item]?.streams.insert(key)
      for id in want.subscribers.sorted() { attach(id, to: key, into: &actions) }
    }
    if tookOver, key.channel.isState { touch(key, into: &actions) }
  }

  private mutating func refuse(
    _ failed: [ServerMessage.Failure], of items: AskedItems, now: UInt64, into actions: inout [ClientAction]
  ) {
    // Each item once, however often it is refused.
    var again: [StreamItem] = []
    var repeated: Set<StreamItem> = []
    var refused: Set<StreamItem> = []
    var wait: Int64 = 0
    for failure in failed {
      for item in items.matching(failure.channel, failure.symbol) {
        if let after = failure.retryAfterMilliseconds {
          if repeated.insert(item).inserted { again.append(item) }
          wait = max(wait, after)
        } else if refused.insert(item.of(failure.symbol)).inserted {
          refuse(item, Refusal(failure), into: &actions)
        }
      }
    }
    if !again.isEmpty { requests.retry(again.filter(isWanted), afterMilliseconds: wait, now: now) }
  }

  /// Reports to the subscriptions of an item that the gateway refuses the item, or one of its symbols.
  mutating func refuse(_ item: StreamItem, _ refusal: Refusal, into actions: inout [ClientAction]) {
    if item.symbol == refusal.symbol { wants[item]?.phase = .refused }
    var ids = wants[item]?.subscribers ?? []
    ids.formUnion(streams[item]?.subscribers ?? [])
    for id in ids.sorted() { consumers.put(.refused(refusal), before: id, into: &actions) }
  }

  // MARK: Data

  mutating func take(_ message: ServerMessage.StreamMessage, now: UInt64, into actions: inout [ClientAction]) {
    for key in streams.numbers[message.stream] ?? [] where key.channel == message.channel {
      take(message, of: key, now: now, into: &actions)
    }
  }

  private mutating func take(
    _ message: ServerMessage.StreamMessage, of key: StreamItem, now: UInt64, into actions: inout [ClientAction]
  ) {
    let change = streams[key]?.take(message, deadline: now + options.snapshotTimeout.nanoseconds) ?? .nothing
    streams.noteGap(key)
    switch change {
    case .nothing: break
    case .state: touch(key, into: &actions)
    case .events(let events, let isGap, let missing, let silence):
      guard let info = streams[key]?.info else { return }
      if isGap { append(.gap(info, missing: missing), of: key, into: &actions) }
      if let events { append(.value(events, info), of: key, into: &actions) }
      if let silence { append(.stale(info, .outOfSync(silence)), of: key, into: &actions) }
    }
  }

  /// A message of a group: each member takes what it has of it, as from a stream of its own.
  mutating func take(_ message: ServerMessage.GroupMessage, now: UInt64, into actions: inout [ClientAction]) {
    guard let isLinked = streams.advanceGroup(message) else { return }
    if !isLinked {
      let deadline = now + options.snapshotTimeout.nanoseconds
      for key in streams.numbers[message.stream] ?? [] where streams[key]?.miss(until: deadline) == true {
        touch(key, into: &actions)
      }
      for key in streams.numbers[message.stream] ?? [] { streams.noteGap(key) }
    }
    for element in message.elements {
      for key in streams.members(of: message.stream, element.index) where key.channel == message.channel {
        // Whether a message is missing was seen for all members.
        let own = ServerMessage.StreamMessage(
          isSnapshot: element.isSnapshot, channel: message.channel, stream: message.stream, prev: streams[key]?.seq,
          seq: message.seq, data: element.data)
        take(own, of: key, now: now, into: &actions)
      }
    }
  }

  /// Handles messages that the gateway did not send because the client was too slow.
  mutating func lost(
    _ number: Int64, from: UInt64, to: UInt64, events: Int64?, into actions: inout [ClientAction]
  ) {
    for key in streams.numbers[number] ?? [] {
      guard let stream = streams[key] else { continue }
      if let last = stream.seq, from == 0 || from - 1 <= last, to > last { streams[key]?.seq = to }
      let missing = events.map { Int(clamping: $0) }
      append(.gap(stream.info, missing: missing), of: key, into: &actions)
    }
  }

  /// Gives the subscription of each `from` its new number; a snapshot follows.
  mutating func moved(_ moves: [ServerMessage.Accepted], into actions: inout [ClientAction]) {
    // All numbers are removed before any is assigned: the old number of one stream may be the new number of another.
    let taken = moves.compactMap { move -> (move: ServerMessage.Accepted, keys: [StreamItem])? in
      guard let from = move.from, from != move.stream, let keys = streams.detach(from) else { return nil }
      return (move, keys)
    }
    for (move, keys) in taken {
      for key in keys where streams.link(move, key) && key.channel.isState { touch(key, into: &actions) }
    }
  }

  /// Handles data that the gateway sent and that did not arrive: any stream may lack it, so no value can be trusted.
  mutating func compare(_ sent: Int, now: UInt64, into actions: inout [ClientAction]) {
    guard !liveness.agrees(sent) else { return }
    let keys = streams.sorted(streams.keys).filter { streams[$0]?.number != nil }
    for key in keys where key.channel.isState && streams[key]?.miss(until: nil) == true { touch(key, into: &actions) }
    subscribeAgain(keys, now: now, into: &actions)
  }

  // MARK: Resuming a session

  /// Handles the gateway's reply to `resume`. Streams that could not be resumed begin with new values, either here or
  /// with the subscription that was sent at the same time.
  mutating func resumed(_ accepted: [ServerMessage.Accepted], into actions: inout [ClientAction]) {
    for (item, key) in resumption.take(accepted) {
      guard let stream = streams[key] else { continue }
      guard item.isRecovered == true else {
        _ = streams.link(item, key)
        continue
      }
      streams.resume(key, item)
      if !key.channel.isState {
        append(.resumed(stream.info), of: key, into: &actions)
      } else {
        touch(key, into: &actions)
      }
    }
    streams.endResumption()
  }
}

/// The items of one request, by the names that its answer uses.
struct AskedItems {
  private var names: [String: StreamItem] = [:]

  init(_ items: [StreamItem]) {
    for item in items { names["\(item.channel.rawValue) \(item.symbol)"] = item }
  }

  /// The items that include a symbol: the symbol itself, or a pattern.
  func matching(_ channel: String, _ symbol: String) -> [StreamItem] {
    var found: [StreamItem] = []
    func add(_ symbol: some StringProtocol) { if let item = names["\(channel) \(symbol)"] { found.append(item) } }
    add(symbol)
    guard let colon = symbol.firstIndex(of: ":"), !symbol.hasSuffix("*"), !symbol.hasPrefix("*") else { return found }
    add(symbol[...colon] + "*")
    add("*" + symbol[colon...])
    return found
  }
}

extension Refusal {
  init(_ failure: ServerMessage.Failure) {
    self.init(
      channel: Channel(rawValue: failure.channel), symbol: failure.symbol, code: RefusalCode(rawValue: failure.code),
      message: failure.message, hint: failure.hint)
  }
}
