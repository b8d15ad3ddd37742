import Bytes
import MarketData

/// The connection's requests, their repetition without an answer, the venue's answers, and reports of what stays
/// silent.
extension FeedEngine {
  /// What is followed and has not been asked for on this connection.
  func subscribeMissing(_ now: Timestamp) {
    guard !life.opening.isNever else { return }
    let indices = books.indices.filter {
      books.lines[$0].isFollowed && !books.lines[$0].isAsked && !requests.suspects.isSuspect($0)
    }
    guard !indices.isEmpty else { return }
    let apart = requests.suspects.spoilRequests ? indices.filter { books.lines[$0].isSuspect } : []
    requests.desk.subscribe(indices.filter { !apart.contains($0) })
    for index in apart { requests.desk.subscribe([index]) }
    for index in indices {
      books.lines[index].isAsked = true
      books.lines[index].book.queued(now: now)
    }
    lists.details?.begin(indices, now: now)
  }

  /// Subscribes the books again whose time has come: those that have been live before whatever else waits.
  func renewBooks(_ now: Timestamp) {
    guard !requests.desk.outbox.isPaused(at: now), !requests.desk.gathers(now: now) else { return }
    var due = books.indices.filter { books.lines[$0].isFollowed && books.lines[$0].book.isDue(now: now) }
    guard !due.isEmpty else { return }
    if let limit = facts.silentAttempts,
      let hopeless = due.first(where: { books.lines[$0].wasLive && books.lines[$0].book.silentAttempts >= limit })
    {
      // That a subscription brings a snapshot is said of a first one only: where it does not, only another connection
      // helps.
      leave("\(known[hopeless].venueSymbol) got no snapshot by subscribing again", within: RequestDeadline.renewal)
      due.removeAll { books.lines[$0].wasLive && books.lines[$0].book.silentAttempts >= limit }
    }
    for index in due {
      if books.lines[index].book.silentAttempts > 0 { dialect.silent(index) }
      books.lines[index].book.queued(now: now)
    }
    // The ones that are put before all others last, in their order.
    requests.desk.renew(due.filter { !books.lines[$0].wasLive }, channel: 0)
    for index in groupsFirst(due.filter { books.lines[$0].wasLive }) {
      requests.desk.renew(index, channel: 0, isFirst: true)
    }
  }

  /// The groups to put before all other requests, one after the other: the last comes first.
  func groupsFirst(_ indices: [Int]) -> [[Int]] {
    if case .topic = facts.pacing.grouping { return indices.reversed().map { [$0] } }
    return indices.isEmpty ? [] : [indices]
  }

  func flush(_ now: Timestamp) {
    guard life.isConnected else { return }
    if requests.desk.outbox.isEmpty, !requests.desk.outbox.isPaused(at: now), facts.streamedList == nil {
      followCanary(now)
    }
    let next = requests.desk.take(now: now, room: requests.sending.room(now: now))
    let sent = next.firstIndex { !send($0, now) } ?? next.count
    for request in next[sent...].reversed() { requests.desk.putBack(request) }
    let count = min(books.probes.count, requests.sending.room(now: now))
    for index in books.probes.prefix(count) {
      if let text = spell(.book(index), now) { send(text, now) }
    }
    books.probes.removeFirst(count)
  }

  /// Sends what is still wanted of a request; false if the hour has no room for it.
  private func send(_ request: SubscriptionRequests.Request, _ now: Timestamp) -> Bool {
    if request.isGreeting {
      guard let text = spell(.greeting, now) else { return true }
      send(text, now)
      requests.desk.sent(request, as: requests.sending.lastID, now: now)
      return true
    }
    var request = request
    // Of a symbol that was refused nothing is asked for, and a book whose snapshot has come after all is left as it is.
    request.indices.removeAll {
      if request.isLast { return false }
      let topic = requests.desk.topic($0)
      let line = books.lines[topic.index]
      return !line.isFollowed || !requests.desk.isWanted($0)
        || (topic.channel == 0 && !line.book.isBridged && !line.book.isQueued)
    }
    guard !request.indices.isEmpty else { return true }
    // A new subscription follows each end at once.
    guard hasRoom(for: request.isEnd ? 2 * request.indices.count : request.indices.count, now) else { return false }
    let topics = requests.desk.topics(request)
    guard let text = spell(.topics(topics, request.isEnd ? .unsubscribe : .subscribe), now) else { return true }
    requests.sending.began(topics.count)
    send(text, now)
    requests.desk.sent(request, as: requests.sending.lastID, now: now)
    for topic in topics where topic.channel == 0 {
      guard !request.isEnd else {
        books.lines[topic.index].book.left()
        continue
      }
      if books.lines[topic.index].subscribed == .distantFuture { books.lines[topic.index].subscribed = now }
      books.lines[topic.index].book.subscribed(now: now)
    }
    return true
  }

