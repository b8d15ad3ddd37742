import Bytes
import MarketData

/// What the venue answers.
extension FeedEngine {
  func act(_ report: Hearing.Report, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    switch report {
    case .acknowledged(let id, let place, let channel):
      if greetingDue != nil { ungreeted("the venue answered a subscription before the greeting") }
      for topic in desk.acknowledged(id: id, place: place, channel: channel) {
        if !watches.isEmpty { watches[desk.code(topic)]?.subscribed(now: now) }
        if topic.channel == 0 { lines[topic.place].acknowledged = now }
        proves(topic.place, now)
      }
      if facts.pacing.oneByOne != nil { flush(now) }
    case .taken(let id, let topics, let reason): try take(topics, of: id, rest: reason, now: now)
    case .refused(let refusal): try act(refusal, now: now)
    case .passedTrade(let place, let id): trades.pass(place, id)
    case .newestTrade(let place, let id): compareTrades(place, id, now: now, into: &batch)
    case .welcome(let pingAfter): welcomed(pingAfter, now)
    case .greeted: greetingDue = nil
    case .ended(let topic) where topic.channel == 0:
      take(topic.place, outOfSync: .venueReset, now: now, into: &batch)
      tick(now: now, into: &batch)
    case .ended(let topic): desk.ended(topic, now: now)
    case .unfounded(let topic):
      // One that is not in force has been asked for, or waits its time.
      guard isConnected, desk.state(topic) == .acknowledged else { break }
      desk.renew([topic.place], channel: topic.channel)
      flush(now)
    case .maintenance(let isOn): maintain(isOn, now, into: &batch)
    case .leave(let reason, let within): leave(reason, within: within)
    case .reconnect(let reason): actions.append(.reconnect(reason: reason))
    case .listed(let markets, let part): listed(markets, part: part, now: now, into: &batch)
    case .lost(let place, let reason):
      let events = batch.events.count
      for place in place.map({ [$0] }) ?? Array(lines.indices) {
        take(place, outOfSync: reason, now: now, into: &batch)
      }
      if batch.events.count > events { tick(now: now, into: &batch) }
    case .send(let text): send(text, now)
    }
  }

  /// The greeting that this connection needs never reached the venue, or its answer got lost: what is subscribed comes
  /// in another form than was asked for.
  func ungreeted(_ reason: String) {
    greetingDue = nil
    note(FeedError(.unanswered, reason), text: "")
    actions.append(.reconnect(reason: reason))
  }

  private func act(_ refusal: Hearing.Refusal, now: Timestamp) throws(FeedError) {
    let request = desk.refused(refusal)
    var refusal = refusal
    switch refusal.effect {
    case .final where desk.isDoubtful(refusal), .finalForAll where desk.isDoubtful(refusal):
      refusal.effect = .again(after: RequestDeadline.answer)
    default: break
    }
    if case .pause(let wait) = refusal.effect { desk.pause(wait, now: now) }
    // What waits for the answer, or goes again without what spoilt it, waits for nothing else.
    defer { if facts.pacing.oneByOne != nil || !refusal.blames.isEmpty { flush(now) } }
    // The end of a subscription that is refused is no refusal of the one that follows it.
    guard let request, !request.isEnd else { throw FeedError(.refused, "\(refusal.what): \(refusal.reason)") }
    let blamed = request.places.filter { refusal.blames(desk.topic($0)) }
    guard !blamed.isEmpty, blamed.count < request.places.count else { return try act(refusal, request, now: now) }
    var (bad, good, blame) = (request, request, refusal)
    good.places.removeAll(where: blamed.contains)
    bad.places = blamed
    queueBooks(desk.topics(good).filter { $0.channel == 0 }, now)
    desk.putBack(good)
    if case .final = refusal.effect { blame.effect = .finalForAll }
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

  private func queueBooks(_ topics: [Topic], _ now: Timestamp) {
    for topic in topics { lines[topic.place].book.queued(now: now) }
  }

  func refuse(_ place: Int, _ reason: String) {
    lines[place].isRefused = true
    lines[place].book.stop()
    desk.forget(place)
    refuse(configuredName(place), reason)
  }

  private func welcomed(_ interval: Int64?, _ now: Timestamp) {
    if let interval, let ping = facts.ping { pingAfter = min(ping.after, interval) }
    desk.outbox.resume()
    flush(now)
  }

}

/// Trades by their numbers, where the venue counts them without holes: the engine reports missing ones before the trade
/// that follows them, and asks for them by REST.
extension FeedEngine {
  /// Takes the trade at `index` of the batch, which may be left out; tells what is missing before it. Returns the index
  /// behind it.
  func number(_ trade: Trade, fills: Int64, at index: Int, now: Timestamp, into batch: inout EventBatch) -> Int {
    var trade = trade
    switch trades.take(trade, fills: fills, now: now) {
    case .first, .old(isKnown: false): return index + 1
    case .old(isKnown: true):
      // A new subscription brings the newest trades again.
      guard trade.isBacklog else { return index + 1 }
      batch.events.remove(at: index)
      return index
    case .next:
      // From the time without a connection.
      guard trade.isBacklog else { return index + 1 }
      batch.events[index] = .trade(trade.late)
      return index + 1
    case .after(let hole):
      note(hole, of: trade.instrument.index)
      if trade.isBacklog, hole.count != nil { trade = trade.late }
      batch.events[index] = .trade(trade)
      batch.events.insert(.tradesMissing(trade.instrument, hole), at: index)
      return index + 2
    case .late(let whole):
      seen[trade.instrument.index].foundTrades += 1
      batch.events[index] = .trade(trade.late)
      guard let whole else { return index + 1 }
      batch.events.insert(.tradesSearched(trade.instrument, whole), at: index + 1)
      return index + 2
    }
  }

