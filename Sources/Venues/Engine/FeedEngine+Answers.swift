import Bytes
import MarketData

/// What the venue answers.
extension FeedEngine {
  func act(_ report: Hearing.Report, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    switch report {
    case .acknowledged(let id, let place, let channel):
      for topic in desk.acknowledged(id: id, place: place, channel: channel) {
        if !watches.isEmpty { watches[desk.code(topic)]?.subscribed(now: now) }
        if topic.channel == 0 { lines[topic.place].acknowledged = now }
      }
      if facts.pacing.oneByOne != nil { flush(now) }
    case .taken(let id, let topics, let reason): try take(topics, of: id, rest: reason, now: now)
    case .refused(let refusal): try act(refusal, now: now)
    case .newestTrade(let place, let id): compareTrades(place, id)
    case .welcome(let pingAfter): welcomed(pingAfter, now)
    case .greeted: greetingDue = nil
    case .ended(let topic) where topic.channel == 0:
      take(topic.place, outOfSync: .venueReset, now: now, into: &batch)
      tick(now: now, into: &batch)
    case .ended(let topic): desk.ended(topic, now: now)
    case .maintenance(let isOn): maintain(isOn, now, into: &batch)
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
    // Where the symbol itself was refused, its book has said so.
    guard topics.contains(where: { !lines[$0.place].isRefused }) else { return }
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

  func refuse(_ place: Int, _ reason: String) {
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
      // One whose subscription is being renewed is wanted when that is acknowledged.
      let line = lines[place]
      let isWanted = !line.book.isLive && line.acknowledged != nil || renewal?.place == place
      guard line.book.isBridged, line.isCarried, isWanted else {
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
    let isRenewal = lines[place].book.isLive
    guard lines[place].book.isBridged, !isRenewal || renewal?.place == place else { return pacer.succeeded(place) }
    if let missing = facts.bridge?.missing, status == missing, !isRenewal {
      refuse(place, "\(venue.title) has no order book of it (\(missing))")
      return pacer.succeeded(place)
    }
    guard status == 200 else { return snapshotFailed(place, status: status, now) }
    var mark = BatchMark(batch)
    guard let id = snapshot(body, place, from: &mark, into: &batch) else {
      return snapshotFailed(place, status: status, now)
    }
    guard !isStale(id, place, isRenewal, now) else {
      // Older than the first update that was kept: another one, and what is kept stays.
      mark.rewind(&batch)
      return snapshotFailed(place, status: status, now)
    }
    if isRenewal { return renew(place, at: id, from: mark, now, into: &batch) }
    let time = unnumbered == nil ? now : Timestamp(microseconds: id)
    if join(
      &lines[place].book.bridge, place, at: id, from: mark, time: time, isLinked: unnumbered == nil, into: &batch)
    {
      lines[place].wasLive = true
      lines[place].isHeard = true
      if let unnumbered { lines[place].renewDue = now + unnumbered.firstRenewal }
      pacer.succeeded(place)
    } else {
      pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
  }

  private func isStale(_ id: Int64, _ place: Int, _ isRenewal: Bool, _ now: Timestamp) -> Bool {
    if isRenewal { return id < renewal?.floor ?? 0 }
    guard lines[place].book.isStale(id, begun: lines[place].acknowledged, unnumbered) else { return false }
    // The times of what came are not believed any more.
    if let unnumbered, lines[place].book.staleSnapshots >= unnumbered.staleAttempts { beginAnew(place, now) }
    return true
  }

  /// Asks again, later; a renewal is given up until its next turn.
  private func snapshotFailed(_ place: Int, status: Int, _ now: Timestamp) {
    guard let renewed = renewal, renewed.place == place else {
      return pacer.failed(place, status: status, retryAfter: retryAfter, now: now)
    }
    renewal = nil
    if let unnumbered { lines[place].renewDue = now + unnumbered.firstRenewal }
    // The book is good as it is: nothing of this counts against it.
    pacer.failed(place, status: status == 200 ? 0 : status, retryAfter: retryAfter, now: now)
  }

  /// A bridged book has been lost: it wants another snapshot.
  func lostBridged(_ place: Int, _ now: Timestamp) {
    if renewal?.place == place { renewal = nil }
    lines[place].unfollowed = nil
    pacer.lost(place, notBefore: now + (facts.bridge?.delay ?? 0), now: now)
  }
}

/// Books whose updates have a time and no number: **an update that is lost shows in nothing.** What can be done is
/// done:
///
/// - A snapshot is used only if it is from after what was not kept (`SnapshotBridge`): answers come from a cache.
/// - A time that goes back is a message that came late, and takes the book out of sync.
/// - A trade changes the book. One that no update follows means that the book's channel is dead, not quiet.
/// - Every book is renewed by a snapshot from time to time, without leaving sync.
extension FeedEngine {
  /// Looks after the books that are live: a channel that is contradicted is subscribed anew, a book that is due is
  /// renewed.
  func tendUnnumbered(_ unnumbered: DialectFacts.Unnumbered, _ now: Timestamp, into batch: inout EventBatch) {
    for place in lines.indices where lines[place].isCarried && lines[place].book.isLive {
      if let unfollowed = lines[place].unfollowed, now - unfollowed.since >= unnumbered.tradePatience {
        take(place, outOfSync: .stale, now: now, into: &batch)
        beginAnew(place, now)
        // A snapshot is of no use before the channel speaks again.
        lines[place].acknowledged = nil
        desk.renew([place], channel: 0)
      } else if renewal == nil, now >= lines[place].renewDue {
        let bridge = lines[place].book.bridge
        renewal = BookRenewal(
          place: place, floor: max(0, bridge.newest), bridge: SnapshotBridge(rule: bridge.rule))
        pacer.want(place)
      }
    }
  }

  /// A trade: what it took is missing in the book from then on, and the next update says so. One without a time of
  /// its own has the clock's.
  func traded(_ trade: Trade, _ now: Timestamp) {
    let place = trade.instrument.index
    guard lines[place].unfollowed == nil, lines[place].book.isLive, trade.time != now,
      trade.time.microseconds > lines[place].book.bridge.newest
    else { return }
    lines[place].unfollowed = (trade.time, now)
  }

  /// An update, which the book has taken already.
  func updated(_ event: BookEvent, _ numbers: UpdateNumbers, _ batch: borrowing EventBatch, _ now: Timestamp) {
    let place = event.instrument.index
    if let unfollowed = lines[place].unfollowed, numbers.last >= unfollowed.time.microseconds {
      lines[place].unfollowed = nil
    }
    guard renewal?.place == place, var renewed = renewal.take() else { return }
    _ = renewed.bridge.receive(
      numbers, bids: batch.bids[event.bidRange], asks: batch.asks[event.askRange], time: event.time)
    renewed.kept += 1
    if renewed.bridge.updates.count == renewed.kept {
      renewal = renewed
    } else if let unnumbered {
      // More than is kept: the renewal is off, and the book goes on as it was.
      lines[place].renewDue = now + unnumbered.firstRenewal
    }
  }

  /// Puts the snapshot that stands in the batch from `mark` on, and what came after it, in the place of a live book.
  func renew(_ place: Int, at id: Int64, from mark: BatchMark, _ now: Timestamp, into batch: inout EventBatch) {
    guard var renewed = renewal.take(), let unnumbered else { return }
    // What goes on after it is told by the book's own bridge, which has seen the same updates, and counted them.
    var counted = seen[place]
    counted.snapshots += 1
    _ = join(
      &renewed.bridge, place, at: id, from: mark, time: Timestamp(microseconds: id), isLinked: false, into: &batch)
    seen[place] = counted
    lines[place].renewDue = now + unnumbered.renewal
    pacer.succeeded(place)
  }

  /// What was lost is of a time that is not known: the book is as if it had just been subscribed.
  func beginAnew(_ place: Int, _ now: Timestamp) {
    lines[place].book.beginAnew()
    lines[place].acknowledged = now
  }

  /// Something was lost of a book that cannot be told: each is renewed as soon as it can be.
  func renewAll(_ now: Timestamp) {
    for place in lines.indices where lines[place].book.isLive { lines[place].renewDue = now }
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
