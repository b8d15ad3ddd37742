import Bytes
import MarketData

/// Where every subscription of a connection stands, by symbol and channel, and what is still to be sent: pacing,
/// batches, deadlines and answers, for all venues alike. A value; time is a parameter.
///
/// Bounded: a state for each topic, and the requests that wait or are awaited by `DialectFacts.Pacing.limit`.
struct SubscriptionRequests {
  /// Where one subscription stands. Whether its data flows is its book's, or its watch's, to know.
  enum State {
    /// Not sent: nobody wants it, it was refused, or its request waits.
    case idle
    /// Sent; an answer is awaited for `DialectFacts.answerWithin`.
    case sent
    case acknowledged
  }

  /// The beginning or the end of some topics, which stand in `indices`.
  struct Request {
    var indices: [Int]
    var isEnd = false
    /// The first on a connection, which is about no topic.
    var isGreeting = false
    /// Whether it is the end of what is not begun again.
    var isLast = false
    var attempts = 0
    var refusals = 0
  }

  private let channels: Int
  private let grouping: DialectFacts.Grouping
  /// By channel, symbols in one request at most.
  private let most: [Int]
  private let oneByOne: Int64?
  private let answersEachTopic: Bool
  private let answerWithin: Int64
  /// By channel, whether it is subscribed only where somebody wants it.
  private let onDemand: [Bool]
  /// The topics of these channels that somebody wants.
  private var wanted: Set<Int> = []
  private(set) var states: [State] = []
  var outbox: RequestOutbox<Request>
  /// Until when the next request waits because nothing at all has come since the last one was sent.
  private var silentUntil = Timestamp.distantPast
  /// Requests that were overdue and whose answers may still come, where answers do not say to what they are.
  private var late = 0
  private var rateBackoff = Backoff(first: 5 * Microseconds.second, limit: Microseconds.minute)

  init(_ facts: DialectFacts, connections: Int) {
    channels = facts.channels.count
    grouping = facts.pacing.grouping
    oneByOne = facts.pacing.oneByOne
    let together =
      switch facts.pacing.grouping {
      case .topic: 1
      case .channel(let count), .symbols(let count): count
      }
    most = facts.channels.map { min($0.atMost ?? together, together) }
    answersEachTopic = facts.answersEachTopic
    answerWithin = facts.answerWithin
    onDemand = facts.channels.map(\.isOnDemand)
    outbox = RequestOutbox(
      atOnce: facts.pacing.atOnce, every: facts.pacing.every * Int64(facts.pacing.isShared ? connections : 1),
      limit: facts.pacing.limit)
  }

  // MARK: Topics

  func code(_ topic: Topic) -> Int { topic.index * channels + topic.channel }
  func topic(_ code: Int) -> Topic { Topic(index: code / channels, channel: code % channels) }
  func topics(_ request: Request) -> [Topic] { request.indices.map(topic) }
  func state(_ topic: Topic) -> State { states[code(topic)] }

  /// Makes room for so many symbols.
  mutating func grow(to symbols: Int) {
    while states.count < symbols * channels { states.append(.idle) }
  }

  private mutating func set(_ state: State, _ codes: [Int]) { for code in codes { states[code] = state } }

  // MARK: Wishes

  /// Whether a topic is to be subscribed, if its symbol is followed.
  func isWanted(_ code: Int) -> Bool { !onDemand[code % channels] || wanted.contains(code) }

  /// Somebody wants a topic of a channel on demand, or nobody any more.
  /// - Parameter isAsked: whether the symbol's other channels are asked for on this connection; if not, it will be
  ///   asked for with them.
  mutating func want(_ topic: Topic, _ isWanted: Bool, isAsked: Bool) {
    let code = code(topic)
    guard onDemand[topic.channel] else { return }
    if isWanted {
      if wanted.insert(code).inserted, isAsked { append([code]) }
    } else if wanted.remove(code) != nil, states[code] != .idle {
      states[code] = .idle
      outbox.append(Request(indices: [code], isEnd: true, isLast: true))
    }
  }

