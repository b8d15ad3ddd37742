import Bytes
import MarketData

/// Reading Bybit's messages: `{"topic":…,"type":…,"ts":…,"data":…}` with its fields in any order, or a reply with `op`.
extension BybitHandler {
  enum Topic { case book, quote, trades, ticker, other }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    var topic: Topic?
    var isSnapshot = false
    var data: FieldSlice?
    var time: Timestamp?
    var reply = BybitReply()
    var isReply = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "topic") {
        let slice = try reader.string("topic")
        topic = Self.topic(reader.text(slice))
      } else if reader.equals(key, "data") {
        data = try reader.rawValue("data")
      } else if reader.equals(key, "type"), reader.peek() == .string {
        isSnapshot = reader.equals(try reader.string("type"), "snapshot")
      } else if reader.equals(key, "ts") {
        time = VenueTime.epoch(try reader.int64("ts"))
      } else if reader.equals(key, "op") {
        reply.operation = try reader.decodedString("op")
        isReply = true
      } else if reader.equals(key, "success") {
        reply.succeeded = try reader.bool("success")
        isReply = true
      } else if reader.equals(key, "ret_msg") {
        reply.message = try reader.decodedString("ret_msg")
      } else if reader.equals(key, "req_id"), reader.peek() == .string {
        reply.id = Int(try reader.decodedString("req_id"))
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let topic else {
      guard isReply else { throw FeedError.missing("topic", in: "message") }
      // Public sockets answer `"op":"ping"` with a message of `pong`; others `"op":"pong"`.
      reply.isPong = reply.operation == "pong" || (reply.operation == "ping" && reply.succeeded)
      return try replied(reply, now: now, into: &batch)
    }
    guard topic != .other else {
      counts.ignored += 1
      return
    }
    guard let data else { throw FeedError.missing("data", in: "message") }
    var value = reader.reader(data)
    switch topic {
    case .book: try readBook(&value, isSnapshot: isSnapshot, time ?? now, now: now, into: &batch)
    case .quote: try readQuote(&value, isSnapshot: isSnapshot, time ?? now, into: &batch)
    case .trades: try readTrades(&value, now: now, into: &batch)
    case .ticker: try readTicker(data, reader, isSnapshot: isSnapshot, time ?? now, into: &batch)
    case .other: break
    }
  }

  /// By what stands before the symbol; any depth but 1 is a book.
  private static func topic(_ text: RawSpan) -> Topic {
    text.withUnsafeBytes { bytes in
      func begins(_ prefix: StaticString) -> Bool {
        bytes.count > prefix.utf8CodeUnitCount
          && bytes.prefix(prefix.utf8CodeUnitCount).elementsEqual(
            UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
      }
      if begins("orderbook.1.") { return .quote }
      // Levels of the RPI book have three parts; it is not subscribed.
      if begins("orderbook."), !begins("orderbook.rpi."), !begins("orderbook.full.") { return .book }
      if begins("publicTrade.") { return .trades }
      return begins("tickers.") ? .ticker : .other
    }
  }

  // MARK: Books

  private struct BookFields {
    var place: Int?
    var bids: FieldSlice?
    var asks: FieldSlice?
    var number: Int64?
  }

  /// `{"s":…,"b":[["price","size"],…],"a":[…],"u":…,"seq":…}`
  private func readBookFields(_ reader: inout FieldReader) throws(FeedError) -> BookFields {
    var fields = BookFields()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "s") {
        let slice = try reader.string("s")
        fields.place = try place(reader.text(slice))
      } else if reader.equals(key, "b") {
        fields.bids = try reader.rawValue("b")
      } else if reader.equals(key, "a") {
        fields.asks = try reader.rawValue("a")
      } else if reader.equals(key, "u") {
        fields.number = try reader.int64("u")
      } else {
        try reader.skipValue()
      }
    }
    return fields
  }

  private func readLevels(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString, into levels: inout [PriceLevel]
  ) throws(FeedError) {
    reader.field = field
    try reader.arrayStart()
    while try reader.nextElement() {
      try reader.arrayStart()
      guard try reader.nextElement() else { throw FeedError.missing("price", in: "level") }
      let price = try price(&reader, place, field)
      guard try reader.nextElement() else { throw FeedError.missing("size", in: "level") }
      let size = try size(&reader, place, field)
      while try reader.nextElement() { try reader.skipValue() }
      levels.append(PriceLevel(price: price, size: size))
    }
  }

  /// A snapshot, or a change with `u` = 1 (the service began anew), replaces the book; a change must follow by one.
  private func readBook(
    _ reader: inout FieldReader, isSnapshot: Bool, _ time: Timestamp, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let fields = try readBookFields(&reader)
    guard let place = fields.place else { throw FeedError.missing("s", in: "orderbook") }
    guard let number = fields.number else { throw FeedError.missing("u", in: "orderbook") }
    guard let bidSlice = fields.bids else { throw FeedError.missing("b", in: "orderbook") }
    guard let askSlice = fields.asks else { throw FeedError.missing("a", in: "orderbook") }
    let bidStart = batch.bids.count
    let askStart = batch.asks.count
    var levels = reader.reader(bidSlice)
    try readLevels(&levels, place, "b", into: &batch.bids)
    levels = reader.reader(askSlice)
    try readLevels(&levels, place, "a", into: &batch.asks)
    let bids = bidStart..<batch.bids.count
    let asks = askStart..<batch.asks.count
    let replaces = isSnapshot || number == 1
    if replaces {
      seen[place].snapshots += 1
      feeds[place].book.snapshotArrived(now: now)
    } else {
      seen[place].deltas += 1
      let last = feeds[place].last
      guard feeds[place].book.isLive, number == last + 1 else {
        batch.bids.removeSubrange(bidStart...)
        batch.asks.removeSubrange(askStart...)
        // On its way when the book was unsubscribed, or the last one again.
        if feeds[place].book.isLive, number != last { lost(place, now: now, into: &batch) }
        return
      }
      seen[place].sequenceOK += 1
    }
    feeds[place].last = number
    note(place, batch.bids[bids])
    note(place, batch.asks[asks])
    batch.events.append(
      .book(
        BookEvent(
          instrument: InstrumentID(place), kind: replaces ? .snapshot : .delta, bidRange: bids, askRange: asks,
          time: time)))
  }

  /// A number that does not follow: later ones are missing before it, or it is late itself, or the numbering began anew without
  /// a word. Which of them cannot be told, and a new snapshot mends all.
  private func lost(_ place: Int, now: Timestamp, into batch: inout EventBatch) {
    seen[place].gaps += 1
    guard feeds[place].book.resync(now: now) else { return }
    batch.events.append(.bookReset(InstrumentID(place), .gap))
    tick(now: now, into: &batch)
  }

  /// `orderbook.1`: the whole best level each time; a side that is not there has no orders. (Changes, which it once sent, keep the
  /// other side.)
  private func readQuote(
    _ reader: inout FieldReader, isSnapshot: Bool, _ time: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let fields = try readBookFields(&reader)
    guard let place = fields.place else { throw FeedError.missing("s", in: "orderbook.1") }
    var quote = Quote(instrument: InstrumentID(place), bid: 0, bidSize: 0, ask: 0, askSize: 0, time: time)
    if !isSnapshot, let old = feeds[place].quote {
      quote = old
      quote.time = time
    }
    if let slice = fields.bids, let level = try readBest(slice, reader, place, "b") {
      quote.bid = level.size > 0 ? level.price : 0
      quote.bidSize = level.size
    }
    if let slice = fields.asks, let level = try readBest(slice, reader, place, "a") {
      quote.ask = level.size > 0 ? level.price : 0
      quote.askSize = level.size
    }
    feeds[place].quote = quote
    feeds[place].quotes.heard(now: connectionHeard)
    batch.events.append(.quote(quote))
  }

  /// The last level of a side that has a size, or the last one; nil if there is none.
  private func readBest(
    _ slice: FieldSlice, _ outer: borrowing FieldReader, _ place: Int, _ field: StaticString
  ) throws(FeedError) -> PriceLevel? {
    var best: PriceLevel?
    var reader = outer.reader(slice)
    reader.field = field
    try reader.arrayStart()
    while try reader.nextElement() {
      try reader.arrayStart()
      guard try reader.nextElement() else { throw FeedError.missing("price", in: "level") }
      let price = try price(&reader, place, field)
      guard try reader.nextElement() else { throw FeedError.missing("size", in: "level") }
      let size = try size(&reader, place, field)
      while try reader.nextElement() { try reader.skipValue() }
      if best == nil || size > 0 { best = PriceLevel(price: price, size: size) }
    }
    return best
  }

  // MARK: Trades and statistics

  /// `[{"T":…,"s":…,"S":"Buy","v":"0.001","p":"16578.50","i":…,"BT":false},…]`; `S` is the taker's side. Block trades, which are made
  /// off the book, are no price of the market.
  private func readTrades(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "data"
    let start = batch.events.count
    try reader.arrayStart()
    while try reader.nextElement() {
      if let trade = try readTrade(&reader, now: now) { batch.events.append(.trade(trade)) }
    }
    for event in batch.events[start...] {
      guard case .trade(let trade) = event else { continue }
      seen[trade.instrument.index].trades += 1
      note(trade.instrument.index, price: trade.price, size: trade.size)
    }
  }

  private func readTrade(_ reader: inout FieldReader, now: Timestamp) throws(FeedError) -> Trade? {
    var place: Int?
    var price: FieldSlice?
    var size: FieldSlice?
    var id: JSONSlice?
    var side: TakerSide?
    var time = now
    var isBlock = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "s") {
        let slice = try reader.string("s")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "S") {
        let slice = try reader.string("S")
        side = reader.equals(slice, "Buy") ? .buy : reader.equals(slice, "Sell") ? .sell : nil
      } else if reader.equals(key, "p") {
        price = try reader.rawValue("p")
      } else if reader.equals(key, "v") {
        size = try reader.rawValue("v")
      } else if reader.equals(key, "i") {
        id = try reader.string("i")
      } else if reader.equals(key, "T") {
        time = VenueTime.epoch(try reader.int64("T")) ?? now
      } else if reader.equals(key, "BT") {
        isBlock = try reader.bool("BT")
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("s", in: "trade") }
    guard let price else { throw FeedError.missing("p", in: "trade") }
    guard let size else { throw FeedError.missing("v", in: "trade") }
    guard let id else { throw FeedError.missing("i", in: "trade") }
    guard let side else { throw FeedError.missing("S (Buy or Sell)", in: "trade") }
    var value = reader.reader(price)
    let tradePrice = try self.price(&value, place, "p")
    value = reader.reader(size)
    let tradeSize = try self.size(&value, place, "v")
    if isBlock { return nil }
    return Trade(
      instrument: InstrumentID(place), id: TradeID(reader.text(id)), price: tradePrice, size: tradeSize, side: side,
      time: time)
  }

  /// 24 h figures: whole on spot; on linear whole once, then only what changed.
  private func readTicker(
    _ data: FieldSlice, _ outer: borrowing FieldReader, isSnapshot: Bool, _ time: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = outer.reader(data)
    var place: Int?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      guard reader.equals(key, "symbol") else {
        try reader.skipValue()
        continue
      }
      let slice = try reader.string("symbol")
      place = try self.place(reader.text(slice))
    }
    guard let place else { throw FeedError.missing("symbol", in: "ticker") }
    var ticker = isSnapshot ? nil : feeds[place].ticker
    // A change of what is not known yet says too little.
    guard isSnapshot || ticker != nil else { return }
    ticker = ticker ?? Ticker(instrument: InstrumentID(place), time: time)
    guard var ticker else { return }
    ticker.time = time
    var fields = outer.reader(data)
    try fields.objectStart()
    while let key = try fields.nextKey() { try readTickerField(key, &ticker, &fields) }
    feeds[place].ticker = ticker
    batch.events.append(.ticker(ticker))
  }

  private func readTickerField(
    _ key: JSONSlice, _ ticker: inout Ticker, _ reader: inout FieldReader
  ) throws(FeedError) {
    let place = ticker.instrument.index
    if reader.equals(key, "lastPrice") {
      ticker.last = try statisticsPrice(&reader, place, "lastPrice")
    } else if reader.equals(key, "prevPrice24h") {
      ticker.open = try statisticsPrice(&reader, place, "prevPrice24h")
    } else if reader.equals(key, "highPrice24h") {
      ticker.high = try statisticsPrice(&reader, place, "highPrice24h")
    } else if reader.equals(key, "lowPrice24h") {
      ticker.low = try statisticsPrice(&reader, place, "lowPrice24h")
    } else if reader.equals(key, "bid1Price") {
      ticker.bid = try statisticsPrice(&reader, place, "bid1Price")
    } else if reader.equals(key, "ask1Price") {
      ticker.ask = try statisticsPrice(&reader, place, "ask1Price")
    } else if reader.equals(key, "volume24h") {
      ticker.volume = try statistic(&reader, "volume24h")
    } else if reader.equals(key, "turnover24h") {
      ticker.quoteVolume = try statistic(&reader, "turnover24h")
    } else if reader.equals(key, "price24hPcnt") {
      // A fraction: 0.0196 is 1.96 %.
      let fraction = try statistic(&reader, "price24hPcnt")
      ticker.changePercent = fraction.flatMap { $0.multiplied(by: Decimal64(mantissa: 100, scale: 0)) }
    } else {
      try reader.skipValue()
    }
  }

  // MARK: Instruments

  /// `{"retCode":0,"retMsg":"OK","result":{"category":…,"nextPageCursor":…,"list":[…]}}`
  func readInstruments(_ body: RawSpan) throws(FeedError) -> (instruments: [BybitInstrument], cursor: String) {
    var reader = FieldReader(body)
    var code: Int64 = 0
    var message = ""
    var list: [BybitInstrument]?
    var cursor = ""
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "retCode") {
        code = try reader.int64("retCode")
      } else if reader.equals(key, "retMsg") {
        message = try reader.decodedString("retMsg")
      } else if reader.equals(key, "result"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "nextPageCursor"), reader.peek() == .string {
            cursor = try reader.decodedString("nextPageCursor")
          } else if reader.equals(key, "list"), reader.peek() == .array {
            list = try readList(&reader)
          } else {
            try reader.skipValue()
          }
        }
      } else {
        try reader.skipValue()
      }
    }
    guard code == 0 else { throw FeedError(.refused, "instruments-info: code \(code), \(message)") }
    guard let list else { throw FeedError.missing("list", in: "instruments-info") }
    return (list, cursor)
  }

  /// `{"retCode":0,"retMsg":"OK","result":{"category":…,"list":[{"symbol":"BTCUSDT","turnover24h":"…",…},…]}}`
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    var code: Int64 = 0
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "retCode") {
        code = try reader.int64("retCode")
      } else if reader.equals(key, "result"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "list"), reader.peek() == .array {
            try readTurnovers(&reader, into: &volumes)
          } else {
            try reader.skipValue()
          }
        }
      } else {
        try reader.skipValue()
      }
    }
    guard code == 0 else { throw FeedError(.refused, "tickers: code \(code)") }
  }

  private func readTurnovers(
    _ reader: inout FieldReader, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try reader.arrayStart()
    while try reader.nextElement() {
      var name = ""
      var volume: Decimal64?
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "symbol") {
          name = try reader.decodedString("symbol")
        } else if reader.equals(key, "turnover24h") {
          volume = try statistic(&reader, "turnover24h")
        } else {
          try reader.skipValue()
        }
      }
      try note(volume, of: name, in: &volumes)
    }
  }

  private func readList(_ reader: inout FieldReader) throws(FeedError) -> [BybitInstrument] {
    var list: [BybitInstrument] = []
    try reader.arrayStart()
    while try reader.nextElement() {
      if let instrument = try readInstrument(&reader) { list.append(instrument) }
      guard list.count <= 100_000 else { throw FeedError(.shape, "list of more than 100,000 instruments") }
    }
    return list
  }

  /// Nil for a kind that is not carried.
  private func readInstrument(_ reader: inout FieldReader) throws(FeedError) -> BybitInstrument? {
    var name = ""
    var base = ""
    var quote = ""
    var contract = ""
    var isTrading = true
    var delivery: Int64 = 0
    var price: Decimal64?
    var size: Decimal64?
    var priceScale: UInt8 = 0
    var sizeScale: UInt8 = 0
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        name = try reader.decodedString("symbol")
      } else if reader.equals(key, "baseCoin") {
        base = try reader.decodedString("baseCoin")
      } else if reader.equals(key, "quoteCoin") {
        quote = try reader.decodedString("quoteCoin")
      } else if reader.equals(key, "contractType") {
        contract = try reader.decodedString("contractType")
      } else if reader.equals(key, "status") {
        let status = try reader.string("status")
        isTrading = reader.equals(status, "Trading")
      } else if reader.equals(key, "deliveryTime"), reader.peek() == .string {
        delivery = Int64(try reader.decodedString("deliveryTime")) ?? 0
      } else if reader.equals(key, "priceFilter") {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "tickSize") {
            (price, priceScale) = try readStep(&reader, "tickSize")
          } else {
            try reader.skipValue()
          }
        }
      } else if reader.equals(key, "lotSizeFilter") {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          // `qtyStep` on linear, `basePrecision` on spot.
          if reader.equals(key, "qtyStep") || reader.equals(key, "basePrecision") {
            (size, sizeScale) = try readStep(&reader, "qtyStep")
          } else {
            try reader.skipValue()
          }
        }
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("symbol", in: "instrument") }
    guard !base.isEmpty, !quote.isEmpty else { return nil }
    let kind: Instrument.Kind
    if part == "spot" {
      kind = .spot
    } else if contract == "LinearPerpetual" {
      kind = .perpetual
    } else if contract == "LinearFutures", let day = VenueTime.epoch(delivery).map(VenueTime.day) {
      kind = .future(expiry: day)
    } else {
      return nil
    }
    return BybitInstrument(
      name: name, symbol: FeedSymbol(base: base, quote: quote, kind: kind), priceIncrement: price, sizeIncrement: size,
      isTrading: isTrading, priceScale: priceScale, sizeScale: sizeScale)
  }

  /// A step, and the digits it is written with, which are those of the values: `0.10` for prices like `86723.40`.
  private func readStep(
    _ reader: inout FieldReader, _ field: StaticString
  ) throws(FeedError) -> (Decimal64?, UInt8) {
    let slice = try reader.string(field)
    return (try? DecimalText.parse(reader.text(slice)), DecimalText.printedScale(reader.text(slice)))
  }
}
