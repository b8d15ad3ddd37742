import Bytes
import MarketData

/// What the venue answers.
extension FeedEngine {
  func act(_ report: Hearing.Report, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    switch report {
    case .acknowledged(let id, let place, let channel):
      for topic in desk.acknowledged(id: id, place: place, channel: channel) where topic.channel == 0 {
        lines[topic.place].acknowledged = now
      }
      if facts.pacing.oneByOne != nil { flush(now) }
    case .taken(let id, let topics, let reason): try take(topics, of: id, rest: reason, now: now)
    case .refused(let refusal): try act(refusal, now: now)
    case .newestTrade(let place, let id): compareTrades(place, id)
    case .welcome(let pingAfter): welcomed(pingAfter, now)
    case .maintenance(let isOn): maintain(isOn)
    case .leave(let reason, let within): leave(reason, within: within)
    case .reconnect(let reason): actions.append(.reconnect(reason: reason))
    case .listed(let markets): listed(markets, now: now, into: &batch)
    case .lost(let place, let reason):
      let events = batch.events.count
      for place in place.map({ [$0] }) ?? Array(lines.indices) {
        take(place, outOfSync: reason, now: now, into: &batch)
      }
      if batch.events.count > events { tick(now: now, into: &batch) }
    case .send(let text): send(text, now)
    }
  }

  private func act(_ refusal: Hearing.Refusal, now: Timestamp) throws(FeedError) {
    let rest = refusal.takesRest ? desk.answeredRest(of: refusal) : nil
    var request = desk.refused(refusal)
    // What it names is not of that request: all of it was refused.
    if refusal.takesRest, request == nil { request = desk.answered(id: refusal.id, place: nil, channel: nil) }
    if let rest {
      queueBooks(desk.topics(rest).filter { $0.channel == 0 }, now)
      desk.again(rest)
    }
    if case .pause(let wait) = refusal.effect { desk.pause(wait, now: now) }
    // What waits for the answer, or goes again without the one that spoilt it, waits for nothing else.
    defer { if rest != nil || facts.pacing.oneByOne != nil || !refusal.blames.isEmpty { flush(now) } }
    // The end of a subscription that is refused is no refusal of the one that follows it.
    guard let request, !request.isEnd else { throw FeedError(.refused, "\(refusal.what): \(refusal.reason)") }
    let symbols = desk.symbols(of: request)
    let blamed = symbols.filter(refusal.blames.contains)
    guard !blamed.isEmpty, blamed.count < symbols.count else { return try act(refusal, request, now: now) }
    var (bad, good, blame) = (request, request, refusal)
    good.places.removeAll { blamed.contains(desk.topic($0).place) }
    bad.places.removeAll { !blamed.contains(desk.topic($0).place) }
    queueBooks(desk.topics(good).filter { $0.channel == 0 }, now)
    desk.putBack(good)
    blame.effect = .finalForAll
    try act(blame, bad, now: now)
  }

  /// Of a request these topics were carried out, and no others.
  private func take(_ topics: [Topic], of id: Int, rest reason: String, now: Timestamp) throws(FeedError) {
    guard let (taken, rest) = desk.acknowledged(id: id, only: topics), !rest.isEnd else { return }
    for topic in taken where topic.channel == 0 { lines[topic.place].acknowledged = now }
    guard !rest.places.isEmpty else { return }
    try act(Hearing.Refusal(reason: reason, effect: .finalForAll), rest, now: now)
  }

  private func act(
    _ refusal: Hearing.Refusal, _ request: SubscriptionDesk.Request, now: Timestamp
  ) throws(FeedError) {
    let words = FeedError(.refused, "\(words(request)): \(refusal.reason)")
    let topics = desk.topics(request)
    let books = topics.filter { $0.channel == 0 }
    switch refusal.effect {
    case .pause(let wait):
      queueBooks(books, now)
      if wait == nil { desk.again(request) } else { desk.putBack(request) }
      throw words
    case .again(let wait):
      queueBooks(books, now)
      desk.again(request, due: now + wait)
      throw words
    case .already:
      desk.isThere(request)
      // A book's new snapshot is what it lacks then, which it asks for by itself.
      if !books.isEmpty { throw words }
    case .final where desk.symbols(of: request).count > 1:
      queueBooks(books, now)
      desk.putBack(request, inHalves: true)
      throw words
    case .final, .finalForAll:
      let dead = books.filter { !lines[$0.place].book.isLive }
      for topic in dead { refuse(topic.place, refusal.reason) }
      // Where the symbol itself is refused, its book says so.
      var rest = request
      rest.places.removeAll { code in
        code % facts.channels.count == 0 || dead.contains { $0.place == code / facts.channels.count }
      }
      if !rest.places.isEmpty || rest.isGreeting { desk.rest(rest, now: now) }
      if dead.isEmpty { throw words }
    }
  }

