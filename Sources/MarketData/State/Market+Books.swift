import Bytes

/// Quotes and books: their publication, and when a book is out of sync or hidden.
extension Market {
  /// Whether a quote is possible: each side is without orders, or has a price and a size, and the bid is below the ask.
  func isPossible(_ quote: Quote) -> Bool {
    let hasBid = quote.bidSize != 0
    let hasAsk = quote.askSize != 0
    let isPossible =
      (!hasBid || (quote.bidSize > 0 && quote.bid > 0)) && (!hasAsk || (quote.askSize > 0 && quote.ask > 0))
      && !(hasBid && hasAsk && quote.bid >= quote.ask)
    if !isPossible { refusedValues += 1 }
    return isPossible
  }

  func publish(_ quote: Quote, of state: InstrumentState, into changes: inout MarketChanges) {
    if let old = state.quote, old.isSame(as: quote) {
      state.quote?.time = quote.time
      return
    }
    state.quote = quote
    changes.items.append(.quote(quote))
  }

  func apply(
    _ event: BookEvent, of batch: borrowing EventBatch, to state: InstrumentState, now: Timestamp,
    into changes: inout MarketChanges
  ) {
    let id = event.instrument
    guard event.kind == .snapshot || state.isKept else {
      state.ignoredDeltas += 1
      return
    }
    let bids = batch.bids[event.bidRange]
    let asks = batch.asks[event.askRange]
    guard bids.allSatisfy({ $0.price > 0 }), asks.allSatisfy({ $0.price > 0 }) else {
      return loseSync(state, .malformed, detected: true, into: &changes)
    }
    let bidStart = changes.bids.count
    let askStart = changes.asks.count
    switch event.kind {
    case .snapshot:
      state.book.replace(bids: bids, asks: asks)
      state.checksumMisses = 0
    case .delta:
      if !bids.isEmpty { changes.bids.append(contentsOf: bids) }
      if !asks.isEmpty { changes.asks.append(contentsOf: asks) }
      state.book.update(bids: bids, asks: asks, droppedBids: &changes.bids, droppedAsks: &changes.asks)
    }
    state.bookTime = event.time
    state.frozen.bookChanged()
    if let expected = event.checksum, !passes(expected, state) {
      changes.bids.removeSubrange(bidStart...)
      changes.asks.removeSubrange(askStart...)
      return loseSync(state, .checksum, detected: true, into: &changes)
    }
    if state.book.isCrossed {
      if state.crossedSince == nil { state.crossedSince = now }
      changes.bids.removeSubrange(bidStart...)
      changes.asks.removeSubrange(askStart...)
      if !loseSyncIfCrossed(state, now: now, into: &changes) { hide(state, into: &changes) }
      return
    }
    state.crossedSince = nil
    // A book that was hidden is published whole: no client has the changes since.
    switch state.bookState == .live ? event.kind : .snapshot {
    case .snapshot:
      changes.bids.removeSubrange(bidStart...)
      changes.asks.removeSubrange(askStart...)
      if state.bookState != .live {
        state.bookState = .live
        changes.items.append(.bookState(id, .live))
      }
      changes.items.append(.bookSnapshot(id))
    case .delta:
      let bidRange = bidStart..<changes.bids.count
      let askRange = askStart..<changes.asks.count
      if !bidRange.isEmpty || !askRange.isEmpty {
        changes.items.append(.bookDelta(id, bids: bidRange, asks: askRange, time: event.time))
      }
    }
    guard configuration.quotesFromBook else { return compareQuote(of: state, now: now, into: &changes) }
    let bid = state.book.bestBid ?? PriceLevel(price: 0, size: 0)
    let ask = state.book.bestAsk ?? PriceLevel(price: 0, size: 0)
    let quote = Quote(
      instrument: id, bid: bid.price, bidSize: bid.size, ask: ask.price, askSize: ask.size, time: event.time)
    publish(quote, of: state, into: &changes)
    if configuration.hasWitness { compareLast(with: quote.bid, quote.ask, of: state, now: now, into: &changes) }
  }

  /// Compares the book with the venue's checksum; returns whether it stays in sync.
  private func passes(_ expected: UInt32, _ state: InstrumentState) -> Bool {
    guard let rule = configuration.checksum,
      let checksum = rule(state.book, state.instrument.priceScale, state.instrument.sizeScale)
    else { return true }
    guard checksum != expected else {
      state.checksumsOK += 1
      state.checksumMisses = 0
      return true
    }
    state.checksumMisses += 1
    return state.checksumMisses < configuration.checksumPatience
  }

  /// Takes the book out of sync. `detected` means that the market found the fault itself. Then the change is published
  /// even if the book has not been live since the last fault, because the code that requests a new snapshot waits for
  /// it.
  func loseSync(
    _ state: InstrumentState, _ reason: ResyncReason, detected: Bool = false, into changes: inout MarketChanges
  ) {
    state.book.removeAll()
    state.crossedSince = nil
    state.frozen.bookChanged()
    state.checksumMisses = 0
    if configuration.quotesFromBook { state.quote = nil }
    guard detected || state.bookState != .syncing(reason) else { return }
    state.bookState = .syncing(reason)
    changes.items.append(.bookState(state.instrument.id, .syncing(reason)))
  }

