import Bytes
import MarketData

/// Reading OKX's messages: `{"arg":{"channel":…,"instId":…},"action":…,"data":[…]}`, or `{"event":…}`.
extension OKXHandler {
  enum Channel { case book, quote, trades, ticker, other }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    var channel: Channel?
    var symbol: JSONSlice?
    var isSnapshot = true
    var data: FieldSlice?
    var event: String?
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
      } else if reader.equals(key, "code"), reader.peek() == .string {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "msg"), reader.peek() == .string {
        text = try reader.decodedString("msg")
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    if let event { return try heard(event, code: code, message: text, now: now) }
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

  /// A time in ms, in quotes.
  private func time(_ reader: inout FieldReader, _ field: StaticString, _ now: Timestamp) throws(FeedError) -> Timestamp
  {
    let slice = try reader.string(field)
    let value = try? DecimalText.parse(reader.text(slice), scale: 0)
    return value.flatMap(VenueTime.epoch) ?? now
  }

  // MARK: Books

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
        fields.time = try time(&reader, "ts", now)
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

  /// A message of a book has one entry; were it to have more, they would have to be applied together or not at all.
  private func readBooks(
    _ entries: inout FieldReader, _ place: Int, isSnapshot: Bool, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    guard try entries.nextElement() else { throw FeedError.missing("data[0]", in: "books") }
    let fields = try readBookFields(&entries, now)
    guard try !entries.nextElement() else { throw FeedError(.shape, "books with more than one entry") }
    guard let number = fields.number else { throw FeedError.missing("seqId", in: "books") }
    guard let bidSlice = fields.bids else { throw FeedError.missing("bids", in: "books") }
    guard let askSlice = fields.asks else { throw FeedError.missing("asks", in: "books") }
    let bidStart = batch.bids.count
    let askStart = batch.asks.count
    var levels = entries.reader(bidSlice)
    try readLevels(&levels, place, "bids", into: &batch.bids)
    levels = entries.reader(askSlice)
    try readLevels(&levels, place, "asks", into: &batch.asks)
    let bids = bidStart..<batch.bids.count
    let asks = askStart..<batch.asks.count
    if isSnapshot {
      seen[place].snapshots += 1
      feeds[place].book.snapshotArrived(now: now)
      // One capture's snapshot has no `prevSeqId`.
      feeds[place].previous = fields.previous ?? -1
    } else {
      guard let previous = fields.previous else { throw FeedError.missing("prevSeqId", in: "books update") }
      seen[place].deltas += 1
      guard follows(place, number, previous, now: now, into: &batch) else {
        batch.bids.removeSubrange(bidStart...)
        batch.asks.removeSubrange(askStart...)
        return
      }
      seen[place].sequenceOK += 1
      // Once a minute without a change, a message that only names the number again; the link before it stays the last one.
      if number != previous { feeds[place].previous = previous }
    }
    feeds[place].last = number
    feeds[place].updates.heard(now: now)
    note(place, batch.bids[bids])
    note(place, batch.asks[asks])
    batch.events.append(
      .book(
        BookEvent(
          instrument: InstrumentID(place), kind: isSnapshot ? .snapshot : .delta, bidRange: bids, askRange: asks,
          time: fields.time)))
  }

  /// Whether an update joins the book. If it does not, and is not merely the last one again, the book is rebuilt.
  ///
  /// A number below the one before it is the venue's reset after maintenance: going on from it would do by one reading of the
  /// documentation, a new snapshot does by every reading.
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
      if let slice = fields.bids, let level = try readFirst(slice, entries, place, "bids") {
        quote.bid = level.price
        quote.bidSize = level.size
      }
      if let slice = fields.asks, let level = try readFirst(slice, entries, place, "asks") {
        quote.ask = level.price
        quote.askSize = level.size
      }
      batch.events.append(.quote(quote))
    }
  }

  private func readFirst(
    _ slice: FieldSlice, _ outer: borrowing FieldReader, _ place: Int, _ field: StaticString
  ) throws(FeedError) -> PriceLevel? {
    var reader = outer.reader(slice)
    reader.field = field
    try reader.arrayStart()
    guard try reader.nextElement() else { return nil }
    try reader.arrayStart()
    guard try reader.nextElement() else { throw FeedError.missing("price", in: "level") }
    let price = try price(&reader, place, field)
    guard try reader.nextElement() else { throw FeedError.missing("size", in: "level") }
    let size = try size(&reader, place, field)
    return size > 0 ? PriceLevel(price: price, size: size) : nil
  }

  // MARK: Trades and statistics

  /// `[{"instId":…,"tradeId":"130639474","px":…,"sz":…,"side":"buy","ts":…,"count":"3"},…]`: fills of one taker at one price in
  /// one entry, named by the last of `count`; `side` is the taker's.
  ///
  /// The first message after a subscription may be the last trade before it, hours old and not marked.
  private func readTrades(
    _ entries: inout FieldReader, _ place: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let start = batch.events.count
    var numbers: [(id: Int64, count: Int64)] = []
    while try entries.nextElement() {
      let (trade, id, count) = try readTrade(&entries, place, now)
      batch.events.append(.trade(trade))
      numbers.append((id, count))
    }
    for (index, number) in numbers.enumerated() {
      guard case .trade(var trade) = batch.events[start + index] else { continue }
      trade.isBacklog = !feeds[place].hasTraded && trade.time < feeds[place].subscribed - Market.clockTolerance
      batch.events[start + index] = .trade(trade)
      note(place, price: trade.price, size: trade.size)
      if trade.isBacklog {
        seen[place].backlogTrades += 1
      } else {
        seen[place].trades += 1
        let last = feeds[place].lastTrade
        if last > 0, number.id > last + number.count {
          seen[place].missedTrades += Int(clamping: number.id - last - number.count)
        }
      }
      feeds[place].lastTrade = max(feeds[place].lastTrade, number.id)
    }
    feeds[place].hasTraded = true
  }

  private func readTrade(
    _ reader: inout FieldReader, _ place: Int, _ now: Timestamp
  ) throws(FeedError) -> (Trade, id: Int64, count: Int64) {
    var price: Int64?
    var size: Int64?
    var id: JSONSlice?
    var side: TakerSide?
    var time = now
    var count: Int64 = 1
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "px") {
        price = try self.price(&reader, place, "px")
      } else if reader.equals(key, "sz") {
        size = try self.size(&reader, place, "sz")
      } else if reader.equals(key, "tradeId") {
        id = try reader.string("tradeId")
      } else if reader.equals(key, "side") {
        let slice = try reader.string("side")
        side = reader.equals(slice, "buy") ? .buy : reader.equals(slice, "sell") ? .sell : nil
      } else if reader.equals(key, "ts") {
        time = try self.time(&reader, "ts", now)
      } else if reader.equals(key, "count"), reader.peek() == .string {
        let slice = try reader.string("count")
        count = max(1, (try? DecimalText.parse(reader.text(slice), scale: 0)) ?? 1)
      } else {
        try reader.skipValue()
      }
    }
    guard let price else { throw FeedError.missing("px", in: "trade") }
    guard let size else { throw FeedError.missing("sz", in: "trade") }
    guard let id else { throw FeedError.missing("tradeId", in: "trade") }
    guard let side else { throw FeedError.missing("side (buy or sell)", in: "trade") }
    let number = (try? DecimalText.parse(reader.text(id), scale: 0)) ?? 0
    return (
      Trade(
        instrument: InstrumentID(place), id: TradeID(reader.text(id)), price: price, size: size, side: side, time: time),
      number, count
    )
  }

  /// Volumes: on spot `vol24h` is in base and `volCcy24h` in quote units; on contracts `vol24h` is in contracts and `volCcy24h` in
  /// base units.
  private func readTicker(
    _ reader: inout FieldReader, _ place: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var ticker = Ticker(instrument: InstrumentID(place), time: now)
    let isSpot = instruments[place].kind == .spot
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "last") {
        ticker.last = try statisticsPrice(&reader, place, "last")
      } else if reader.equals(key, "bidPx") {
        ticker.bid = try statisticsPrice(&reader, place, "bidPx")
      } else if reader.equals(key, "askPx") {
        ticker.ask = try statisticsPrice(&reader, place, "askPx")
      } else if reader.equals(key, "open24h") {
        ticker.open = try statisticsPrice(&reader, place, "open24h")
      } else if reader.equals(key, "high24h") {
        ticker.high = try statisticsPrice(&reader, place, "high24h")
      } else if reader.equals(key, "low24h") {
        ticker.low = try statisticsPrice(&reader, place, "low24h")
      } else if reader.equals(key, "vol24h") {
        let volume = try statistic(&reader, "vol24h")
        if isSpot { ticker.volume = volume }
      } else if reader.equals(key, "volCcy24h") {
        let volume = try statistic(&reader, "volCcy24h")
        if isSpot { ticker.quoteVolume = volume } else { ticker.volume = volume }
      } else if reader.equals(key, "ts") {
        ticker.time = try time(&reader, "ts", now)
      } else {
        try reader.skipValue()
      }
    }
    batch.events.append(.ticker(ticker))
  }

  // MARK: Instruments

  /// `{"code":"0","msg":"","data":[{…}]}`
  func readInstruments(_ body: RawSpan) throws(FeedError) -> [OKXInstrument] {
    var reader = FieldReader(body)
    var code = ""
    var message = ""
    var list: [OKXInstrument]?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code") {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "msg") {
        message = try reader.decodedString("msg")
      } else if reader.equals(key, "data"), reader.peek() == .array {
        var found: [OKXInstrument] = []
        try reader.arrayStart()
        while try reader.nextElement() {
          if let instrument = try readInstrument(&reader) { found.append(instrument) }
          guard found.count <= 100_000 else { throw FeedError(.shape, "list of more than 100,000 instruments") }
        }
        list = found
      } else {
        try reader.skipValue()
      }
    }
    guard code == "0" else { throw FeedError(.refused, "instruments: code \(code), \(message)") }
    guard let list else { throw FeedError.missing("data", in: "instruments") }
    return list
  }

  /// `{"code":"0","data":[{"instType":…,"instId":…,"last":…,"volCcy24h":…},…]}`; `volCcy24h` is in the quote currency on spot and in
  /// base units on contracts, where the last price makes it one of the quote currency.
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    var code = ""
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code") {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "data"), reader.peek() == .array {
        try reader.arrayStart()
        while try reader.nextElement() { try readVolume(&reader, into: &volumes) }
      } else {
        try reader.skipValue()
      }
    }
    guard code == "0" else { throw FeedError(.refused, "tickers: code \(code)") }
  }

  private func readVolume(
    _ reader: inout FieldReader, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    var name = ""
    var isSpot = false
    var last: Decimal64?
    var volume: Decimal64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "instId") {
        name = try reader.decodedString("instId")
      } else if reader.equals(key, "instType") {
        let type = try reader.string("instType")
        isSpot = reader.equals(type, "SPOT")
      } else if reader.equals(key, "last") {
        last = try statistic(&reader, "last")
      } else if reader.equals(key, "volCcy24h") {
        volume = try statistic(&reader, "volCcy24h")
      } else {
        try reader.skipValue()
      }
    }
    if !isSpot { volume = volume.flatMap { volume in last.flatMap { volume.product(with: $0) } } }
    try note(volume, of: name, in: &volumes)
  }

  /// By its name, which says all that is needed: `BTC-USDT`, `BTC-USDT-SWAP`, `BTC-USDT-261225`. Nil for options and what else has
  /// another form of name.
  private func readInstrument(_ reader: inout FieldReader) throws(FeedError) -> OKXInstrument? {
    var name = ""
    var type = ""
    var contractType = ""
    var value: Decimal64?
    var multiplier: Decimal64?
    var price: Decimal64?
    var size: Decimal64?
    var isTrading = true
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "instId") {
        name = try reader.decodedString("instId")
      } else if reader.equals(key, "instType") {
        type = try reader.decodedString("instType")
      } else if reader.equals(key, "ctType") {
        contractType = try reader.decodedString("ctType")
      } else if reader.equals(key, "ctVal") {
        value = try statistic(&reader, "ctVal")
      } else if reader.equals(key, "ctMult") {
        multiplier = try statistic(&reader, "ctMult")
      } else if reader.equals(key, "state") {
        let state = try reader.string("state")
        isTrading = reader.equals(state, "live")
      } else if reader.equals(key, "tickSz") {
        price = try statistic(&reader, "tickSz")
      } else if reader.equals(key, "lotSz") {
        size = try statistic(&reader, "lotSz")
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("instId", in: "instrument") }
    let parts = name.split(separator: "-").map(String.init)
    guard (2...3).contains(parts.count) else { return nil }
    let kind: Instrument.Kind
    switch (parts.count, type) {
    case (2, "SPOT"): kind = .spot
    case (3, "SWAP") where parts[2] == "SWAP": kind = .perpetual
    case (3, "FUTURES") where parts[2].utf8.count == 6: kind = .future(expiry: "20" + parts[2])
    default: return nil
    }
    var contract: Decimal64? = Decimal64(mantissa: 1, scale: 0)
    if kind != .spot {
      contract =
        contractType == "linear"
        ? value.flatMap { $0.multiplied(by: multiplier ?? Decimal64(mantissa: 1, scale: 0)) } : nil
      if let size = contract, size.mantissa <= 0 || size.scale > Self.widestScale { contract = nil }
    }
    return OKXInstrument(
      name: name, symbol: FeedSymbol(base: parts[0], quote: parts[1], kind: kind), contractSize: contract,
      priceIncrement: price, sizeIncrement: size, isTrading: isTrading)
  }
}