  /// The venue says which trade of a symbol is its newest. One that it knew of the last time, and that has not come
  /// since, is missing.
  private func compareTrades(_ place: Int, _ id: Int64) {
    let missed = lines[place].toldTrade - lines[place].lastTrade
    if lines[place].lastTrade > 0, missed > 0 {
      seen[place].missedTrades &+= Int(missed)
      lines[place].lastTrade = lines[place].toldTrade
    }
    lines[place].toldTrade = id
  }

  private func queueBooks(_ topics: [Topic], _ now: Timestamp) {
    for topic in topics { lines[topic.place].book.queued(now: now) }
  }

  private func refuse(_ place: Int, _ reason: String) {
    lines[place].isRefused = true
    lines[place].book.stop()
    desk.refuse(place)
    refuse(configuredName(place), reason)
  }

  private func welcomed(_ interval: Int64?, _ now: Timestamp) {
    if let interval, let ping = facts.ping { pingAfter = min(ping.after, interval) }
    desk.outbox.resume()
    flush(now)
  }

  private func maintain(_ isOn: Bool) {
    guard isOn != inMaintenance else { return }
    inMaintenance = isOn
    actions.append(.maintenance(isOn))
  }

  /// The list has come in the stream: what is configured and not subscribed is subscribed.
  private func listed(_ markets: [ListedMarket], now: Timestamp, into batch: inout EventBatch) {
    guard !hasStreamList else { return }
    hasStreamList = true
    listDue = nil
    take(markets, into: &batch)
    hasListed(now: now)
  }
}

/// The snapshots of bridged books.
extension FeedEngine {
  /// Chooses how deep the snapshots are for so many symbols.
  func chooseDepth() {
    guard let bridge = facts.bridge else { return }
    let snapshot = bridge.snapshots.first { $0.weight * lines.count <= bridge.startMinutes * pacer.weightPerMinute }
    guard let chosen = snapshot ?? bridge.snapshots.last else { return }
    snapshotLevels = chosen.levels
    pacer.requestWeight = chosen.weight
  }

  func pump(_ now: Timestamp) {
    guard isConnected else { return }
    while let (place, request) = pacer.next(now: now) {
      guard lines[place].book.isBridged, lines[place].isCarried, !lines[place].book.isLive else {
        _ = pacer.answered(request)
        continue
      }
      actions.append(
        .get(
          request: request, path: dialect.snapshotPath(known[place], levels: snapshotLevels),
          bodyLimit: facts.bridge?.bodyLimit ?? 0))
    }
  }