  /// Wants all channels of some symbols, or some of them.
  /// - Parameter several: all of them unless each topic is asked for by itself.
  mutating func subscribe(_ indices: [Int], channels several: Range<Int>? = nil) {
    switch grouping {
    case .topic:
      for channel in several ?? 0..<channels { for index in indices { append([index * channels + channel]) } }
    case .channel:
      for channel in 0..<channels {
        for some in Self.groups(of: indices, most[channel]) { append(some.map { $0 * channels + channel }) }
      }
    case .symbols(let count):
      for some in Self.groups(of: indices, count) {
        append(some.flatMap { index in (0..<channels).map { index * channels + $0 } })
      }
    }
  }

  /// Wants a channel of some symbols ended and begun again, as one piece.
  /// - Parameter isFirst: before whatever else waits.
  mutating func renew(_ indices: [Int], channel: Int, isFirst: Bool = false) {
    for some in Self.groups(of: indices, most[channel]) {
      renew(codes: some.map { $0 * channels + channel }, isFirst: isFirst)
    }
  }

  /// The same of several channels: in one request where one has all channels of a symbol.
  mutating func renew(_ indices: [Int], channels several: Range<Int>) {
    guard case .symbols(let count) = grouping else {
      for channel in several { renew(indices, channel: channel) }
      return
    }
    for some in Self.groups(of: indices, count) {
      renew(codes: some.flatMap { index in several.map { index * channels + $0 } }, isFirst: false)
    }
  }

  private mutating func renew(codes: [Int], isFirst: Bool) {
    let codes = codes.filter(isWanted)
    guard !codes.isEmpty else { return }
    set(.idle, codes)
    let (end, beginning) = (Request(indices: codes, isEnd: true), Request(indices: codes))
    if oneByOne == nil {
      outbox.append(together: end, beginning, isFirst: isFirst)
    } else if isFirst {
      outbox.putBack(end, beginning)
    } else {
      outbox.append(end, beginning)
    }
  }

  /// Wants the first request of a connection, where it is answered.
  mutating func greet() { outbox.append(Request(indices: [], isGreeting: true)) }

  /// Whether what is wanted now had better wait, as one request of several symbols will do for what is wanted until
  /// something can be sent.
  func gathers(now: Timestamp) -> Bool {
    if case .topic = grouping { return false }
    return !isOpen(now: now)
  }

  /// The same request again: behind all others, or as soon as it is `due`.
  mutating func again(_ request: Request, due: Timestamp? = nil) {
    set(.idle, request.indices)
    if let due { outbox.append(request, due: due) } else { outbox.append(request) }
  }

  /// The same before all others; in halves, where it is not known which of its symbols is to blame.
  mutating func putBack(_ request: Request, inHalves: Bool = false) {
    set(.idle, request.indices)
    guard inHalves else { return outbox.putBack(request) }
    // Topics of one symbol stay together.
    let indices = symbols(of: request)
    let middle = Set(indices.prefix(indices.count / 2))
    var (first, second) = (request, request)
    first.indices = request.indices.filter { middle.contains($0 / channels) }
    second.indices = request.indices.filter { !middle.contains($0 / channels) }
    outbox.putBack(first, second)
  }

  /// The venue has ended a subscription by itself, which is asked for again when an answer to it would be overdue.
  mutating func ended(_ topic: Topic, now: Timestamp) {
    again(Request(indices: [code(topic)]), due: now + answerWithin)
  }

  /// Asks again later, ever more rarely, for what was refused beside a book.
  mutating func rest(_ request: Request, now: Timestamp) {
    guard !request.indices.isEmpty || request.isGreeting else { return }
    var request = request
    request.attempts = 0
    request.refusals += 1
    let due = now + RequestDeadline.refusalWait(request.refusals)
    set(.idle, request.indices)
    outbox.append(request, due: due)
  }

