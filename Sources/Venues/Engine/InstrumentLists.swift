import MarketData

/// What is asked for of single markets by REST, where the venue has no list that says it: their details, and their
/// 24 h figures in turn. A value; time is a parameter.
///
/// Bounded by the configured symbols: each market has one request for its details and one for each of its figures.
struct InstrumentLists {
  /// A configured symbol that the list has.
  struct Entry {
    /// As the list has it.
    let market: ListedMarket
    var index: Int?
    var details: ListedMarket?
    /// When its details were read.
    var fetched: Timestamp?
    /// Why it is not to be followed, by its details.
    var ended: String?
    /// Whether the newest list has it.
    var isListed = true
    /// When its figures are asked for next, and which of them.
    var due = Timestamp.distantFuture
    var next = 0
    /// Its figures, of all answers so far.
    var ticker: Ticker?
  }

  /// What a request is for; the numbers of the pacer's subjects.
  enum Subject: Equatable {
    case details(Int)
    case figures(Int, Int)
  }

  let facts: DialectFacts.PerMarket
  var entries: [Entry] = []
  private var pacer: RequestPacer

  init(_ facts: DialectFacts.PerMarket, connections: Int) {
    self.facts = facts
    pacer = RequestPacer(
      weightPerMinute: max(1, facts.requestsPerMinute / connections), requestWeight: 1, concurrency: facts.concurrency)
  }

  private var kinds: Int { 1 + facts.figures.count }

  private func number(_ subject: Subject) -> Int {
    switch subject {
    case .details(let entry): entry * kinds
    case .figures(let entry, let index): entry * kinds + 1 + index
    }
  }

  private func subject(_ number: Int) -> Subject {
    number % kinds == 0 ? .details(number / kinds) : .figures(number / kinds, number % kinds - 1)
  }

  // MARK: The list

  /// What a list says of a configured market.
  enum Listed {
    case market(ListedMarket)
    /// It cannot be followed before its details are known.
    case waits
    /// It is not to be followed, for this reason; nil: that has been told.
    case ended(String?)
  }

  /// What the list's names are, beyond what it says of itself: where base and quote run together, a name may be taken
  /// apart in another way by who configured it.
  func others(named: [String], among markets: [ListedMarket], _ names: Set<String>) -> [ListedMarket] {
    let listed = Set(markets.map(\.symbol))
    return named.compactMap { text in
      guard let symbol = FeedSymbol(text), !listed.contains(symbol), names.contains(facts.name(symbol)) else {
        return nil
      }
      return ListedMarket(venueSymbol: facts.name(symbol), symbol: symbol)
    }
  }

  /// Notes that the newest list has a market, and says what is known of it. O(entries).
  mutating func known(of market: ListedMarket) -> Listed {
    let entry = list(market)
    if let reason = entry.ended { return .ended(entry.fetched == nil ? nil : reason) }
    if let details = entry.details { return .market(details) }
    return facts.waits(market.symbol) ? .waits : .market(market)
  }

  /// A new list is there: its markets have their indices, what was followed is found by them.
  mutating func placed(in instruments: InstrumentTable) {
    for index in entries.indices { entries[index].index = instruments.index(of: entries[index].market.symbol) }
  }

  /// A new list begins.
  mutating func newList() { for index in entries.indices { entries[index].isListed = false } }

  /// The list has a configured symbol, as `market`. O(entries).
  private mutating func list(_ market: ListedMarket) -> Entry {
    let index = entries.firstIndex { $0.market.symbol == market.symbol } ?? entries.count
    if index == entries.count { entries.append(Entry(market: market)) }
    entries[index].isListed = true
    return entries[index]
  }

  /// Has the details of some configured symbols asked for anew.
  mutating func forgetDetails(of symbols: [String]) {
    for index in entries.indices where symbols.contains(entries[index].market.symbol.text) {
      entries[index].fetched = nil
    }
  }

