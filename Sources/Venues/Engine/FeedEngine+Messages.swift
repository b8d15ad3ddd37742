import Bytes
import MarketData

/// Messages, and what market events do.
extension FeedEngine {
  /// Reads one text message. What it meant is appended to `batch`. A message that cannot be read is thrown out whole
  /// and costs nothing but itself; if it belonged to a book, that book is reset.
  package func receive(
    _ message: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    tally.counts.messages += 1
    life.heard = now
    requests.desk.heard()
    let ignored = tally.counts.ignored
    let mark: BatchMark
    do throws(FeedError) {
      mark = try read(message, now: now, into: &batch)
    } catch {
      if error.kind == .unknownSymbol, life.canary.isMeant(by: message, known) {
        life.marketHeard = now
        return
      }
      tally.counts.rejected += 1
      notRead(message, now: now, into: &batch)
      throw error
    }
    do throws(FeedError) {
      try carryOut(outcome, from: mark.events, now: now, into: &batch)
    } catch {
      // A message that reports a refused request is not broken.
      mark.rewind(&batch)
      tally.counts.rejected += 1
      throw error
    }
    tally.counts.rejectedLevels += known.badLevels
    if !outcome.isAnswer, tally.counts.ignored == ignored { life.marketHeard = now }
    try dropImpossibleTrades(from: mark.events, of: &batch)
  }

  /// Reads a message at scales that are widened as it wants them: its events go to the end of the batch, behind the
  /// mark that is returned, everything else to `hearing`.
  private func read(
    _ message: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) -> BatchMark {
    var mark = BatchMark(batch)
    // Price and size of every symbol in the message may each widen several times; beyond that it is not a message but
    // an attack.
    var passes = 0
    while true {
      do throws(FeedError) {
        known.begin()
        outcome.begin(now: now)
        try dialect.read(message, &known, &outcome, into: &batch)
        if outcome.mayBeCanary, life.canary.isMeant(by: message, known) {
          throw FeedError(.unknownSymbol, "of the canary")
        }
        return mark
      } catch {
        mark.rewind(&batch)
        guard passes < 32, widenIfNeeded(into: &batch) else { throw error }
        passes += 1
        mark = BatchMark(batch)
      }
    }
  }

  /// Does what a message that could be read says: its events stand in the batch from `start` on.
  private func carryOut(
    _ outcome: borrowing MessageOutcome, from start: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    tally.counts.ignored += outcome.ignored
    if let index = outcome.linked { tally.symbols[index].sequenceOK += 1 }
    let lost = outcome.lostBefore
    let first = lost.map { loseBooks($0, before: start, now: now, into: &batch) } ?? start
    take(outcome, from: first, now: now, into: &batch)
    if lost != nil { tick(now: now, into: &batch) }
    for report in outcome.reports { try act(report, now: now, into: &batch) }
  }

  /// Of a message that could not be read only a book loses something.
  private func notRead(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    outcome.begin(now: now)
    dialect.missed(message, known, &outcome)
    for topic in outcome.heard { life.watches.heard(requests.desk.code(topic), now: now) }
    for report in outcome.reports { try? act(report, now: now, into: &batch) }
    guard let indices = booksOfBroken(message) else { return books.passedUnread(message, now: now) }
    for index in indices { take(index, outOfSync: .malformed, now: now, into: &batch) }
    books.lostUnread(indices, now: now)
    tick(now: now, into: &batch)
  }

  /// Takes trades at a price or size of zero or less out of the batch, which the others of the message stay in.
  /// O(events).
  private func dropImpossibleTrades(from start: Int, of batch: inout EventBatch) throws(FeedError) {
    var dropped = 0
    for index in start..<batch.events.count {
      guard case .trade(let trade) = batch.events[index], trade.price <= 0 || trade.size <= 0 else { continue }
      dropped += 1
      batch.events[index] = .heartbeat
      let symbolIndex = trade.instrument.index
      if trade.isBacklog {
        tally.symbols[symbolIndex].backlogTrades -= 1
      } else {
        tally.symbols[symbolIndex].trades -= 1
      }
    }
    guard dropped > 0 else { return }
    tally.counts.rejected += 1
    throw FeedError(.value, "\(dropped == 1 ? "a trade" : "\(dropped) trades") at a price or size of zero or less")
  }

