import Bytes
import MarketData

/// Books of the new connection that stand at an earlier moment than those that are shown: they go on in a market of
/// their own until they have caught up.
struct LaggingBooks {
  /// How long a book may be behind, µs. Beyond it the venue's times are no measure.
  static let patience = 2 * Microseconds.second

  let market: Market
  /// By the new engine's indices, with the market's own.
  var books: [(index: InstrumentID, target: InstrumentID)]
  let until: Timestamp

  func contains(_ index: InstrumentID) -> Bool { books.contains { $0.index == index } }
}

/// The change of one connection for another under a market that stays: what differs between two engines of one feed.
extension FeedPipeline {
  /// Whether events have to be looked at before they are applied.
  var isAdapting: Bool { overlap != nil || indices != nil || lagging != nil }

  /// The market's index of an engine's instrument.
  func target(of index: InstrumentID) -> InstrumentID {
    guard let indices else { return index }
    return index.index < indices.count ? indices[index.index] : InstrumentID(market.instruments.count)
  }

  /// The engine's index of a market's instrument; nil if it does not have it. O(instruments), rare.
  func index(of target: InstrumentID) -> InstrumentID? {
    guard let indices else { return target }
    return indices.firstIndex(of: target).map { InstrumentID($0) }
  }

  /// Brings the batch from the engine's indices to the market's, and takes out of it what is not to be applied twice
  /// or yet.
  func adapt(_ now: Timestamp) {
    var shadowChanges = MarketChanges()
    lagging?.market.apply(batch, now: now, into: &shadowChanges)
    var added = market.instruments.count
    for index in batch.events.indices {
      switch batch.events[index] {
      case .trade(var trade):
        trade.instrument = target(of: trade.instrument)
        batch.events[index] = keeps(trade, now) ? .trade(trade) : .heartbeat
      case .quote(var quote):
        quote.instrument = target(of: quote.instrument)
        batch.events[index] = .quote(quote)
      case .ticker(var ticker):
        ticker.instrument = target(of: ticker.instrument)
        batch.events[index] = .ticker(ticker)
      case .witness(var figures):
        figures.instrument = target(of: figures.instrument)
        batch.events[index] = .witness(figures)
      case .derivative(let slot):
        guard batch.derivatives.indices.contains(slot) else { continue }
        batch.derivatives[slot].instrument = target(of: batch.derivatives[slot].instrument)
      case .liquidation(var liquidation):
        liquidation.instrument = target(of: liquidation.instrument)
        batch.events[index] = .liquidation(liquidation)
      case .tradeShown(let symbolIndex): batch.events[index] = .tradeShown(target(of: symbolIndex))
      case .book(var book):
        let isLagging = lagging?.contains(book.instrument) ?? false
        book.instrument = target(of: book.instrument)
        batch.events[index] = isLagging ? .heartbeat : .book(book)
      case .bookReset(let symbolIndex, let reason):
        lagging?.books.removeAll { $0.index == symbolIndex }
        batch.events[index] = .bookReset(target(of: symbolIndex), reason)
      case .bookDepth(let symbolIndex, let levels):
        batch.events[index] = .bookDepth(target(of: symbolIndex), levels: levels)
      case .instrument(let slot):
        guard indices != nil, batch.instruments.indices.contains(slot) else { continue }
        let symbolIndex = batch.instruments[slot].id
        if symbolIndex.index == indices?.count {
          if let known = shown(as: batch.instruments[slot].symbol) {
            indices?.append(known.id)
            batch.instruments[slot] = widened(batch.instruments[slot], to: known)
          } else {
            indices?.append(InstrumentID(added))
            added += 1
          }
        }
        batch.instruments[slot] = batch.instruments[slot].placed(at: target(of: symbolIndex))
      case .tradesMissing(let symbolIndex, let hole):
        batch.events[index] = .tradesMissing(target(of: symbolIndex), hole)
      case .tradesSearched(let symbolIndex, let hole):
        batch.events[index] = .tradesSearched(target(of: symbolIndex), hole)
      case .heartbeat: break
      }
    }
    if let endsAt = overlap?.endsAt, now >= endsAt { overlap = nil }
  }