  /// Whether the hour has room for so many topics. If it has not, another connection is made, which has an hour of its
  /// own; should there be none, the next hour brings room.
  private func hasRoom(for count: Int, _ now: Timestamp) -> Bool {
    guard let end = requests.sending.hourEnd(for: count, now: now) else { return true }
    leave("the subscriptions allowed in an hour are used up", within: 5 * Microseconds.minute)
    requests.desk.outbox.pause(until: end)
    return false
  }

  /// The venue is in maintenance, or back: then all that is followed is begun anew, where it must be.
  func maintain(_ isOn: Bool, _ now: Timestamp, into batch: inout EventBatch) {
    guard life.maintenance.set(isOn, now: now) else { return }
    actions.append(.maintenance(isOn))
    guard life.maintenance.endsSubscriptions else { return }
    for index in books.indices { take(index, outOfSync: .venueReset, now: now, into: &batch) }
    guard !isOn else { return }
    // One that was not heard before the maintenance is not heard behind it either.
    if requests.sending.greetingDue != nil { greet(now) }
    let indices = books.indices.filter { books.lines[$0].isFollowed }
    for index in indices { books.lines[index].book.queued(now: now) }
    for channel in facts.channels.indices { requests.desk.renew(indices, channel: channel) }
    flush(now)
  }

  /// Sends the requests again whose answers are overdue, tells of them, and has the connection exchanged in the end.
  func repeatUnanswered(_ now: Timestamp) {
    for var request in requests.desk.takeOverdue(now: now) {
      guard !isMoot(&request, now) else { continue }
      request.attempts += 1
      unanswered(request.attempts, words(request), now: now)
      requests.desk.again(
        request, due: request.attempts < RequestDeadline.attempts ? nil : now + RequestDeadline.hopeless)
    }
  }

  /// Whether a request that was not answered need not be sent again.
  func isMoot(_ request: inout SubscriptionRequests.Request, _ now: Timestamp) -> Bool {
    if request.isEnd || request.isGreeting { return request.isEnd }
    var silent: [Int] = []
    request.indices.removeAll { code in
      let topic = requests.desk.topic(code)
      let line = books.lines[topic.index]
      // What comes is as good as an acknowledgement.
      if !line.isFollowed || !requests.desk.isWanted(code) || requests.desk.states[code] == .acknowledged {
        return true
      }
      guard topic.channel == 0, !line.book.isBridged else { return false }
      // A streamed book asks again by itself, until its data comes.
      if !line.book.isLive { silent.append(topic.index) }
      return true
    }
    if let attempts = silent.map({ books.lines[$0].book.silentAttempts }).max() {
      unanswered(
        attempts,
        words(SubscriptionRequests.Request(indices: silent.map { requests.desk.code(Topic(index: $0, channel: 0)) })),
        now: now)
    }
    return request.indices.isEmpty
  }

  /// Names a request for people.
  func words(_ request: SubscriptionRequests.Request) -> String {
    if request.isGreeting { return "the first request of the connection" }
    let topics = requests.desk.topics(request)
    let channels = Set(topics.map(\.channel)).sorted().map { facts.channels[$0].name }
    let symbols = requests.desk.symbols(of: request)
    let names =
      symbols.count > 20 ? "\(symbols.count) symbols" : symbols.map { known[$0].venueSymbol }.joined(separator: " ")
    return "\(channels.joined(separator: " ")) of \(names)"
  }

