import Bytes
import MarketData

/// Reading Bitfinex' messages: events are objects `{"event":…}`, data are arrays `[channel, payload…, count,
/// time]`.
///
/// "Message lengths should never be hardcoded" (docs.bitfinex.com, "General"): what is behind the known elements is
/// passed over.
extension Bitfinex {
  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    if reader.peek() == .array { return try readData(&reader, &instruments, &outcome, into: &batch) }
    let event = try FieldObject(&reader, "message")
    try reader.end()
    try heard(event, instruments, &outcome, into: &batch)
  }

  // MARK: Data

  private func readData(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let mark = BatchMark(batch)
    reader.field = "channel"
    try reader.arrayStart()
    guard try reader.nextElement() else { throw FeedError.missing("channel", in: "message") }
    let topic = topic(of: try reader.int64("channel"))
    guard try reader.nextElement() else { throw FeedError.missing("payload", in: "message") }
    let isKnown = try readPayload(&reader, topic, &instruments, now: outcome.now, into: &batch)
    let (count, time) = try readTail(&reader)
    try reader.end()
    if let count, let lastCount {
      // What came is what came last.
      if count == lastCount { return mark.rewind(&batch) }
      if count == lastCount &+ 1 { outcome.linked = topic?.index } else { outcome.lostBefore = .gap }
    }
    lastCount = count ?? lastCount
    if !isKnown { outcome.ignored += 1 }
    guard let topic else { return mark.rewind(&batch) }
    outcome.hear(topic)
    while lastTrades.count <= topic.index { lastTrades.append(NewestTrade()) }
    // The time stands behind what it is of.
    for index in mark.events..<batch.events.count {
      switch batch.events[index] {
      case .book(var event):
        event.time = time ?? event.time
        batch.events[index] = .book(event)
      case .ticker(var ticker):
        ticker.time = time ?? ticker.time
        batch.events[index] = .ticker(ticker)
      case .trade(let trade): lastTrades[topic.index].note(trade)
      default: break
      }
    }
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
      let value = try reader.wholeNumber("count") ?? 0
      if value >= 1_000_000_000_000 {
        time = VenueTime.epoch(value)
      } else if value > 0, count == nil {
        count = value
      }
    }
    return (count, time)
  }

  /// Appends what a message says, with the time of now; false if it is of a kind that is not known.
  private func readPayload(
    _ reader: inout FieldReader, _ topic: Topic?, _ instruments: inout InstrumentTable, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) -> Bool {
    switch (reader.peek(), topic) {
    case (.array, let topic?):
      switch topic.channel {
      case Self.book: try readBook(&reader, topic.index, &instruments, now: now, into: &batch)
      case Self.trades: try readBacklog(&reader, topic.index, &instruments, now: now, into: &batch)
      default: try readTicker(&reader, topic.index, &instruments, now: now, into: &batch)
      }
    case (.string, _):
      let tag = try reader.string("type")
      if reader.equals(tag, "hb") {
        batch.events.append(.heartbeat)
      } else if reader.equals(tag, "cs") {
        try readChecksum(&reader, topic?.index ?? 0, now: now, into: &batch)
      } else if reader.equals(tag, "te") {
        // Each trade comes twice: `te` at once, and `tu` with nothing new some milliseconds later.
        guard let topic, topic.channel == Self.trades else { break }
        guard try reader.nextElement() else { throw FeedError.missing("trade", in: "te") }
        reader.field = "trade"
        batch.events.append(.trade(try readTrade(&reader, topic.index, &instruments, now: now)))
      } else {
        return reader.equals(tag, "tu")
      }
    default: try reader.skipValue()
    }
    return true
  }

  // MARK: Books

  /// `[[PRICE, COUNT, AMOUNT], …]` is a snapshot, `[PRICE, COUNT, AMOUNT]` a level that changed. A book without
  /// orders is `[]`.
  private func readBook(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
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
          try readLevel(&reader, index, &instruments, into: &batch)
        } while try reader.nextElement()
      } else {
        try readLevel(&reader, index, &instruments, into: &batch)
      }
    }
    batch.appendBook(isSnapshot ? .snapshot : .delta, index, since: mark, time: now)
  }

  /// The rest of a level from its price on: a positive amount is a bid's, a negative one an ask's; a count of 0
  /// removes the level of the side that the amount's sign says.
  private func readLevel(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, into batch: inout EventBatch
  ) throws(FeedError) {
    let price = try instruments.price(&reader, index, "price")
    guard try reader.nextElement() else { throw FeedError.missing("count", in: "level") }
    let orders = try reader.int64("count")
    guard try reader.nextElement() else { throw FeedError.missing("amount", in: "level") }
    let amount = try instruments.signedSize(&reader, index, "amount")
    while try reader.nextElement() { try reader.skipValue() }
    guard price > 0 else { throw FeedError(.value, "level before offset \(reader.offset): price is not above zero") }
    guard orders >= 0, amount != 0, amount != .min else {
      throw FeedError(.shape, "level before offset \(reader.offset): count or amount is out of range")
    }
    let level = PriceLevel(price: price, size: orders == 0 ? 0 : abs(amount))
    if amount > 0 { batch.bids.append(level) } else { batch.asks.append(level) }
  }

  /// A signed 32-bit number.
  private func readChecksum(
    _ reader: inout FieldReader, _ index: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    guard try reader.nextElement() else { throw FeedError.missing("checksum", in: "cs") }
    guard let value = Int32(exactly: try reader.int64("checksum")) else {
      throw FeedError(.decimal, "field checksum before offset \(reader.offset): more than 32 bits")
    }
    let checksum = UInt32(bitPattern: value)
    batch.appendBook(.delta, index, since: BatchMark(batch), time: now, checksum: checksum)
  }

  // MARK: Trades and statistics

  /// `[[ID, MTS, AMOUNT, PRICE], …]`: the last trades, newest first. Those that were seen on an earlier connection
  /// are left out.
  private func readBacklog(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let start = batch.events.count
    let known = index < lastTrades.count ? lastTrades[index] : NewestTrade()
    reader.field = "trades"
    try reader.arrayStart()
    while try reader.nextElement() {
      guard reader.peek() == .array else {
        try reader.skipValue()
        continue
      }
      var trade = try readTrade(&reader, index, &instruments, now: now)
      guard known.isOlder(than: trade) else { continue }
      trade.isBacklog = true
      batch.events.append(.trade(trade))
    }
    batch.orderTrades(from: start)
  }

  /// `[ID, MTS, AMOUNT, PRICE]`: positive amounts are the taker's purchases.
  private func readTrade(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, now: Timestamp
  ) throws(FeedError) -> Trade {
    try reader.arrayStart()
    guard try reader.nextElement() else { throw FeedError.missing("id", in: "trade") }
    let id = try reader.number("id")
    guard try reader.nextElement() else { throw FeedError.missing("time", in: "trade") }
    let time = try reader.time("time", .epoch) ?? now
    guard try reader.nextElement() else { throw FeedError.missing("amount", in: "trade") }
    let amount = try instruments.signedSize(&reader, index, "amount")
    guard try reader.nextElement() else { throw FeedError.missing("price", in: "trade") }
    let price = try instruments.price(&reader, index, "price")
    while try reader.nextElement() { try reader.skipValue() }
    guard amount != .min else {
      throw FeedError(.shape, "trade before offset \(reader.offset): amount is out of range")
    }
    return Trade(
      instrument: InstrumentID(index), id: TradeID(reader.text(id)), price: price, size: abs(amount),
      side: amount > 0 ? .buy : .sell, time: time)
  }

  /// `[BID, BID_SIZE, ASK, ASK_SIZE, CHANGE, CHANGE_RELATIVE, LAST, VOLUME, HIGH, LOW, …]`. The sizes are sums of 25
  /// levels and not those of the best, so quotes come from the book.
  private func readTicker(
    _ reader: inout FieldReader, _ symbolIndex: Int, _ instruments: inout InstrumentTable, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var ticker = Ticker(instrument: InstrumentID(symbolIndex), time: now)
    reader.field = "ticker"
    try reader.arrayStart()
    var index = 0
    while try reader.nextElement() {
      switch index {
      case 0: ticker.bid = try tickerPrice(&reader, symbolIndex, &instruments, "BID")
      case 2: ticker.ask = try tickerPrice(&reader, symbolIndex, &instruments, "ASK")
      case 4: ticker.change = try reader.statistic("DAILY_CHANGE")
      case 5:
        // A fraction: 0.0262 is 2.62 %.
        let fraction = try reader.statistic("DAILY_CHANGE_RELATIVE")
        ticker.changePercent = fraction.flatMap { $0.multiplied(by: Decimal64(mantissa: 100, scale: 0)) }
      case 6: ticker.last = try tickerPrice(&reader, symbolIndex, &instruments, "LAST_PRICE")
      case 7: ticker.volume = try reader.statistic("VOLUME")
      case 8: ticker.high = try instruments.statisticsPrice(&reader, symbolIndex, "HIGH")
      case 9: ticker.low = try instruments.statisticsPrice(&reader, symbolIndex, "LOW")
      default: try reader.skipValue()
      }
      index += 1
    }
    guard index >= 10 else { throw FeedError.missing("LOW", in: "ticker") }
    batch.events.append(.ticker(ticker))
  }

  /// A price that the scale learns from: the first ticker comes before the book, and of a quiet market there is no
  /// second.
  private func tickerPrice(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, _ field: StaticString
  ) throws(FeedError) -> Int64? {
    try reader.null() ? nil : try instruments.price(&reader, index, field)
  }
}

