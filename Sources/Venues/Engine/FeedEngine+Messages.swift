import Bytes
import MarketData

/// Messages, and what market events do.
extension FeedEngine {
  /// Reads one text message. What it meant is appended to `batch`. A message that cannot be read is thrown out whole
  /// and costs nothing but itself; if it belonged to a book, that book is reset.
  package func receive(
    _ message: RawSpan, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    counts.messages += 1
    connectionHeard = now
    desk.heard()
    let ignored = counts.ignored
    let mark: BatchMark
    do throws(FeedError) {
      mark = try read(message, now: now, into: &batch)
    } catch {
      if error.kind == .unknownSymbol, isCanary(message) {
        marketHeard = now
        return
      }
      counts.rejected += 1
      notRead(message, now: now, into: &batch)
      throw error
    }
    do throws(FeedError) {
      try carryOut(hearing, from: mark.events, now: now, into: &batch)
    } catch {
      // What was read, and says that a request was refused, is no broken message.
      mark.rewind(&batch)
      counts.rejected += 1
      throw error
    }
    counts.rejectedLevels += known.badLevels
    if !hearing.isAnswer, counts.ignored == ignored { marketHeard = now }
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
        hearing.begin(now: now)
        try dialect.read(message, &known, &hearing, into: &batch)
        if hearing.mayBeCanary, isCanary(message) { throw FeedError(.unknownSymbol, "of the canary") }
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
    _ hearing: borrowing Hearing, from start: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    counts.ignored += hearing.ignored
    if let place = hearing.linked { seen[place].sequenceOK += 1 }
    let lost = hearing.lostBefore
    let first = lost.map { loseBooks($0, before: start, now: now, into: &batch) } ?? start
    take(hearing, from: first, now: now, into: &batch)
    if lost != nil { tick(now: now, into: &batch) }
    for report in hearing.reports { try act(report, now: now, into: &batch) }
  }

  /// Of a message that could not be read only a book loses something.
  private func notRead(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    hearing.begin(now: now)
    dialect.missed(message, known, &hearing)
    for topic in hearing.heard where !watches.isEmpty { watches[desk.code(topic)]?.heard(now: now) }
    for report in hearing.reports { try? act(report, now: now, into: &batch) }
    if let places = booksOfBroken(message) {
      for place in places {
        take(place, outOfSync: .malformed, now: now, into: &batch)
        if unnumbered != nil { beginAnew(place, now) }
      }
      if places.isEmpty, unnumbered != nil { renewAll(now) }
      return tick(now: now, into: &batch)
    }
    if let unnumbered, !Salvage.contains(message, unnumbered.otherMark) { renewAll(now) }
  }

  /// Takes trades at a price or size of zero or less out of the batch, which the others of the message stay in.
  /// O(events).
  private func dropImpossibleTrades(from start: Int, of batch: inout EventBatch) throws(FeedError) {
    var dropped = 0
    for index in start..<batch.events.count {
      guard case .trade(let trade) = batch.events[index], trade.price <= 0 || trade.size <= 0 else { continue }
      dropped += 1
      batch.events[index] = .heartbeat
      let place = trade.instrument.index
      if trade.isBacklog { seen[place].backlogTrades -= 1 } else { seen[place].trades -= 1 }
    }
    guard dropped > 0 else { return }
    counts.rejected += 1
    throw FeedError(.value, "\(dropped == 1 ? "a trade" : "\(dropped) trades") at a price or size of zero or less")
  }

  // MARK: Market events

  /// Takes the market events of a message that could be read. O(events).
  func take(_ hearing: borrowing Hearing, from start: Int, now: Timestamp, into batch: inout EventBatch) {
    var index = start
    var book = 0
    var tradeCount = 0
    /// Whose trades are the first of it.
    var newcomer = -1
    var hasLost = false
    for topic in hearing.heard {
      desk.flows(topic)
      proves(topic.place, now)
      if !watches.isEmpty { watches[desk.code(topic)]?.heard(now: now) }
    }
    while index < batch.events.count {
      if hasEnded, let place = Self.place(of: batch.events[index]), lines[place].isEnded {
        if case .book = batch.events[index] { book += 1 }
        batch.events.remove(at: index)
        continue
      }
      switch batch.events[index] {
      case .trade(var trade):
        let place = trade.instrument.index
        if facts.beginsWithOldTrades, !lines[place].hasTraded || newcomer == place {
          newcomer = place
          lines[place].hasTraded = true
          let subscribed = lines[place].tradesSince ?? lines[place].subscribed
          trade.isBacklog = subscribed != .distantFuture && trade.time < subscribed - Market.clockTolerance
          batch.events[index] = .trade(trade)
        }
        count(trade)
        if unnumbered != nil { traded(trade, now) }
        if facts.countsTrades {
          let fills = tradeCount < hearing.fills.count ? hearing.fills[tradeCount] : 1
          tradeCount += 1
          hear(place)
          index = number(trade, fills: fills, at: index, now: now, into: &batch)
          continue
        }
        hear(place)
      case .book(let event):
        let numbers = hearing.numbers(book)
        book += 1
        guard !isProbe(hearing, event, now: now, &batch),
          take(event, numbers, at: index, now: now, &hasLost, into: &batch)
        else {
          batch.events.remove(at: index)
          continue
        }
      case .quote(let quote): hear(quote.instrument.index)
      case .ticker(let ticker): hear(ticker.instrument.index)
      default: break
      }
      index += 1
    }
    if hasLost { tick(now: now, into: &batch) }
  }

