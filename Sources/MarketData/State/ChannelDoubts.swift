import Bytes

/// A channel of an instrument beside its book.
package enum MarketChannel: UInt8, Sendable, CaseIterable { case trades, quote, ticker }

extension MarketChannel {
  /// Why it counts as silent, for people: the reason that its streams carry.
  package var silenceReason: String {
    switch self {
    case .trades: "no trades although the venue trades"
    case .quote: "no quotes although the book moves"
    case .ticker: "no ticker although the market trades"
    }
  }

  /// `trades`
  package var name: String {
    switch self {
    case .trades: "trades"
    case .quote: "quote"
    case .ticker: "ticker"
    }
  }
}

/// Some channels of an instrument.
package struct MarketChannels: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  package init(_ channel: MarketChannel) { self.init(rawValue: 1 << channel.rawValue) }

  /// Its channels, in the order of `MarketChannel.allCases`.
  package var list: [MarketChannel] { MarketChannel.allCases.filter { contains(MarketChannels($0)) } }
}

/// Detects a channel of trades, quotes or tickers that has died while the others of its instrument live.
///
/// A dead channel looks like the channel of a market in which nothing happens. The other channels show the difference:
/// a ticker with another last price, a larger volume or a larger count tells of trades; trades change the ticker; a
/// book's best price changes the quote. Venues send their channels one after the other, so one contradiction proves
/// nothing. Two do, if `patience` lies between them and the channel has sent nothing in the meantime. Any message of
/// the channel ends the suspicion.
///
/// A value of a few words for each instrument; each call is O(1), without allocation.
struct ChannelDoubts {
  /// How long trades must have been contradicted, µs. With the time that a ticker may be late, and its interval of a
  /// second, a dead channel is found within 10 s in a market that trades each second.
  static let patience = 4 * Microseconds.second
  /// The same if the venue's figures contradict, which are asked for each `witnessInterval`, µs.
  static let witnessPatience = 3 * Microseconds.second
  /// The same for quotes and for tickers that come each second or more often, µs.
  static let directPatience = 6 * Microseconds.second
  /// How much later than a trade the ticker may come that has it, µs, apart from its interval.
  static let tickerLateness = 3 * Microseconds.second
  /// If nothing at all comes on the connection for so long, µs, what is under way is late: no contradiction from before
  /// that counts.
  static let stall = 3 * Microseconds.second
  /// Contradictions further apart than this do not count together, µs: a venue may count a trade that it does not
  /// print, but not one after the other in a market without any other trade.
  static let memory = 10 * Microseconds.minute
  /// A dead channel of trades counts as live again without a trade if the ticker agrees with the last trade for so
  /// long, µs.
  static let agreement = Microseconds.minute

  /// How long the best prices must have left the last price behind, and no trade come, before the venue's figures are
  /// asked for, µs.
  static let leftPatience = 3 * Microseconds.second
  /// The time between two requests for figures, µs: the first few of a doubt, and at most.
  static let witnessInterval = 4 * Microseconds.second
  static let longestWitnessInterval = 5 * Microseconds.minute
  /// Requests after which the time between two of them doubles.
  static let promptRequests = 4

  /// The channels that are dead.
  private(set) var dead: MarketChannels = []
  private(set) var trades = ChannelDoubt()
  private(set) var quotes = ChannelDoubt()
  private(set) var tickers = ChannelDoubt()
  /// When the last live trade came; with the first ticker of a connection, the time until which trades may be
  /// subscribed to.
  private(set) var tradeAt = Timestamp.distantPast
  /// When the last ticker came; nil before the first of a connection.
  private var tickerAt: Timestamp?
  /// Whether a quote has come on this connection.
  private(set) var hasQuote = false
  /// Since when the last price has been outside of the best prices; nil while it is within.
  private var leftAt: Timestamp?
  /// When figures may be asked for again, and how often they have been since the last trade.
  private var nextRequest = Timestamp.distantPast
  private var requests = 0
  /// When figures last came.
  private var witnessAt: Timestamp?
  /// The best prices at the first contradiction of the quote.
  private var movedTo: (bid: Int64, ask: Int64) = (0, 0)

  func isDead(_ channel: MarketChannel) -> Bool { dead.contains(MarketChannels(channel)) }

  func attempts(_ channel: MarketChannel) -> Int {
    switch channel {
    case .trades: trades.attempts
    case .quote: quotes.attempts
    case .ticker: tickers.attempts
    }
  }

  // MARK: What comes

  /// A live trade came.
  /// - Parameter tickerInterval: of the venue's ticker, µs; nil without a ticker channel.
  /// - Returns: whether the channel of tickers is dead.
  @inline(__always)
  mutating func tradeCame(tickerInterval: Int64?, since resumed: Timestamp, now: Timestamp) -> Bool {
    tradeAt = now
    trades.end()
    leftAt = nil
    requests = 0
    guard let tickerInterval, tickerAt != nil else { return false }
    let patience = max(Self.directPatience, tickerInterval * 5 / 2)
    guard tickers.note(patience: patience, memory: Self.memory, since: resumed, now: now) else { return false }
    dead.insert(MarketChannels(.ticker))
    return true
  }