  /// The venue says which trade of a symbol is its newest.
  func compareTrades(_ place: Int, _ id: Int64, now: Timestamp, into batch: inout EventBatch) {
    guard let hole = trades.tell(place, id, now: now) else { return }
    note(hole, of: place)
    batch.events.append(.tradesMissing(InstrumentID(place), hole))
  }

  private func note(_ hole: TradeHole, of place: Int) {
    seen[place].missedTrades &+= Int(hole.count ?? 0)
    seen[place].tradeHoles += 1
  }

  /// Asks for what is missing, as far as it may be asked for now, and publishes what was found.
  func searchTrades(now: Timestamp, into batch: inout EventBatch) {
    guard !trades.isIdle else { return }
    trades.expire(now: now)
    while let (path, request) = trades.next(now: now, known) {
      actions.append(.get(request: request, path: path, bodyLimit: TradePages.bodyLimit))
    }
    for event in trades.takeReady() {
      switch event {
      case .trade(let trade):
        guard trade.price > 0, trade.size > 0 else { continue }
        known.note(trade.instrument.index, price: trade.price, size: trade.size)
        seen[trade.instrument.index].foundTrades += 1
        batch.events.append(.trade(trade))
      case .searched(let instrument, let hole): batch.events.append(.tradesSearched(instrument, hole))
      }
    }
  }

  /// Takes an answer about missing trades.
  func takeTrades(
    _ request: Int, _ status: AnswerStatus, _ body: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let place = trades.place(of: request), let pages = trades.pages else { return }
    guard status.isOK else {
      return trades.failed(request, status: status.code, retryAfter: status.retryAfter, now: now)
    }
    do throws(FeedError) {
      trades.answered(request, try read(pages, body, place, now: now, into: &batch), now: now)
    } catch {
      trades.failed(request, status: status.code, retryAfter: status.retryAfter, now: now)
      throw error
    }
    searchTrades(now: now, into: &batch)
  }

  /// Reads the rows of an answer, at scales that are widened as they want them.
  private func read(
    _ pages: TradePages, _ body: RawSpan, _ place: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) -> [Trade] {
    // Price and size may each widen several times.
    for _ in 0..<32 {
      do throws(FeedError) {
        known.begin()
        return try pages.read(body, place, &known, now: now)
      } catch {
        guard widenIfNeeded(into: &batch) else { throw error }
      }
    }
    throw FeedError(.decimal, "missing trades: no scale fits their values")
  }
}

extension Trade {
  /// The same as one that came late.
  fileprivate var late: Trade {
    var trade = self
    trade.isBacklog = false
    trade.isLate = true
    return trade
  }
}