  func takeSnapshot(
    _ place: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) {
    // The symbol may have been refused since.
    guard lines[place].isCarried else { return }
    guard lines[place].book.isBridged, !lines[place].book.isLive else { return pacer.succeeded(place) }
    guard status == 200 else { return pacer.failed(place, status: status, retryAfter: retryAfter, now: now) }
    var mark = BatchMark(batch)
    guard let id = snapshot(body, place, from: &mark, into: &batch) else {
      return pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
    guard !lines[place].book.bridge.isStale(id) else {
      // Older than the first update that was kept: another one, and what is kept stays.
      mark.rewind(&batch)
      return pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
    if join(&lines[place].book.bridge, place, at: id, from: mark, time: now, into: &batch) {
      lines[place].wasLive = true
      lines[place].isHeard = true
      pacer.succeeded(place)
    } else {
      pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
  }
}

/// Markets whose list has names only: details and 24 h figures of each by REST.
extension FeedEngine {
  /// What the list's names are, beyond what it says of itself: where base and quote run together, a name may be taken
  /// apart in another way by who configured it.
  func configuredMarkets(among markets: [ListedMarket], _ names: Set<String>) -> [ListedMarket] {
    guard let per = facts.perMarket else { return [] }
    let listed = Set(markets.map(\.symbol))
    return marketList.named.compactMap { text in
      guard let symbol = FeedSymbol(text), !listed.contains(symbol), names.contains(per.name(symbol)) else {
        return nil
      }
      return ListedMarket(venueSymbol: per.name(symbol), symbol: symbol)
    }
  }

  /// Notes that the newest list has a market, and says what is known of it; nil while it is not to be carried.
  func known(of market: ListedMarket) -> ListedMarket? {
    guard let per = facts.perMarket, let entry = markets?.list(market) else { return market }
    if let reason = entry.ended {
      if entry.fetched != nil { refuse(market.symbol.text, reason) }
      return nil
    }
    return entry.details ?? (per.waits(market.symbol) ? nil : market)
  }

  /// Whom a name is carried for already, where several configured symbols spell it.
  func carrier(of market: ListedMarket) -> FeedSymbol? {
    guard facts.perMarket != nil, let place = known.place(named: market.venueSymbol) else { return nil }
    let symbol = FeedSymbol(base: known[place].base, quote: known[place].quote, kind: known[place].kind)
    return symbol == market.symbol ? nil : symbol
  }

  /// A new list is there: its markets have their places, what was carried is found by them.
  func placeMarkets() {
    let entries = markets?.entries ?? []
    for index in entries.indices { markets?.entries[index].place = place(of: entries[index].market.symbol) }
  }

  /// Asks for what is wanted, as far as it may be asked for now.
  func pumpMarkets(_ now: Timestamp) {
    guard markets != nil else { return }
    markets?.expire(now: now)
    if isConnected { markets?.wantFigures({ lines[$0].isCarried && lines[$0].isAsked }, now: now) }
    while let (path, request) = markets?.next(now: now) {
      actions.append(.get(request: request, path: path, bodyLimit: facts.perMarket?.bodyLimit ?? 0))
    }
  }

  /// Takes an answer; false if it is none about a market.
  func takeMarket(
    _ request: Int, status: Int, body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) -> Bool {
    guard let subject = markets?.answered(request) else { return false }
    do throws(FeedError) {
      guard status == 200 else { throw FeedError(.refused, "REST request: status \(status)") }
      switch subject {
      case .details(let index): try takeDetails(body, index, now: now, into: &batch)
      case .figures(let index, let kind): try takeFigures(body, index, kind, now: now, into: &batch)
      }
      markets?.succeeded(subject)
    } catch {
      rejectAnswer(error)
      if status != 400, status != 404 {
        markets?.failed(subject, status: status, retryAfter: retryAfter, now: now)
      } else if case .details(let index) = subject, let market = markets?.entries[index], market.place == nil {
        // There is nothing to be had, now or soon. What need not wait does without.
        refuse(market.market.symbol.text, "\(venue.title) gives no details of \(market.market.venueSymbol)")
      }
    }
    pumpMarkets(now)
    return true
  }

  private func takeDetails(
    _ body: RawSpan, _ index: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let entry = markets?.entries[index] else { return }
    let details = try dialect.readDetails(body, of: entry.market)
    markets?.entries[index].fetched = now
    switch details {
    case .refused(let reason):
      markets?.entries[index].ended = reason
      if let place = entry.place { end(place, into: &batch) }
      refuse(entry.market.symbol.text, reason)
    case .market(let market):
      markets?.entries[index].details = market
      markets?.entries[index].ended = nil
      guard carrier(of: market) == nil else { return }
      guard let place = add(market, for: market.symbol.text, into: &batch) else { return }
      if let isListed = markets?.entries[index].isListed, isListed, entry.place == nil || entry.ended != nil {
        makeLines()
        lines[place].isListed = true
        lines[place].isEnded = false
        lines[place].isAsked = false
        markets?.entries[index].place = place
      }
      guard isConnected else { return }
      subscribeMissing(now)
      flush(now)
    }
  }

  /// A market is not to be carried any more: its channels are ended, and nothing of it is told.
  private func end(_ place: Int, into batch: inout EventBatch) {
    guard !lines[place].isEnded else { return }
    if lines[place].book.isLive { batch.events.append(.bookReset(InstrumentID(place), .venueReset)) }
    lines[place].isEnded = true
    hasEnded = true
    lines[place].book.stop()
    if isConnected { desk.end(place) }
  }

  private func takeFigures(
    _ body: RawSpan, _ index: Int, _ kind: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let entry = markets?.entries[index], let place = entry.place else { return }
    var ticker = entry.ticker ?? Ticker(instrument: InstrumentID(place), time: now)
    ticker.time = now
    try dialect.readFigures(body, of: kind, &known, into: &ticker)
    markets?.entries[index].ticker = ticker
    batch.events.append(.ticker(ticker))
  }
}
