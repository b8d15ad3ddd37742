import Bytes
import MarketData

extension SubscriberHub {
  /// Failed symbols of one request for which like ones are looked up; the rest get a plain hint.
  private static let nearMatchLimit = 3
  /// Symbols that searches for like ones may look at in a second, of all clients together. One takes under 1 µs.
  private static let nearSearchSymbols = 50_000
  /// When to ask again for what is not listed yet. A list comes within a second of the start, as a rule.
  private static let listWaitMilliseconds: Int64 = 1_000

  /// Where a stream is published.
  struct Route {
    var loop: Int
    var market: Int
    var instrument: InstrumentID
  }

  func route(of key: StreamKey) -> Route? {
    if key.channel == .status { return Route(loop: 0, market: 0, instrument: InstrumentID(rawValue: 0)) }
    return directory.entries[key.symbol].map { Route(loop: $0.loop, market: $0.market, instrument: $0.instrument.id) }
  }

  /// Joins what is not joined yet; the reply goes out when the publishers have answered for all of it.
  func subscribe(
    _ items: [ClientRequest.Item], _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    if let error = tooManyNames(items) { return refuse(error, id, client, state, now: now, into: &actions) }
    state.requests &+= 1
    let pending = PendingRequest(kind: .subscribe, id: id, number: state.requests)
    state.pending = pending
    join(items, pending, client, state, now: now, into: &actions)
  }

  /// Symbols that one request may name, wildcards and items without any counted as one each.
  var nameLimit: Int { max(1_000, limits.subscriptions) }
  /// Symbols that the wildcards of one request may stand for, whether the client gets them or not.
  private var wildcardLimit: Int { 4 * nameLimit }

  /// The refusal of a request that names more than any client can have.
  func tooManyNames(_ items: [ClientRequest.Item]) -> ProtocolError? {
    let count = items.reduce(0) { $0 + max(1, $1.symbols.count) }
    guard count > nameLimit else { return nil }
    return ProtocolError(
      .outOfRange, "`streams` names \(count) symbols; the limit is \(nameLimit)",
      hint: "split the request, or use a wildcard: \"kraken:*\"")
  }

  /// Joins what of `items` is not joined yet, and completes the request if nothing has to be waited for.
  func join(
    _ items: [ClientRequest.Item], _ pending: PendingRequest, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    var seen: Set<StreamKey> = []
    var wildcards: Set<StreamKey> = []
    var examined = 0
    var lookups = 0
    for (place, item) in items.enumerated() {
      let channel = item.channelText
      if let error = item.error {
        pending.failures.append(.init(place: place, channel: channel, symbol: item.symbols.first, error: error))
        continue
      }
      // Requests come here with a grant; whoever had none would get nothing.
      let grant = state.grant ?? .nothing
      guard grant.channels.contains(item.channel) else {
        let error = ProtocolError(
          .forbidden, "your token does not allow the channel `\(item.channel.rawValue)`",
          hint: grant.channels.isEmpty
            ? "it allows none" : "it allows \(grant.channels.map(\.rawValue).sorted().joined(separator: ", "))")
        pending.failures.append(.init(place: place, channel: channel, symbol: item.symbols.first, error: error))
        continue
      }
      let symbols = item.channel == .status ? [""] : item.symbols
      for symbol in symbols {
        let isWildcard = symbol.utf8.contains(UInt8(ascii: "*"))
        // The same one again adds nothing.
        if isWildcard, !wildcards.insert(key(of: item, symbol, state)).inserted { continue }
        let known = resolve(symbol, item.channel)
        if isWildcard {
          guard examined == 0 || examined + known.count <= wildcardLimit else {
            let error = ProtocolError(
              .outOfRange, "the wildcards of this request stand for more than \(wildcardLimit) symbols",
              hint: "split the request")
            pending.failures.append(.init(place: place, channel: channel, symbol: symbol, error: error))
            continue
          }
          examined += known.count
        }
        let resolved =
          item.channel == .status || grant.allowsAllSymbols ? known : known.filter { grant.allows($0) }
        if resolved.isEmpty, !known.isEmpty {
          let error = ProtocolError(
            .forbidden, "your token does not allow `\(symbol.prefix(80))`",
            hint: "GET /v1/instruments lists what it allows")
          pending.failures.append(.init(place: place, channel: channel, symbol: symbol, error: error))
          continue
        }
        if resolved.isEmpty {
          let early = notReady(symbol)
          if early == nil { lookups += 1 }
          let error =
            early ?? unknownSymbol(symbol, looksUp: lookups <= Self.nearMatchLimit && maySearch(state, now: now))
          pending.failures.append(.init(place: place, channel: channel, symbol: symbol, error: error))
          continue
        }
        for (index, name) in resolved.enumerated() {
          let wanted = RateClass.interval(for: item.channel, asked: item.interval)
          var key = self.key(of: item, name, state)
          if item.channel == .status { key.scope = grant.scope }
          guard seen.insert(key).inserted else { continue }
          if let stream = lists.number(of: key), state.index(of: stream) != nil {
            pending.joined.append(.init(stream: stream, seq: lists[stream].seq, state: presentState(of: key), from: 0))
            pending.wanted.append(wanted)
            continue
          }
          guard state.subscriptions.count + pending.outstanding < subscriptionLimit(state) else {
            let rest = resolved.count - index
            let error = ProtocolError(
              .tooManySubscriptions,
              "a client may have \(subscriptionLimit(state)) subscriptions; \(rest) of `\(symbol)` would be too many",
              hint: "unsubscribe from others first, or open a second connection")
            pending.failures.append(
              .init(place: place, channel: channel, symbol: symbol.isEmpty ? nil : symbol, error: error))
            break
          }
          join(key, wanted: wanted, position: item.position, pending, client, into: &actions)
        }
      }
    }
    charge(
      pending.outstanding * ClientAllowance.joinWork + examined * ClientAllowance.frameWork, state, now: now)
    if pending.outstanding == 0 { complete(pending, client, state, now: now, into: &actions) }
  }