  /// An instrument that an earlier connection brought, and the present one had not until now. O(instruments), rare.
  private func shown(as symbol: String) -> Instrument? {
    market.instruments.first { $0.instrument.symbol == symbol }?.instrument
  }

  /// The engine's new instrument at scales that are at least those at which `known` is shown, or what is held of the
  /// day would be forgotten. No value of it has been read yet.
  private func widened(_ instrument: Instrument, to known: Instrument) -> Instrument {
    let end = batch.events.count
    _ = engine.widen(instrument.id, priceScale: known.priceScale, sizeScale: known.sizeScale, into: &batch)
    guard batch.events.count > end else { return instrument }
    batch.events.removeLast(batch.events.count - end)
    return batch.instruments.last ?? instrument
  }

  private func keeps(_ trade: Trade, _ now: Timestamp) -> Bool {
    guard let overlap, !trade.isBacklog else { return true }
    let key = TradeKey(instrument: trade.instrument.rawValue, id: trade.id)
    guard overlap.endsAt == nil else { return !overlap.isKnown(key, at: trade.time) }
    overlap.willPublish(key, at: trade.time, isAwaited: !trade.isLate, now: now)
    return true
  }

  /// Shows books that have caught up with what is shown, and gives up those that cannot.
  func catchUp(_ now: Timestamp) {
    guard var waiting = lagging else { return }
    batch.removeAll()
    waiting.books.removeAll { index, target in
      let state = waiting.market[index]
      if state.isCrossedForNow, now < waiting.until { return false }
      if case .syncing(let reason) = state.bookState {
        batch.events.append(.bookReset(target, reason ?? .gap))
        return true
      }
      guard !isBehind(state, market[target]) || now >= waiting.until else { return false }
      move(state, to: target)
      return true
    }
    lagging = waiting.books.isEmpty ? nil : waiting
    guard !batch.events.isEmpty else { return }
    let start = changes.items.count
    market.apply(batch, now: now, into: &changes)
    rebuild(from: start, now)
  }

  /// Whether a book stands at an earlier moment than the shown one. Several changes may have one time (Bitfinex numbers
  /// them for each connection and dates them by the millisecond): then only an equal book has all of them.
  /// O(levels) if the times are equal.
  private func isBehind(_ state: InstrumentState, _ shown: InstrumentState) -> Bool {
    guard state.bookTime == shown.bookTime else { return state.bookTime < shown.bookTime }
    return state.book.bids != shown.book.bids || state.book.asks != shown.book.asks
  }

  /// Appends what makes the shown book of `target` into that of `state`. Both are at the same scales.
  private func move(_ state: InstrumentState, to target: InstrumentID) {
    let bidStart = batch.bids.count
    let askStart = batch.asks.count
    if let levels = state.book.depthLimit { batch.events.append(.bookDepth(target, levels: levels)) }
    var kind = BookEvent.Kind.snapshot
    if target.index < market.instruments.count, market[target].bookState == .live {
      kind = .delta
      market[target].book.difference(to: state.book, into: &batch)
    } else {
      batch.bids.append(contentsOf: state.book.bids)
      batch.asks.append(contentsOf: state.book.asks)
    }
    batch.events.append(
      .book(
        BookEvent(
          instrument: target, kind: kind, bidRange: bidStart..<batch.bids.count, askRange: askStart..<batch.asks.count,
          time: state.bookTime)))
  }

  /// The symbols that the engine has instruments of; the market may hold others, from before a change.
  package var followed: Set<String> {
    guard let indices else { return Set(market.instruments.map(\.instrument.symbol)) }
    return Set(indices.filter { $0.index < market.instruments.count }.map { market[$0].instrument.symbol })
  }