  // MARK: Market events

  /// How far the market events of a message have been taken.
  private struct Progress {
    var books = 0
    var trades = 0
    /// Whose trades are the first of it.
    var newcomer = -1
    var hasLost = false
  }

  /// Takes the market events of a message that could be read, in their order. O(events).
  ///
  /// Its steps are inlined: each has one caller, and as calls they cost up to 5 % of a short message.
  private func take(_ outcome: borrowing MessageOutcome, from start: Int, now: Timestamp, into batch: inout EventBatch)
  {
    for topic in outcome.heard {
      requests.desk.flows(topic)
      proves(topic.index, now)
      life.watches.heard(requests.desk.code(topic), now: now)
    }
    var progress = Progress()
    var index = start
    while index < batch.events.count {
      if books.hasEnded, isOfEnded(batch.events[index], batch) {
        if case .book = batch.events[index] { progress.books += 1 }
        batch.events.remove(at: index)
        continue
      }
      switch batch.events[index] {
      case .trade(let trade):
        index = take(trade, outcome, at: index, &progress, now: now, into: &batch)
        continue
      case .book(let event):
        guard take(event, outcome, at: index, &progress, now: now, into: &batch) else {
          batch.events.remove(at: index)
          continue
        }
      case .quote(let quote): hear(quote.instrument.index)
      case .ticker(let ticker): hear(ticker.instrument.index)
      // Derivatives and liquidations come on channels that say nothing of those that are always subscribed.
      default: break
      }
      index += 1
    }
    if progress.hasLost { tick(now: now, into: &batch) }
  }

  /// Whether an event is of a symbol that is not to be followed any more.
  private func isOfEnded(_ event: MarketEvent, _ batch: borrowing EventBatch) -> Bool {
    Self.index(of: event, batch).map { books.lines[$0].isEnded } ?? false
  }

  /// Takes the trade at `index` of the batch. Returns the index behind it.
  @inline(__always)
  private func take(
    _ trade: Trade, _ outcome: borrowing MessageOutcome, at index: Int, _ progress: inout Progress, now: Timestamp,
    into batch: inout EventBatch
  ) -> Int {
    let symbolIndex = trade.instrument.index
    var trade = trade
    if facts.beginsWithOldTrades, !books.lines[symbolIndex].hasTraded || progress.newcomer == symbolIndex {
      progress.newcomer = symbolIndex
      books.lines[symbolIndex].hasTraded = true
      let subscribed = books.lines[symbolIndex].tradesSince ?? books.lines[symbolIndex].subscribed
      // The dialect may know it already.
      trade.isBacklog =
        trade.isBacklog || subscribed != .distantFuture && trade.time < subscribed - Market.clockTolerance
      batch.events[index] = .trade(trade)
    }
    count(trade)
    books.traded(trade, now: now)
    hear(symbolIndex)
    guard facts.countsTrades else { return index + 1 }
    let fills = progress.trades < outcome.fills.count ? outcome.fills[progress.trades] : 1
    progress.trades += 1
    return number(trade, fills: fills, at: index, now: now, into: &batch)
  }

  /// Counts a trade and notes its price and size, once nothing of its message can fail any more.
  private func count(_ trade: Trade) {
    let index = trade.instrument.index
    known.note(index, price: trade.price, size: trade.size)
    if trade.isBacklog { tally.symbols[index].backlogTrades += 1 } else { tally.symbols[index].trades += 1 }
  }