  /// The stream of a symbol that an item asks for.
  private func key(of item: ClientRequest.Item, _ symbol: String, _ state: ClientState) -> StreamKey {
    let wanted = RateClass.interval(for: item.channel, asked: item.interval)
    return StreamKey(
      channel: item.channel, symbol: symbol,
      depth: item.channel == .book ? item.depth ?? StreamLimits.defaultDepth : 0,
      points: item.channel == .sparkline ? item.points ?? StreamLimits.defaultPoints : 0,
      range: item.channel == .sparkline ? item.range ?? .day : .day,
      candle: item.channel == .candles ? item.candle ?? .minute : .minute,
      intervalMilliseconds: effectiveInterval(wanted, item.channel, state))
  }

  private func join(
    _ key: StreamKey, wanted: UInt16, position: StreamPosition?, _ pending: PendingRequest, _ client: ClientID,
    into actions: inout [HubAction]
  ) {
    guard let route = route(of: key) else { return }
    let item = UInt32(pending.joined.count)
    pending.joined.append(nil)
    pending.wanted.append(wanted)
    pending.outstanding += 1
    lists.noteJoin(key)
    actions.append(
      .command(
        .join(
          JoinRequest(
            key: key, market: route.market, instrument: route.instrument, loop: loop, client: client,
            request: pending.number, item: item, reason: position == nil ? .subscribe : .resume, position: position)),
        loop: route.loop))
  }

  /// The symbols that `symbol` stands for, in their order: itself, those of a venue (`kraken:*`), or those of all venues
  /// (`*:BTC-USD`); empty if there are none.
  private func resolve(_ symbol: String, _ channel: ChannelName) -> [String] {
    if channel == .status { return [""] }
    if directory.entries[symbol] != nil { return [symbol] }
    return symbol.utf8.contains(UInt8(ascii: "*")) ? directory.symbols(matching: symbol) : []
  }

  /// What to say of a symbol of a venue whose list has not come since the gateway started; nil if it has, or if there is no such venue.
  /// Clients that come back at once after a restart are there before it.
  func notReady(_ symbol: String) -> ProtocolError? {
    guard let colon = symbol.firstIndex(of: ":") else { return nil }
    let venue = symbol[..<colon]
    guard venue == "*" ? !directory.venues.isEmpty : directory.venues.contains(String(venue)) else { return nil }
    let isListed = venue == "*" ? !directory.entries.isEmpty : directory.hasInstruments(of: venue)
    guard !isListed else { return nil }
    var error = ProtocolError(
      .notReady, venue == "*" ? "no venue has told its markets yet" : "\(venue) has not told its markets yet",
      hint: "subscribe again in a second")
    error.retry = true
    error.retryAfterMilliseconds = Self.listWaitMilliseconds
    return error
  }

  /// Whether symbols like an unknown one may be looked for: that looks at all there are.
  private func maySearch(_ state: ClientState, now: Timestamp) -> Bool {
    let count = directory.entries.count
    let perSecond = min(max(Self.nearSearchSymbols / max(1, count), 2), 100)
    guard nearSearches.takeRequest(perSecond: perSecond, now: now) == 0 else { return false }
    charge(count * ClientAllowance.frameWork, state, now: now)
    return true
  }

  /// `btc/usd` as a symbol writes it: `BTC-USD`.
  private static func asWritten(_ name: some StringProtocol) -> String {
    String(name.uppercased().map { "/_".contains($0) ? "-" : $0 })
  }

