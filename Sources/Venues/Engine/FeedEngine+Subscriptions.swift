import Bytes
import MarketData

/// What is asked for, again where it was not answered, and told of where nothing comes.
extension FeedEngine {
  /// What is carried and has not been asked for on this connection.
  func subscribeMissing(_ now: Timestamp) {
    guard facts.refusesURL?(url) == nil else { return }
    let places = lines.indices.filter {
      lines[$0].isCarried && !lines[$0].isAsked && !(suspects?.isSuspect($0) ?? false)
    }
    guard !places.isEmpty else { return }
    let apart = facts.isSpoiltByOne ? places.filter { lines[$0].isSuspect } : []
    desk.subscribe(places.filter { !apart.contains($0) })
    for place in apart { desk.subscribe([place]) }
    for place in places {
      lines[place].isAsked = true
      lines[place].book.queued(now: now)
    }
    guard let entries = markets?.entries else { return }
    for index in entries.indices {
      if let place = entries[index].place, places.contains(place) { markets?.begin(index, place, now: now) }
    }
  }

  /// Subscribes the books again whose time has come: those that have been live before whatever else waits.
  func renewBooks(_ now: Timestamp) {
    guard !desk.outbox.isPaused(at: now), !desk.gathers(now: now) else { return }
    var due = lines.indices.filter { lines[$0].isCarried && lines[$0].book.isDue(now: now) }
    guard !due.isEmpty else { return }
    if let limit = facts.silentAttempts,
      let hopeless = due.first(where: { lines[$0].wasLive && lines[$0].book.silentAttempts >= limit })
    {
      // That a subscription brings a snapshot is said of a first one only: where it does not, only another connection
      // helps.
      leave("\(known[hopeless].venueSymbol) got no snapshot by subscribing again", within: RequestDeadline.renewal)
      due.removeAll { lines[$0].wasLive && lines[$0].book.silentAttempts >= limit }
    }
    for place in due {
      if lines[place].book.silentAttempts > 0 { dialect.silent(place) }
      lines[place].book.queued(now: now)
    }
    // The ones that are put before all others last, in their order.
    desk.renew(due.filter { !lines[$0].wasLive }, channel: 0)
    for place in groupsFirst(due.filter { lines[$0].wasLive }) { desk.renew(place, channel: 0, isFirst: true) }
  }

  /// What goes before all others is put there one after the other, the last first.
  func groupsFirst(_ places: [Int]) -> [[Int]] {
    if case .topic = facts.pacing.grouping { return places.reversed().map { [$0] } }
    return places.isEmpty ? [] : [places]
  }

  func flush(_ now: Timestamp) {
    guard isConnected else { return }
    if desk.outbox.isEmpty, !desk.outbox.isPaused(at: now), facts.streamedList == nil { followCanary(now) }
    let requests = desk.take(now: now, room: room(now))
    let sent = requests.firstIndex { !send($0, now) } ?? requests.count
    for request in requests[sent...].reversed() { desk.putBack(request) }
    let count = min(probes.count, room(now))
    for place in probes.prefix(count) {
      if let text = spell(.book(place), now) { send(text, now) }
    }
    probes.removeFirst(count)
  }

  /// Sends what is still wanted of a request; false if the hour has no room for it.
  private func send(_ request: SubscriptionDesk.Request, _ now: Timestamp) -> Bool {
    if request.isGreeting {
      guard let text = spell(.greeting, now) else { return true }
      send(text, now)
      desk.sent(request, as: requestID, now: now)
      return true
    }
    var request = request
    // Of a symbol that was refused nothing is asked for, and a book whose snapshot has come after all is left as it is.
    request.places.removeAll {
      if request.isLast { return false }
      let topic = desk.topic($0)
      let line = lines[topic.place]
      return !line.isCarried || (topic.channel == 0 && !line.book.isBridged && !line.book.isQueued)
    }
    guard !request.places.isEmpty else { return true }
    // What is ended is begun again right after it.
    guard hasRoom(for: request.isEnd ? 2 * request.places.count : request.places.count, now) else { return false }
    let topics = desk.topics(request)
    guard let text = spell(.topics(topics, request.isEnd ? .unsubscribe : .subscribe), now) else { return true }
    topicsOfHour += topics.count
    send(text, now)
    desk.sent(request, as: requestID, now: now)
    for topic in topics where topic.channel == 0 {
      guard !request.isEnd else {
        lines[topic.place].book.left()
        continue
      }
      if lines[topic.place].subscribed == .distantFuture { lines[topic.place].subscribed = now }
      lines[topic.place].book.subscribed(now: now)
    }
    return true
  }