/// What events come to.
extension Bitfinex {
  func heard(
    _ event: borrowing FieldObject, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    outcome.isAnswer = true
    switch try event.name("event") {
    case "info": try informed(event, &outcome)
    case "subscribed": subscribed(event, instruments, &outcome)
    case "unsubscribed": unsubscribed(event, &outcome)
    case "pong": batch.events.append(.heartbeat)
    case "conf":
      outcome.report(.greeted)
      guard event.says("status", "OK") != true else { return }
      let reason = "\(event.text("status") ?? "") \(event.text("msg") ?? ""); books go without their count and checksum"
      outcome.report(.refused(MessageOutcome.Refusal(reason: reason, what: "conf")))
    case "error": failed(event, instruments, &outcome)
    default: outcome.ignored += 1
    }
  }

  private func informed(_ event: borrowing FieldObject, _ outcome: inout MessageOutcome) throws(FeedError) {
    switch event.integer("code") {
    case 20_051:
      outcome.report(
        .leave("the venue restarts its server and asks to connect again", within: Self.restartNotice))
    case 20_060: outcome.report(.maintenance(true))
    case 20_061: outcome.report(.maintenance(false))
    default:
      guard let isWorking = try event.object("platform")?.integer("status") else { return }
      outcome.report(.maintenance(isWorking == 0))
    }
  }

