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
    desk.forget(place)
    refuse(configuredName(place), reason)
  }

  private func welcomed(_ interval: Int64?, _ now: Timestamp) {
    if let interval, let ping = facts.ping { pingAfter = min(ping.after, interval) }
    desk.outbox.resume()
    flush(now)
  }

}
