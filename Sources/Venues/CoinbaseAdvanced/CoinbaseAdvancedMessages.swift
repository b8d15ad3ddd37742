import Bytes
import MarketData

/// Reading Advanced Trade's messages: `{"channel":…,"timestamp":…,"sequence_num":…,"events":[…]}`, or
/// `{"type":"error","message":…}`, with their fields in any order.
extension CoinbaseAdvanced {
  private enum Kind { case book, trades, ticker, heartbeats, subscriptions, other }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let start = batch.events.count
    var counter: Int64?
    var reader = FieldReader(message)
    var kind: Kind?
    var time: Timestamp?
    var number: Int64?
    var events: FieldSlice?
    var hasEvents = false
    var isError = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "channel") {
        let name = try reader.string("channel")
        kind = Self.kind(name, reader)
      } else if reader.equals(key, "timestamp"), reader.peek() == .string {
        let slice = try reader.string("timestamp")
        time = VenueTime.rfc3339(reader.text(slice))
      } else if reader.equals(key, "sequence_num") {
        number = try reader.int64("sequence_num")
      } else if reader.equals(key, "events") {
        // As a rule the channel stands before them; if not, they wait.
        if let kind, kind != .ticker || time != nil {
          try readEvents(kind, &reader, time, &instruments, &outcome, &counter, into: &batch)
          hasEvents = true
        } else {
          events = try reader.rawValue("events")
        }
      } else if reader.equals(key, "type"), reader.peek() == .string {
        isError = reader.equals(try reader.string("type"), "error")
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let kind else {
      guard isError else { throw FeedError.missing("channel", in: "message") }
      return try readError(message, instruments, &outcome)
    }
    if let events {
      var value = reader.reader(events)
      try readEvents(kind, &value, time, &instruments, &outcome, &counter, into: &batch)
      hasEvents = true
    }
    guard hasEvents || kind == .subscriptions || kind == .other else {
      throw FeedError.missing("events", in: "message")
    }
    // All of the text could be read: nothing fails from here on.
    guard follow(number, time, &outcome) else {
      batch.events.removeSubrange(start...)
      instruments.badLevels = 0
      outcome.ignored = 0
      return
    }
    switch kind {
    case .book: finishBooks(from: start, number, time, &outcome, into: &batch)
    case .heartbeats:
      finishHeartbeat(counter, isNumbered: number != nil, &outcome)
      batch.events.append(.heartbeat)
    case .subscriptions:
      outcome.isAnswer = true
      outcome.report(.acknowledged(id: nil, index: nil, channel: nil))
    case .other: outcome.ignored += 1
    case .trades, .ticker: break
    }
  }

  private func readError(
    _ message: RawSpan, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome
  ) throws(FeedError) {
    outcome.isAnswer = true
    let error = try FieldObject(message, "error")
    let words = [error.text("message"), error.text("reason")].compactMap(\.self)
    refuse(words.isEmpty ? "an error without a message" : words.joined(separator: ": "), instruments, &outcome)
  }

  /// Where messages are numbered, a missing heartbeat is a missing number.
  private func finishHeartbeat(_ counter: Int64?, isNumbered: Bool, _ outcome: inout MessageOutcome) {
    if !isNumbered, let counter, let last = heartbeat, counter != last, counter != last &+ 1 {
      outcome.lostBefore = .gap
    }
    heartbeat = counter ?? heartbeat
  }

  /// Gives the books' events their times, and the number that all of them have been followed by.
  private func finishBooks(
    from start: Int, _ number: Int64?, _ time: Timestamp?, _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) {
    for index in start..<batch.events.count {
      guard case .book(var event) = batch.events[index] else { continue }
      let symbolIndex = event.instrument.index
      while bookTimes.count <= symbolIndex { bookTimes.append(nil) }
      bookTimes[symbolIndex] = time ?? bookTimes[symbolIndex]
      event.time = bookTimes[symbolIndex] ?? outcome.now
      batch.events[index] = .book(event)
      // Several of one message have its number, each in its place.
      if let number { outcome.number(UpdateNumbers(first: number, last: number, previous: Int64(index - start))) }
    }
  }

  private static func kind(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Kind {
    if reader.equals(name, "l2_data") { return .book }
    if reader.equals(name, "market_trades") { return .trades }
    if reader.equals(name, "ticker") { return .ticker }
    if reader.equals(name, "heartbeats") { return .heartbeats }
    return reader.equals(name, "subscriptions") ? .subscriptions : .other
  }

  private func readEvents(
    _ kind: Kind, _ reader: inout FieldReader, _ time: Timestamp?, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, _ counter: inout Int64?, into batch: inout EventBatch
  ) throws(FeedError) {
    switch kind {
    case .book: try readBooks(&reader, &instruments, &outcome, into: &batch)
    case .trades: try readTrades(&reader, &instruments, &outcome, into: &batch)
    case .ticker: try readTickers(&reader, time ?? outcome.now, &instruments, &outcome, into: &batch)
    case .heartbeats: counter = try readHeartbeats(&reader)
    case .subscriptions, .other: try reader.skipValue()
    }
  }

  // MARK: Books

  /// Levels are `{"side":"bid","event_time":…,"price_level":"68900.00","new_quantity":"1.50000000"}`; the other side
  /// is `offer`. One whose numbers are none costs the book (`"0.-10000"` has been seen at the other feed of this
  /// venue). Sizes are printed with up to eight digits, whatever the increment is; a snapshot shows how many.
  private static let updateFormat = BookFormat(
    title: "l2_data", level: .object(price: "price_level", size: "new_quantity", word: "side"),
    word: .side(bid: "bid", ask: "offer"))
  private static let snapshotFormat = updateFormat.learning(.sizes)

  /// `[{"type":"snapshot","product_id":…,"updates":[…]},…]`
  private func readBooks(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "events"
    try reader.arrayStart()
    while try reader.nextElement() {
      var isSnapshot: Bool?
      var index: Int?
      var slice: FieldSlice?
      var isRead = false
      let mark = BatchMark(batch)
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "type") {
          let name = try reader.string("type")
          isSnapshot = reader.equals(name, "snapshot")
          guard isSnapshot == true || reader.equals(name, "update") else {
            throw FeedError(.shape, "l2_data type at offset \(reader.offset) is neither snapshot nor update")
          }
        } else if reader.equals(key, "product_id") {
          let name = try reader.string("product_id")
          index = instruments.names.find(reader.text(name))
        } else if reader.equals(key, "updates") {
          if let isSnapshot, let index, index >= 0 {
            try readUpdates(&reader, index, isSnapshot, &instruments, into: &batch)
            isRead = true
          } else {
            slice = try reader.rawValue("updates")
          }
        } else {
          try reader.skipValue()
        }
      }
      guard let isSnapshot else { throw FeedError.missing("type", in: "l2_data event") }
      guard let index else { throw FeedError.missing("product_id", in: "l2_data event") }
      guard index >= 0 else {
        outcome.ignored += 1
        continue
      }
      if !isRead {
        guard let slice else { throw FeedError.missing("updates", in: "l2_data event") }
        var updates = reader.reader(slice)
        try readUpdates(&updates, index, isSnapshot, &instruments, into: &batch)
      }
      batch.appendBook(isSnapshot ? .snapshot : .delta, index, since: mark, time: outcome.now)
    }
  }

  private func readUpdates(
    _ reader: inout FieldReader, _ index: Int, _ isSnapshot: Bool, _ instruments: inout InstrumentTable,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let format = isSnapshot ? Self.snapshotFormat : Self.updateFormat
    try instruments.readLevels(&reader, index, "updates", isBid: nil, format, into: &batch)
  }

  // MARK: Trades, statistics, liveness

  /// `[{"type":"update","trades":[…]},…]`; a `snapshot` is what was traded before the subscription.
  private func readTrades(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "events"
    try reader.arrayStart()
    while try reader.nextElement() {
      var isBacklog: Bool?
      var slice: FieldSlice?
      var isRead = false
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "type") {
          isBacklog = reader.equals(try reader.string("type"), "snapshot")
        } else if reader.equals(key, "trades") {
          if let isBacklog {
            try readTradeList(&reader, isBacklog: isBacklog, &instruments, &outcome, into: &batch)
            isRead = true
          } else {
            slice = try reader.rawValue("trades")
          }
        } else {
          try reader.skipValue()
        }
      }
      if isRead { continue }
      guard let isBacklog else { throw FeedError.missing("type", in: "market_trades event") }
      guard let slice else { throw FeedError.missing("trades", in: "market_trades event") }
      var list = reader.reader(slice)
      try readTradeList(&list, isBacklog: isBacklog, &instruments, &outcome, into: &batch)
    }
  }

  /// Appends the trades in the order of execution; they come in either order.
  private func readTradeList(
    _ reader: inout FieldReader, isBacklog: Bool, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let start = batch.events.count
    reader.field = "trades"
    try reader.arrayStart()
    while try reader.nextElement() {
      guard let trade = try readTrade(&reader, isBacklog: isBacklog, &instruments, now: outcome.now) else {
        outcome.ignored += 1
        continue
      }
      batch.events.append(.trade(trade))
    }
    batch.orderTrades(from: start)
  }

  private static let tradeFormat = TradeFormat(
    price: "price", size: "size", id: "trade_id", side: "side", buy: "SELL", sell: "BUY", time: "time", clock: .text)

  /// `{"trade_id":…,"product_id":…,"price":…,"size":…,"side":"BUY","time":…}`; nil for a product that is not followed.
  ///
  /// `side` is the maker's, which no documentation says: measured twice against the top of the book, and captured
  /// prints at the best ask say `SELL`.
  private func readTrade(
    _ reader: inout FieldReader, isBacklog: Bool, _ instruments: inout InstrumentTable, now: Timestamp
  ) throws(FeedError) -> Trade? {
    var fields = TradeFields()
    var index: Int?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try instruments.take(key, of: &reader, Self.tradeFormat, into: &fields) { continue }
      if reader.equals(key, "product_id") {
        let name = try reader.string("product_id")
        index = instruments.names.find(reader.text(name))
      } else {
        try reader.skipValue()
      }
    }
    guard let index else { throw FeedError.missing("product_id", in: "trade") }
    guard index >= 0 else { return nil }
    fields.index = index
    return try instruments.trade(fields, reader, Self.tradeFormat, now: now, isBacklog: isBacklog)
  }

  /// `[{"current_time":…,"heartbeat_counter":42}]`; the time is Go's own format and is not read.
  private func readHeartbeats(_ reader: inout FieldReader) throws(FeedError) -> Int64? {
    reader.field = "events"
    return try reader.list { (reader, _) throws(FeedError) in
      try FieldObject(&reader, "heartbeat").integer("heartbeat_counter")
    }.last
  }

  /// `[{"type":"update","tickers":[…]}]`. Sent with trades, so no quote feed.
  private func readTickers(
    _ reader: inout FieldReader, _ time: Timestamp, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "events"
    try reader.arrayStart()
    while try reader.nextElement() {
      try reader.objectStart()
      while let key = try reader.nextKey() {
        guard reader.equals(key, "tickers") else {
          try reader.skipValue()
          continue
        }
        try reader.arrayStart()
        while try reader.nextElement() {
          let slice = try reader.rawValue("tickers")
          if let ticker = try readTicker(slice, reader, time, &instruments) {
            batch.events.append(.ticker(ticker))
          } else {
            outcome.ignored += 1
          }
        }
      }
    }
  }

  private static let tickerFormat = TickerFormat(
    last: "price", bid: "best_bid", ask: "best_ask", high: "high_24_h", low: "low_24_h", volume: "volume_24_h",
    changePercent: "price_percent_chg_24_h")

  private func readTicker(
    _ slice: FieldSlice, _ outer: borrowing FieldReader, _ time: Timestamp, _ instruments: inout InstrumentTable
  ) throws(FeedError) -> Ticker? {
    var index: Int?
    var finder = outer.reader(slice)
    try finder.objectStart()
    while let key = try finder.nextKey() {
      if finder.equals(key, "product_id") {
        let name = try finder.string("product_id")
        index = instruments.names.find(finder.text(name))
      } else {
        try finder.skipValue()
      }
    }
    guard let index else { throw FeedError.missing("product_id", in: "ticker") }
    guard index >= 0 else { return nil }
    var ticker = Ticker(instrument: InstrumentID(index), time: time)
    var reader = outer.reader(slice)
    try instruments.readFigures(&reader, Self.tickerFormat, into: &ticker)
    return ticker
  }
}
