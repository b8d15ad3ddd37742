import Bytes
import MarketData

/// Reading Advanced Trade's messages: `{"channel":…,"timestamp":…,"sequence_num":…,"events":[…]}`, or `{"type":"error","message":…}`,
/// with their fields in any order.
extension CoinbaseAdvancedHandler {
  private enum Kind { case book, trades, ticker, heartbeats, subscriptions, other }

  /// What of the events has been read, and what can be used only when all has been.
  private struct Outcome {
    /// Where the events of the text begin in the batch.
    var start: Int
    var rejectedLevels = 0
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
      return
    }
    counts.ignored += outcome.ignored
    counts.rejectedLevels += outcome.rejectedLevels
    switch kind {
    case .book:
      for index in pending.indices { use(pending[index], number != nil, time, now: now, into: &batch) }
    case .trades:
      for index in outcome.start..<end {
        guard case .trade(let trade) = batch.events[index] else { continue }
        let place = trade.instrument.index
        note(place, price: trade.price, size: trade.size)
        if trade.isBacklog {
          seen[place].backlogTrades += 1
        } else {
          seen[place].trades += 1
        }
      }
    case .heartbeats:
      // Where messages are numbered, a missing heartbeat is a missing number.
      if number == nil, let counter = outcome.heartbeat, let last = heartbeat, counter != last, counter != last &+ 1 {
        lost(now: now, into: &batch)
      }
      heartbeat = outcome.heartbeat ?? heartbeat
      batch.events.append(.heartbeat)
    case .subscriptions: acknowledged(now: now)
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
            try readUpdates(&reader, place, isSnapshot, &outcome, into: &batch)
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
        try readUpdates(&updates, place, isSnapshot, &outcome, into: &batch)
      }
      pending.append(
        PendingBook(
          place: place, isSnapshot: isSnapshot, bids: bidStart..<batch.bids.count, asks: askStart..<batch.asks.count))
    }
  }

  /// `[{"side":"bid","event_time":…,"price_level":"68900.00","new_quantity":"1.50000000"},…]`; the other side is `offer`. A level whose
  /// numbers are none, or below zero, is left out (`"0.-10000"` has been seen at the other feed of this venue).
  private func readUpdates(
    _ reader: inout FieldReader, _ place: Int, _ isSnapshot: Bool, _ outcome: inout Outcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "updates"
    try reader.arrayStart()
    while try reader.nextElement() {
      var isBid: Bool?
      var hasPrice = false
      var hasSize = false
      var price: Int64?
      var size: Int64?
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "price_level") {
          hasPrice = true
          price = try levelValue(&reader, place, isPrice: true, learnsScale: false)
        } else if reader.equals(key, "new_quantity") {
          hasSize = true
          size = try levelValue(&reader, place, isPrice: false, learnsScale: isSnapshot)
        } else if reader.equals(key, "side") {
          let side = try reader.string("side")
          isBid = reader.equals(side, "bid")
          guard isBid == true || reader.equals(side, "offer") || reader.equals(side, "ask") else {
            throw FeedError(.shape, "side at offset \(reader.offset) is neither bid nor offer")
          }
        } else {
          try reader.skipValue()
        }
      }
      guard let isBid else { throw FeedError.missing("side", in: "update") }
      guard hasPrice else { throw FeedError.missing("price_level", in: "update") }
      guard hasSize else { throw FeedError.missing("new_quantity", in: "update") }
      guard let price, let size, price >= 0, size >= 0 else {
        outcome.rejectedLevels += 1
        continue
      }
      let level = PriceLevel(price: price, size: size)
      if isBid { batch.bids.append(level) } else { batch.asks.append(level) }
    }
  }

  /// Nil for what is no number or does not fit; more digits than the scale has widen it. Sizes are printed with up to eight digits,
  /// whatever the increment is; a snapshot shows how many.
  private func levelValue(
    _ reader: inout FieldReader, _ place: Int, isPrice: Bool, learnsScale: Bool
  ) throws(FeedError) -> Int64? {
    reader.field = isPrice ? "price_level" : "new_quantity"
    let scale = isPrice ? instruments[place].priceScale : instruments[place].sizeScale
    if learnsScale, scale < 8, reader.peek() == .string {
      let slice = try reader.string("new_quantity")
      let printed = DecimalText.printedScale(reader.text(slice))
      do throws(DecimalError) {
        if printed > scale, printed <= 8, try DecimalText.parse(reader.text(slice), scale: printed) > 0 {
          throw .tooPrecise(needed: printed)
        }
        return try DecimalText.parse(reader.text(slice), scale: scale)
      } catch {
        guard case .tooPrecise(let digits) = error else { return nil }
        throw needs(place, isPrice: false, digits: digits)
      }
    }
    do throws(JSONError) {
      return try reader.json.decimal(scale: scale)
    } catch {
      guard case .decimal(let reason) = error.reason else { throw reader.failure(error) }
      guard case .tooPrecise(let digits) = reason else { return nil }
      throw needs(place, isPrice: isPrice, digits: digits)
    }
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
    var first: (time: Timestamp, id: Int64)?
    var last: (time: Timestamp, id: Int64)?
    reader.field = "trades"
    try reader.arrayStart()
    while try reader.nextElement() {
      guard let (trade, id) = try readTrade(&reader, isBacklog: isBacklog, now: now) else {
        outcome.ignored += 1
        continue
      }
      batch.events.append(.trade(trade))
      last = (trade.time, id)
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

  /// `{"trade_id":…,"product_id":…,"price":…,"size":…,"side":"BUY","time":…}`; nil for a product that is not carried.
  ///
  /// `side` is the maker's, which no documentation says: measured twice against the top of the book, and captured prints at the best ask
  /// say `SELL`.
  private func readTrade(
    _ reader: inout FieldReader, isBacklog: Bool, now: Timestamp
  ) throws(FeedError) -> (trade: Trade, id: Int64)? {
    var place: Int?
    var id: JSONSlice?
    var price: FieldSlice?
    var size: FieldSlice?
    var side: TakerSide?
    var time: Timestamp?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "product_id") {
        let name = try reader.string("product_id")
        place = table.find(reader.text(name))
      } else if reader.equals(key, "trade_id") {
        id = reader.peek() == .string ? try reader.string("trade_id") : try reader.number("trade_id")
      } else if reader.equals(key, "price") {
        price = try reader.rawValue("price")
      } else if reader.equals(key, "size") {
        size = try reader.rawValue("size")
      } else if reader.equals(key, "side") {
        let slice = try reader.string("side")
        side = reader.equals(slice, "SELL") ? .buy : reader.equals(slice, "BUY") ? .sell : nil
      } else if reader.equals(key, "time"), reader.peek() == .string {
        let slice = try reader.string("time")
        time = VenueTime.rfc3339(reader.text(slice))
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("product_id", in: "trade") }
    guard place >= 0 else { return nil }
    guard let id else { throw FeedError.missing("trade_id", in: "trade") }
    guard let price else { throw FeedError.missing("price", in: "trade") }
    guard let size else { throw FeedError.missing("size", in: "trade") }
    guard let side else { throw FeedError.missing("side (BUY or SELL)", in: "trade") }
    var value = reader.reader(price)
    let tradePrice = try self.price(&value, place, "price")
    value = reader.reader(size)
    let tradeSize = try self.size(&value, place, "size")
    let number = (try? DecimalText.parse(reader.text(id), scale: 0)) ?? .max
    return (
      Trade(
        instrument: InstrumentID(place), id: TradeID(reader.text(id)), price: tradePrice, size: tradeSize, side: side,
        time: time ?? now, isBacklog: isBacklog), number
    )
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
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "price") {
        ticker.last = try statisticsPrice(&reader, place, "price")
      } else if reader.equals(key, "best_bid") {
        ticker.bid = try statisticsPrice(&reader, place, "best_bid")
      } else if reader.equals(key, "best_ask") {
        ticker.ask = try statisticsPrice(&reader, place, "best_ask")
      } else if reader.equals(key, "high_24_h") {
        ticker.high = try statisticsPrice(&reader, place, "high_24_h")
      } else if reader.equals(key, "low_24_h") {
        ticker.low = try statisticsPrice(&reader, place, "low_24_h")
      } else if reader.equals(key, "volume_24_h") {
        ticker.volume = try statistic(&reader, "volume_24_h")
      } else if reader.equals(key, "price_percent_chg_24_h") {
        ticker.changePercent = try statistic(&reader, "price_percent_chg_24_h")
      } else {
        try reader.skipValue()
      }
    }
    return ticker
  }

  // MARK: Products

  /// The spot products of `{"products":[…]}`.
  func readProducts(_ body: RawSpan) throws(FeedError) -> [CoinbaseAdvancedProduct] {
    var reader = FieldReader(body)
    var list: [CoinbaseAdvancedProduct]?
    reader.field = "products"
    try reader.objectStart()
    while let key = try reader.nextKey() {
      guard reader.equals(key, "products"), reader.peek() == .array else {
        try reader.skipValue()
        continue
      }
      var products: [CoinbaseAdvancedProduct] = []
      try reader.arrayStart()
      while try reader.nextElement() {
        if let product = try readProduct(&reader) { products.append(product) }
        guard products.count <= 100_000 else { throw FeedError(.shape, "product list of more than 100,000 products") }
      }
      list = products
    }
    guard let list else { throw FeedError.missing("products", in: "product list") }
    return list
  }

  /// Nil for what is no spot product, and for one that was delisted.
  private func readProduct(_ reader: inout FieldReader) throws(FeedError) -> CoinbaseAdvancedProduct? {
    var product = CoinbaseAdvancedProduct()
    var isSpot = true
    var isDelisted = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "product_id") {
        product.id = try reader.decodedString("product_id")
      } else if reader.equals(key, "base_currency_id"), reader.peek() == .string {
        product.base = try reader.decodedString("base_currency_id")
      } else if reader.equals(key, "quote_currency_id"), reader.peek() == .string {
        product.quote = try reader.decodedString("quote_currency_id")
      } else if reader.equals(key, "alias"), reader.peek() == .string {
        product.alias = try reader.decodedString("alias")
      } else if reader.equals(key, "product_type"), reader.peek() == .string {
        isSpot = reader.equals(try reader.string("product_type"), "SPOT")
      } else if reader.equals(key, "status"), reader.peek() == .string {
        isDelisted = reader.equals(try reader.string("status"), "delisted")
      } else if reader.equals(key, "approximate_quote_24h_volume") {
        product.quoteVolume = try statistic(&reader, "approximate_quote_24h_volume")
      } else if reader.equals(key, "trading_disabled") || reader.equals(key, "is_disabled")
        || reader.equals(key, "view_only") || reader.equals(key, "cancel_only") || reader.equals(key, "post_only")
        || reader.equals(key, "auction_mode"), reader.peek() == .bool
      {
        if try reader.bool("trading_disabled") { product.isTrading = false }
      } else if reader.equals(key, "price_increment") {
        guard let step = try increment(&reader, "price_increment") else { continue }
        product.priceIncrement = step
        product.priceScale = max(product.priceScale, step.scale)
      } else if reader.equals(key, "quote_increment") {
        guard let step = try increment(&reader, "quote_increment") else { continue }
        product.priceIncrement = product.priceIncrement ?? step
        product.priceScale = max(product.priceScale, step.scale)
      } else if reader.equals(key, "base_increment") {
        guard let step = try increment(&reader, "base_increment") else { continue }
        product.sizeIncrement = step
        product.sizeScale = step.scale
      } else {
        try reader.skipValue()
      }
    }
    guard !product.id.isEmpty else { throw FeedError.missing("product_id", in: "product") }
    return isSpot && !isDelisted ? product : nil
  }

  /// Nil for what is no number above zero.
  private func increment(_ reader: inout FieldReader, _ field: StaticString) throws(FeedError) -> Decimal64? {
    guard reader.peek() == .string else {
      try reader.skipValue()
      return nil
    }
    let slice = try reader.string(field)
    guard let value = try? DecimalText.parse(reader.text(slice)), value.mantissa > 0,
      value.scale <= Self.widestScale
    else { return nil }
    return value
  }
}