  /// Ends all channels of a symbol, which is not asked for any more.
  mutating func end(_ index: Int) {
    let codes = ((index * channels)..<((index + 1) * channels)).filter(isWanted)
    wanted.subtract(codes)
    set(.idle, codes)
    if case .symbols = grouping {
      outbox.append(Request(indices: codes, isEnd: true, isLast: true))
    } else {
      for code in codes { outbox.append(Request(indices: [code], isEnd: true, isLast: true)) }
    }
  }

  /// A symbol was refused, or is to be asked for anew.
  mutating func forget(_ index: Int) { set(.idle, Array((index * channels)..<((index + 1) * channels))) }

  /// The symbols of a request, each once, in their order.
  func symbols(of request: Request) -> [Int] {
    request.indices.reduce(into: []) { indices, code in
      if indices.last != code / channels, !indices.contains(code / channels) { indices.append(code / channels) }
    }
  }

  private mutating func append(_ codes: [Int]) {
    let codes = codes.filter(isWanted)
    guard !codes.isEmpty else { return }
    set(.idle, codes)
    outbox.append(Request(indices: codes))
  }

  private static func groups(of indices: [Int], _ count: Int) -> [[Int]] {
    guard indices.count > count else { return indices.isEmpty ? [] : [indices] }
    return stride(from: 0, to: indices.count, by: count).map { Array(indices[$0..<min($0 + count, indices.count)]) }
  }

  // MARK: Sending

  /// Whether something may be sent now. Where requests go one by one, few follow into a silence, each after three times
  /// the wait for an answer: a connection that stands still brings all of them at once when it goes on, and the venue
  /// counts them in one second.
  private func isOpen(now: Timestamp) -> Bool {
    outbox.isOpen(at: now) && (oneByOne == nil || (!outbox.isAwaiting && now >= silentUntil))
  }

  /// Something has come, whatever it is.
  mutating func heard() { silentUntil = .distantPast }

  /// What may be sent now. Requests about one channel are joined where the venue takes several symbols in one. No
  /// allocation if there is nothing.
  /// - Parameter room: how many there may be, where something else than the pacing bounds them too.
  mutating func take(now: Timestamp, room: Int = .max) -> [Request] {
    let taken = isOpen(now: now) ? outbox.take(now: now, room: room) : []
    guard taken.count > 1, case .channel = grouping else { return taken }
    var joined: [Request] = []
    for request in taken {
      let channel = request.indices[0] % channels
      let last = joined.lastIndex { $0.indices[0] % channels == channel }
      if let last, joined[last].isEnd == request.isEnd, joined[last].isLast == request.isLast {
        joined[last].indices += request.indices.filter { !joined[last].indices.contains($0) }
        joined[last].attempts = max(joined[last].attempts, request.attempts)
        joined[last].refusals = max(joined[last].refusals, request.refusals)
      } else {
        joined.append(request)
      }
    }
    return joined
  }

  /// A request was sent with this number. The end of a subscription is answered by what follows it, unless requests go
  /// one by one.
  mutating func sent(_ request: Request, as id: Int, now: Timestamp) {
    if let oneByOne { silentUntil = now + 3 * oneByOne }
    guard !request.isEnd || oneByOne != nil else { return }
    if !request.isEnd { set(.sent, request.indices) }
    outbox.sent(request, as: id, within: oneByOne ?? answerWithin, now: now)
  }

  /// The requests whose answers are overdue; they are not awaited any more.
  mutating func takeOverdue(now: Timestamp) -> [Request] {
    let overdue = outbox.takeOverdue(now: now)
    if oneByOne != nil { late += overdue.count }
    return overdue
  }

  /// Whether a refusal that names nothing may be the late answer to an earlier request, and not about the one that
  /// awaits an answer. Each request that was overdue is answered once at the most.
  mutating func isDoubtful(_ refusal: MessageOutcome.Refusal) -> Bool {
    guard late > 0, refusal.id == nil, refusal.index == nil, refusal.blames.isEmpty else { return false }
    late -= 1
    return true
  }

  // MARK: Answers

