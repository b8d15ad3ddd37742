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