  func watchSilence(of index: Int, _ now: Timestamp) {
    let line = books.lines[index]
    if line.book.isBridged, !line.book.isLive, let acknowledged = line.acknowledged, let bridge = facts.bridge,
      now - acknowledged >= bridge.quietAfter
    {
      books.pacer.want(index)
    }
    guard let limit = facts.silenceLimit else { return }
    if line.isHeard || line.book.isLive {
      guard line.isToldSilent else { return }
      books.lines[index].isToldSilent = false
      actions.append(.symbolAccepted(symbol: configuredName(index)))
    } else if !line.isToldSilent, now - line.subscribed >= limit {
      books.lines[index].isToldSilent = true
      let what = line.book.isBridged ? "no data" : "no book"
      refuse(
        configuredName(index), "\(what) arrived within \(limit / Microseconds.second) s of the subscription")
    }
  }

  /// Notes that a request was not answered, for the `attempts`th time in a row: tells of it, and then has the
  /// connection exchanged.
  func unanswered(_ attempts: Int, _ request: @autoclosure () -> String, now: Timestamp) {
    if attempts == RequestDeadline.attempts - 1 || (attempts > 0 && attempts % 10 == 0) {
      tally.note(FeedError(.unanswered, "no answer to a request that was sent \(attempts) times"), text: request())
    }
    guard attempts >= RequestDeadline.attempts, requests.sending.takeRenewal(now: now) else { return }
    let reason = "\(request()) was sent \(attempts) times and not answered"
    let isAnyLive = instruments.indices.contains { books.isLive($0) }
    // Where a book is live, the other connection comes first: one request that is not answered is no reason to lose it.
    actions.append(
      isAnyLive ? .renew(reason: reason, within: RequestDeadline.renewal) : .reconnect(reason: reason))
  }

  // MARK: Sending

  func spell(_ request: FeedRequest, _ now: Timestamp) -> String? {
    let text = dialect.spell(request, id: requests.sending.number(), now: now, known)
    if text == nil { requests.sending.returnNumber() }
    return text
  }

  func send(_ text: String, _ now: Timestamp) {
    actions.append(.send(text))
    requests.sending.sent(now: now)
  }

  func leave(_ reason: String, within: Int64) {
    guard requests.sending.leave() else { return }
    actions.append(.renew(reason: reason, within: within))
  }

  // MARK: Names that cost the connection

  /// The connection is gone: which of what was just asked for may have ended it.
  func layBlame(_ now: Timestamp) {
    guard let limits = requests.suspects.limits else { return }
    let asked = requests.desk.unanswered(within: limits.within, now: now)
    guard let index = requests.suspects.disconnected(behind: asked, now: now) else { return }
    refuse(configuredName(index), requests.suspects.reason(known[index].venueSymbol, venue: venue.title))
  }

  /// Asks for the book of one suspect, when nothing else is under way that could be to blame.
  func subscribeSuspect(_ now: Timestamp) {
    guard let limits = requests.suspects.limits, facts.streamedList == nil || lists.streamed.isThere,
      requests.desk.outbox.isEmpty, requests.desk.unanswered(within: limits.within, now: now).isEmpty,
      let index = requests.suspects.next(
        among: books.indices.filter { books.lines[$0].isFollowed && !books.lines[$0].isAsked })
    else { return }
    books.lines[index].isAsked = true
    books.lines[index].book.queued(now: now)
    requests.desk.subscribe([index], channels: 0..<1)
  }

  /// The venue knows the name of a symbol, by what it answered or sent.
  func proves(_ index: Int, _ now: Timestamp) {
    guard requests.suspects.prove(index), books.lines[index].isFollowed else { return }
    requests.desk.subscribe([index], channels: 1..<facts.channels.count)
    flush(now)
  }

  // MARK: The canary

  /// Subscribes the canary, once on each connection. Called while connected whenever nothing else waits to be sent:
  /// what is followed for its own sake goes first.
  private func followCanary(_ now: Timestamp) {
    for market in life.canary.takeMarkets(known, limit: venue.symbolLimit) {
      let text = dialect.spell(.canary(market), id: requests.sending.number(), now: now, known)
      actions.append(.send(text ?? ""))
    }
  }