  /// Counts a trade and notes its price and size, once nothing of its message can fail any more.
  func count(_ trade: Trade) {
    let place = trade.instrument.index
    known.note(place, price: trade.price, size: trade.size)
    if trade.isBacklog { seen[place].backlogTrades += 1 } else { seen[place].trades += 1 }
  }

  /// Something before the message is missing, of which it cannot be told whose it was: no book that is live is vouched
  /// for. A snapshot that shows it is good itself.
  func loseBooks(_ reason: ResyncReason, before start: Int, now: Timestamp, into batch: inout EventBatch) -> Int {
    var first = start
    for place in lines.indices where lose(place, reason, now: now) {
      batch.events.insert(.bookReset(InstrumentID(place), reason), at: first)
      first += 1
    }
    return first
  }

  /// The books that a message was of which could not be read; nil if it was of none.
  func booksOfBroken(_ message: RawSpan) -> [Int]? {
    if !facts.kinds.isEmpty, !facts.kinds.contains(where: { Salvage.contains(message, $0) }) {
      return Array(lines.indices)
    }
    guard let fact = facts.salvage.first(where: { Salvage.contains(message, $0.mark) }) else { return nil }
    let places = Salvage.symbols(message, key: fact.key, in: known.names, prefix: fact.prefix, suffix: fact.suffix)
    if !facts.kinds.isEmpty, places.isEmpty, !Salvage.hasText(message, key: fact.key) { return Array(lines.indices) }
    return places
  }

  /// Whose an event is.
  private static func place(of event: MarketEvent) -> Int? {
    switch event {
    case .trade(let trade): trade.instrument.index
    case .book(let event): event.instrument.index
    case .quote(let quote): quote.instrument.index
    case .ticker(let ticker): ticker.instrument.index
    default: nil
    }
  }

  /// Something came of a symbol beside its book.
  func hear(_ place: Int) {
    if lines[place].book.isBridged { lines[place].isHeard = true }
  }

  // MARK: Books

  /// Compares a book that was asked for apart from the stream with what that has said; false if it was not.
  private func isProbe(
    _ hearing: borrowing Hearing, _ event: BookEvent, now: Timestamp, _ batch: inout EventBatch
  ) -> Bool {
    guard hearing.isProbe else { return false }
    lines[event.instrument.index].book.compare(event, batch, now: now)
    Self.dropLevels(of: event, &batch)
    return true
  }