  /// Something before the message is missing, of which it cannot be told whose it was: no book that is live is vouched
  /// for. A snapshot that shows it is good itself.
  func loseBooks(_ reason: ResyncReason, before start: Int, now: Timestamp, into batch: inout EventBatch) -> Int {
    var first = start
    for index in books.indices where lose(index, reason, now: now) {
      batch.events.insert(.bookReset(InstrumentID(index), reason), at: first)
      first += 1
    }
    return first
  }

  /// The books that a message was of which could not be read; nil if it was of none.
  func booksOfBroken(_ message: RawSpan) -> [Int]? {
    if !facts.kinds.isEmpty, !facts.kinds.contains(where: { MalformedMessageScan.contains(message, $0) }) {
      return Array(books.indices)
    }
    guard let fact = facts.salvage.first(where: { MalformedMessageScan.contains(message, $0.mark) }) else { return nil }
    let indices = MalformedMessageScan.symbols(
      message, key: fact.key, in: known.names, prefix: fact.prefix, suffix: fact.suffix)
    if !facts.kinds.isEmpty, indices.isEmpty, !MalformedMessageScan.hasText(message, key: fact.key) {
      return Array(books.indices)
    }
    return indices
  }

  /// Whose an event is.
  private static func index(of event: MarketEvent, _ batch: borrowing EventBatch) -> Int? {
    switch event {
    case .trade(let trade): trade.instrument.index
    case .book(let event): event.instrument.index
    case .quote(let quote): quote.instrument.index
    case .ticker(let ticker): ticker.instrument.index
    case .derivative(let index): batch.derivatives[index].instrument.index
    case .liquidation(let liquidation): liquidation.instrument.index
    default: nil
    }
  }

  /// Something came of a symbol beside its book.
  func hear(_ index: Int) {
    if books.lines[index].book.isBridged { books.lines[index].isHeard = true }
  }

  // MARK: Books

  /// Takes a book's message; false if its event is to be left out.
  @inline(__always)
  private func take(
    _ event: BookEvent, _ outcome: borrowing MessageOutcome, at index: Int, _ progress: inout Progress, now: Timestamp,
    into batch: inout EventBatch
  ) -> Bool {
    let symbolIndex = event.instrument.index
    let numbers = outcome.numbers(progress.books)
    progress.books += 1
    if outcome.isProbe {
      books.lines[symbolIndex].book.compare(event, batch, now: now)
      Self.dropLevels(of: event, &batch)
      return false
    }
    // Levels of a refused symbol belong to another request. A book that they made live would have no retry to come back
    // by when it is lost. The retry of the refusal requests the symbol with all of its channels.
    guard !books.lines[symbolIndex].isRefused else {
      tally.counts.ignored += 1
      Self.dropLevels(of: event, &batch)
      return false
    }
    let verdict = books.lines[symbolIndex].book.take(event, numbers, batch, now: now)
    count(event, verdict)
    switch verdict {
    case .shallower: return false
    case .late:
      Self.dropLevels(of: event, &batch)
      return false
    default: break
    }
    spoke(symbolIndex, isWhole: event.kind == .snapshot || verdict == .whole, now)
    books.updated(event, numbers, batch, now: now)
    return follow(verdict, event, at: index, &progress, now: now, into: &batch)
  }

  @inline(__always)
  private func count(_ event: BookEvent, _ verdict: BookKeeper.Verdict) {
    let index = event.instrument.index
    switch verdict {
    case .shallower:
      tally.counts.ignored += 1
      return
    case .late:
      tally.symbols[index].dropped += 1
      return
    case .followed: tally.symbols[index].sequenceOK += books.provesLinks ? 1 : 0
    case .joined: tally.symbols[index].bridged += 1
    case .old, .again: tally.symbols[index].dropped += 1
    case .gap: tally.symbols[index].gaps += 1
    case .whole, .same, .applied, .nothing, .kept: break
    }
    if event.kind == .snapshot || verdict == .whole {
      tally.symbols[index].snapshots += 1
    } else if event.checksum == nil || !event.bidRange.isEmpty || !event.askRange.isEmpty {
      // A checksum alone is no update.
      tally.symbols[index].deltas += 1
    }
  }

