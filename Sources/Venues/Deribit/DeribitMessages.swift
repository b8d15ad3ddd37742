import Bytes
import MarketData

/// Reading Deribit's messages: `{"method":"subscription","params":{"channel":…,"data":…}}`, heartbeats, and answers
/// with an `id`. All numbers are bare, with exponents where that is shorter.
extension DeribitHandler {
  enum Channel { case book, quote, trades, ticker, platform, other }
  private enum Method { case none, subscription, heartbeat, other }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    var method = Method.none
    var channel: Channel?
    var data: FieldSlice?
    var isTest = false
    var id: Int?
    var result: FieldSlice?
    var error: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "params"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "channel") {
            let slice = try reader.string("channel")
            channel = Self.channel(reader.text(slice))
          } else if reader.equals(key, "data") {
            data = try reader.rawValue("data")
          } else if reader.equals(key, "type"), reader.peek() == .string {
            isTest = reader.equals(try reader.string("type"), "test_request")
          } else {
            try reader.skipValue()
          }
        }
      } else if reader.equals(key, "method"), reader.peek() == .string {
        let slice = try reader.string("method")
        method =
          reader.equals(slice, "subscription")
          ? .subscription : reader.equals(slice, "heartbeat") ? .heartbeat : .other
      } else if reader.equals(key, "id"), reader.peek() == .number {
        id = Int(clamping: try reader.int64("id"))
      } else if reader.equals(key, "result") {
        result = try reader.rawValue("result")
      } else if reader.equals(key, "error") {
        error = try reader.rawValue("error")
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    switch method {
    case .subscription:
      guard let channel else { throw FeedError.missing("channel", in: "subscription") }
      guard let data else { throw FeedError.missing("data", in: "subscription") }
      var value = reader.reader(data)
      try readNotification(&value, channel, now: now, into: &batch)
    case .heartbeat:
      if isTest { answerTest() }
      batch.events.append(.heartbeat)
    case .other: counts.ignored += 1
    case .none:
      isAnswer = true
      if let error {
        var value = reader.reader(error)
        try readError(&value, id: id, now: now)
      } else if let result {
        var value = reader.reader(result)
        try readResult(&value, id: id, now: now)
      } else {
        throw FeedError.missing("method, result or error", in: "message")
      }
    }
  }

  /// By what stands before the first point.
  private static func channel(_ text: RawSpan) -> Channel {
    text.withUnsafeBytes { bytes in
      func begins(_ prefix: StaticString) -> Bool {
        bytes.count >= prefix.utf8CodeUnitCount
          && bytes.prefix(prefix.utf8CodeUnitCount).elementsEqual(
            UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
      }
      if begins("book.") { return .book }
      if begins("trades.") { return .trades }
      if begins("quote.") { return .quote }
      if begins("ticker.") { return .ticker }
      return begins("platform_state") ? .platform : .other
    }
  }

  private func readNotification(
    _ reader: inout FieldReader, _ channel: Channel, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    switch channel {
    case .book: try readBook(&reader, now: now, into: &batch)
    case .quote: try readQuote(&reader, now: now, into: &batch)
    case .trades: try readTrades(&reader, now: now, into: &batch)
    case .ticker: try readTicker(&reader, now: now, into: &batch)
    case .platform: try readPlatform(&reader)
    case .other: counts.ignored += 1
    }
  }

  // MARK: Books

  /// Levels are `["new",price,amount]`, `["change",price,amount]`, `["delete",price,0.0]`: one goes with an amount of
  /// 0 or with the word, whichever says so.
  private static let bookFormat = BookFormat(title: "book", word: .action(removal: "delete"))

  /// `{"timestamp":…,"type":"change","change_id":…,"instrument_name":…,"bids":[["new",0.11374,1054.0],…],"asks":[…],"prev_change_id":…}`
  ///
  /// A snapshot names no number before it, or null, or any: older ones have had 0 and 20. Grouped books have no
  /// `type` and are not subscribed.
  private func readBook(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var place: Int?
    var isSnapshot: Bool?
    var number: Int64?
    var previous: Int64?
    var time = now
    var bids: FieldSlice?
    var asks: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "bids") {
        bids = try reader.rawValue("bids")
      } else if reader.equals(key, "asks") {
        asks = try reader.rawValue("asks")
      } else if reader.equals(key, "instrument_name") {
        let slice = try reader.string("instrument_name")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "type") {
        let slice = try reader.string("type")
        isSnapshot = reader.equals(slice, "snapshot") ? true : reader.equals(slice, "change") ? false : nil
      } else if reader.equals(key, "change_id") {
        number = try reader.int64("change_id")
      } else if reader.equals(key, "prev_change_id"), reader.peek() == .number {
        previous = try reader.int64("prev_change_id")
      } else if reader.equals(key, "timestamp") {
        time = try reader.time("timestamp", .epoch) ?? now
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("instrument_name", in: "book") }
    guard let isSnapshot else {
      counts.ignored += 1
      return
    }
    guard let number else { throw FeedError.missing("change_id", in: "book") }
    let mark = BatchMark(batch)
    try readSides(bids, asks, of: reader, place, Self.bookFormat, into: &batch)
    if isSnapshot {
      seen[place].snapshots += 1
      feeds[place].book.snapshotArrived(now: now)
      feeds[place].previous = -1
    } else {
      guard let previous else { throw FeedError.missing("prev_change_id", in: "book change") }
      seen[place].deltas += 1
      guard follows(place, number, previous, now: now, into: &batch) else {
        mark.dropLevels(&batch)
        return
      }
      seen[place].sequenceOK += 1
      feeds[place].previous = previous
    }
    feeds[place].last = number
    feeds[place].leading = nil
    append(isSnapshot ? .snapshot : .delta, place, since: mark, time: time, into: &batch)
  }

  /// Whether a change joins the book. If it does not, and is not merely the last one again, the book is rebuilt: what
  /// came before it is missing, or it is late itself.
  private func follows(
    _ place: Int, _ number: Int64, _ previous: Int64, now: Timestamp, into batch: inout EventBatch
  ) -> Bool {
    let feed = feeds[place]
    // On its way when the book was left.
    guard feed.book.isLive else { return false }
    if previous == feed.last { return true }
    if number == feed.last, previous == feed.previous { return false }
    seen[place].gaps += 1
    lose(place, .gap, now: now, into: &batch)
    return false
  }

  // MARK: Quotes, trades and statistics

  private static let quoteFormat = QuoteFormat(
    title: "quote", symbol: "instrument_name", bid: "best_bid_price", bidSize: "best_bid_amount", ask: "best_ask_price",
    askSize: "best_ask_amount", time: "timestamp")

  /// `{"timestamp":…,"instrument_name":…,"best_ask_price":92288.5,"best_bid_price":92288.0,"best_ask_amount":99470.0,"best_bid_amount":133440.0}`;
  /// a side without orders has an amount of 0, or null.
  private func readQuote(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var fields = QuoteFields()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try !take(key, of: &reader, Self.quoteFormat, into: &fields) { try reader.skipValue() }
    }
    let quote = try quote(fields, reader, Self.quoteFormat, now: now)
    let place = quote.instrument.index
    if let old = feeds[place].quote, feeds[place].book.isLive, feeds[place].leading == nil,
      old.bid != quote.bid || old.bidSize != quote.bidSize || old.ask != quote.ask || old.askSize != quote.askSize
    {
      feeds[place].leading = now
    }
    feeds[place].quote = quote
    batch.events.append(.quote(quote))
  }

  private static let tradeFormat = TradeFormat(
    symbol: "instrument_name", price: "price", size: "amount", id: "trade_id", side: "direction", buy: "buy",
    sell: "sell",
    time: "timestamp")

  /// `[{"timestamp":…,"price":…,"amount":…,"direction":"sell","instrument_name":…,"trade_id":"403691825","trade_seq":…,…},…]`;
  /// `direction` is the taker's. Block trades are agreed upon away from the book and are no price of the market; the
  /// legs of combos are.
  private func readTrades(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "data"
    let start = batch.events.count
    try reader.arrayStart()
    while try reader.nextElement() {
      var fields = TradeFields()
      var isBlock = false
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if try take(key, of: &reader, Self.tradeFormat, into: &fields) { continue }
        if reader.equals(key, "block_trade_id") { isBlock = reader.peek() != .null }
        try reader.skipValue()
      }
      var trade = try trade(fields, reader, Self.tradeFormat, now: now)
      let place = trade.instrument.index
      trade.isBacklog = !feeds[place].hasTraded && trade.time < feeds[place].subscribed - Market.clockTolerance
      if !isBlock { batch.events.append(.trade(trade)) }
    }
    for event in batch.events[start...] {
      guard case .trade(let trade) = event else { continue }
      feeds[trade.instrument.index].hasTraded = true
      count(trade)
    }
  }

  /// The figures of `stats` are of the last 24 h; any of them may be null or missing. `price_change` is in percent,
  /// as the high and low of captures show.
  private func readTicker(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var place: Int?
    var time = now
    var stats: FieldSlice?
    var last: FieldSlice?
    var bid: FieldSlice?
    var ask: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "instrument_name") {
        let slice = try reader.string("instrument_name")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "stats") {
        stats = try reader.rawValue("stats")
      } else if reader.equals(key, "last_price") {
        last = try reader.rawValue("last_price")
      } else if reader.equals(key, "best_bid_price") {
        bid = try reader.rawValue("best_bid_price")
      } else if reader.equals(key, "best_ask_price") {
        ask = try reader.rawValue("best_ask_price")
      } else if reader.equals(key, "timestamp") {
        time = try reader.time("timestamp", .epoch) ?? now
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("instrument_name", in: "ticker") }
    var ticker = Ticker(instrument: InstrumentID(place), time: time)
    ticker.last = try readPrice(last, reader, place, "last_price")
    ticker.bid = try readPrice(bid, reader, place, "best_bid_price")
    ticker.ask = try readPrice(ask, reader, place, "best_ask_price")
    if let stats {
      var value = reader.reader(stats)
      if try !value.null() { try readFigures(&value, Self.statisticsFormat, into: &ticker) }
    }
    batch.events.append(.ticker(ticker))
  }

  /// 0 stands for a side without orders.
  private func readPrice(
    _ slice: FieldSlice?, _ outer: borrowing FieldReader, _ place: Int, _ field: StaticString
  ) throws(FeedError) -> Int64? {
    guard let slice else { return nil }
    var reader = outer.reader(slice)
    return try statisticsPrice(&reader, place, field).flatMap { $0 == 0 ? nil : $0 }
  }

  private static let statisticsFormat = TickerFormat(
    high: "high", low: "low", volume: "volume", quoteVolume: "volume_notional", changePercent: "price_change")

  /// `{"maintenance":true}`; other states have other fields.
  private func readPlatform(_ reader: inout FieldReader) throws(FeedError) {
    guard reader.peek() == .object else {
      counts.ignored += 1
      return
    }
    var state: Bool?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "maintenance"), reader.peek() == .bool {
        state = try reader.bool("maintenance")
      } else {
        try reader.skipValue()
      }
    }
    if let state { maintenance(state) } else { counts.ignored += 1 }
  }

  // MARK: Answers

  /// The channels that were subscribed or left, in any order; anything else where it was no such request.
  private func readResult(_ reader: inout FieldReader, id: Int?, now: Timestamp) throws(FeedError) {
    guard let id, reader.peek() == .array else { return }
    var books: Set<Int> = []
    try reader.arrayStart()
    while try reader.nextElement() {
      guard reader.peek() == .string else {
        try reader.skipValue()
        continue
      }
      let channel = try reader.decodedString("result")
      let parts = channel.split(separator: ".")
      guard parts.count == 3, parts[0] == "book" else { continue }
      var name = String(parts[1])
      let place = name.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
      if place >= 0 { books.insert(place) }
    }
    acknowledged(id, books: books, now: now)
  }

  /// `{"code":10028,"message":"too_many_requests","data":null}`
  private func readError(_ reader: inout FieldReader, id: Int?, now: Timestamp) throws(FeedError) {
    var code: Int64 = 0
    var message = ""
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code"), reader.peek() == .number {
        code = try reader.int64("code")
      } else if reader.equals(key, "message"), reader.peek() == .string {
        message = try reader.decodedString("message")
      } else {
        try reader.skipValue()
      }
    }
    try refusedRequest(id, code: code, message: message, now: now)
  }
}