  /// Hides a crossed book, and gives it the tolerance to recover by itself.
  private func hide(_ state: InstrumentState, into changes: inout MarketChanges) {
    scheduleCrossed(state)
    state.frozen.bookChanged()
    if configuration.quotesFromBook { state.quote = nil }
    guard state.bookState != .syncing(.crossed) else { return }
    state.bookState = .syncing(.crossed)
    changes.items.append(.bookState(state.instrument.id, .syncing(.crossed)))
  }

  /// Takes the book out of sync if it has been crossed for the tolerance. Returns whether it did.
  func loseSyncIfCrossed(_ state: InstrumentState, now: Timestamp, into changes: inout MarketChanges) -> Bool {
    guard let since = state.crossedSince, now - since >= configuration.crossedTolerance else { return false }
    loseSync(state, .crossed, detected: true, into: &changes)
    return true
  }

  /// Notes whether a quote of a separate channel contradicts the book's best prices, or no longer does.
  func compare(_ quote: Quote, with state: InstrumentState, now: Timestamp) {
    guard state.bookState == .live, let bid = state.book.bestBid, let ask = state.book.bestAsk else { return }
    let isThrough = (quote.bidSize > 0 && quote.bid >= ask.price) || (quote.askSize > 0 && quote.ask <= bid.price)
    guard isThrough, quote.time >= state.bookTime else { return state.frozen.quoteReturned() }
    state.frozen.quoteWentThrough(now: now)
    if let due = state.frozen.quotes.due(patience: FrozenBook.patience) { scheduleFrozen(state, due) }
  }

  /// Notes that a quote, which replaces that of `state`, has changed ahead of the book.
  func noteLead(of quote: Quote, _ state: InstrumentState, now: Timestamp) {
    guard state.bookState == .live, state.frozen.lead.first == nil, state.doubts.hasQuote, let old = state.quote,
      !old.isSame(as: quote)
    else { return }
    state.frozen.quoteMoved(now: now)
    scheduleLead(state, now: now)
  }

  /// Takes a book out of sync that its quote has led for too long. By what was heard, not by the clock: while nothing
  /// comes at all, nothing shows that a book has died alone.
  func loseSyncIfLed(_ state: InstrumentState, now: Timestamp, into changes: inout MarketChanges) {
    guard let patience = configuration.quoteLead, let due = state.frozen.lead.due(patience: patience) else { return }
    guard lastHeard >= due else { return scheduleLead(state, now: now) }
    loseSync(state, .stale, detected: true, into: &changes)
  }

  private func scheduleLead(_ state: InstrumentState, now: Timestamp) {
    guard !state.isLeadScheduled, let patience = configuration.quoteLead,
      let due = state.frozen.lead.due(patience: patience)
    else { return }
    state.isLeadScheduled = true
    // After a stall, whatever is heard next makes it due.
    deadlines.insert(
      .init(time: max(due, now + Microseconds.second / 4), instrument: state.instrument.id, kind: .lead))
  }

  /// Notes whether a trade contradicts the book's best prices; returns true if too many have.
  func isFrozen(_ state: InstrumentState, by trade: Trade, now: Timestamp) -> Bool {
    guard state.bookState == .live, let bid = state.book.bestBid, let ask = state.book.bestAsk,
      trade.price > ask.price || trade.price < bid.price, trade.time > state.bookTime
    else { return false }
    return state.frozen.tradeWentThrough(now: now)
  }

  func scheduleFrozen(_ state: InstrumentState, _ due: Timestamp) {
    guard !state.isFrozenScheduled else { return }
    state.isFrozenScheduled = true
    deadlines.insert(.init(time: due, instrument: state.instrument.id, kind: .frozen))
  }

  func scheduleCrossed(_ state: InstrumentState) {
    guard !state.isCrossedScheduled, let since = state.crossedSince else { return }
    state.isCrossedScheduled = true
    deadlines.insert(
      .init(time: since + configuration.crossedTolerance, instrument: state.instrument.id, kind: .crossed))
  }

  /// Appends the present state as changes, for a new reader: every instrument, and the state of its book.
  /// O(instruments).
  package func appendPresent(to changes: inout MarketChanges) {
    for state in instruments {
      let id = state.instrument.id
      changes.items.append(.instrument(id))
      guard state.bookState != .absent else { continue }
      changes.items.append(.bookState(id, state.bookState))
      if state.bookState == .live { changes.items.append(.bookSnapshot(id)) }
    }
  }
}

extension Quote {
  /// Whether both have the same prices and sizes.
  fileprivate func isSame(as other: Quote) -> Bool {
    bid == other.bid && ask == other.ask && bidSize == other.bidSize && askSize == other.askSize
  }
}
