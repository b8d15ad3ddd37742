import MarketData

/// What market events do.
extension FeedEngine {
  /// Takes the market events of a message that could be read. O(events).
  func take(from start: Int, now: Timestamp, into batch: inout EventBatch) {
    var index = start
    var book = 0
    var trades = 0
    /// Whose trades are the first of it.
    var newcomer = -1
    var hasLost = false
    for topic in hearing.heard {
      desk.flows(topic)
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
          let subscribed = lines[place].subscribed
          trade.isBacklog = subscribed != .distantFuture && trade.time < subscribed - Market.clockTolerance
          batch.events[index] = .trade(trade)
        }
        count(trade)
        if unnumbered != nil { traded(trade, now) }
        if facts.countsTrades {
          let id = Int64(clamping: trade.id.number ?? 0)
          let fills = trades < hearing.fills.count ? hearing.fills[trades] : 1
          trades += 1
          if !trade.isBacklog {
            // One sequence per book: a jump means trades that never came.
            seen[place].missedTrades &+= TradeSequence.missed(
              after: lines[place].lastTrade, before: id, fills: fills)
          }
          lines[place].lastTrade = max(lines[place].lastTrade, id)
        }
        hear(place)
      case .book(let event):
        let numbers = hearing.numbers(book)
        book += 1
        guard take(event, numbers, at: index, now: now, &hasLost, into: &batch) else {
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

  /// Something before the message is missing, of which it cannot be told whose it was: no book that is live is vouched
  /// for. A snapshot that shows it is good itself.
  func loseBooks(_ reason: ResyncReason, before start: Int, now: Timestamp, into batch: inout EventBatch) -> Int {
    var first = start
    for place in lines.indices where lines[place].book.lose(now: now) {
      seen[place].gaps += reason == .gap ? 1 : 0
      if lines[place].book.isBridged { lostBridged(place, now) }
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

  /// Takes a book's message; false if its event is to be left out.
  func take(
    _ event: BookEvent, _ numbers: Hearing.Numbers?, at index: Int, now: Timestamp, _ hasLost: inout Bool,
    into batch: inout EventBatch
  ) -> Bool {
    let place = event.instrument.index
    let verdict = lines[place].book.take(event, numbers, batch, now: now)
    if verdict == .shallower {
      counts.ignored += 1
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
    case .applied: break
    case .followed: seen[place].sequenceOK += unnumbered == nil ? 1 : 0
    case .joined: seen[place].bridged += 1
    case .old: seen[place].dropped += 1
    case .nothing, .shallower: break
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

  func note(_ event: BookEvent, _ batch: borrowing EventBatch) {
    known.note(event.instrument.index, batch.bids[event.bidRange])
    known.note(event.instrument.index, batch.asks[event.askRange])
  }

  // MARK: What is sent

  func spell(_ request: FeedRequest, _ now: Timestamp) -> String? {
    requestID += 1
    let text = dialect.spell(request, id: requestID, now: now, known)
    if text == nil { requestID -= 1 }
    return text
  }

  func send(_ text: String, _ now: Timestamp) {
    actions.append(.send(text))
    lastSent = now
  }

  func leave(_ reason: String, within: Int64) {
    guard !isLeaving else { return }
    isLeaving = true
    actions.append(.renew(reason: reason, within: within))
  }
}
