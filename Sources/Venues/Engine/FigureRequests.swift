import MarketData

/// The venue's figures of single markets by REST, asked for when their trades are in doubt (`DialectFacts.Witness`).
/// A value, by index; time is a parameter. One request for a market at a time, and only as many as the venue's small
/// part of its limit allows.
struct FigureRequests {
  /// The number of the request for the first instrument's figures: beyond those of all other requests, which
  /// `TradeRequests.firstRequest` begins the highest of.
  static let first = 1 << 41
  /// After this long another request may be sent though the one before was not answered, µs.
  static let timeout = 10 * Microseconds.second
  static let bodyLimit = 64 << 10

  /// Those of derivatives that somebody wants.
  var derivatives: DerivativeRequests
  private let witness: DialectFacts.Witness?
  private var budget: MinuteBudget
  /// When the next request may be sent: the venue has asked to wait.
  private var pausedUntil = Timestamp.distantPast
  /// When the figures were asked for that have not come yet.
  private var asked: [Int: Timestamp] = [:]

  init(_ witness: DialectFacts.Witness?, _ polls: DerivativePolls = DerivativePolls(), connections: Int) {
    self.witness = witness
    derivatives = DerivativeRequests(polls, connections: connections)
    budget = MinuteBudget(limit: max(1, (witness?.requestsPerMinute ?? 1) / connections))
  }

  /// Asks for the figures of an instrument; nil if that may not be done now.
  mutating func ask(_ instrument: Instrument, now: Timestamp) -> (path: String, request: Int)? {
    let index = instrument.id.index
    guard let witness, asked[index].map({ now - $0 >= Self.timeout }) ?? true, now >= pausedUntil,
      budget.left(now: now) > 0
    else { return nil }
    budget.spend(1, now: now)
    asked[index] = now
    return (witness.path(instrument), Self.first + index)
  }

  /// Reads the answer to a request; nil if nothing awaits it.
  mutating func answered(
    _ request: Int, _ status: AnswerStatus, _ body: RawSpan, _ instruments: inout InstrumentTable, now: Timestamp
  ) throws(FeedError) -> Ticker? {
    let index = request - Self.first
    guard let witness, asked.removeValue(forKey: index) != nil else { return nil }
    if !status.isOK, status.code != 0 {
      pausedUntil = now + ListRequest.wait(status: status.code, retryAfter: status.retryAfter, 0)
    }
    try status.check()
    var figures = Ticker(instrument: InstrumentID(index), time: now)
    var reader = FieldReader(body)
    try witness.read(&reader, &instruments, &figures)
    return figures
  }

  /// The symbol is asked for anew: an answer that is still to come is none to that.
  mutating func forget(_ index: Int) { asked[index] = nil }

  /// The connection is gone.
  mutating func disconnected() {
    asked.removeAll()
    derivatives.disconnected()
  }
}