  /// Takes a book's message; false if its event is to be left out.
  func take(
    _ event: BookEvent, _ numbers: Hearing.Numbers?, at index: Int, now: Timestamp, _ hasLost: inout Bool,
    into batch: inout EventBatch
  ) -> Bool {
    let place = event.instrument.index
    // Levels of a refused symbol belong to another request. A book that they made live would have no retry to come back
    // by when it is lost. The retry of the refusal requests the symbol with all of its channels.
    guard !lines[place].isRefused else {
      counts.ignored += 1
      Self.dropLevels(of: event, &batch)
      return false
    }
    let verdict = lines[place].book.take(event, numbers, batch, now: now)
    if verdict == .shallower {
      counts.ignored += 1
      return false
    }
    if verdict == .late {
      seen[place].dropped += 1
      Self.dropLevels(of: event, &batch)
      return false
    }
    let isWhole = event.kind == .snapshot || verdict == .whole
    if isWhole {
      seen[place].snapshots += 1
    } else if event.checksum == nil || !event.bidRange.isEmpty || !event.askRange.isEmpty {
      // A checksum alone is no update.
      seen[place].deltas += 1
    }
    let isBridged = lines[place].book.isBridged
    if isWhole || isBridged { lines[place].isHeard = true }
    if isBridged, lines[place].acknowledged == nil {
      lines[place].acknowledged = now
      desk.flows(Topic(place: place, channel: 0))
    }
    if unnumbered != nil, let numbers { updated(event, numbers.numbers, batch, now) }
    if !watches.isEmpty { watches[place * facts.channels.count]?.heard(now: now) }
    switch verdict {
    case .whole:
      if event.kind != .snapshot {
        // Only the engine knows that it awaited one.
        var event = event
        event.kind = .snapshot
        batch.events[index] = .book(event)
      }
      lines[place].wasLive = true
      desk.flows(Topic(place: place, channel: 0))
      proves(place, now)
    case .same:
      // The book is as old as that, and nothing has to be told to anyone.
      Self.dropLevels(of: event, &batch)
      var event = event
      event.kind = .delta
      (event.bidRange, event.askRange) = (event.bidRange.prefix(0), event.askRange.prefix(0))
      batch.events[index] = .book(event)
      return true
    case .applied: break
    case .followed: seen[place].sequenceOK += unnumbered == nil ? 1 : 0
    case .joined: seen[place].bridged += 1
    case .old, .again: seen[place].dropped += 1
    case .nothing, .shallower, .late: break
    case .kept:
      // What is kept may have to be widened, as what is applied.
      note(event, batch)
      let delay = facts.bridge?.delay ?? 0
      pacer.want(place, notBefore: now + delay)
      // One that is to wait goes with a tick.
      if delay == 0 { pump(now) }
    case .gap:
      note(event, batch)
      seen[place].gaps += 1
      if isBridged { lostBridged(place, now) } else { _ = lines[place].book.lose(now: now) }
      batch.events[index] = .bookReset(event.instrument, .gap)
      hasLost = true
      return true
    }
    switch verdict {
    case .whole, .applied, .followed, .joined:
      note(event, batch)
      return true
    default: return false
    }
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
    _ place: Int, outOfSync reason: ResyncReason, isDead: Bool = false, now: Timestamp, into batch: inout EventBatch
  ) {
    if lose(place, reason, isDead: isDead, now: now) { batch.events.append(.bookReset(InstrumentID(place), reason)) }
  }

  /// The same, for one who says so; false if it was not live.
  private func lose(_ place: Int, _ reason: ResyncReason, isDead: Bool = false, now: Timestamp) -> Bool {
    guard lines[place].book.lose(now: now, isDead: isDead) else { return false }
    if reason == .gap { seen[place].gaps += 1 }
    if lines[place].book.isBridged { lostBridged(place, now) }
    return true
  }

  /// The book of `instrument` must be rebuilt (a checksum failed, it is crossed). Idempotent while it is being rebuilt.
  package func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    let place = instrument.index
    guard isConnected, lines.indices.contains(place), lines[place].book.lose(now: now) else { return }
    if lines[place].book.isBridged { lostBridged(place, now) }
    tick(now: now, into: &batch)
  }

  // MARK: Scales

  /// The scales of an instrument have been widened: levels kept aside follow.
  func widened(_ place: Int, priceBy: Int64, sizeBy: Int64) {
    guard lines.indices.contains(place) else { return }
    lines[place].book.rescale(priceBy: priceBy, sizeBy: sizeBy)
    trades.rescale(place, priceBy: priceBy, sizeBy: sizeBy)
    if renewal?.place == place { renewal?.bridge.rescale(priceBy: priceBy, sizeBy: sizeBy) }
  }

  /// Widens the scale that the last failed read asked for; false if it asked for none or cannot have it.
  func widenIfNeeded(into batch: inout EventBatch) -> Bool {
    guard let (place, priceBy, sizeBy) = known.widenIfNeeded(into: &batch) else { return false }
    widened(place, priceBy: priceBy, sizeBy: sizeBy)
    return true
  }

  /// Brings an instrument to scales that are at least these. False if a value seen so far would not fit.
  package func widen(
    _ instrument: InstrumentID, priceScale: UInt8, sizeScale: UInt8, into batch: inout EventBatch
  ) -> Bool {
    let place = instrument.index
    guard known.instruments.indices.contains(place) else { return false }
    if let factor = known.widen(place, isPrice: true, to: priceScale, into: &batch) {
      widened(place, priceBy: factor, sizeBy: 1)
    }
    if let factor = known.widen(place, isPrice: false, to: sizeScale, into: &batch) {
      widened(place, priceBy: 1, sizeBy: factor)
    }
    return known[place].priceScale >= priceScale && known[place].sizeScale >= sizeScale
  }
}