  /// Takes the engine of `successor`, whose books were built aside, in place of the present one: in one step the
  /// market shows its books, has the trades that only it has, and goes on with it. Windows, candles and pulses go on
  /// as if nothing had happened.
  ///
  /// A book that `successor` does not have in sync is out of sync from here on. False, and nothing has changed but
  /// the successor's scales, if a value of it does not fit the scales of this market.
  func takeOver(from successor: FeedPipeline, _ overlap: TradeOverlap, now: Timestamp) -> Bool {
    let known = Dictionary(
      market.instruments.enumerated().map { ($1.instrument.symbol, $0) }, uniquingKeysWith: { first, _ in first })
    guard widen(successor, known, now: now) else { return false }
    successor.clear()

    batch.removeAll()
    let (map, count) = placeInstruments(of: successor, known)
    for held in overlap.change(now: now) {
      guard held.trade.instrument.index < map.count,
        var trade = held.trade(at: map[held.trade.instrument.index], successor.market[held.trade.instrument].instrument)
      else { continue }
      if let index = index(of: trade.instrument) { trade.isLate = engine.trades.found(trade, at: index.index) }
      batch.events.append(.trade(trade))
    }
    var behind: [(index: InstrumentID, target: InstrumentID)] = []
    var continued: Set<Int> = []
    for state in successor.market.instruments {
      let index = state.instrument.id
      let target = map[index.index]
      let own = target.index < market.instruments.count ? market[target] : nil
      append(quoteAndTickerOf: state, to: target, over: own)
      guard state.bookState == .live else { continue }
      continued.insert(target.index)
      if let own, own.bookState == .live, isBehind(state, own) {
        behind.append((index, target))
      } else {
        move(state, to: target)
      }
    }
    for state in market.instruments where state.isKept && !continued.contains(state.instrument.id.index) {
      batch.events.append(.bookReset(state.instrument.id, .disconnected))
    }

    transfer(to: successor, map)
    let both = map.indices.compactMap { new in index(of: map[new]).map { (old: $0.index, new: new) } }
    for (index, hole) in successor.engine.trades.takeOver(engine.trades, both) {
      batch.events.append(.tradesMissing(map[index], hole))
    }
    engine = successor.engine
    // The same only if nothing stands behind them that another instrument of the engine's could come to be taken for.
    indices = map.count == count && zip(map.indices, map).allSatisfy({ $0 == $1.index }) ? nil : map
    lagging =
      behind.isEmpty
      ? nil : LaggingBooks(market: successor.market, books: behind, until: now + LaggingBooks.patience)
    self.overlap = overlap
    errors.append(successor.errors)
    for (target, wishes) in wishes { tellHandler(target, wishes, now: now) }
    let start = changes.items.count
    market.apply(batch, now: now, into: &changes)
    rebuild(from: start, now)
    return true
  }

  /// Somebody wants what the venue says of an instrument only on demand, or nobody any more (an empty set).
  package func want(_ target: InstrumentID, _ wanted: MarketWishes, now: Timestamp) {
    wishes[target] = wanted.isEmpty ? nil : wanted
    tellHandler(target, wanted, now: now)
  }

  private func tellHandler(_ target: InstrumentID, _ wanted: MarketWishes, now: Timestamp) {
    if let index = index(of: target) { engine.want(index, wanted, now: now) }
  }

  /// Gives the successor's instruments at least the scales of this market's; false if a value does not fit them.
  private func widen(_ successor: FeedPipeline, _ known: [String: Int], now: Timestamp) -> Bool {
    for state in successor.market.instruments {
      guard let own = known[state.instrument.symbol].map({ market.instruments[$0].instrument }) else { continue }
      let isWide =
        state.instrument.priceScale >= own.priceScale && state.instrument.sizeScale >= own.sizeScale
        || successor.widen(state.instrument.id, price: own.priceScale, size: own.sizeScale, now: now)
      guard isWide else { return false }
    }
    return true
  }

