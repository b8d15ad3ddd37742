import Bytes
import MarketData

/// The numbers of a feed's trades: which came, which are missing, and the search for those by REST. A value; time is a
/// parameter. It outlives the connection, so that trades of a time without one are missed, too.
///
/// Bounded: `searchLimit` searches at once, each for at most `holeLimit` trades; what is beyond is reported and
/// not searched for. One request is under way at a time, within a budget of the address.
struct TradeRequests {
  static let searchLimit = 64
  /// Beyond it a client would not get the found trades without losing others.
  static let holeLimit: Int64 = 5_000
  /// Trades that are published at once: four times a second.
  static let publishLimit = 250
  /// The number of the first request; others have lower ones.
  static let firstRequest = 1 << 40

  /// Of an instrument.
  private struct Numbers {
    /// The lowest number that is known, and the newest.
    var first: Int64 = 0
    var last: Int64 = 0
    /// Whether a live trade has come. Before that, nothing is missing: the venue begins with old trades.
    var isLive = false
    /// What the venue said was the newest, before.
    var told: Int64 = 0
    /// The newest time of a trade, and when its newest number came.
    var time = Timestamp.distantPast
    var arrived = Timestamp.distantPast
  }

  /// The place of a trade in the venue's numbers.
  enum Verdict: Equatable {
    /// It begins a numbering, or has no number.
    case first
    /// It follows the newest.
    case next
    /// The same, with missing ones between.
    case after(TradeHole)
    /// One that was missing. If it was the last, the whole hole.
    case late(whole: TradeHole?)
    /// One that has come before, or is older than all that are known.
    case old(isKnown: Bool)
  }

  /// What is to be published.
  enum Event {
    case trade(Trade)
    case searched(InstrumentID, TradeHole)
  }

  let pages: TradePages?
  private var numbers: [Numbers] = []
  var searches: [TradeSearch] = []
  /// Found trades and the ends of searches, in order.
  private var ready: [Event] = []
  private var budget: MinuteBudget
  private var pausedUntil = Timestamp.distantPast
  private var lastRequest = Self.firstRequest

  /// - Parameter pages: nil where missing trades are not asked for.
  init(_ pages: TradePages?, connections: Int) {
    self.pages = pages
    budget = MinuteBudget(limit: max(1, (pages?.requestsPerMinute ?? 1) / connections))
  }

  var isIdle: Bool { searches.isEmpty && ready.isEmpty }

  // MARK: Numbers

  /// Takes a trade of the stream. O(1); O(searches) if it is older than the newest.
  /// - Parameter fills: how many numbers it stands for, its own the last of them; 0 if it begins another numbering.
  mutating func take(_ trade: Trade, fills: Int64, now: Timestamp) -> Verdict {
    guard let id = trade.id.number.flatMap({ Int64(exactly: $0) }), id > 0 else { return .first }
    let symbolIndex = trade.instrument.index
    while numbers.count <= symbolIndex { numbers.append(Numbers()) }
    let old = numbers[symbolIndex]
    // A time that is still to come would hide every later numbering.
    let time = min(trade.time, now + Market.clockTolerance)
    guard old.last > 0, fills > 0 else {
      begin(symbolIndex, id, time, isLive: !trade.isBacklog, now)
      return .first
    }
    if !trade.isBacklog { numbers[symbolIndex].isLive = true }
    let own = max(1, id - min(fills, id) + 1)...id
    guard id > old.last else {
      for index in searches.indices where searches[index].index == symbolIndex && searches[index].remove(own) > 0 {
        return .late(whole: endIfWhole(index))
      }
      // A number that goes back while time goes on is another numbering.
      guard time <= old.time else {
        begin(symbolIndex, id, time, isLive: !trade.isBacklog, now)
        return .first
      }
      guard id < old.first else { return .old(isKnown: true) }
      numbers[symbolIndex].first = id
      return .old(isKnown: false)
    }
    numbers[symbolIndex].last = id
    numbers[symbolIndex].time = max(old.time, time)
    numbers[symbolIndex].arrived = now
    guard numbers[symbolIndex].isLive else { return .first }
    guard TradeSequence.missed(after: old.last, before: id, fills: fills) > 0 else { return .next }
    return .after(open(symbolIndex, old, through: own.lowerBound - 1, at: time, now))
  }