  func unknownSymbol(_ symbol: String, looksUp: Bool) -> ProtocolError {
    let shown = String(symbol.prefix(80))
    guard let colon = shown.firstIndex(of: ":") else {
      let name = Self.asWritten(shown)
      let near = directory.venues.sorted().map { "\($0):\(name)" }.filter { directory.entries[$0] != nil }.prefix(3)
      let guess = near.isEmpty ? "" : "did you mean \(near.joined(separator: ", "))? "
      return ProtocolError(
        .unknownSymbol, "`\(shown)` is not a symbol",
        hint: guess + "a symbol is venue:BASE-QUOTE, as in kraken:BTC-USD")
    }
    let venue = String(shown[..<colon])
    let name = shown[shown.index(after: colon)...]
    // What is only written another way is found at once, however many there are of it.
    let written = "\(venue.lowercased()):\(Self.asWritten(name))"
    let near =
      written != shown && !resolve(written, .quote).isEmpty
      ? [written] : looksUp ? NearNames.of(shown, among: directory.entries.keys, limit: 3) : []
    let guess = near.isEmpty ? "" : "did you mean \(near.joined(separator: ", "))? "
    guard venue == "*" || directory.venues.contains(venue) else {
      return ProtocolError(
        .unknownSymbol, "there is no venue `\(venue)`",
        hint: guess + "venues: \(directory.venues.sorted().joined(separator: ", "))")
    }
    return ProtocolError(
      .unknownSymbol, venue == "*" ? "no venue has \(name)" : "\(venue) has no \(name)",
      hint: guess + (venue == "*" ? "GET /v1/instruments" : "GET /v1/instruments?venue=\(venue)"))
  }

  // MARK: Replies

  /// `live` or what is the matter: of the symbol's feed, or of its book.
  private func presentState(of key: StreamKey, known: String? = nil) -> String {
    if key.channel == .status { return "live" }
    let venue = key.symbol.prefix { $0 != ":" }
    if let feed = feeds.first(where: { $0.venue == venue }), feed.state != .live { return feed.state.rawValue }
    if let known { return known }
    guard key.channel == .book, let entry = directory.entries[key.symbol] else { return "live" }
    return entry.bookState == .live ? "live" : "syncing"
  }

  private func priceIncrement(of key: StreamKey) -> Decimal64? {
    directory.entries[key.symbol]?.instrument.priceIncrement
  }

  func appendPresent(_ stream: UInt32, from: UInt32, to out: inout ByteBuffer) {
    let list = lists[stream]
    Replies.appendStream(
      stream, list.key, priceIncrement: priceIncrement(of: list.key), epoch: list.epoch, seq: list.seq,
      state: presentState(of: list.key), from: from, to: &out)
  }

  func reply(to pending: PendingRequest, _ client: ClientID, _ state: ClientState, now: Timestamp) {
    let queued = state.queue.bytes + state.unsent
    if case .restored = pending.kind, pending.joined.isEmpty { return }
    send(to: client, now: now) { out in
      switch pending.kind {
      case .subscribe:
        Replies.begin("subscribed", id: pending.id, to: &out)
        out.append(",\"total\":")
        out.append(integer: UInt64(state.subscriptions.count))
        out.append(",\"ok\":[")
      case .configure(let interval):
        Replies.begin("configured", id: pending.id, to: &out)
        out.append(",\"interval_ms\":")
        out.append(integer: UInt64(interval))
        out.append(",\"total\":")
        out.append(integer: UInt64(state.subscriptions.count))
        out.append(",\"streams\":[")
      case .degraded(let interval):
        out.append("{\"type\":\"notice\",\"code\":\"slow\",\"action\":\"degraded\",\"interval_ms\":")
        out.append(integer: UInt64(interval))
        out.append(",\"queued_bytes\":")
        out.append(integer: UInt64(queued))
        out.append(",\"streams\":[")
      case .restored:
        out.append("{\"type\":\"notice\",\"code\":\"slow\",\"action\":\"restored\",\"streams\":[")
      case .resume:
        beginWelcome(pending.id, state, isResumed: pending.isResumed, now: now, to: &out)
        if slots[Int(client.slot)].flags.contains(.paused) { out.append(",\"paused\":true") }
        out.append(",\"total\":")
        out.append(integer: UInt64(state.subscriptions.count))
        out.append(",\"ok\":[")
      }
      var isFirst = true
      for joined in pending.joined {
        guard let joined, joined.stream != 0, state.index(of: joined.stream) != nil else { continue }
        if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
        let list = lists[joined.stream]
        Replies.appendStream(
          joined.stream, list.key, priceIncrement: priceIncrement(of: list.key), epoch: list.epoch, seq: joined.seq,
          state: presentState(of: list.key, known: joined.state), from: joined.from,
          isRecovered: joined.isRecovered, to: &out)
      }
      out.append(UInt8(ascii: "]"))
      if pending.hasFailures {
        out.append(",\"failed\":[")
        for (place, failure) in pending.failures.enumerated() {
          if place > 0 { out.append(UInt8(ascii: ",")) }
          Replies.appendFailure(failure, to: &out)
        }
        out.append(UInt8(ascii: "]"))
      }
      out.append(UInt8(ascii: "}"))
    }
  }
}
