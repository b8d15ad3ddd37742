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
    var tradeID: UInt64?
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
    case .subscriptions, .other: break
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
      fields.tradeID = try reader.uint64("trade_id")
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

  /// `{"type":"snapshot","product_id":…,"asks":[["price","size"],…],"bids":[…]}`; the time is missing in newer ones.
  private func readSnapshot(
    _ fields: Fields, _ reader: borrowing FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, reader, "snapshot")
    guard let bids = fields.bids else { throw FeedError.missing("bids", in: "snapshot") }
    guard let asks = fields.asks else { throw FeedError.missing("asks", in: "snapshot") }
    let bidStart = batch.bids.count
    let askStart = batch.asks.count
    var bad = 0
    var levels = reader.reader(bids)
    try readLevels(&levels, place, "bids", &bad, into: &batch.bids)
    levels = reader.reader(asks)
    try readLevels(&levels, place, "asks", &bad, into: &batch.asks)
    counts.rejectedLevels += bad
    let time = fields.time.flatMap { VenueTime.rfc3339(reader.text($0)) }
    products[place].bookTime = time
    products[place].updateTime = nil
    products[place].book.snapshotArrived(now: now)
    append(place, .snapshot, bidStart, askStart, time ?? now, into: &batch)
    seen[place].snapshots += 1
  }

  private func readLevels(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString, _ bad: inout Int, into levels: inout [PriceLevel]
  ) throws(FeedError) {
    reader.field = field
    try reader.arrayStart()
    while try reader.nextElement() {
      try reader.arrayStart()
      let level = try readLevel(&reader, place, &bad, learnsScale: true)
      if let level, level.size > 0 { levels.append(level) }
    }
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
    let bidStart = batch.bids.count
    let askStart = batch.asks.count
    var bad = 0
    var list = reader.reader(changes)
    list.field = "changes"
    try list.arrayStart()
    while try list.nextElement() {
      try list.arrayStart()
      guard try list.nextElement() else { throw FeedError.missing("side", in: "l2update change") }
      let side = try list.string("side")
      let isBid = list.equals(side, "buy")
      guard isBid || list.equals(side, "sell") else {
        throw FeedError(.shape, "l2update side at offset \(list.offset) is neither buy nor sell")
      }
      guard let level = try readLevel(&list, place, &bad, learnsScale: false) else { continue }
      if isBid { batch.bids.append(level) } else { batch.asks.append(level) }
    }
    counts.rejectedLevels += bad
    let time = fields.time.flatMap { VenueTime.rfc3339(reader.text($0)) }
    if let time {
      // Updates are not numbered, but their times never go back (9,719 recorded updates of ten products): one that does came late, and
      // the sizes it brings may be older than what the book has.
      if let last = products[place].updateTime, time < last {
        batch.bids.removeSubrange(bidStart...)
        batch.asks.removeSubrange(askStart...)
        seen[place].deltas += 1
        seen[place].gaps += 1
        if products[place].book.resync(now: now) { batch.events.append(.bookReset(InstrumentID(place), .gap)) }
        return tick(now: now, into: &batch)
      }
      products[place].bookTime = time
      products[place].updateTime = time
    }
    append(place, .delta, bidStart, askStart, time ?? products[place].bookTime ?? now, into: &batch)
    seen[place].deltas += 1
  }

  private func append(
    _ place: Int, _ kind: BookEvent.Kind, _ bidStart: Int, _ askStart: Int, _ time: Timestamp,
    into batch: inout EventBatch
  ) {
    let bids = bidStart..<batch.bids.count
    let asks = askStart..<batch.asks.count
    note(place, batch.bids[bids])
    note(place, batch.asks[asks])
    batch.events.append(
      .book(BookEvent(instrument: InstrumentID(place), kind: kind, bidRange: bids, askRange: asks, time: time)))
  }

  /// The rest of a level's array: `"price","size"]`. Nil, counted in `bad`, if a number is none or below zero (`"0.-10000"`
  /// has been seen); a number with more digits than the scale widens it.
  private func readLevel(
    _ reader: inout FieldReader, _ place: Int, _ bad: inout Int, learnsScale: Bool
  ) throws(FeedError) -> PriceLevel? {
    guard try reader.nextElement() else { throw FeedError.missing("price", in: "level") }
    let price = try levelValue(&reader, place, isPrice: true, learnsScale: false)
    guard try reader.nextElement() else { throw FeedError.missing("size", in: "level") }
    let size = try levelValue(&reader, place, isPrice: false, learnsScale: learnsScale)
    while try reader.nextElement() { try reader.skipValue() }
    guard let price, let size, price >= 0, size >= 0 else {
      bad += 1
      return nil
    }
    return PriceLevel(price: price, size: size)
  }

  private func levelValue(
    _ reader: inout FieldReader, _ place: Int, isPrice: Bool, learnsScale: Bool
  ) throws(FeedError) -> Int64? {
    let slice = try reader.string(isPrice ? "price" : "size")
    let scale = isPrice ? instruments[place].priceScale : instruments[place].sizeScale
    // Some products print sizes with more digits than their increment has; a snapshot shows how many. Eight is the most that
    // Coinbase prints a real size with.
    if learnsScale, scale < 8, slice.count > Int(scale) {
      let printed = DecimalText.printedScale(reader.text(slice))
      if printed > scale, printed <= 8, (try? DecimalText.parse(reader.text(slice), scale: printed)) ?? 0 > 0 {
        throw needs(place, isPrice: false, digits: printed)
      }
    }
    do throws(DecimalError) {
      return try DecimalText.parse(reader.text(slice), scale: scale)
    } catch {
      guard case .tooPrecise(let digits) = error else { return nil }
      throw needs(place, isPrice: isPrice, digits: digits)
    }
  }

  // MARK: Trades, statistics, liveness

  /// `side` is the maker's: `sell` means that the taker bought. `last_match` is the trade before the subscription.
  private func readMatch(
    _ fields: Fields, _ reader: borrowing FieldReader, isBacklog: Bool, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, reader, "match")
    guard let price = fields.price else { throw FeedError.missing("price", in: "match") }
    guard let size = fields.size else { throw FeedError.missing("size", in: "match") }
    guard let side = fields.side else { throw FeedError.missing("side", in: "match") }
    guard let id = fields.tradeID else { throw FeedError.missing("trade_id", in: "match") }
    let makerSold = reader.equals(side, "sell")
    guard makerSold || reader.equals(side, "buy") else {
      throw FeedError(.shape, "match whose side is neither buy nor sell")
    }
    var value = reader.reader(price)
    let tradePrice = try self.price(&value, place, "price")
    value = reader.reader(size)
    let tradeSize = try self.size(&value, place, "size")
    let time = fields.time.flatMap { VenueTime.rfc3339(reader.text($0)) } ?? now
    note(place, price: tradePrice, size: tradeSize)
    batch.events.append(
      .trade(
        Trade(
          instrument: InstrumentID(place), id: TradeID(id), price: tradePrice, size: tradeSize,
          side: makerSold ? .buy : .sell, time: time, isBacklog: isBacklog)))
    let number = Int64(clamping: id)
    let last = products[place].lastTrade
    if isBacklog {
      seen[place].backlogTrades += 1
    } else {
      seen[place].trades += 1
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

  /// Sent with trades, so no quote feed; time and last size are missing in the first one.
  private func readTicker(
    _ message: RawSpan, _ fields: Fields, _ outer: borrowing FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, outer, "ticker")
    let time = fields.time.flatMap { VenueTime.rfc3339(outer.text($0)) } ?? now
    var ticker = Ticker(instrument: InstrumentID(place), time: time)
    var reader = FieldReader(message)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "price") {
        ticker.last = try statisticsPrice(&reader, place, "price")
      } else if reader.equals(key, "best_bid") {
        ticker.bid = try statisticsPrice(&reader, place, "best_bid")
      } else if reader.equals(key, "best_ask") {
        ticker.ask = try statisticsPrice(&reader, place, "best_ask")
      } else if reader.equals(key, "open_24h") {
        ticker.open = try statisticsPrice(&reader, place, "open_24h")
      } else if reader.equals(key, "high_24h") {
        ticker.high = try statisticsPrice(&reader, place, "high_24h")
      } else if reader.equals(key, "low_24h") {
        ticker.low = try statisticsPrice(&reader, place, "low_24h")
      } else if reader.equals(key, "volume_24h") {
        ticker.volume = try statistic(&reader, "volume_24h")
      } else {
        try reader.skipValue()
      }
    }
    batch.events.append(.ticker(ticker))
  }

  // MARK: Products

  func readProducts(_ body: RawSpan) throws(FeedError) -> [String: CoinbaseProduct] {
    var list: [String: CoinbaseProduct] = [:]
    var reader = FieldReader(body)
    reader.field = "products"
    try reader.arrayStart()
    while try reader.nextElement() {
      var product = CoinbaseProduct()
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "id") {
          product.id = try reader.decodedString("id")
        } else if reader.equals(key, "base_currency") {
          product.base = try reader.decodedString("base_currency")
        } else if reader.equals(key, "quote_currency") {
          product.quote = try reader.decodedString("quote_currency")
        } else if reader.equals(key, "status"), reader.peek() == .string {
          let status = try reader.string("status")
          if !reader.equals(status, "online") { product.isTrading = false }
        } else if reader.equals(key, "trading_disabled") || reader.equals(key, "cancel_only")
          || reader.equals(key, "post_only") || reader.equals(key, "auction_mode"), reader.peek() == .bool
        {
          if try reader.bool("trading_disabled") { product.isTrading = false }
        } else if reader.equals(key, "quote_increment") {
          (product.priceIncrement, product.priceScale) = try increment(&reader, "quote_increment")
        } else if reader.equals(key, "base_increment") {
          (product.sizeIncrement, product.sizeScale) = try increment(&reader, "base_increment")
        } else {
          try reader.skipValue()
        }
      }
      guard !product.id.isEmpty else { throw FeedError.missing("id", in: "product") }
      list[product.id] = product
      guard list.count <= 100_000 else { throw FeedError(.shape, "product list of more than 100,000 products") }
    }
    return list
  }

  /// `{"BTC-USD":{"stats_24hour":{"last":"…","volume":"…",…},…},…}`; `volume` is in base units, and the last price makes it one of the
  /// quote currency.
  func readStatistics(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    try reader.objectStart()
    while let product = try reader.nextKey() {
      let name = reader.plainText(product)
      var last: Decimal64?
      var volume: Decimal64?
      try reader.objectStart()
      while let key = try reader.nextKey() {
        guard reader.equals(key, "stats_24hour"), reader.peek() == .object else {
          try reader.skipValue()
          continue
        }
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "last") {
            last = try statistic(&reader, "last")
          } else if reader.equals(key, "volume") {
            volume = try statistic(&reader, "volume")
          } else {
            try reader.skipValue()
          }
        }
      }
      try note(volume.flatMap { volume in last.flatMap { volume.product(with: $0) } }, of: name, in: &volumes)
    }
  }

  /// `"0.01"` and the two digits it is printed with; digits of an increment that are only padding do not count.
  private func increment(
    _ reader: inout FieldReader, _ field: StaticString
  ) throws(FeedError) -> (Decimal64, UInt8) {
    let value = try reader.decimal64(field)
    return (value, value.scale)
  }
}