  /// Takes the request that an answer is to, or the part of it that the answer is about; nil if none awaits it.
  mutating func answered(id: Int?, index: Int?, channel: Int?) -> Request? {
    guard index != nil || channel != nil else {
      return id.map { outbox.answered($0) } ?? (oneByOne == nil ? nil : outbox.answeredOldest())
    }
    return outbox.answered(id) { code in
      (index == nil || code / channels == index) && (channel == nil || code % channels == channel)
    }
  }

  /// What was asked for is there already.
  mutating func isThere(_ request: Request) { set(.acknowledged, request.indices) }

  /// Something was carried out: the topics that this acknowledges.
  mutating func acknowledged(id: Int?, index: Int?, channel: Int?) -> [Topic] {
    rateBackoff.reset()
    guard let request = answered(id: id, index: index, channel: channel), !request.isEnd else { return [] }
    set(.acknowledged, request.indices)
    return topics(request)
  }

  /// The symbols of which something was asked for in the last `span` µs that nothing has answered yet.
  func unanswered(within span: Int64, now: Timestamp) -> [Int] {
    let codes = outbox.awaited(dueAfter: now + answerWithin - span).flatMap(\.indices)
    return codes.filter { states[$0] == .sent }.reduce(into: []) { indices, code in
      if !indices.contains(code / channels) { indices.append(code / channels) }
    }
  }

  /// Takes the request that was refused, or the part of it that the refusal is about; nil if none awaits an answer.
  mutating func refused(_ refusal: MessageOutcome.Refusal) -> Request? {
    // What has been answered by its data waits for no refusal.
    let states = states
    if refusal.isOfOldest { return outbox.answered(nil) { states[$0] == .sent } }
    guard refusal.id == nil, oneByOne == nil, !refusal.blames.isEmpty else {
      return answered(id: refusal.id, index: refusal.index, channel: refusal.channel)
    }
    let channels = channels
    return outbox.takeAwaited {
      !$1.isEnd && $1.indices.contains { refusal.blames(Topic(index: $0 / channels, channel: $0 % channels)) }
    } part: {
      ($0, true)
    }
  }

  /// Of a request some topics were carried out: which, and the rest of it; nil if none awaits the answer.
  mutating func acknowledged(id: Int, only topics: [Topic]) -> (taken: [Topic], rest: Request)? {
    rateBackoff.reset()
    guard var request = outbox.answered(id) else { return nil }
    let codes = Set(topics.map(code))
    let taken = request.indices.filter(codes.contains)
    set(.acknowledged, taken)
    request.indices.removeAll(where: codes.contains)
    return (taken.map(topic), request)
  }

  /// What comes is as good as an acknowledgement: of the channel, and of all that was asked for with it.
  mutating func flows(_ topic: Topic) {
    if case .symbols = grouping, !answersEachTopic {
      for code in (topic.index * channels)..<((topic.index + 1) * channels)
      where states[code] == .sent && !onDemand[code % channels] {
        states[code] = .acknowledged
      }
    } else if states[code(topic)] == .sent {
      states[code(topic)] = .acknowledged
    }
  }

  /// Too many requests: a pause of so many µs, or ever longer ones.
  mutating func pause(_ wait: Int64?, now: Timestamp) { outbox.pause(until: now + (wait ?? rateBackoff.next())) }

  /// The connection is gone.
  mutating func removeAll() {
    silentUntil = .distantPast
    late = 0
    outbox.removeAll()
    for code in states.indices { states[code] = .idle }
  }
}

extension RequestOutbox<SubscriptionRequests.Request> {
  /// Takes the part of a request that an answer is about, which the rest goes on without: of the oldest that has any,
  /// where the answer has no number. Nil if none awaits it. O(awaited).
  mutating func answered(_ id: Int?, where matches: (Int) -> Bool) -> Request? {
    takeAwaited {
      (id == nil || $0 == id) && $1.indices.contains(where: matches)
    } part: {
      var part = $0
      part.indices = $0.indices.filter(matches)
      $0.indices.removeAll(where: matches)
      return (part, $0.indices.isEmpty)
    }
  }
}
