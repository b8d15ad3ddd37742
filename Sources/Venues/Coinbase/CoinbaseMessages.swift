import Bytes
import MarketData

/// Reading Coinbase's messages: flat objects told apart by `type`.
extension Coinbase {
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
  }

  enum Kind { case l2update, match, lastMatch, ticker, heartbeat, snapshot, subscriptions, error, other }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var kind: Kind?
    var fields = Fields()
    let mark = BatchMark(batch)
    /// Whose changes have been read.
    var changed: Int?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "type") {
        kind = Self.kind(try reader.string("type"), reader)
        if kind == .other {
          outcome.ignored += 1
          return
        }
      } else if kind == .l2update, fields.product != nil, reader.equals(key, "changes") {
        // The product stands before them as a rule; if not, they wait.
        let index = try index(fields, reader, instruments, "l2update")
        try instruments.readLevels(&reader, index, "changes", isBid: nil, Self.changeFormat, into: &batch)
        changed = index
      } else {
        try readField(key, &fields, &reader)
      }
    }
    try reader.end()
    guard let kind else { throw FeedError.missing("type", in: "message") }
    switch kind {
    case .l2update:
      if changed == nil { changed = try readChanges(fields, reader, &instruments, into: &batch) }
      if let changed { appendUpdate(of: changed, time(fields, reader), since: mark, &outcome, into: &batch) }
    case .snapshot: try readSnapshot(fields, reader, &instruments, &outcome, into: &batch)
    case .match: try readMatch(fields, reader, &instruments, isBacklog: false, now: outcome.now, into: &batch)
    case .lastMatch: try readMatch(fields, reader, &instruments, isBacklog: true, now: outcome.now, into: &batch)
    case .ticker: try readTicker(message, fields, reader, &instruments, now: outcome.now, into: &batch)
    case .heartbeat: try readHeartbeat(fields, reader, instruments, &outcome, into: &batch)
    case .error:
      outcome.isAnswer = true
      let error = try FieldObject(message, "error")
      outcome.report(report(error.text("message") ?? "error", error.text("reason") ?? "no reason given", instruments))
    case .subscriptions:
      outcome.isAnswer = true
      readSubscriptions(try FieldObject(message, "subscriptions"), instruments, &outcome)
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
    } else {
      try reader.skipValue()
    }
  }

  private func index(
    _ fields: Fields, _ reader: borrowing FieldReader, _ instruments: InstrumentTable, _ what: StaticString
  ) throws(FeedError) -> Int {
    guard let product = fields.product else { throw FeedError.missing("product_id", in: what) }
    return try instruments.index(reader.text(product))
  }

  private func time(_ fields: Fields, _ reader: borrowing FieldReader) -> Timestamp? {
    fields.time.flatMap { VenueTime.rfc3339(reader.text($0)) }
  }

  // MARK: Book

  /// Some products print sizes with more digits than their increment has; a snapshot shows how many. A level whose
  /// numbers are none (`"0.-10000"` has been seen) costs the book: what became of that price is not known.
  private static let snapshotFormat = BookFormat(title: "snapshot", learns: .sizes)
  private static let changeFormat = BookFormat(title: "l2update", word: .side(bid: "buy", ask: "sell"))

  /// `{"type":"snapshot","product_id":…,"asks":[["price","size"],…],"bids":[…]}`; the time is missing in newer ones.
  private func readSnapshot(
    _ fields: Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try index(fields, reader, instruments, "snapshot")
    let mark = BatchMark(batch)
    try instruments.readLevels(fields.bids, of: reader, index, isBid: true, Self.snapshotFormat, into: &batch)
    try instruments.readLevels(fields.asks, of: reader, index, isBid: false, Self.snapshotFormat, into: &batch)
    let time = time(fields, reader)
    remember(time, index)
    batch.appendBook(.snapshot, index, since: mark, time: time ?? outcome.now)
    // The order of times begins with the first update.
    outcome.number(UpdateNumbers(first: 0, last: 0))
  }

  /// `{"type":"l2update","product_id":…,"changes":[["buy","price","size"],…],"time":…}`
  private func readChanges(
    _ fields: Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable,
    into batch: inout EventBatch
  ) throws(FeedError) -> Int {
    let index = try index(fields, reader, instruments, "l2update")
    guard let changes = fields.changes else { throw FeedError.missing("changes", in: "l2update") }
    var list = reader.reader(changes)
    try instruments.readLevels(&list, index, "changes", isBid: nil, Self.changeFormat, into: &batch)
    return index
  }

  private func appendUpdate(
    of index: Int, _ time: Timestamp?, since mark: BatchMark, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) {
    if let time { remember(time, index) }
    let last = index < bookTimes.count ? bookTimes[index] : nil
    batch.appendBook(.delta, index, since: mark, time: last ?? outcome.now)
    if let time { outcome.number(UpdateNumbers(first: time.rawValue, last: time.rawValue)) }
  }

  private func remember(_ time: Timestamp?, _ index: Int) {
    while bookTimes.count <= index { bookTimes.append(nil) }
    bookTimes[index] = time
  }

  // MARK: Trades, statistics, liveness

  private static let tradeFormat = TradeFormat(
    title: "match", symbol: "product_id", price: "price", size: "size", id: "trade_id", side: "side", buy: "sell",
    sell: "buy")

  /// `side` is the maker's: `sell` means that the taker bought. `last_match` is the trade before the subscription.
  private func readMatch(
    _ fields: Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable, isBacklog: Bool,
    now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try index(fields, reader, instruments, "match")
    var found = TradeFields(index: index, price: fields.price, size: fields.size, id: fields.tradeID)
    found.side = fields.side.flatMap { reader.equals($0, "sell") ? .buy : reader.equals($0, "buy") ? .sell : nil }
    found.time = time(fields, reader)
    batch.events.append(
      .trade(try instruments.trade(found, reader, Self.tradeFormat, now: now, isBacklog: isBacklog)))
  }

  private func readHeartbeat(
    _ fields: Fields, _ reader: borrowing FieldReader, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try index(fields, reader, instruments, "heartbeat")
    batch.events.append(.heartbeat)
    outcome.hear(Topic(index: index, channel: Channel.heartbeat.rawValue))
    // A trade of the last second may still be on its way; one that the heartbeat before knew is missing.
    if let id = fields.lastTradeID { outcome.report(.newestTrade(index: index, id: Int64(clamping: id))) }
  }

  private static let tickerFormat = TickerFormat(
    last: "price", bid: "best_bid", ask: "best_ask", open: "open_24h", high: "high_24h", low: "low_24h",
    volume: "volume_24h")

  /// Sent with trades, so no quote feed; time and last size are missing in the first one.
  private func readTicker(
    _ message: RawSpan, _ fields: Fields, _ outer: borrowing FieldReader, _ instruments: inout InstrumentTable,
    now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try index(fields, outer, instruments, "ticker")
    var ticker = Ticker(instrument: InstrumentID(index), time: time(fields, outer) ?? now)
    var reader = FieldReader(message)
    try instruments.readFigures(&reader, Self.tickerFormat, into: &ticker)
    batch.events.append(.ticker(ticker))
  }

  // MARK: Answers

  /// `"channels":[{"name":"level2_50","product_ids":["BTC-USD"],…},…]`: all that is subscribed now, whatever was asked
  /// for.
  private func readSubscriptions(
    _ answer: borrowing FieldObject, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome
  ) {
    let subscribed = answer.elements("channels") { (channel) throws(FeedError) -> [Topic]? in
      let subscription = try FieldObject(&channel, "subscription")
      guard let name = subscription.text("name"),
        // The book's goes by several names, whichever was asked for.
        let channel = name.hasPrefix("level2") ? 0 : facts.channels.firstIndex(where: { $0.name == name })
      else { return nil }
      let products = subscription.elements("product_ids") { (name) throws(FeedError) in
        try name.decodedString("product_ids")
      }
      return products.compactMap(instruments.index(named:)).map { Topic(index: $0, channel: channel) }
    }
    for topic in subscribed.joined() {
      outcome.report(.acknowledged(id: nil, index: topic.index, channel: topic.channel))
    }
  }
}