  /// A trade with this number was left out on purpose.
  mutating func pass(_ index: Int, _ id: Int64) {
    guard numbers.indices.contains(index), numbers[index].last > 0, id == numbers[index].last &+ 1 else { return }
    numbers[index].last = id
  }

  /// The venue says which trade is an instrument's newest. One that it knew of the last time, and that has not come
  /// since, is missing.
  mutating func tell(_ index: Int, _ id: Int64, now: Timestamp) -> TradeHole? {
    while numbers.count <= index { numbers.append(Numbers()) }
    let old = numbers[index]
    numbers[index].told = id
    guard old.last > 0, old.told > old.last else { return nil }
    numbers[index].last = old.told
    numbers[index].arrived = now
    return open(index, old, through: old.told, at: now, now)
  }

  private mutating func begin(_ symbolIndex: Int, _ id: Int64, _ time: Timestamp, isLive: Bool, _ now: Timestamp) {
    numbers[symbolIndex] = Numbers(first: id, last: id, isLive: isLive, time: time, arrived: now)
    // Their numbers mean other trades from here on.
    for index in searches.indices.reversed() where searches[index].index == symbolIndex { end(index) }
  }

  private mutating func open(
    _ index: Int, _ old: Numbers, through last: Int64, at time: Timestamp, _ now: Timestamp
  ) -> TradeHole {
    let from = min(old.time, now)
    let to = max(time, from)
    let count = last - old.last
    var hole = TradeHole(
      first: old.last + 1, last: last, count: count <= TradeSequence.countable ? count : nil, from: from, to: to,
      covers: TimeSpan(from: min(from, old.arrived), to: max(to, now)))
    hole.isSearched = pages != nil && count <= Self.holeLimit && searches.count < Self.searchLimit
    if hole.isSearched { searches.append(TradeSearch(index: index, hole: hole, now: now)) }
    return hole
  }

  // MARK: Requests

  /// The next request that may be sent now. O(searches).
  mutating func next(now: Timestamp, _ instruments: InstrumentTable) -> (path: String, request: Int)? {
    guard let pages, !searches.isEmpty, now >= pausedUntil, !searches.contains(where: { $0.request != nil }),
      let index = searches.firstIndex(where: { now >= $0.notBefore }), budget.left(now: now) > 0
    else { return nil }
    let search = searches[index]
    guard let first = search.missing.first?.lowerBound, let last = search.missing.last?.upperBound else { return nil }
    budget.spend(1, now: now)
    lastRequest += 1
    searches[index].request = (lastRequest, now)
    let query = TradeQuery(
      instrument: instruments[search.index], first: first, last: last, from: search.from, to: search.to,
      attempt: search.backoff.attempts)
    return (pages.spell(query), lastRequest)
  }

  /// Whose an answer is; nil if no search awaits it.
  func index(of request: Int) -> Int? { searches.first { $0.request?.number == request }?.index }

  /// Takes the trades of an answer. What is still missing is asked for at once if the answer had some of it, else
  /// later.
  mutating func answered(_ request: Int, _ trades: [Trade], now: Timestamp) {
    guard let index = searches.firstIndex(where: { $0.request?.number == request }) else { return }
    searches[index].request = nil
    searches[index].pages += 1
    let isNews = searches[index].take(trades)
    if searches[index].missing.isEmpty || searches[index].pages >= TradeSearch.pageLimit { return end(index) }
    if isNews {
      searches[index].backoff.reset()
      searches[index].notBefore = now
    } else {
      retry(index, now: now)
    }
  }

  /// The answer was rejected. 429 and 418 pause all requests.
  mutating func failed(_ request: Int, status: Int, retryAfter: Int64?, now: Timestamp) {
    guard let index = searches.firstIndex(where: { $0.request?.number == request }) else { return }
    searches[index].request = nil
    let pause = ListRequest.wait(status: status, retryAfter: retryAfter, 0)
    pausedUntil = max(pausedUntil, now + min(pause, TradeSearch.patience))
    retry(index, now: now)
  }

