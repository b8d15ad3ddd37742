import Bytes
import MarketData

/// Reading Advanced Trade's messages: `{"channel":…,"timestamp":…,"sequence_num":…,"events":[…]}`, or
/// `{"type":"error","message":…}`, with their fields in any order.
extension CoinbaseAdvancedHandler {
  private enum Kind { case book, trades, ticker, heartbeats, subscriptions, other }

  /// What of the events has been read, and what can be used only when all has been.
  private struct Outcome {
    /// Where the events of the text begin in the batch.
    var start: Int
    /// Parts about products that are not carried.
    var ignored = 0
    var heartbeat: Int64?
  }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    pending.removeAll(keepingCapacity: true)
    var outcome = Outcome(start: batch.events.count)
    var reader = FieldReader(message)
    var kind: Kind?
    var time: Timestamp?
    var number: Int64?
    var events: FieldSlice?
    var hasEvents = false
    var isError = false
    var text: String?
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
          try readEvents(kind, &reader, time ?? now, now: now, &outcome, into: &batch)
          hasEvents = true
        } else {
          events = try reader.rawValue("events")
        }
      } else if reader.equals(key, "type"), reader.peek() == .string {
        isError = reader.equals(try reader.string("type"), "error")
      } else if reader.equals(key, "message"), reader.peek() == .string {
        text = try reader.decodedString("message")
      } else if reader.equals(key, "reason"), reader.peek() == .string {
        let reason = try reader.decodedString("reason")
        text = text.map { "\($0): \(reason)" } ?? reason
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let kind else {
      guard isError else { throw FeedError.missing("channel", in: "message") }
      return try failed(text ?? "an error without a message", now: now)
    }
    if let events {
      var value = reader.reader(events)
      try readEvents(kind, &value, time ?? now, now: now, &outcome, into: &batch)
      hasEvents = true
    }
    guard hasEvents || kind == .subscriptions || kind == .other else {
      throw FeedError.missing("events", in: "message")
    }
    use(kind, number, outcome, time, now: now, into: &batch)
  }

  private static func kind(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Kind {
    if reader.equals(name, "l2_data") { return .book }
    if reader.equals(name, "market_trades") { return .trades }
    if reader.equals(name, "ticker") { return .ticker }
    if reader.equals(name, "heartbeats") { return .heartbeats }
    return reader.equals(name, "subscriptions") ? .subscriptions : .other
  }

  private func readEvents(
    _ kind: Kind, _ reader: inout FieldReader, _ time: Timestamp, now: Timestamp, _ outcome: inout Outcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    switch kind {
    case .book: try readBooks(&reader, &outcome, into: &batch)
    case .trades: try readTrades(&reader, now: now, &outcome, into: &batch)
    case .ticker: try readTickers(&reader, time, &outcome, into: &batch)
    case .heartbeats: try readHeartbeats(&reader, &outcome)
    case .subscriptions, .other: try reader.skipValue()
    }
  }

  /// All of the text could be read: its number first, then what it says. Nothing fails from here on.
  private func use(
    _ kind: Kind, _ number: Int64?, _ outcome: Outcome, _ time: Timestamp?, now: Timestamp, into batch: inout EventBatch
  ) {
    let end = batch.events.count
    guard follow(number, now: now, into: &batch) else {
      batch.events.removeSubrange(outcome.start...)
      badLevels = 0
      return
    }
    counts.ignored += outcome.ignored
    switch kind {
    case .book:
      for index in pending.indices { use(pending[index], number != nil, time, now: now, into: &batch) }
    case .trades:
      for index in outcome.start..<end {
        if case .trade(let trade) = batch.events[index] { count(trade) }
      }
    case .heartbeats:
      // Where messages are numbered, a missing heartbeat is a missing number.
      if number == nil, let counter = outcome.heartbeat, let last = heartbeat, counter != last, counter != last &+ 1 {
        lost(now: now, into: &batch)
      }
      heartbeat = outcome.heartbeat ?? heartbeat
      batch.events.append(.heartbeat)
    case .subscriptions:
      isAnswer = true
      acknowledged(now: now)
    case .ticker: break
    case .other: counts.ignored += 1
    }
    if isAnyDue { tick(now: now, into: &batch) }
  }

  private func use(
    _ book: PendingBook, _ isLinked: Bool, _ time: Timestamp?, now: Timestamp, into batch: inout EventBatch
  ) {
    let place = book.place
    if book.isSnapshot {
      guard !products[place].isLeft else { return }
      seen[place].snapshots += 1
      products[place].book.snapshotArrived(now: now)
    } else {
      seen[place].deltas += 1
      // From before the snapshot, or still on its way when the book was unsubscribed.
      guard products[place].book.isLive else { return }
      if isLinked { seen[place].sequenceOK += 1 }
    }
    products[place].bookTime = time ?? products[place].bookTime
    note(place, batch.bids[book.bids])
    note(place, batch.asks[book.asks])
    batch.events.append(
      .book(
        BookEvent(
          instrument: InstrumentID(place), kind: book.isSnapshot ? .snapshot : .delta, bidRange: book.bids,
          askRange: book.asks, time: products[place].bookTime ?? now)))
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
    _ reader: inout FieldReader, _ outcome: inout Outcome, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "events"
    try reader.arrayStart()
    while try reader.nextElement() {
      var isSnapshot: Bool?
      var place: Int?
      var slice: FieldSlice?
      var isRead = false
      let bidStart = batch.bids.count
      let askStart = batch.asks.count
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
          place = table.find(reader.text(name))
        } else if reader.equals(key, "updates") {
          if let isSnapshot, let place, place >= 0 {
            try readUpdates(&reader, place, isSnapshot, into: &batch)
            isRead = true
          } else {
            slice = try reader.rawValue("updates")
          }
        } else {
          try reader.skipValue()
        }
      }
      guard let isSnapshot else { throw FeedError.missing("type", in: "l2_data event") }
      guard let place else { throw FeedError.missing("product_id", in: "l2_data event") }
      guard place >= 0 else {
        outcome.ignored += 1
        continue
      }
      if !isRead {
        guard let slice else { throw FeedError.missing("updates", in: "l2_data event") }
        var updates = reader.reader(slice)
        try readUpdates(&updates, place, isSnapshot, into: &batch)
      }
      pending.append(
        PendingBook(
          place: place, isSnapshot: isSnapshot, bids: bidStart..<batch.bids.count, asks: askStart..<batch.asks.count))
    }
  }

  private func readUpdates(
    _ reader: inout FieldReader, _ place: Int, _ isSnapshot: Bool, into batch: inout EventBatch
  ) throws(FeedError) {
    try readChanges(&reader, place, "updates", isSnapshot ? Self.snapshotFormat : Self.updateFormat, into: &batch)
  }

  // MARK: Trades, statistics, liveness

  /// `[{"type":"update","trades":[…]},…]`; a `snapshot` is what was traded before the subscription.
  private func readTrades(
    _ reader: inout FieldReader, now: Timestamp, _ outcome: inout Outcome, into batch: inout EventBatch
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
            try readTradeList(&reader, isBacklog: isBacklog, now: now, &outcome, into: &batch)
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
      try readTradeList(&list, isBacklog: isBacklog, now: now, &outcome, into: &batch)
    }
  }

  /// Appends the trades in the order of execution; they come in either order.
  private func readTradeList(
    _ reader: inout FieldReader, isBacklog: Bool, now: Timestamp, _ outcome: inout Outcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let start = batch.events.count
    var first: (time: Timestamp, id: UInt64)?
    var last: (time: Timestamp, id: UInt64)?
    reader.field = "trades"
    try reader.arrayStart()
    while try reader.nextElement() {
      guard let trade = try readTrade(&reader, isBacklog: isBacklog, now: now) else {
        outcome.ignored += 1
        continue
      }
      batch.events.append(.trade(trade))
      last = (trade.time, trade.id.number ?? .max)
      first = first ?? last
    }
    guard let first, let last, first.time > last.time || (first.time == last.time && first.id > last.id) else { return }
    var (low, high) = (start, batch.events.count - 1)
    while low < high {
      batch.events.swapAt(low, high)
      low += 1
      high -= 1
    }
  }

  private static let tradeFormat = TradeFormat(
    price: "price", size: "size", id: "trade_id", side: "side", buy: "SELL", sell: "BUY", time: "time", clock: .text)

  /// `{"trade_id":…,"product_id":…,"price":…,"size":…,"side":"BUY","time":…}`; nil for a product that is not carried.
  ///
  /// `side` is the maker's, which no documentation says: measured twice against the top of the book, and captured
  /// prints at the best ask say `SELL`.
  private func readTrade(
    _ reader: inout FieldReader, isBacklog: Bool, now: Timestamp
  ) throws(FeedError) -> Trade? {
    var fields = TradeFields()
    var place: Int?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try take(key, of: &reader, Self.tradeFormat, into: &fields) { continue }
      if reader.equals(key, "product_id") {
        let name = try reader.string("product_id")
        place = table.find(reader.text(name))
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("product_id", in: "trade") }
    guard place >= 0 else { return nil }
    fields.place = place
    return try trade(fields, reader, Self.tradeFormat, now: now, isBacklog: isBacklog)
  }

  /// `[{"current_time":…,"heartbeat_counter":42}]`; the time is Go's own format and is not read.
  private func readHeartbeats(_ reader: inout FieldReader, _ outcome: inout Outcome) throws(FeedError) {
    reader.field = "events"
    try reader.arrayStart()
    while try reader.nextElement() {
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "heartbeat_counter") {
          outcome.heartbeat = try reader.int64("heartbeat_counter")
        } else {
          try reader.skipValue()
        }
      }
    }
  }

  /// `[{"type":"update","tickers":[…]}]`. Sent with trades, so no quote feed.
  private func readTickers(
    _ reader: inout FieldReader, _ time: Timestamp, _ outcome: inout Outcome, into batch: inout EventBatch
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
          if let ticker = try readTicker(slice, reader, time) {
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
    _ slice: FieldSlice, _ outer: borrowing FieldReader, _ time: Timestamp
  ) throws(FeedError) -> Ticker? {
    var place: Int?
    var finder = outer.reader(slice)
    try finder.objectStart()
    while let key = try finder.nextKey() {
      if finder.equals(key, "product_id") {
        let name = try finder.string("product_id")
        place = table.find(finder.text(name))
      } else {
        try finder.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("product_id", in: "ticker") }
    guard place >= 0 else { return nil }
    var ticker = Ticker(instrument: InstrumentID(place), time: time)
    var reader = outer.reader(slice)
    try readFigures(&reader, Self.tickerFormat, into: &ticker)
    return ticker
  }
}