  // MARK: Channels that the market found dead

  /// Attempts to revive a channel by subscribing to it again; then another connection is made.
  static let revivals = 2

  /// The channel of an instrument is silent although others contradict that: it is subscribed again and, if that did
  /// not help, on another connection. The connection that lives is left when the next one has everything.
  /// - Parameter attempt: how often it was found silent since it last spoke, 1 for the first time.
  package func revive(_ instrument: InstrumentID, _ channel: MarketChannel, attempt: Int, now: Timestamp) {
    let index = instrument.index
    guard life.isConnected, books.indices.contains(index), books.lines[index].isFollowed else { return }
    let content = VenueProfile.Content(channel)
    let codes = facts.channels.indices.filter { facts.channels[$0].content == content }
    // One that is not in force has been asked for, or waits its time.
    let inForce = codes.filter { requests.desk.state(Topic(index: index, channel: $0)) == .acknowledged }
    guard !inForce.isEmpty else { return }
    guard attempt <= Self.revivals else {
      guard requests.sending.takeRenewal(now: now) else { return }
      return leave("\(channel.silenceReason): \(known[index].venueSymbol)", within: RequestDeadline.renewal)
    }
    if channel == .trades {
      // The time of a trade shows whether the venue sends it again with the subscription.
      books.lines[index].hasTraded = false
      books.lines[index].tradesSince = now
    }
    for channel in inForce { requests.desk.renew([index], channel: channel) }
    flush(now)
  }

  // MARK: What is answered

  func act(_ report: MessageOutcome.Report, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    switch report {
    case .acknowledged(let id, let index, let channel):
      if requests.sending.greetingDue != nil { ungreeted("the venue answered a subscription before the greeting") }
      for topic in requests.desk.acknowledged(id: id, index: index, channel: channel) {
        life.watches.subscribed(requests.desk.code(topic), now: now)
        if topic.channel == 0 { books.lines[topic.index].acknowledged = now }
        proves(topic.index, now)
      }
      if facts.pacing.oneByOne != nil { flush(now) }
    case .taken(let id, let topics, let reason): try take(topics, of: id, rest: reason, now: now)
    case .refused(let refusal): try act(refusal, now: now)
    case .passedTrade(let index, let id): trades.pass(index, id)
    case .newestTrade(let index, let id): compareTrades(index, id, now: now, into: &batch)
    case .welcome(let pingAfter): welcomed(pingAfter, now)
    case .greeted: requests.sending.greetingDue = nil
    case .ended(let topic) where topic.channel == 0:
      take(topic.index, outOfSync: .venueReset, now: now, into: &batch)
      tick(now: now, into: &batch)
    case .ended(let topic): requests.desk.ended(topic, now: now)
    case .unfounded(let topic):
      // One that is not in force has been asked for, or waits its time.
      guard life.isConnected, requests.desk.state(topic) == .acknowledged else { break }
      requests.desk.renew([topic.index], channel: topic.channel)
      flush(now)
    case .maintenance(let isOn): maintain(isOn, now, into: &batch)
    case .leave(let reason, let within): leave(reason, within: within)
    case .reconnect(let reason): actions.append(.reconnect(reason: reason))
    case .listed(let markets, let part): listed(markets, part: part, now: now, into: &batch)
    case .lost(let index, let reason):
      let events = batch.events.count
      for index in index.map({ [$0] }) ?? Array(books.indices) {
        take(index, outOfSync: reason, now: now, into: &batch)
      }
      if batch.events.count > events { tick(now: now, into: &batch) }
    case .send(let text): send(text, now)
    }
  }

  /// The greeting that this connection needs never reached the venue, or its answer got lost: what is subscribed comes
  /// in another form than was asked for.
  func ungreeted(_ reason: String) {
    requests.sending.greetingDue = nil
    tally.note(FeedError(.unanswered, reason), text: "")
    actions.append(.reconnect(reason: reason))
  }