  /// Whether the hour has room for so many topics. If it has not, another connection is made, which has an hour of its
  /// own; should there be none, the next hour brings room.
  private func hasRoom(for count: Int, _ now: Timestamp) -> Bool {
    guard let limit = facts.pacing.topicsPerHour else { return true }
    if now - hour >= Microseconds.hour {
      hour = now
      topicsOfHour = 0
    }
    guard topicsOfHour + count > limit else { return true }
    leave("the subscriptions allowed in an hour are used up", within: 5 * Microseconds.minute)
    desk.outbox.pause(until: hour + Microseconds.hour)
    return false
  }

  /// The venue is in maintenance, or back: then all that is carried is begun anew, where it must be.
  func maintain(_ isOn: Bool, _ now: Timestamp, into batch: inout EventBatch) {
    guard isOn != inMaintenance else { return }
    inMaintenance = isOn
    actions.append(.maintenance(isOn))
    guard facts.maintenanceLimit != nil else { return }
    maintenanceSince = now
    for place in lines.indices { take(place, outOfSync: .venueReset, now: now, into: &batch) }
    guard !isOn else { return }
    // One that was not heard before the maintenance is not heard behind it either.
    if greetingDue != nil { greet(now) }
    let places = lines.indices.filter { lines[$0].isCarried }
    for place in places { lines[place].book.queued(now: now) }
    for channel in facts.channels.indices { desk.renew(places, channel: channel) }
    flush(now)
  }

  /// Sends the requests again whose answers are overdue, tells of them, and has the connection exchanged in the end.
  func repeatUnanswered(_ now: Timestamp) {
    for var request in desk.takeOverdue(now: now) {
      guard !isMoot(&request, now) else { continue }
      request.attempts += 1
      unanswered(request.attempts, words(request), now: now)
      desk.again(
        request, due: request.attempts < RequestDeadline.attempts ? nil : now + RequestDeadline.hopeless)
    }
  }

  /// Whether a request that was not answered need not be sent again.
  func isMoot(_ request: inout SubscriptionDesk.Request, _ now: Timestamp) -> Bool {
    if request.isEnd || request.isGreeting { return request.isEnd }
    var silent: [Int] = []
    request.places.removeAll { code in
      let topic = desk.topic(code)
      let line = lines[topic.place]
      // What comes is as good as an acknowledgement.
      if !line.isCarried || desk.states[code] == .acknowledged { return true }
      guard topic.channel == 0, !line.book.isBridged else { return false }
      // A streamed book asks again by itself, until its data comes.
      if !line.book.isLive { silent.append(topic.place) }
      return true
    }
    if let attempts = silent.map({ lines[$0].book.silentAttempts }).max() {
      unanswered(
        attempts, words(SubscriptionDesk.Request(places: silent.map { desk.code(Topic(place: $0, channel: 0)) })),
        now: now)
    }
    return request.places.isEmpty
  }

  /// Names a request for people.
  func words(_ request: SubscriptionDesk.Request) -> String {
    if request.isGreeting { return "the first request of the connection" }
    let topics = desk.topics(request)
    let channels = Set(topics.map(\.channel)).sorted().map { facts.channels[$0].name }
    let symbols = desk.symbols(of: request)
    let names =
      symbols.count > 20 ? "\(symbols.count) symbols" : symbols.map { known[$0].venueSymbol }.joined(separator: " ")
    return "\(channels.joined(separator: " ")) of \(names)"
  }

  func watchSilence(of place: Int, _ now: Timestamp) {
    let line = lines[place]
    if line.book.isBridged, !line.book.isLive, let acknowledged = line.acknowledged, let bridge = facts.bridge,
      now - acknowledged >= bridge.quietAfter
    {
      pacer.want(place)
    }
    guard let limit = facts.silenceLimit else { return }
    if line.isHeard || line.book.isLive {
      guard line.isToldSilent else { return }
      lines[place].isToldSilent = false
      actions.append(.symbolAccepted(symbol: configuredName(place)))
    } else if !line.isToldSilent, now - line.subscribed >= limit {
      lines[place].isToldSilent = true
      let what = line.book.isBridged ? "no data" : "no book"
      refuse(
        configuredName(place), "\(what) arrived within \(limit / Microseconds.second) s of the subscription")
    }
  }

  /// Notes that a request was not answered, for the `attempts`th time in a row: tells of it, and then has the
  /// connection exchanged.
  func unanswered(_ attempts: Int, _ request: @autoclosure () -> String, now: Timestamp) {
    if attempts == RequestDeadline.attempts - 1 || (attempts > 0 && attempts % 10 == 0) {
      note(FeedError(.unanswered, "no answer to a request that was sent \(attempts) times"), text: request())
    }
    guard attempts >= RequestDeadline.attempts, now >= nextRenewal else { return }
    let reason = "\(request()) was sent \(attempts) times and not answered"
    nextRenewal = now + renewals.next()
    let isAnyLive = instruments.indices.contains { isLive($0) }
    // Where a book is live, the other connection comes first: one request that is not answered is no reason to lose it.
    actions.append(
      isAnyLive ? .renew(reason: reason, within: RequestDeadline.renewal) : .reconnect(reason: reason))
  }