  private func subscribed(
    _ event: borrowing FieldObject, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome
  ) {
    let topic = event.topic(channel: "channel", symbol: "symbol", facts, instruments)
    let number = event.integer("chanId") ?? 0
    // A number may come again for something else; then it is no longer what it was.
    if let former = self.topic(of: number), former != topic { ended(former, &outcome) }
    guard let topic, number != 0, topic.channel != Self.book || event.says("prec", "P0") ?? true
    else {
      outcome.ignored += 1
      return
    }
    let code = code(topic)
    grow(to: code)
    if leaving[code] == number { leaving[code] = 0 }
    numbers[code] = number
    outcome.report(.acknowledged(id: nil, index: topic.index, channel: topic.channel))
  }

  private func unsubscribed(_ event: borrowing FieldObject, _ outcome: inout MessageOutcome) {
    let number = event.integer("chanId") ?? 0
    if number != 0, let code = leaving.firstIndex(of: number) {
      leaving[code] = 0
    } else if let topic = topic(of: number) {
      ended(topic, &outcome)
    }
  }

  /// A channel is no more, and not at our wish.
  private func ended(_ topic: Topic, _ outcome: inout MessageOutcome) {
    numbers[code(topic)] = 0
    outcome.report(.ended(topic))
  }

  private func failed(_ event: borrowing FieldObject, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome) {
    let topic = event.topic(channel: "channel", symbol: "symbol", facts, instruments)
    let (number, code) = (event.integer("chanId") ?? 0, event.integer("code") ?? 0)
    let message = event.text("msg") ?? ""
    var refusal = MessageOutcome.Refusal(reason: "\(message) (code \(code))")
    if let symbol = event.text("symbol") { refusal.what = "\(event.text("channel") ?? "") \(symbol)" }
    switch (code, topic) {
    // It is subscribed, or about to be: the acknowledgement is on its way, or the request is sent again.
    case (10_301, _): return
    case (10_300, let topic?), (10_001, let topic?):
      (refusal.index, refusal.channel) = (topic.index, topic.channel)
      refusal.reason = "Bitfinex refused \(instruments[topic.index].venueSymbol): \(message)"
    // One channel too many.
    case (10_305, let topic?):
      (refusal.index, refusal.channel) = (topic.index, topic.channel)
      refusal.effect = .again(after: Microseconds.minute)
    // What was to be given up is not there.
    case (10_400, _):
      for code in leaving.indices where number == 0 || leaving[code] == number { leaving[code] = 0 }
    default: break
    }
    outcome.report(.refused(refusal))
  }
}