  /// A book's channel has spoken.
  @inline(__always)
  private func spoke(_ index: Int, isWhole: Bool, _ now: Timestamp) {
    let isBridged = books.lines[index].book.isBridged
    if isWhole || isBridged { books.lines[index].isHeard = true }
    if isBridged, books.lines[index].acknowledged == nil {
      books.lines[index].acknowledged = now
      requests.desk.flows(Topic(index: index, channel: 0))
    }
    life.watches.heardBook(of: index, now: now)
  }

  /// Does what the verdict about a book's message comes to; false if its event is to be left out.
  @inline(__always)
  private func follow(
    _ verdict: BookKeeper.Verdict, _ event: BookEvent, at index: Int, _ progress: inout Progress, now: Timestamp,
    into batch: inout EventBatch
  ) -> Bool {
    let symbolIndex = event.instrument.index
    switch verdict {
    case .whole:
      if event.kind != .snapshot {
        // Only the engine knows that it awaited one.
        var event = event
        event.kind = .snapshot
        batch.events[index] = .book(event)
      }
      books.lines[symbolIndex].wasLive = true
      requests.desk.flows(Topic(index: symbolIndex, channel: 0))
      proves(symbolIndex, now)
    case .same:
      // The book is as old as that, and nothing has to be told to anyone.
      Self.dropLevels(of: event, &batch)
      var event = event
      event.kind = .delta
      (event.bidRange, event.askRange) = (event.bidRange.prefix(0), event.askRange.prefix(0))
      batch.events[index] = .book(event)
      return true
    case .applied, .followed, .joined: break
    case .kept:
      // What is kept may have to be widened, as what is applied.
      note(event, batch)
      let delay = facts.bridge?.delay ?? 0
      books.pacer.want(symbolIndex, notBefore: now + delay)
      // One that is to wait goes with a tick.
      if delay == 0 { pump(now) }
      return false
    case .gap:
      if books.lines[symbolIndex].book.isBridged {
        books.lost(symbolIndex, now: now)
      } else {
        _ = books.lines[symbolIndex].book.lose(now: now)
      }
      batch.events[index] = .bookReset(event.instrument, .gap)
      progress.hasLost = true
    case .old, .again, .nothing, .shallower, .late: return false
    }
    note(event, batch)
    return true
  }

  /// Takes the levels out of the batch that an event is without; as a message's books are read one after the other,
  /// they are nearly always the last.
  private static func dropLevels(of event: BookEvent, _ batch: inout EventBatch) {
    if event.bidRange.upperBound == batch.bids.count { batch.bids.removeSubrange(event.bidRange) }
    if event.askRange.upperBound == batch.asks.count { batch.asks.removeSubrange(event.askRange) }
  }

  func note(_ event: BookEvent, _ batch: borrowing EventBatch) {
    known.note(event.instrument.index, batch.bids[event.bidRange])
    known.note(event.instrument.index, batch.asks[event.askRange])
  }

  /// Takes a live book out of sync, and says so.
  /// - Parameter isDead: see `BookKeeper.lose`.
  func take(
    _ index: Int, outOfSync reason: ResyncReason, isDead: Bool = false, now: Timestamp, into batch: inout EventBatch
  ) {
    if lose(index, reason, isDead: isDead, now: now) { batch.events.append(.bookReset(InstrumentID(index), reason)) }
  }

  /// The same, for one who says so; false if it was not live.
  private func lose(_ index: Int, _ reason: ResyncReason, isDead: Bool = false, now: Timestamp) -> Bool {
    guard books.lines[index].book.lose(now: now, isDead: isDead) else { return false }
    if reason == .gap { tally.symbols[index].gaps += 1 }
    if books.lines[index].book.isBridged { books.lost(index, now: now) }
    return true
  }