  private func act(_ refusal: MessageOutcome.Refusal, now: Timestamp) throws(FeedError) {
    let request = requests.desk.refused(refusal)
    var refusal = refusal
    switch refusal.effect {
    case .final where requests.desk.isDoubtful(refusal), .finalForAll where requests.desk.isDoubtful(refusal):
      refusal.effect = .again(after: RequestDeadline.answer)
    default: break
    }
    if case .pause(let wait) = refusal.effect { requests.desk.pause(wait, now: now) }
    // What waits for the answer, or goes again without what spoilt it, waits for nothing else.
    defer { if facts.pacing.oneByOne != nil || !refusal.blames.isEmpty { flush(now) } }
    // The end of a subscription that is refused is no refusal of the one that follows it.
    guard let request, !request.isEnd else { throw FeedError(.refused, "\(refusal.what): \(refusal.reason)") }
    let blamed = request.indices.filter { refusal.blames(requests.desk.topic($0)) }
    guard !blamed.isEmpty, blamed.count < request.indices.count else { return try act(refusal, request, now: now) }
    var (bad, good, blame) = (request, request, refusal)
    good.indices.removeAll(where: blamed.contains)
    bad.indices = blamed
    queueBooks(requests.desk.topics(good).filter { $0.channel == 0 }, now)
    requests.desk.putBack(good)
    if case .final = refusal.effect { blame.effect = .finalForAll }
    try act(blame, bad, now: now)
  }

  /// Of a request these topics were carried out, and no others.
  private func take(_ topics: [Topic], of id: Int, rest reason: String, now: Timestamp) throws(FeedError) {
    guard let (taken, rest) = requests.desk.acknowledged(id: id, only: topics), !rest.isEnd else { return }
    for topic in taken where topic.channel == 0 { books.lines[topic.index].acknowledged = now }
    guard !rest.indices.isEmpty else { return }
    try act(MessageOutcome.Refusal(reason: reason, effect: .finalForAll), rest, now: now)
  }

  private func act(
    _ refusal: MessageOutcome.Refusal, _ request: SubscriptionRequests.Request, now: Timestamp
  ) throws(FeedError) {
    let words = FeedError(.refused, "\(words(request)): \(refusal.reason)")
    let topics = requests.desk.topics(request)
    // Where the symbol itself was refused, its book has said so.
    guard topics.contains(where: { !books.lines[$0.index].isRefused }) else { return }
    let ofBooks = topics.filter { $0.channel == 0 }
    switch refusal.effect {
    case .pause(let wait):
      queueBooks(ofBooks, now)
      if wait == nil { requests.desk.again(request) } else { requests.desk.putBack(request) }
      throw words
    case .again(let wait):
      queueBooks(ofBooks, now)
      requests.desk.again(request, due: now + wait)
      throw words
    case .already:
      requests.desk.isThere(request)
      // A book's new snapshot is what it lacks then, which it asks for by itself.
      if !ofBooks.isEmpty { throw words }
    case .final where requests.desk.symbols(of: request).count > 1:
      queueBooks(ofBooks, now)
      requests.desk.putBack(request, inHalves: true)
      throw words
    case .final, .finalForAll:
      let dead = ofBooks.filter { !books.isLive($0.index) }
      for topic in dead { refuse(topic.index, refusal.reason) }
      // Where the symbol itself is refused, its book says so.
      var rest = request
      rest.indices.removeAll { code in
        code % facts.channels.count == 0 || dead.contains { $0.index == code / facts.channels.count }
      }
      if !rest.indices.isEmpty || rest.isGreeting { requests.desk.rest(rest, now: now) }
      if dead.isEmpty { throw words }
    }
  }

  private func queueBooks(_ topics: [Topic], _ now: Timestamp) {
    for topic in topics { books.lines[topic.index].book.queued(now: now) }
  }

  func refuse(_ index: Int, _ reason: String) {
    books.lines[index].isRefused = true
    books.lines[index].book.stop()
    requests.desk.forget(index)
    refuse(configuredName(index), reason)
  }

  private func welcomed(_ interval: Int64?, _ now: Timestamp) {
    if let interval { life.ping.set(interval) }
    requests.desk.outbox.resume()
    flush(now)
  }
}

extension VenueProfile.Content {
  fileprivate init(_ channel: MarketChannel) {
    switch channel {
    case .trades: self = .trades
    case .quote: self = .quote
    case .ticker: self = .ticker
    }
  }
}
