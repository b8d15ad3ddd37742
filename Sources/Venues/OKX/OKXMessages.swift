import Bytes
import MarketData

/// Reading OKX's messages: `{"arg":{"channel":…,"instId":…},"action":…,"data":[…]}`, or `{"event":…}`.
extension OKXHandler {
  /// In the order of `channels`.
  enum Channel: Int { case book, quote, trades, ticker, other }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    var channel: Channel?
    var symbol: JSONSlice?
    var isSnapshot = true
    var data: FieldSlice?
    var event: String?
    var id: Int?
    var code = ""
    var text = ""
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "arg"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "channel") {
            channel = Self.channel(try reader.string("channel"), reader)
          } else if reader.equals(key, "instId") {
            symbol = try reader.string("instId")
          } else {
            try reader.skipValue()
          }
        }
      } else if reader.equals(key, "data") {
        data = try reader.rawValue("data")
      } else if reader.equals(key, "action") {
        isSnapshot = reader.equals(try reader.string("action"), "snapshot")
      } else if reader.equals(key, "event") {
        event = try reader.decodedString("event")
      } else if reader.equals(key, "id"), reader.peek() == .string {
        id = Int(try reader.decodedString("id"))
      } else if reader.equals(key, "code"), reader.peek() == .string {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "msg"), reader.peek() == .string {
        text = try reader.decodedString("msg")
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    if let event {
      var argument: Int?
      if let channel, channel != .other, let symbol, case let place = table.find(reader.text(symbol)), place >= 0 {
        argument = place * Self.channels.count + channel.rawValue
      }
      return try heard(event, code: code, message: text, id: id, argument: argument, now: now)
    }
    guard let channel else { throw FeedError.missing("channel", in: "message") }
    guard channel != .other else {
      counts.ignored += 1
      return
    }
    guard let symbol else { throw FeedError.missing("instId", in: "message") }
    guard let data else { throw FeedError.missing("data", in: "message") }
    let place = try place(reader.text(symbol))
    var entries = reader.reader(data)
    entries.field = "data"
    try entries.arrayStart()
    switch channel {
    case .book: try readBooks(&entries, place, isSnapshot: isSnapshot, now: now, into: &batch)
    case .quote: try readQuotes(&entries, place, now: now, into: &batch)
    case .trades: try readTrades(&entries, place, now: now, into: &batch)
    case .ticker:
      while try entries.nextElement() { try readTicker(&entries, place, now: now, into: &batch) }
    case .other: break
    }
  }

  private static func channel(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Channel {
    if reader.equals(name, "books") { return .book }
    if reader.equals(name, "bbo-tbt") { return .quote }
    if reader.equals(name, "trades") { return .trades }
    return reader.equals(name, "tickers") ? .ticker : .other
  }

  // MARK: Books

  private static let bookFormat = BookFormat(title: "books")

  private struct BookFields {
    var bids: FieldSlice?
    var asks: FieldSlice?
    var number: Int64?
    var previous: Int64?
    var time: Timestamp
  }

  /// `{"asks":[["price","size","0","orders"],…],"bids":[…],"ts":…,"checksum":0,"seqId":…,"prevSeqId":…}`
  private func readBookFields(_ reader: inout FieldReader, _ now: Timestamp) throws(FeedError) -> BookFields {
    var fields = BookFields(time: now)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "bids") {
        fields.bids = try reader.rawValue("bids")
      } else if reader.equals(key, "asks") {
        fields.asks = try reader.rawValue("asks")
      } else if reader.equals(key, "seqId") {
        fields.number = try reader.int64("seqId")
      } else if reader.equals(key, "prevSeqId") {
        fields.previous = try reader.int64("prevSeqId")
      } else if reader.equals(key, "ts") {
        fields.time = try reader.time("ts", .epoch) ?? now
      } else {
        try reader.skipValue()
      }
    }
    return fields
  }

  /// A message of a book has one entry; were it to have more, they would have to be applied together or not at all.
  private func readBooks(
    _ entries: inout FieldReader, _ place: Int, isSnapshot: Bool, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    guard try entries.nextElement() else { throw FeedError.missing("data[0]", in: "books") }
    let fields = try readBookFields(&entries, now)
    guard try !entries.nextElement() else { throw FeedError(.shape, "books with more than one entry") }
    guard let number = fields.number else { throw FeedError.missing("seqId", in: "books") }
    let mark = BatchMark(batch)
    try readSides(fields.bids, fields.asks, of: entries, place, Self.bookFormat, into: &batch)
    if isSnapshot {
      seen[place].snapshots += 1
      feeds[place].book.snapshotArrived(now: now)
      // One capture's snapshot has no `prevSeqId`.
      feeds[place].previous = fields.previous ?? -1
    } else {
      guard let previous = fields.previous else { throw FeedError.missing("prevSeqId", in: "books update") }
      seen[place].deltas += 1
      guard follows(place, number, previous, now: now, into: &batch) else {
        mark.dropLevels(&batch)
        return
      }
      seen[place].sequenceOK += 1
      // Once a minute without a change, a message that only names the number again; the link before it stays the last
      // one.
      if number != previous { feeds[place].previous = previous }
    }
    feeds[place].last = number
    feeds[place].updates.heard(now: now)
    append(isSnapshot ? .snapshot : .delta, place, since: mark, time: fields.time, into: &batch)
  }

  /// Whether an update joins the book. If it does not, and is not merely the last one again, the book is rebuilt.
  ///
  /// A number below the one before it is the venue's reset after maintenance: going on from it would do by one
  /// reading of the documentation, a new snapshot does by every reading.
  private func follows(
    _ place: Int, _ number: Int64, _ previous: Int64, now: Timestamp, into batch: inout EventBatch
  ) -> Bool {
    let feed = feeds[place]
    // On its way when the book was unsubscribed.
    guard feed.book.isLive else { return false }
    if previous == feed.last, number >= previous { return true }
    if number == feed.last, previous == feed.previous { return false }
    let isReset = previous == feed.last
    if !isReset { seen[place].gaps += 1 }
    if feeds[place].book.resync(now: now) {
      batch.events.append(.bookReset(InstrumentID(place), isReset ? .venueReset : .gap))
      tick(now: now, into: &batch)
    }
    return false
  }

  /// `bbo-tbt`: the best level of each side, whole each time; none where there are no orders.
  private func readQuotes(
    _ entries: inout FieldReader, _ place: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    while try entries.nextElement() {
      let fields = try readBookFields(&entries, now)
      var quote = Quote(instrument: InstrumentID(place), bid: 0, bidSize: 0, ask: 0, askSize: 0, time: fields.time)
      if let level = try readBest(fields.bids, of: entries, place, "bids", Self.bookFormat), level.size > 0 {
        quote.bid = level.price
        quote.bidSize = level.size
      }
      if let level = try readBest(fields.asks, of: entries, place, "asks", Self.bookFormat), level.size > 0 {
        quote.ask = level.price
        quote.askSize = level.size
      }
      batch.events.append(.quote(quote))
    }
  }

  // MARK: Trades and statistics

  private static let tradeFormat = TradeFormat(
    price: "px", size: "sz", id: "tradeId", side: "side", buy: "buy", sell: "sell", time: "ts")

  /// `[{"instId":…,"tradeId":"130639474","px":…,"sz":…,"side":"buy","ts":…,"count":"3"},…]`: fills of one taker at
  /// one price in one entry, named by the last of `count`; `side` is the taker's.
  ///
  /// The first message after a subscription may be the last trade before it, hours old and not marked.
  private func readTrades(
    _ entries: inout FieldReader, _ place: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let start = batch.events.count
    fillCounts.removeAll(keepingCapacity: true)
    while try entries.nextElement() {
      var fields = TradeFields()
      fields.place = place
      var fills: Int64 = 1
      try entries.objectStart()
      while let key = try entries.nextKey() {
        if try take(key, of: &entries, Self.tradeFormat, into: &fields) { continue }
        if entries.equals(key, "count"), entries.peek() == .string {
          let slice = try entries.string("count")
          fills = max(1, (try? DecimalText.parse(entries.text(slice), scale: 0)) ?? 1)
        } else {
          try entries.skipValue()
        }
      }
      batch.events.append(.trade(try trade(fields, entries, Self.tradeFormat, now: now)))
      fillCounts.append(fills)
    }
    for (index, fills) in fillCounts.enumerated() {
      guard case .trade(var trade) = batch.events[start + index] else { continue }
      trade.isBacklog = !feeds[place].hasTraded && trade.time < feeds[place].subscribed - Market.clockTolerance
      batch.events[start + index] = .trade(trade)
      count(trade)
      let id = Int64(clamping: trade.id.number ?? 0)
      let last = feeds[place].lastTrade
      if !trade.isBacklog, last > 0, id > last, id - last > fills {
        seen[place].missedTrades &+= Int(id - last - fills)
      }
      feeds[place].lastTrade = max(last, id)
    }
    feeds[place].hasTraded = true
  }

  private static let tickerFormat = TickerFormat(
    last: "last", bid: "bidPx", ask: "askPx", open: "open24h", high: "high24h", low: "low24h")

  /// Volumes: on spot `vol24h` is in base and `volCcy24h` in quote units; on contracts `vol24h` is in contracts and
  /// `volCcy24h` in base units.
  private func readTicker(
    _ reader: inout FieldReader, _ place: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var ticker = Ticker(instrument: InstrumentID(place), time: now)
    let isSpot = instruments[place].kind == .spot
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try take(key, of: &reader, Self.tickerFormat, into: &ticker) { continue }
      if reader.equals(key, "vol24h") {
        let volume = try statistic(&reader, "vol24h")
        if isSpot { ticker.volume = volume }
      } else if reader.equals(key, "volCcy24h") {
        let volume = try statistic(&reader, "volCcy24h")
        if isSpot { ticker.quoteVolume = volume } else { ticker.volume = volume }
      } else if reader.equals(key, "ts") {
        ticker.time = try reader.time("ts", .epoch) ?? now
      } else {
        try reader.skipValue()
      }
    }
    batch.events.append(.ticker(ticker))
  }
}