  /// The book of `instrument` must be rebuilt (a checksum failed, it is crossed). Idempotent while it is being rebuilt.
  package func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    let index = instrument.index
    guard life.isConnected, books.indices.contains(index), books.lines[index].book.lose(now: now) else { return }
    if books.lines[index].book.isBridged { books.lost(index, now: now) }
    tick(now: now, into: &batch)
  }

  // MARK: Numbers of trades

  // Where the venue counts trades without holes, missing ones are reported before the trade that follows them, and
  // asked for by REST.

  /// Takes the trade at `index` of the batch, which may be left out; tells what is missing before it. Returns the index
  /// behind it.
  func number(_ trade: Trade, fills: Int64, at index: Int, now: Timestamp, into batch: inout EventBatch) -> Int {
    var trade = trade
    switch trades.take(trade, fills: fills, now: now) {
    case .first, .old(isKnown: false): return index + 1
    case .old(isKnown: true):
      // A new subscription brings the newest trades again.
      guard trade.isBacklog else { return index + 1 }
      batch.events.remove(at: index)
      return index
    case .next:
      // From the time without a connection.
      guard trade.isBacklog else { return index + 1 }
      batch.events[index] = .trade(trade.late)
      return index + 1
    case .after(let hole):
      note(hole, of: trade.instrument.index)
      if trade.isBacklog, hole.count != nil { trade = trade.late }
      batch.events[index] = .trade(trade)
      batch.events.insert(.tradesMissing(trade.instrument, hole), at: index)
      return index + 2
    case .late(let whole):
      tally.symbols[trade.instrument.index].foundTrades += 1
      batch.events[index] = .trade(trade.late)
      guard let whole else { return index + 1 }
      batch.events.insert(.tradesSearched(trade.instrument, whole), at: index + 1)
      return index + 2
    }
  }

  /// The venue says which trade of a symbol is its newest.
  func compareTrades(_ index: Int, _ id: Int64, now: Timestamp, into batch: inout EventBatch) {
    guard let hole = trades.tell(index, id, now: now) else { return }
    note(hole, of: index)
    batch.events.append(.tradesMissing(InstrumentID(index), hole))
  }

  private func note(_ hole: TradeHole, of index: Int) {
    tally.symbols[index].missedTrades &+= Int(hole.count ?? 0)
    tally.symbols[index].tradeHoles += 1
  }

  // MARK: Scales

  /// The scales of an instrument have been widened: levels kept aside follow.
  func widened(_ index: Int, priceBy: Int64, sizeBy: Int64) {
    guard books.indices.contains(index) else { return }
    books.rescale(index, priceBy: priceBy, sizeBy: sizeBy)
    trades.rescale(index, priceBy: priceBy, sizeBy: sizeBy)
  }

  /// Widens the scale that the last failed read asked for; false if it asked for none or cannot have it.
  func widenIfNeeded(into batch: inout EventBatch) -> Bool {
    guard let (index, priceBy, sizeBy) = known.widenIfNeeded(into: &batch) else { return false }
    widened(index, priceBy: priceBy, sizeBy: sizeBy)
    return true
  }

  /// Brings an instrument to scales that are at least these. False if a value seen so far would not fit.
  package func widen(
    _ instrument: InstrumentID, priceScale: UInt8, sizeScale: UInt8, into batch: inout EventBatch
  ) -> Bool {
    let index = instrument.index
    guard known.instruments.indices.contains(index) else { return false }
    if let factor = known.widen(index, isPrice: true, to: priceScale, into: &batch) {
      widened(index, priceBy: factor, sizeBy: 1)
    }
    if let factor = known.widen(index, isPrice: false, to: sizeScale, into: &batch) {
      widened(index, priceBy: 1, sizeBy: factor)
    }
    return known[index].priceScale >= priceScale && known[index].sizeScale >= sizeScale
  }
}

extension Trade {
  /// The same as one that came late.
  fileprivate var late: Trade {
    var trade = self
    trade.isBacklog = false
    trade.isLate = true
    return trade
  }
}