  // MARK: Answers

  /// Reads the answer about a market's details, which hold from now on.
  mutating func takeDetails(_ body: RawSpan, _ index: Int, now: Timestamp) throws(FeedError) -> MarketDetails {
    let details = try facts.read(body, entries[index].market)
    entries[index].fetched = now
    switch details {
    case .refused(let reason): entries[index].ended = reason
    case .market(let market):
      entries[index].details = market
      entries[index].ended = nil
    }
    return details
  }

  /// Reads the answer about a market's figures, and adds them to those that it has; nil if it has no index.
  mutating func takeFigures(
    _ body: RawSpan, _ index: Int, _ kind: Int, _ instruments: inout InstrumentTable, now: Timestamp
  ) throws(FeedError) -> Ticker? {
    guard let symbolIndex = entries[index].index else { return nil }
    var ticker = entries[index].ticker ?? Ticker(instrument: InstrumentID(symbolIndex), time: now)
    ticker.time = now
    var reader = FieldReader(body)
    try facts.figures[kind].read(&reader, &instruments, &ticker)
    entries[index].ticker = ticker
    return ticker
  }

  // MARK: Requests

  /// Wants the details that are missing or too old, of what the list has.
  mutating func wantDetails(now: Timestamp) {
    for index in entries.indices where entries[index].isListed {
      let isOld = entries[index].fetched.map { now - $0 >= facts.detailsAge } ?? true
      if isOld { pacer.want(number(.details(index))) }
    }
  }

  /// The first figures of markets that have just been asked for, of all one after the other.
  mutating func begin(_ indices: [Int], now: Timestamp) {
    for index in entries.indices {
      guard let symbolIndex = entries[index].index, indices.contains(symbolIndex) else { continue }
      entries[index].due = now + Int64(1 + symbolIndex) * Microseconds.minute / Int64(pacer.weightPerMinute)
    }
  }

  /// Wants the figures whose time has come. A round of all takes twice what REST allows, so that lists and details find
  /// room.
  mutating func wantFigures(_ isFollowed: (Int) -> Bool, now: Timestamp) {
    guard !facts.figures.isEmpty else { return }
    for index in entries.indices where now >= entries[index].due {
      guard let symbolIndex = entries[index].index, isFollowed(symbolIndex) else {
        entries[index].due = .distantFuture
        continue
      }
      pacer.want(number(.figures(index, entries[index].next)))
      entries[index].next = (entries[index].next + 1) % facts.figures.count
      let turn = Int64(entries.count) * 2 * Microseconds.minute / Int64(pacer.weightPerMinute)
      entries[index].due = now + max(facts.figuresEvery / Int64(facts.figures.count), turn)
    }
  }

  /// The next request that may be sent now.
  mutating func next(now: Timestamp) -> (path: String, request: Int, bodyLimit: Int)? {
    guard let (number, request) = pacer.next(now: now) else { return nil }
    let name = URLText.percentEncoded(entries[number / kinds].market.venueSymbol)
    switch subject(number) {
    case .details: return (facts.details + name, request, facts.bodyLimit)
    case .figures(_, let index): return (facts.figures[index].path + name, request, facts.bodyLimit)
    }
  }

  mutating func expire(now: Timestamp) { pacer.expire(now: now) }

  /// What an answer is to; nil if nothing awaits it.
  mutating func answered(_ request: Int) -> Subject? { pacer.answered(request).map(subject) }
  mutating func succeeded(_ subject: Subject) { pacer.succeeded(number(subject)) }
  mutating func failed(_ subject: Subject, _ status: AnswerStatus, now: Timestamp) {
    pacer.failed(number(subject), status: status.code, retryAfter: status.retryAfter, now: now)
  }

  /// The connection is gone. Details are believed as long as they were.
  mutating func disconnected() {
    pacer.removeAll()
    for index in entries.indices { entries[index].due = .distantFuture }
  }
}