  // MARK: Sending

  func spell(_ request: FeedRequest, _ now: Timestamp) -> String? {
    requestID += 1
    let text = dialect.spell(request, id: requestID, now: now, known)
    if text == nil { requestID -= 1 }
    return text
  }

  /// How many messages may still be sent in this minute.
  func room(_ now: Timestamp) -> Int { budget?.left(now: now) ?? .max }

  func send(_ text: String, _ now: Timestamp) {
    actions.append(.send(text))
    lastSent = now
    budget?.spend(1, now: now)
  }

  func leave(_ reason: String, within: Int64) {
    guard !isLeaving else { return }
    isLeaving = true
    actions.append(.renew(reason: reason, within: within))
  }

  // MARK: Names that cost the connection

  /// The connection is gone: which of what was just asked for may have ended it.
  func layBlame(_ now: Timestamp) {
    guard let limits = suspects?.limits else { return }
    let asked = desk.unanswered(within: limits.within, now: now)
    guard let place = suspects?.disconnected(behind: asked, now: now) else { return }
    refuse(configuredName(place), reasonToShun(place))
  }

  func reasonToShun(_ place: Int) -> String {
    guard let limits = suspects?.limits else { return "" }
    return
      "\(venue.title) closed the connection \(limits.strikes) times right after the subscription to \(known[place].venueSymbol), which is not subscribed again for \(limits.rest / Microseconds.hour) h"
  }

  /// Asks for the book of one suspect, when nothing else is under way that could be to blame.
  func subscribeSuspect(_ now: Timestamp) {
    guard let suspects, facts.streamedList == nil || hasStreamList, desk.outbox.isEmpty,
      desk.unanswered(within: suspects.limits.within, now: now).isEmpty,
      let place = suspects.next(among: lines.indices.filter { lines[$0].isCarried && !lines[$0].isAsked })
    else { return }
    lines[place].isAsked = true
    lines[place].book.queued(now: now)
    desk.subscribe([place], channels: 0..<1)
  }

  /// The venue knows the name of a symbol, by what it answered or sent.
  func proves(_ place: Int, _ now: Timestamp) {
    guard suspects?.prove(place) ?? false, lines[place].isCarried else { return }
    desk.subscribe([place], channels: 1..<facts.channels.count)
    flush(now)
  }

  // MARK: Books that are whole

  /// Looks for books whose stream has died while the connection lives.
  func probeBooks(_ now: Timestamp, into batch: inout EventBatch) {
    guard case .whole(let limits) = facts.book, now - connectionHeard < limits.probeWithin / 2 else { return }
    for place in lines.indices where lines[place].book.isLive {
      switch lines[place].book.doubt(now: now) {
      case .none: break
      case .asks: probes.append(place)
      case .isDead: take(place, outOfSync: .stale, isDead: true, now: now, into: &batch)
      }
    }
  }

  // MARK: The canary

  /// Subscribes the canary, once on each connection, unless a market of it is followed for its own sake. Called while
  /// connected whenever nothing else waits to be sent: what is followed for its own sake goes first.
  ///
  /// A connection that is full follows none: it has no room for another stream, and of so many markets one moves.
  func followCanary(_ now: Timestamp) {
    guard !hasAskedCanary else { return }
    hasAskedCanary = true
    guard instruments.count < venue.symbolLimit, let markets = unfollowedCanary else { return }
    for market in markets {
      requestID += 1
      actions.append(.send(dialect.spell(.canary(market), id: requestID, now: now, known) ?? ""))
    }
  }

  /// By what messages of the canary are known, where the venue needs one.
  func makeCanaryMarks() -> [[UInt8]] {
    guard case .canary(let markets) = venue.cadence.source else { return [] }
    return markets.map { Array("\(facts.canaryPrefix)\($0)\"".utf8) }
  }

  /// Whether a message about no followed symbol is of the canary, of this connection or of a recorded one. O(bytes);
  /// only such messages come here.
  func isCanary(_ message: RawSpan) -> Bool {
    unfollowedCanary != nil && canaryMarks.contains { Salvage.contains(message, $0) }
  }

  /// The markets of the canary; nil if there is none, or one of them is followed for its own sake.
  private var unfollowedCanary: [String]? {
    guard case .canary(let markets) = venue.cadence.source else { return nil }
    return markets.allSatisfy { known.place(named: $0) == nil } ? markets : nil
  }
}