  /// A ticker came.
  /// - Parameters:
  ///   - hasTraded: whether it tells of a trade since the ticker before.
  ///   - interval: the longest time between two tickers of a market that trades, µs.
  /// - Returns: whether the channel of trades is dead.
  mutating func tickerCame(hasTraded: Bool, interval: Int64, since resumed: Timestamp, now: Timestamp) -> Bool {
    tickers.end()
    guard let before = tickerAt else {
      tickerAt = now
      tradeAt = max(tradeAt, now + Self.tickerLateness)
      return false
    }
    tickerAt = now
    // A trade that came after the ticker before, or shortly before that, explains it, but not if it is longer ago than
    // a ticker takes.
    let isExplained = before - tradeAt <= Self.tickerLateness && now - tradeAt <= interval + Self.tickerLateness
    guard hasTraded, !isExplained,
      trades.note(patience: Self.patience, memory: Self.memory, since: resumed, now: now)
    else { return false }
    dead.insert(MarketChannels(.trades))
    return true
  }

  /// Another channel shows a trade that has just been made.
  /// - Returns: whether the channel of trades is dead.
  mutating func tradeShown(since resumed: Timestamp, now: Timestamp) -> Bool {
    if tradeAt == .distantPast { tradeAt = now }
    // A trade that came shortly before is the one that is shown.
    guard now - tradeAt > Self.tickerLateness,
      trades.note(patience: Self.patience, memory: Self.memory, since: resumed, now: now)
    else {
      return false
    }
    dead.insert(MarketChannels(.trades))
    return true
  }

  /// The best prices are `bid` and `ask`, and the last trade's is `last`.
  /// - Returns: whether to ask for the venue's figures.
  @inline(__always)
  mutating func bestIs(_ bid: Int64, _ ask: Int64, last: Int64, now: Timestamp) -> Bool {
    // Figures that have contradicted once are compared again, wherever the prices go.
    guard last < bid || last > ask || trades.first != nil else {
      leftAt = nil
      return false
    }
    guard let leftAt else {
      self.leftAt = now
      return false
    }
    guard now - max(leftAt, tradeAt) >= Self.leftPatience, now >= nextRequest else { return false }
    let doublings = min(max(0, requests - Self.promptRequests), 10)
    nextRequest = now + min(Self.witnessInterval << doublings, Self.longestWitnessInterval)
    requests += 1
    return true
  }

  /// Figures came that were asked for.
  /// - Parameters:
  ///   - hasTraded: whether they tell of a trade since the figures before.
  ///   - isLast: whether their last price is that of the last trade; nil if they have none.
  /// - Returns: whether the channel of trades is dead.
  mutating func witnessCame(hasTraded: Bool, isLast: Bool?, now: Timestamp) -> Bool {
    let isCompared = witnessAt.map { $0 - tradeAt > Self.tickerLateness } ?? false
    witnessAt = now
    guard isLast != true else {
      trades.forget()
      return false
    }
    // The first figures since the last trade contradict by another price alone. They may be some seconds old, so the
    // next ones have to contradict by a change.
    let contradicts =
      isCompared ? hasTraded : isLast == false && tradeAt != .distantPast && now - tradeAt > Self.tickerLateness
    guard contradicts, trades.note(patience: Self.witnessPatience, memory: Self.memory, since: .distantPast, now: now)
    else { return false }
    dead.insert(MarketChannels(.trades))
    return true
  }

  /// A quote came.
  mutating func quoteCame() {
    hasQuote = true
    quotes.end()
  }

  /// The book's best prices are `bid` and `ask`; the quote's are the same if `isQuoted`.
  /// - Returns: whether the channel of quotes is dead.
  @inline(__always)
  mutating func bookMoved(
    bid: Int64, ask: Int64, isQuoted: Bool, since resumed: Timestamp, now: Timestamp
  ) -> Bool {
    guard hasQuote, !isQuoted else {
      if quotes.first != nil { quotes.forget() }
      return false
    }
    // A quote that leaves some orders out may differ for long: only a best price that moves on counts.
    if quotes.first != nil, movedTo == (bid, ask) { return false }
    movedTo = (bid, ask)
    guard quotes.note(patience: Self.directPatience, memory: Self.memory, since: resumed, now: now) else {
      return false
    }
    dead.insert(MarketChannels(.quote))
    return true
  }

  /// Whether a dead channel of trades has had no contradiction for long, though tickers came.
  func hasAgreed(now: Timestamp) -> Bool { now - trades.last >= Self.agreement }

  // MARK: What ends

  mutating func revived(_ channel: MarketChannel) { dead.remove(MarketChannels(channel)) }

  /// The connection is gone: nothing is known of the channels of the next one.
  mutating func disconnected() { self = ChannelDoubts() }
}

extension Ticker {
  /// Whether this ticker tells of a trade since `old`: another last price, a larger count, a larger volume. Volumes of
  /// the last 24 h become smaller by themselves as the trades of the day before leave them.
  func tellsOfTrade(since old: Ticker) -> Bool {
    if let last, let before = old.last, last != before { return true }
    if let trades, let before = old.trades, trades > before { return true }
    guard let volume, let before = old.volume, volume != before else { return false }
    return volume.exceeds(before)
  }
}

extension Decimal64 {
  /// Whether it is larger by more than a billionth: venues sum volumes in binary numbers.
  fileprivate func exceeds(_ other: Decimal64) -> Bool {
    let scale = max(self.scale, other.scale)
    let own = Int128(mantissa) * Int128(DecimalText.power(scale - self.scale))
    let others = Int128(other.mantissa) * Int128(DecimalText.power(scale - other.scale))
    return own > others && own - others > others / 1_000_000_000
  }
}
