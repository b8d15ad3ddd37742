import Bytes
import MarketData

/// Reading Coinbase's messages: flat objects told apart by `type`.
extension CoinbaseHandler {
  /// The fields of any message, as they stand; `type` need not come first.
  struct Fields {
    var product: JSONSlice?
    var price: FieldSlice?
    var size: FieldSlice?
    var side: JSONSlice?
    var time: JSONSlice?
    var tradeID: JSONSlice?
    var lastTradeID: UInt64?
    var bids: FieldSlice?
    var asks: FieldSlice?
    var changes: FieldSlice?
    var message: String?
    var reason: String?
  }

  enum Kind { case l2update, match, lastMatch, ticker, heartbeat, snapshot, subscriptions, error, other }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    var kind: Kind?
    var fields = Fields()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "type") {
        kind = Self.kind(try reader.string("type"), reader)
        if kind == .other {
          counts.ignored += 1
          return
        }
      } else {
        try readField(key, &fields, &reader)
      }
    }
    try reader.end()
    guard let kind else { throw FeedError.missing("type", in: "message") }
    switch kind {
    case .l2update: try readUpdate(fields, reader, now: now, into: &batch)
    case .snapshot: try readSnapshot(fields, reader, now: now, into: &batch)
    case .match: try readMatch(fields, reader, isBacklog: false, now: now, into: &batch)
    case .lastMatch: try readMatch(fields, reader, isBacklog: true, now: now, into: &batch)
    case .ticker: try readTicker(message, fields, reader, now: now, into: &batch)
    case .heartbeat: try readHeartbeat(fields, reader, into: &batch)
    case .error: try failed(fields.message ?? "error", fields.reason ?? "no reason given", now: now)
    case .subscriptions:
      isAnswer = true
      for place in products.indices { products[place].isAnswered = true }
    case .other: break
    }
  }

  private static func kind(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Kind {
    if reader.equals(name, "l2update") { return .l2update }
    if reader.equals(name, "match") { return .match }
    if reader.equals(name, "ticker") { return .ticker }
    if reader.equals(name, "heartbeat") { return .heartbeat }
    if reader.equals(name, "last_match") { return .lastMatch }
    if reader.equals(name, "snapshot") { return .snapshot }
    if reader.equals(name, "subscriptions") { return .subscriptions }
    if reader.equals(name, "error") { return .error }
    return .other
  }

  private func readField(_ key: JSONSlice, _ fields: inout Fields, _ reader: inout FieldReader) throws(FeedError) {
    if reader.equals(key, "product_id") {
      fields.product = try reader.string("product_id")
    } else if reader.equals(key, "changes") {
      fields.changes = try reader.rawValue("changes")
    } else if reader.equals(key, "time") {
      fields.time = try reader.string("time")
    } else if reader.equals(key, "price") {
      fields.price = try reader.rawValue("price")
    } else if reader.equals(key, "size") {
      fields.size = try reader.rawValue("size")
    } else if reader.equals(key, "side") {
      fields.side = try reader.string("side")
    } else if reader.equals(key, "trade_id") {
      fields.tradeID = try reader.name("trade_id")
    } else if reader.equals(key, "last_trade_id") {
      fields.lastTradeID = try reader.uint64("last_trade_id")
    } else if reader.equals(key, "bids") {
      fields.bids = try reader.rawValue("bids")
    } else if reader.equals(key, "asks") {
      fields.asks = try reader.rawValue("asks")
    } else if reader.equals(key, "message"), reader.peek() == .string {
      fields.message = try reader.decodedString("message")
    } else if reader.equals(key, "reason"), reader.peek() == .string {
      fields.reason = try reader.decodedString("reason")
    } else {
      try reader.skipValue()
    }
  }

  private func place(_ fields: Fields, _ reader: borrowing FieldReader, _ what: StaticString) throws(FeedError) -> Int {
    guard let product = fields.product else { throw FeedError.missing("product_id", in: what) }
    return try place(reader.text(product))
  }

  // MARK: Book

  /// Some products print sizes with more digits than their increment has; a snapshot shows how many. A level whose
  /// numbers are none (`"0.-10000"` has been seen) costs the book: what became of that price is not known.
  private static let snapshotFormat = BookFormat(title: "snapshot", learns: .sizes)
  private static let changeFormat = BookFormat(title: "l2update", word: .side(bid: "buy", ask: "sell"))

  /// `{"type":"snapshot","product_id":…,"asks":[["price","size"],…],"bids":[…]}`; the time is missing in newer ones.
  private func readSnapshot(
    _ fields: Fields, _ reader: borrowing FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, reader, "snapshot")
    let mark = BatchMark(batch)
    try readSides(fields.bids, fields.asks, of: reader, place, Self.snapshotFormat, into: &batch)
    let time = fields.time.flatMap { VenueTime.rfc3339(reader.text($0)) }
    products[place].bookTime = time
    products[place].updateTime = nil
    products[place].book.snapshotArrived(now: now)
    append(.snapshot, place, since: mark, time: time ?? now, into: &batch)
    seen[place].snapshots += 1
  }

  /// `{"type":"l2update","product_id":…,"changes":[["buy","price","size"],…],"time":…}`
  private func readUpdate(
    _ fields: Fields, _ reader: borrowing FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, reader, "l2update")
    guard let changes = fields.changes else { throw FeedError.missing("changes", in: "l2update") }
    guard products[place].book.isLive else {
      // From before the snapshot, or still on its way when the book was unsubscribed.
      seen[place].deltas += 1
      return
    }
    let mark = BatchMark(batch)
    var list = reader.reader(changes)
    try readChanges(&list, place, "changes", Self.changeFormat, into: &batch)
    let time = fields.time.flatMap { VenueTime.rfc3339(reader.text($0)) }
    if let time {
      // Updates are not numbered, but their times never go back (9,719 recorded updates of ten products): one that
      // does came late, and the sizes it brings may be older than what the book has.
      if let last = products[place].updateTime, time < last {
        mark.dropLevels(&batch)
        seen[place].deltas += 1
        seen[place].gaps += 1
        if products[place].book.resync(now: now) { batch.events.append(.bookReset(InstrumentID(place), .gap)) }
        return tick(now: now, into: &batch)
      }
      products[place].bookTime = time
      products[place].updateTime = time
    }
    append(.delta, place, since: mark, time: time ?? products[place].bookTime ?? now, into: &batch)
    seen[place].deltas += 1
  }

  // MARK: Trades, statistics, liveness

  private static let tradeFormat = TradeFormat(
    title: "match", symbol: "product_id", price: "price", size: "size", id: "trade_id", side: "side", buy: "sell",
    sell: "buy")

  /// `side` is the maker's: `sell` means that the taker bought. `last_match` is the trade before the subscription.
  private func readMatch(
    _ fields: Fields, _ reader: borrowing FieldReader, isBacklog: Bool, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, reader, "match")
    var found = TradeFields(place: place, price: fields.price, size: fields.size, id: fields.tradeID)
    found.side = fields.side.flatMap { reader.equals($0, "sell") ? .buy : reader.equals($0, "buy") ? .sell : nil }
    found.time = fields.time.flatMap { VenueTime.rfc3339(reader.text($0)) }
    let trade = try trade(found, reader, Self.tradeFormat, now: now, isBacklog: isBacklog)
    count(trade)
    batch.events.append(.trade(trade))
    let number = Int64(clamping: trade.id.number ?? 0)
    let last = products[place].lastTrade
    if !isBacklog {
      // Numbers are dense for each product: a jump is trades that were not sent.
      seen[place].missedTrades &+= TradeSequence.missed(after: last, before: number)
    }
    products[place].lastTrade = max(last, number)
  }

  private func readHeartbeat(
    _ fields: Fields, _ reader: borrowing FieldReader, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, reader, "heartbeat")
    batch.events.append(.heartbeat)
    products[place].heartbeats.heard(now: connectionHeard)
    products[place].isAnswered = true
    guard let id = fields.lastTradeID.map({ Int64(clamping: $0) }) else { return }
    // A trade of the last second may still be on its way; one that the heartbeat before knew is missing.
    let known = products[place].heartbeatTrade
    let last = products[place].lastTrade
    if last > 0, known > last {
      seen[place].missedTrades &+= Int(known - last)
      products[place].lastTrade = known
    }
    products[place].heartbeatTrade = id
  }

  private static let tickerFormat = TickerFormat(
    last: "price", bid: "best_bid", ask: "best_ask", open: "open_24h", high: "high_24h", low: "low_24h",
    volume: "volume_24h")

  /// Sent with trades, so no quote feed; time and last size are missing in the first one.
  private func readTicker(
    _ message: RawSpan, _ fields: Fields, _ outer: borrowing FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, outer, "ticker")
    let time = fields.time.flatMap { VenueTime.rfc3339(outer.text($0)) } ?? now
    var ticker = Ticker(instrument: InstrumentID(place), time: time)
    var reader = FieldReader(message)
    try readFigures(&reader, Self.tickerFormat, into: &ticker)
    batch.events.append(.ticker(ticker))
  }
}
