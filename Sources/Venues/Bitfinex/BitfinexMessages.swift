import Bytes
import MarketData

/// Reading Bitfinex' messages: events are objects (`BitfinexEvent`), data are arrays `[channel, payload…, count,
/// time]`.
///
/// "Message lengths should never be hardcoded" (docs.bitfinex.com, "General"): what is behind the known elements is
/// passed over.
extension BitfinexHandler {
  /// What a data message came to.
  private enum Payload {
    /// Of an unknown channel, or known and of no use.
    case nothing
    /// Of a kind that is not known.
    case unknown
    case heartbeat
    case checksum(UInt32)
    /// Its levels stand in the batch since the mark.
    case snapshot(BatchMark)
    case level(BatchMark)
    case trade(Trade)
    /// Trades from before the subscription, which stand in the batch already, and the newest of them.
    case backlog(Range<Int>, newest: UInt64)
    case ticker(Ticker)
  }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    if reader.peek() == .array { return try readData(&reader, now: now, into: &batch) }
    let event = try readEvent(&reader)
    guard !event.name.isEmpty else { throw FeedError.missing("event", in: "message") }
    isAnswer = true
    try heard(event, now: now, into: &batch)
  }

  // MARK: Data

  private func readData(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let mark = BatchMark(batch)
    reader.field = "channel"
    try reader.arrayStart()
    guard try reader.nextElement() else { throw FeedError.missing("channel", in: "message") }
    let slot = slot(of: try reader.int64("channel"))
    guard try reader.nextElement() else { throw FeedError.missing("payload", in: "message") }
    var payload = try readPayload(&reader, slot, now: now, into: &batch)
    let (count, time) = try readTail(&reader)
    try reader.end()
    let ordering = self.ordering(count)
    if ordering == .again {
      // What came is what came last.
      mark.rewind(&batch)
      return
    }
    lastCount = count ?? lastCount
    if ordering == .gap { loseBooks(.gap, now: now, into: &batch) }
    if case .unknown = payload { counts.ignored += 1 }
    guard slot >= 0 else { return }
    slots[slot].heard = now
    let place = Self.place(slot)
    if ordering == .next { seen[place].sequenceOK += 1 }
    if case .ticker(var ticker) = payload {
      ticker.time = time ?? now
      payload = .ticker(ticker)
    }
    commit(payload, place, time: time ?? now, now: now, into: &batch)
  }

  private enum Ordering { case first, next, again, gap, uncounted }

  private func ordering(_ count: Int64?) -> Ordering {
    guard let count else { return .uncounted }
    guard let lastCount else { return .first }
    if count == lastCount { return .again }
    return count == lastCount &+ 1 ? .next : .gap
  }

  /// The count of the message and the venue's time, each if it is there. A count of 10^12 is a time: no connection
  /// lives so long.
  private func readTail(_ reader: inout FieldReader) throws(FeedError) -> (count: Int64?, time: Timestamp?) {
    var count: Int64?
    var time: Timestamp?
    while try reader.nextElement() {
      guard reader.peek() == .number, time == nil else {
        try reader.skipValue()
        continue
      }
      let slice = try reader.number("count")
      let value = (try? DecimalText.parse(reader.text(slice), scale: 0)) ?? 0
      if value >= 1_000_000_000_000 {
        time = VenueTime.epoch(value)
      } else if value > 0, count == nil {
        count = value
      }
    }
    return (count, time)
  }

  private func readPayload(
    _ reader: inout FieldReader, _ slot: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) -> Payload {
    switch reader.peek() {
    case .array where slot >= 0:
      let place = Self.place(slot)
      switch Self.channel(slot) {
      case .book: return try readBook(&reader, place, into: &batch)
      case .trades: return try readBacklog(&reader, place, now: now, into: &batch)
      case .ticker: return try readTicker(&reader, place, now: now)
      }
    case .string:
      let tag = try reader.string("type")
      if reader.equals(tag, "hb") { return .heartbeat }
      if reader.equals(tag, "cs") { return try readChecksum(&reader) }
      // Each trade comes twice: `te` at once, and `tu` with nothing new some milliseconds later.
      if reader.equals(tag, "te"), slot >= 0, Self.channel(slot) == .trades {
        guard try reader.nextElement() else { throw FeedError.missing("trade", in: "te") }
        reader.field = "trade"
        return .trade(try readTrade(&reader, Self.place(slot), now: now))
      }
      return reader.equals(tag, "tu") || reader.equals(tag, "te") ? .nothing : .unknown
    default:
      try reader.skipValue()
      return .nothing
    }
  }

  private func commit(
    _ payload: Payload, _ place: Int, time: Timestamp, now: Timestamp, into batch: inout EventBatch
  ) {
    switch payload {
    case .nothing, .unknown: break
    case .heartbeat: batch.events.append(.heartbeat)
    case .ticker(let ticker): batch.events.append(.ticker(ticker))
    case .backlog(let range, let newest):
      countTrades(of: batch, from: range.lowerBound)
      feeds[place].lastTrade = newest
    case .trade(let trade):
      feeds[place].lastTrade = max(feeds[place].lastTrade, trade.id.number ?? 0)
      count(trade)
      batch.events.append(.trade(trade))
    case .checksum(let checksum):
      guard feeds[place].book.isLive else { break }
      append(.delta, place, since: BatchMark(batch), time: time, checksum: checksum, into: &batch)
    case .snapshot(let mark):
      seen[place].snapshots += 1
      feeds[place].book.snapshotArrived(now: now)
      append(.snapshot, place, since: mark, time: time, into: &batch)
    case .level(let mark):
      seen[place].deltas += 1
      // On its way when the book was given up.
      guard feeds[place].book.isLive else { return mark.dropLevels(&batch) }
      append(.delta, place, since: mark, time: time, into: &batch)
    }
  }

  // MARK: Books

  /// `[[PRICE, COUNT, AMOUNT], …]` is a snapshot, `[PRICE, COUNT, AMOUNT]` a level that changed. A book without
  /// orders is `[]`.
  private func readBook(
    _ reader: inout FieldReader, _ place: Int, into batch: inout EventBatch
  ) throws(FeedError) -> Payload {
    let mark = BatchMark(batch)
    reader.field = "book"
    try reader.arrayStart()
    var isSnapshot = true
    if try reader.nextElement() {
      isSnapshot = reader.peek() == .array
      if isSnapshot {
        repeat {
          try reader.arrayStart()
          guard try reader.nextElement() else { throw FeedError.missing("price", in: "level") }
          try readLevel(&reader, place, into: &batch)
        } while try reader.nextElement()
      } else {
        try readLevel(&reader, place, into: &batch)
      }
    }
    return isSnapshot ? .snapshot(mark) : .level(mark)
  }

  /// The rest of a level from its price on: a positive amount is a bid's, a negative one an ask's; a count of 0
  /// removes the level of the side that the amount's sign says.
  private func readLevel(
    _ reader: inout FieldReader, _ place: Int, into batch: inout EventBatch
  ) throws(FeedError) {
    let price = try price(&reader, place, "price")
    guard try reader.nextElement() else { throw FeedError.missing("count", in: "level") }
    let orders = try reader.int64("count")
    guard try reader.nextElement() else { throw FeedError.missing("amount", in: "level") }
    let amount = try signedSize(&reader, place, "amount")
    while try reader.nextElement() { try reader.skipValue() }
    guard price > 0 else { throw FeedError(.value, "level before offset \(reader.offset): price is not above zero") }
    guard orders >= 0, amount != 0, amount != .min else {
      throw FeedError(.shape, "level before offset \(reader.offset): count or amount is out of range")
    }
    let level = PriceLevel(price: price, size: orders == 0 ? 0 : abs(amount))
    if amount > 0 { batch.bids.append(level) } else { batch.asks.append(level) }
  }

  /// A signed 32-bit number.
  private func readChecksum(_ reader: inout FieldReader) throws(FeedError) -> Payload {
    guard try reader.nextElement() else { throw FeedError.missing("checksum", in: "cs") }
    guard let value = Int32(exactly: try reader.int64("checksum")) else {
      throw FeedError(.decimal, "field checksum before offset \(reader.offset): more than 32 bits")
    }
    return .checksum(UInt32(bitPattern: value))
  }

  // MARK: Trades and statistics

  /// `[[ID, MTS, AMOUNT, PRICE], …]`: the last trades, newest first. Those that were seen on an earlier connection
  /// are left out.
  private func readBacklog(
    _ reader: inout FieldReader, _ place: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) -> Payload {
    let start = batch.events.count
    let known = feeds[place].lastTrade
    var newest = known
    var first: (number: UInt64, time: Timestamp)?
    var last: (number: UInt64, time: Timestamp)?
    reader.field = "trades"
    try reader.arrayStart()
    while try reader.nextElement() {
      guard reader.peek() == .array else {
        try reader.skipValue()
        continue
      }
      var trade = try readTrade(&reader, place, now: now)
      let number = trade.id.number ?? 0
      guard number == 0 || number > known else { continue }
      trade.isBacklog = true
      newest = max(newest, number)
      last = (number, trade.time)
      first = first ?? last
      batch.events.append(.trade(trade))
    }
    if let first, let last, (first.time, first.number) > (last.time, last.number) { batch.events[start...].reverse() }
    return .backlog(start..<batch.events.count, newest: newest)
  }

  /// `[ID, MTS, AMOUNT, PRICE]`: positive amounts are the taker's purchases.
  private func readTrade(
    _ reader: inout FieldReader, _ place: Int, now: Timestamp
  ) throws(FeedError) -> Trade {
    try reader.arrayStart()
    guard try reader.nextElement() else { throw FeedError.missing("id", in: "trade") }
    let id = try reader.number("id")
    guard try reader.nextElement() else { throw FeedError.missing("time", in: "trade") }
    let time = try reader.time("time", .epoch) ?? now
    guard try reader.nextElement() else { throw FeedError.missing("amount", in: "trade") }
    let amount = try signedSize(&reader, place, "amount")
    guard try reader.nextElement() else { throw FeedError.missing("price", in: "trade") }
    let price = try price(&reader, place, "price")
    while try reader.nextElement() { try reader.skipValue() }
    guard amount != .min else {
      throw FeedError(.shape, "trade before offset \(reader.offset): amount is out of range")
    }
    return Trade(
      instrument: InstrumentID(place), id: TradeID(reader.text(id)), price: price, size: abs(amount),
      side: amount > 0 ? .buy : .sell, time: time)
  }

  /// `[BID, BID_SIZE, ASK, ASK_SIZE, CHANGE, CHANGE_RELATIVE, LAST, VOLUME, HIGH, LOW, …]`. The sizes are sums of 25
  /// levels and not those of the best, so quotes come from the book.
  private func readTicker(
    _ reader: inout FieldReader, _ place: Int, now: Timestamp
  ) throws(FeedError) -> Payload {
    var ticker = Ticker(instrument: InstrumentID(place), time: now)
    reader.field = "ticker"
    try reader.arrayStart()
    var index = 0
    while try reader.nextElement() {
      switch index {
      case 0: ticker.bid = try tickerPrice(&reader, place, "BID")
      case 2: ticker.ask = try tickerPrice(&reader, place, "ASK")
      case 4: ticker.change = try statistic(&reader, "DAILY_CHANGE")
      case 5:
        // A fraction: 0.0262 is 2.62 %.
        let fraction = try statistic(&reader, "DAILY_CHANGE_RELATIVE")
        ticker.changePercent = fraction.flatMap { $0.multiplied(by: Decimal64(mantissa: 100, scale: 0)) }
      case 6: ticker.last = try tickerPrice(&reader, place, "LAST_PRICE")
      case 7: ticker.volume = try statistic(&reader, "VOLUME")
      case 8: ticker.high = try statisticsPrice(&reader, place, "HIGH")
      case 9: ticker.low = try statisticsPrice(&reader, place, "LOW")
      default: try reader.skipValue()
      }
      index += 1
    }
    guard index >= 10 else { throw FeedError.missing("LOW", in: "ticker") }
    return .ticker(ticker)
  }

  /// A price that the scale learns from: the first ticker comes before the book, and of a quiet market there is no
  /// second.
  private func tickerPrice(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString
  ) throws(FeedError) -> Int64? {
    try reader.null() ? nil : try price(&reader, place, field)
  }
}