  private mutating func retry(_ index: Int, now: Timestamp) {
    searches[index].notBefore = now + searches[index].backoff.next()
    if searches[index].backoff.attempts >= TradeSearch.attempts { end(index) }
  }

  /// Ends what takes too long. O(searches).
  mutating func expire(now: Timestamp) {
    for index in searches.indices.reversed() {
      if let request = searches[index].request, now - request.sent >= RequestPacer.answerTimeout {
        failed(request.number, status: 0, retryAfter: nil, now: now)
      }
    }
    for index in searches.indices.reversed() where now >= searches[index].givesUp { end(index) }
  }

  /// The connection is gone, and with it the requests that are under way.
  mutating func disconnected() {
    for index in searches.indices { searches[index].request = nil }
    for symbolIndex in numbers.indices { numbers[symbolIndex].told = 0 }
  }

  // MARK: Another connection

  /// The number of the newest trade of an index; 0 before the first.
  func newest(_ index: Int) -> Int64 { numbers.indices.contains(index) ? numbers[index].last : 0 }

  /// Takes the trades that `old` has seen as seen.
  mutating func follow(_ old: TradeRequests, _ index: Int, _ target: Int) {
    guard old.numbers.indices.contains(index), old.numbers[index].last > 0 else { return }
    let seen = old.numbers[index]
    while numbers.count <= target { numbers.append(Numbers()) }
    guard seen.last > numbers[target].last else { return }
    numbers[target] = seen
    numbers[target].told = 0
  }

  /// Takes what `old` had to publish, before its own.
  mutating func publish(_ old: TradeRequests, _ indices: [Int: Int]) {
    let news = old.ready.compactMap { event -> Event? in
      switch event {
      case .trade(var trade):
        guard let index = indices[trade.instrument.index] else { return nil }
        trade.instrument = InstrumentID(index)
        return .trade(trade)
      case .searched(let instrument, let hole):
        return indices[instrument.index].map { .searched(InstrumentID($0), hole) }
      }
    }
    // Its own are of holes that no client knows of.
    ready = news
  }

  // MARK: Found trades

  /// Ends the search if nothing is missing any more. Returns the hole if all of it came in the stream; what REST has
  /// brought is published with the next `takeReady`.
  private mutating func endIfWhole(_ index: Int) -> TradeHole? {
    guard searches[index].missing.isEmpty else { return nil }
    guard searches[index].found.isEmpty else {
      end(index)
      return nil
    }
    return searches.remove(at: index).hole
  }

  mutating func end(_ index: Int) {
    let search = searches.remove(at: index)
    for trade in search.found.sorted(by: { ($0.id.number ?? 0) < ($1.id.number ?? 0) }) { ready.append(.trade(trade)) }
    ready.append(.searched(InstrumentID(search.index), search.hole))
  }

  /// What is to be published now: at most `publishLimit` trades.
  mutating func takeReady() -> ArraySlice<Event> {
    let now = ready.prefix(Self.publishLimit)
    ready.removeFirst(now.count)
    return now
  }

  /// Brings the found trades of an instrument to wider scales.
  mutating func rescale(_ symbolIndex: Int, priceBy: Int64, sizeBy: Int64) {
    for index in searches.indices where searches[index].index == symbolIndex {
      searches[index].rescale(priceBy: priceBy, sizeBy: sizeBy)
    }
    for index in ready.indices {
      guard case .trade(var trade) = ready[index], trade.instrument.index == symbolIndex else { continue }
      let (price, isPriceLarge) = trade.price.multipliedReportingOverflow(by: priceBy)
      let (size, isSizeLarge) = trade.size.multipliedReportingOverflow(by: sizeBy)
      (trade.price, trade.size) = isPriceLarge || isSizeLarge ? (0, 0) : (price, size)
      ready[index] = .trade(trade)
    }
  }
}