  /// Appends the successor's instruments that are new or have changed.
  /// - Returns: the index here of each of the successor's, and how many instruments there are then.
  private func placeInstruments(of successor: FeedPipeline, _ known: [String: Int]) -> ([InstrumentID], Int) {
    var map: [InstrumentID] = []
    var count = market.instruments.count
    for state in successor.market.instruments {
      let target: InstrumentID
      if let index = known[state.instrument.symbol] {
        target = InstrumentID(index)
        let instrument = state.instrument.placed(at: target)
        if instrument != market.instruments[index].instrument { batch.append(instrument: instrument) }
      } else {
        target = InstrumentID(count)
        count += 1
        batch.append(instrument: state.instrument.placed(at: target))
      }
      map.append(target)
    }
    return (map, count)
  }

  /// The newer quote and ticker of the two; a quote that is made from the book comes with it.
  private func append(quoteAndTickerOf state: InstrumentState, to target: InstrumentID, over own: InstrumentState?) {
    if !venue.market.quotesFromBook, var quote = state.quote, quote.time >= own?.quote?.time ?? .distantPast {
      quote.instrument = target
      batch.events.append(.quote(quote))
    }
    if var ticker = state.ticker, ticker.time >= own?.ticker?.time ?? .distantPast {
      ticker.instrument = target
      batch.events.append(.ticker(ticker))
    }
  }

  private func widen(_ index: InstrumentID, price: UInt8, size: UInt8, now: Timestamp) -> Bool {
    batch.removeAll()
    let isWide = engine.widen(index, priceScale: price, sizeScale: size, into: &batch)
    apply(now)
    return isWide
  }

  /// What has been counted so far goes on; what the successor counted while it was built aside was counted here
  /// already.
  private func transfer(to successor: FeedPipeline, _ map: [InstrumentID]) {
    transferredCounts = counts - successor.engine.counts
    var followed = symbolCounts
    for (index, target) in zip(successor.engine.symbolCounts.indices, map) {
      while followed.count <= target.index { followed.append(SymbolCounts()) }
      followed[target.index] = followed[target.index] - successor.engine.symbolCounts[index]
    }
    transferredSymbolCounts = followed
  }

  /// What this feed has seen, engines before the present one included.
  package var counts: FeedCounts { transferredCounts + engine.counts }

  /// The same by the market's instruments.
  package var symbolCounts: [SymbolCounts] {
    guard !transferredSymbolCounts.isEmpty || indices != nil else { return engine.symbolCounts }
    var sums = transferredSymbolCounts
    for (index, counts) in engine.symbolCounts.enumerated() {
      let target = target(of: InstrumentID(index)).index
      while sums.count <= target { sums.append(SymbolCounts()) }
      sums[target] = sums[target] + counts
    }
    return sums
  }
}

extension TradeOverlap.Held {
  /// The trade at another index, at the scales of `instrument`; nil if it does not fit.
  fileprivate func trade(at target: InstrumentID, _ instrument: Instrument) -> Trade? {
    guard instrument.priceScale >= priceScale, instrument.sizeScale >= sizeScale else { return nil }
    let (price, o1) = trade.price.multipliedReportingOverflow(
      by: Int64(DecimalText.power(instrument.priceScale - priceScale)))
    let (size, o2) = trade.size.multipliedReportingOverflow(
      by: Int64(DecimalText.power(instrument.sizeScale - sizeScale)))
    guard !o1, !o2 else { return nil }
    var moved = trade
    moved.instrument = target
    moved.price = price
    moved.size = size
    return moved
  }
}

extension Instrument {
  /// The same at another index.
  func placed(at id: InstrumentID) -> Instrument {
    guard id != self.id else { return self }
    return Instrument(
      id: id, venue: venue, venueSymbol: venueSymbol, base: base, quote: quote, kind: kind, contractSize: contractSize,
      priceScale: priceScale, sizeScale: sizeScale, priceIncrement: priceIncrement, sizeIncrement: sizeIncrement)
  }
}
