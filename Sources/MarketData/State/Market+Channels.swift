/// Channels beside the book that die alone: what contradicts their silence, and how the market says so.
extension Market {
  /// Notes that a live trade came: its channel lives, and a ticker is due.
  @inline(__always)
  func tradeCame(_ state: InstrumentState, now: Timestamp, into changes: inout MarketChanges) {
    if state.isSilent(.trades) { revive(.trades, of: state, into: &changes) }
    let isDead = state.doubts.tradeCame(tickerInterval: configuration.tickerInterval, since: resumedAt, now: now)
    if isDead { lose(.ticker, of: state, into: &changes) }
  }

  /// Whether a trade from before a subscription was missed, because its channel had died: then it is news.
  func fills(_ trade: Trade, _ state: InstrumentState) -> Bool {
    if state.isSilent(.trades) { filled = (trade.instrument, state.lastTradeTime) }
    guard let filled, filled.id == trade.instrument else { return false }
    return trade.time > filled.after
  }

  /// Notes what a ticker says of trades, before it replaces the one before.
  func compare(_ ticker: Ticker, with state: InstrumentState, now: Timestamp, into changes: inout MarketChanges) {
    guard let interval = configuration.tickerInterval else { return }
    if state.isSilent(.ticker) { revive(.ticker, of: state, into: &changes) }
    let hasTraded = state.ticker.map { ticker.tellsOfTrade(since: $0) } ?? false
    let isDead = state.doubts.tickerCame(hasTraded: hasTraded, interval: interval, since: resumedAt, now: now)
    judgeTrades(of: state, areDead: isDead, by: ticker, now: now, into: &changes)
  }

  /// Asks for the venue's figures if the best prices have left the last price behind for long.
  @inline(__always)
  func compareLast(
    with bid: Int64, _ ask: Int64, of state: InstrumentState, now: Timestamp, into changes: inout MarketChanges
  ) {
    guard let last = state.lastTrade?.price, bid > 0, ask > 0, state.doubts.bestIs(bid, ask, last: last, now: now)
    else { return }
    changes.items.append(.channel(state.instrument.id, .trades, .doubted))
  }

  /// Notes what the venue's figures say of trades.
  func testify(_ figures: Ticker, of state: InstrumentState, now: Timestamp, into changes: inout MarketChanges) {
    let hasTraded = state.witness.map { figures.tellsOfTrade(since: $0) } ?? false
    state.witness = figures
    let isLast = figures.last.flatMap { last in state.lastTrade.map { $0.price == last } }
    let isDead = state.doubts.witnessCame(hasTraded: hasTraded, isLast: isLast, now: now)
    judgeTrades(of: state, areDead: isDead, by: figures, now: now, into: &changes)
  }

  /// Notes that another channel shows a trade.
  func tradeShown(of state: InstrumentState, now: Timestamp, into changes: inout MarketChanges) {
    if state.doubts.tradeShown(since: resumedAt, now: now) { loseTrades(of: state, now: now, into: &changes) }
  }

  private func judgeTrades(
    of state: InstrumentState, areDead: Bool, by figures: Ticker, now: Timestamp, into changes: inout MarketChanges
  ) {
    if areDead {
      loseTrades(of: state, now: now, into: &changes)
    } else if state.isSilent(.trades), state.doubts.hasAgreed(now: now), figures.last == state.lastTrade?.price {
      revive(.trades, of: state, into: &changes)
    }
  }

  private func loseTrades(of state: InstrumentState, now: Timestamp, into changes: inout MarketChanges) {
    lose(.trades, of: state, into: &changes)
    if state.isObserved { stopObserving(state, since: min(max(state.doubts.tradeAt, state.lastTradeTime), now)) }
  }

  func quoteCame(_ state: InstrumentState, into changes: inout MarketChanges) {
    if state.isSilent(.quote) { revive(.quote, of: state, into: &changes) }
    state.doubts.quoteCame()
  }

  /// Compares the best prices of a live book that has changed with the quote of a channel of its own. A dead channel's
  /// quote is unknown from then on.
  @inline(__always)
  func compareQuote(of state: InstrumentState, now: Timestamp, into changes: inout MarketChanges) {
    guard let bid = state.book.bestBid, let ask = state.book.bestAsk else { return }
    let isQuoted = state.quote.map { $0.bid == bid.price && $0.ask == ask.price } ?? false
    guard state.doubts.bookMoved(bid: bid.price, ask: ask.price, isQuoted: isQuoted, since: resumedAt, now: now) else {
      return
    }
    state.quote = nil
    lose(.quote, of: state, into: &changes)
  }

  /// The connection has ended: what was known of its channels is over.
  func forgetDoubts(of state: InstrumentState, into changes: inout MarketChanges) {
    let silent = state.silent
    state.doubts.disconnected()
    state.witness = nil
    for channel in silent.list { changes.items.append(.channel(state.instrument.id, channel, .live)) }
  }

  private func lose(_ channel: MarketChannel, of state: InstrumentState, into changes: inout MarketChanges) {
    state.revision.raise(.figures)
    changes.items.append(
      .channel(state.instrument.id, channel, .silent(attempt: state.doubts.attempts(channel))))
  }

  private func revive(_ channel: MarketChannel, of state: InstrumentState, into changes: inout MarketChanges) {
    state.doubts.revived(channel)
    state.revision.raise(.figures)
    changes.items.append(.channel(state.instrument.id, channel, .live))
  }
}
