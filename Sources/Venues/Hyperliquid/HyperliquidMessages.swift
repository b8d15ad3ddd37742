import Bytes
import MarketData

/// Reading Hyperliquid's messages: `{"channel":…,"data":…}`; prices and sizes are strings, times are in ms.
extension HyperliquidHandler {
  private enum Kind { case book, quote, trades, context, reply, error, post, pong, other }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    var kind: Kind?
    var data: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "channel") {
        kind = Self.kind(try reader.string("channel"), reader)
      } else if reader.equals(key, "data") {
        data = try reader.rawValue("data")
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let kind else { throw FeedError.missing("channel", in: "message") }
    isAnswer = kind == .pong || kind == .reply || kind == .error || kind == .post
    if kind == .pong {
      batch.events.append(.heartbeat)
      return
    }
    guard kind != .other else {
      counts.ignored += 1
      return
    }
    guard let data else { throw FeedError.missing("data", in: "message") }
    var value = reader.reader(data)
    switch kind {
    case .book: try readBook(&value, now: now, isProbe: false, into: &batch)
    case .quote: try readQuote(&value, now: now, into: &batch)
    case .trades: try readTrades(&value, now: now, into: &batch)
    case .context: try readContext(&value, now: now, into: &batch)
    case .reply: try readReply(&value, now: now)
    case .error: try readError(&value, now: now)
    case .post: try readPost(&value, now: now, into: &batch)
    case .pong, .other: break
    }
  }

  private static func kind(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Kind {
    if reader.equals(name, "l2Book") { return .book }
    if reader.equals(name, "bbo") { return .quote }
    if reader.equals(name, "trades") { return .trades }
    if reader.equals(name, "activeAssetCtx") || reader.equals(name, "activeSpotAssetCtx") { return .context }
    if reader.equals(name, "subscriptionResponse") { return .reply }
    if reader.equals(name, "error") { return .error }
    if reader.equals(name, "post") { return .post }
    return reader.equals(name, "pong") ? .pong : .other
  }

  // MARK: Books and quotes

  private static let bookFormat = BookFormat(title: "l2Book", level: .object(price: "px", size: "sz"))

  /// `{"coin":"BTC","time":…,"levels":[[{"px":"84143.0","sz":"10.25923","n":36},…],[…]],"fast":true}`: bids and asks,
  /// both best first. The slower stream has no `fast` and more levels; each is a whole book, whichever comes.
  func readBook(
    _ reader: inout FieldReader, now: Timestamp, isProbe: Bool, into batch: inout EventBatch
  ) throws(FeedError) {
    var place: Int?
    var time = now
    var levels: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "coin") {
        let slice = try reader.string("coin")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "time") {
        time = try reader.time("time", .epoch) ?? now
      } else if reader.equals(key, "levels") {
        levels = try reader.rawValue("levels")
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("coin", in: "l2Book") }
    guard let levels else { throw FeedError.missing("levels", in: "l2Book") }
    let mark = BatchMark(batch)
    var sides = reader.reader(levels)
    sides.field = "levels"
    try sides.arrayStart()
    guard try sides.nextElement() else { throw FeedError.missing("bids", in: "levels") }
    try readLevels(&sides, place, "levels", isBid: true, Self.bookFormat, into: &batch.bids)
    guard try sides.nextElement() else { throw FeedError.missing("asks", in: "levels") }
    try readLevels(&sides, place, "levels", isBid: false, Self.bookFormat, into: &batch.asks)
    guard try !sides.nextElement() else { throw FeedError(.shape, "levels with more than two sides") }
    let bids = batch.bids[mark.bids...]
    let asks = batch.asks[mark.asks...]
    note(place, bids)
    note(place, asks)
    if isProbe {
      compared(place, bids: bids, asks: asks, now: now)
      return mark.rewind(&batch)
    }
    acknowledged(place, .book, now: now)
    let isLive = feeds[place].book.isLive
    if isLive, time < feeds[place].time, now - feeds[place].heardAt < Self.lateLimit {
      seen[place].dropped += 1
      return mark.rewind(&batch)
    }
    seen[place].snapshots += 1
    // Sent again with a new time: the book is as old as that, and nothing has to be told to anyone.
    let isSame = isLive && feeds[place].bids.elementsEqual(bids) && feeds[place].asks.elementsEqual(asks)
    if !isSame {
      feeds[place].bids.removeAll(keepingCapacity: true)
      feeds[place].bids.append(contentsOf: bids)
      feeds[place].asks.removeAll(keepingCapacity: true)
      feeds[place].asks.append(contentsOf: asks)
    }
    feeds[place].book.snapshotArrived(now: now)
    feeds[place].time = time
    feeds[place].heardAt = now
    feeds[place].probed = nil
    feeds[place].differs = nil
    if isSame { mark.rewind(&batch) }
    batch.events.append(
      .book(
        BookEvent(
          instrument: InstrumentID(place), kind: isSame ? .delta : .snapshot,
          bidRange: mark.bids..<batch.bids.count, askRange: mark.asks..<batch.asks.count, time: time)))
  }

  /// `{"coin":"BTC","time":…,"bbo":[{…},{…}]}`: bid and ask; one without orders is null, or not there.
  private func readQuote(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var place: Int?
    var time = now
    var levels: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "coin") {
        let slice = try reader.string("coin")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "time") {
        time = try reader.time("time", .epoch) ?? now
      } else if reader.equals(key, "bbo") {
        levels = try reader.rawValue("bbo")
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("coin", in: "bbo") }
    guard let levels else { throw FeedError.missing("bbo", in: "bbo") }
    var quote = Quote(instrument: InstrumentID(place), bid: 0, bidSize: 0, ask: 0, askSize: 0, time: time)
    var sides = reader.reader(levels)
    sides.field = "bbo"
    try sides.arrayStart()
    var side = 0
    while try sides.nextElement() {
      defer { side += 1 }
      if try sides.null() { continue }
      var word: JSONSlice?
      let level = try readLevel(&sides, place, "bbo", Self.bookFormat, &word)
      guard level.size > 0, level.price < .max else { continue }
      if side == 0 {
        quote.bid = level.price
        quote.bidSize = level.size
      } else if side == 1 {
        quote.ask = level.price
        quote.askSize = level.size
      }
    }
    batch.events.append(.quote(quote))
  }

  // MARK: Trades and statistics

  private static let tradeFormat = TradeFormat(
    symbol: "coin", price: "px", size: "sz", id: "tid", side: "side", buy: "B", sell: "A", time: "time")

  /// `[{"coin":…,"side":"A","px":…,"sz":…,"time":…,"hash":…,"tid":…},…]`; `side` is the taker's, `B` bought and `A`
  /// sold.
  ///
  /// The first message after a subscription repeats what was traded before it: those are backlog, but for what came
  /// before the connection was lost and is known already.
  private func readTrades(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "data"
    let start = batch.events.count
    try reader.arrayStart()
    while try reader.nextElement() {
      var fields = TradeFields()
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if try !take(key, of: &reader, Self.tradeFormat, into: &fields) { try reader.skipValue() }
      }
      let trade = try trade(fields, reader, Self.tradeFormat, now: now)
      guard trade.id.number != nil else {
        throw FeedError(.decimal, "field tid before offset \(reader.offset): not a number of 64 bits")
      }
      batch.events.append(.trade(trade))
    }
    var kept = start
    for index in start..<batch.events.count {
      guard case .trade(var trade) = batch.events[index], let id = trade.id.number else { continue }
      guard classify(&trade, id, now: now) else { continue }
      batch.events[kept] = .trade(trade)
      kept += 1
    }
    for event in batch.events[start..<kept] {
      if case .trade(let trade) = event { feeds[trade.instrument.index].hasTraded = true }
    }
    batch.events.removeSubrange(kept...)
  }

  /// Marks and counts a trade; false for one that is known.
  private func classify(_ trade: inout Trade, _ id: UInt64, now: Timestamp) -> Bool {
    let place = trade.instrument.index
    // No copy of the feed: its ids would have two owners, and be copied before they change.
    let tradeTime = feeds[place].tradeTime
    let subscribed = feeds[place].subscribed
    acknowledged(place, .trades, now: now)
    if trade.time < subscribed {
      let knownTime = feeds[place].knownTime
      if trade.time < knownTime || (trade.time == knownTime && feeds[place].knownIDs.contains(id)) { return false }
      trade.isBacklog = !feeds[place].hasTraded || trade.time < subscribed - Market.clockTolerance
    }
    count(trade)
    // A time that is still to come would make all that follows known.
    let time = min(trade.time, now)
    guard time >= tradeTime else { return true }
    if time > tradeTime { feeds[place].tradeIDs.removeAll(keepingCapacity: true) }
    feeds[place].tradeTime = time
    if feeds[place].tradeIDs.count < Self.idLimit { feeds[place].tradeIDs.append(id) }
    if trade.price > 0 { feeds[place].lastPrice = trade.price }
    return true
  }

  /// `{"coin":"BTC","ctx":{"prevDayPx":…,"dayNtlVlm":…,"markPx":…,"midPx":…,"dayBaseVlm":…,…}}`. There is no high,
  /// low or last price; the change is that of the middle of the book since the day before.
  private func readContext(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var place: Int?
    var context: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "coin") {
        let slice = try reader.string("coin")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "ctx") {
        context = try reader.rawValue("ctx")
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("coin", in: "activeAssetCtx") }
    guard let context else { throw FeedError.missing("ctx", in: "activeAssetCtx") }
    var ticker = Ticker(instrument: InstrumentID(place), time: now)
    ticker.last = feeds[place].lastPrice
    var middle: Decimal64?
    var before: Decimal64?
    var fields = reader.reader(context)
    try fields.objectStart()
    while let key = try fields.nextKey() {
      if fields.equals(key, "prevDayPx") {
        let slice = try fields.rawValue("prevDayPx")
        var value = fields.reader(slice)
        ticker.open = try statisticsPrice(&value, place, "prevDayPx")
        value = fields.reader(slice)
        before = try statistic(&value, "prevDayPx")
      } else if fields.equals(key, "midPx") {
        middle = try statistic(&fields, "midPx")
      } else if fields.equals(key, "dayBaseVlm") {
        ticker.volume = try longStatistic(&fields, "dayBaseVlm")
      } else if fields.equals(key, "dayNtlVlm") {
        ticker.quoteVolume = try longStatistic(&fields, "dayNtlVlm")
      } else {
        try fields.skipValue()
      }
    }
    if let middle, let before { Self.setChange(&ticker, from: before, to: middle) }
    acknowledged(place, .context, now: now)
    batch.events.append(.ticker(ticker))
  }

  private static func setChange(_ ticker: inout Ticker, from before: Decimal64, to middle: Decimal64) {
    let scale = max(before.scale, middle.scale)
    let (a, overflowA) = before.mantissa.multipliedReportingOverflow(
      by: Int64(DecimalText.power(scale - before.scale)))
    let (b, overflowB) = middle.mantissa.multipliedReportingOverflow(
      by: Int64(DecimalText.power(scale - middle.scale)))
    guard !overflowA, !overflowB, a >= 0, b >= 0 else { return }
    ticker.change = Decimal64(mantissa: b - a, scale: scale)
    ticker.changePercent = Ratio.percent(b - a, of: a, digits: 4)
  }

  /// A number of which digits after the sixth decimal are cut if they do not fit: volumes have twenty
  /// (`"4161029539.6949653625"`).
  func longStatistic(_ reader: inout FieldReader, _ field: StaticString) throws(FeedError) -> Decimal64? {
    guard reader.peek() == .string else { return try statistic(&reader, field) }
    let slice = try reader.string(field)
    return reader.text(slice).withUnsafeBytes { bytes in
      if let value = try? DecimalText.parse(bytes.bytes) { return value }
      guard let point = bytes.firstIndex(of: UInt8(ascii: ".")) else { return nil }
      return try? DecimalText.parse(UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, point + 7)]).bytes)
    }
  }
}
