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

  private static func channel(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Channel? {
    if reader.equals(name, "l2Book") { return .book }
    if reader.equals(name, "bbo") { return .quote }
    if reader.equals(name, "trades") { return .trades }
    return reader.equals(name, "activeAssetCtx") || reader.equals(name, "activeSpotAssetCtx") ? .context : nil
  }

  // MARK: Books and quotes

  /// `{"coin":"BTC","time":…,"levels":[[{"px":"84143.0","sz":"10.25923","n":36},…],[…]],"fast":true}`: bids and asks, both best first. The
  /// slower stream has no `fast` and more levels; each is a whole book, whichever comes.
  private func readBook(
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
        time = VenueTime.epoch(try reader.int64("time")) ?? now
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
    try readLevels(&sides, place, into: &batch.bids)
    guard try sides.nextElement() else { throw FeedError.missing("asks", in: "levels") }
    try readLevels(&sides, place, into: &batch.asks)
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
    let feed = feeds[place]
    if feed.book.isLive, time < feed.time, now - feed.heardAt < Self.lateLimit {
      seen[place].dropped += 1
      return mark.rewind(&batch)
    }
    seen[place].snapshots += 1
    // Sent again with a new time: the book is as old as that, and nothing has to be told to anyone.
    let isSame = feed.book.isLive && feed.bids.elementsEqual(bids) && feed.asks.elementsEqual(asks)
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

  private func readLevels(_ reader: inout FieldReader, _ place: Int, into levels: inout [PriceLevel]) throws(FeedError)
  {
    try reader.arrayStart()
    while try reader.nextElement() { levels.append(try readLevel(&reader, place)) }
  }

  /// `{"px":"84143.0","sz":"10.25923","n":36}`
  private func readLevel(_ reader: inout FieldReader, _ place: Int) throws(FeedError) -> PriceLevel {
    var price: Int64?
    var size: Int64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "px") {
        price = try self.price(&reader, place, "px")
      } else if reader.equals(key, "sz") {
        size = try self.size(&reader, place, "sz")
      } else {
        try reader.skipValue()
      }
    }
    guard let price else { throw FeedError.missing("px", in: "level") }
    guard let size else { throw FeedError.missing("sz", in: "level") }
    return PriceLevel(price: price, size: size)
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
        time = VenueTime.epoch(try reader.int64("time")) ?? now
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
      let level = try readLevel(&sides, place)
      guard level.size > 0 else { continue }
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

  private struct NumberedTrade {
    var trade: Trade
    var id: UInt64
  }

  /// `[{"coin":…,"side":"A","px":…,"sz":…,"time":…,"hash":…,"tid":…},…]`; `side` is the taker's, `B` bought and `A` sold.
  ///
  /// The first message after a subscription repeats what was traded before it: those are backlog, but for what came before the connection
  /// was lost and is known already.
  private func readTrades(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "data"
    let start = batch.events.count
    var ids: [UInt64] = []
    try reader.arrayStart()
    while try reader.nextElement() {
      let entry = try readTrade(&reader, now: now)
      batch.events.append(.trade(entry.trade))
      ids.append(entry.id)
    }
    var kept = start
    for (index, id) in ids.enumerated() {
      guard case .trade(var trade) = batch.events[start + index] else { continue }
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
    note(place, price: trade.price, size: trade.size)
    if trade.isBacklog { seen[place].backlogTrades += 1 } else { seen[place].trades += 1 }
    // A time that is still to come would make all that follows known.
    let time = min(trade.time, now)
    guard time >= tradeTime else { return true }
    if time > tradeTime { feeds[place].tradeIDs.removeAll(keepingCapacity: true) }
    feeds[place].tradeTime = time
    if feeds[place].tradeIDs.count < Self.idLimit { feeds[place].tradeIDs.append(id) }
    feeds[place].lastPrice = trade.price
    return true
  }

  private func readTrade(_ reader: inout FieldReader, now: Timestamp) throws(FeedError) -> NumberedTrade {
    var place: Int?
    var price: FieldSlice?
    var size: FieldSlice?
    var id: UInt64?
    var side: TakerSide?
    var time = now
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "coin") {
        let slice = try reader.string("coin")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "side") {
        let slice = try reader.string("side")
        side = reader.equals(slice, "B") ? .buy : reader.equals(slice, "A") ? .sell : nil
      } else if reader.equals(key, "px") {
        price = try reader.rawValue("px")
      } else if reader.equals(key, "sz") {
        size = try reader.rawValue("sz")
      } else if reader.equals(key, "tid") {
        id = try reader.uint64("tid")
      } else if reader.equals(key, "time") {
        time = VenueTime.epoch(try reader.int64("time")) ?? now
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("coin", in: "trade") }
    guard let price else { throw FeedError.missing("px", in: "trade") }
    guard let size else { throw FeedError.missing("sz", in: "trade") }
    guard let side else { throw FeedError.missing("side (B or A)", in: "trade") }
    guard let id else { throw FeedError.missing("tid", in: "trade") }
    var value = reader.reader(price)
    let tradePrice = try self.price(&value, place, "px")
    value = reader.reader(size)
    let tradeSize = try self.size(&value, place, "sz")
    return NumberedTrade(
      trade: Trade(
        instrument: InstrumentID(place), id: TradeID(id), price: tradePrice, size: tradeSize, side: side, time: time),
      id: id)
  }

  /// `{"coin":"BTC","ctx":{"prevDayPx":…,"dayNtlVlm":…,"markPx":…,"midPx":…,"dayBaseVlm":…,…}}`. There is no high, low or last price; the
  /// change is that of the middle of the book since the day before.
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

  /// A number of which digits after the sixth decimal are cut if they do not fit: volumes have twenty (`"4161029539.6949653625"`).
  private func longStatistic(_ reader: inout FieldReader, _ field: StaticString) throws(FeedError) -> Decimal64? {
    guard reader.peek() == .string else { return try statistic(&reader, field) }
    let slice = try reader.string(field)
    return reader.text(slice).withUnsafeBytes { bytes in
      if let value = try? DecimalText.parse(bytes.bytes) { return value }
      guard let point = bytes.firstIndex(of: UInt8(ascii: ".")) else { return nil }
      return try? DecimalText.parse(UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, point + 7)]).bytes)
    }
  }

  // MARK: Replies

  /// `{"method":"subscribe","subscription":{"type":"l2Book","coin":"BTC",…}}`
  private func readReply(_ reader: inout FieldReader, now: Timestamp) throws(FeedError) {
    var channel: Channel?
    var place = -1
    var isSubscription = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "method"), reader.peek() == .string {
        isSubscription = reader.equals(try reader.string("method"), "subscribe")
      } else if reader.equals(key, "subscription"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "type"), reader.peek() == .string {
            channel = Self.channel(try reader.string("type"), reader)
          } else if reader.equals(key, "coin"), reader.peek() == .string {
            let slice = try reader.string("coin")
            place = table.find(reader.text(slice))
          } else {
            try reader.skipValue()
          }
        }
      } else {
        try reader.skipValue()
      }
    }
    if isSubscription, place >= 0 { acknowledged(place, channel, now: now) }
  }

  /// A text, with the subscription that it is about in it, or without.
  private func readError(_ reader: inout FieldReader, now: Timestamp) throws(FeedError) {
    guard reader.peek() == .string else { throw FeedError(.shape, "error that is no text") }
    let message = try reader.decodedString("data")
    var place: Int?
    var channel: Channel?
    if let start = message.firstIndex(of: "{") {
      let bytes = Array(message[start...].utf8)
      place = Salvage.symbols(bytes.span.bytes, key: "\"coin\"", in: table).first
      for (name, kind) in [("l2Book", Channel.book), ("bbo", .quote), ("trades", .trades), ("AssetCtx", .context)]
      where message.contains(name) {
        channel = kind
      }
    }
    try refusedRequest(message, place: place, channel: channel, now: now)
  }

  /// `{"id":1,"response":{"type":"info","payload":{"type":"l2Book","data":{…}}}}`, told apart by what it says it is.
  private func readPost(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var payload: FieldSlice?
    var isError = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      guard reader.equals(key, "response"), reader.peek() == .object else {
        try reader.skipValue()
        continue
      }
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "type"), reader.peek() == .string {
          isError = reader.equals(try reader.string("type"), "error")
        } else if reader.equals(key, "payload") {
          payload = try reader.rawValue("payload")
        } else {
          try reader.skipValue()
        }
      }
    }
    guard let payload else { throw FeedError.missing("payload", in: "post") }
    var value = reader.reader(payload)
    if isError || value.peek() != .object {
      let text = value.peek() == .string ? try value.decodedString("payload") : "no reason given"
      throw FeedError(.refused, "post: \(text)")
    }
    var type: JSONSlice?
    var data: FieldSlice?
    try value.objectStart()
    while let key = try value.nextKey() {
      if value.equals(key, "type"), value.peek() == .string {
        type = try value.string("type")
      } else if value.equals(key, "data") {
        data = try value.rawValue("data")
      } else {
        try value.skipValue()
      }
    }
    guard let type else { throw FeedError.missing("type", in: "payload") }
    guard let data else { throw FeedError.missing("data", in: "payload") }
    var answer = value.reader(data)
    if value.equals(type, "l2Book") {
      try readBook(&answer, now: now, isProbe: true, into: &batch)
    } else if value.equals(type, "meta") {
      received(perpetuals: try readPerpetuals(&answer), now: now, into: &batch)
    } else if value.equals(type, "spotMeta") {
      received(spots: try readSpots(&answer), now: now, into: &batch)
    } else if value.equals(type, "metaAndAssetCtxs") {
      received(perpetuals: try readWithContexts(&answer, isSpot: false), now: now, into: &batch)
    } else if value.equals(type, "spotMetaAndAssetCtxs") {
      received(spots: try readWithContexts(&answer, isSpot: true), now: now, into: &batch)
    } else {
      counts.ignored += 1
    }
  }

  // MARK: Lists

  private static let listLimit = 100_000

  /// `{"universe":[{"name":"BTC","szDecimals":5,"maxLeverage":40,"isDelisted":true},…]}`
  func readPerpetuals(_ reader: inout FieldReader) throws(FeedError) -> [HyperliquidMarket] {
    var list: [HyperliquidMarket]?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      guard reader.equals(key, "universe"), reader.peek() == .array else {
        try reader.skipValue()
        continue
      }
      var found: [HyperliquidMarket] = []
      try reader.arrayStart()
      var index = 0
      while try reader.nextElement() {
        if let market = try readPerpetual(&reader, index) { found.append(market) }
        index += 1
        guard found.count <= Self.listLimit else { throw FeedError(.shape, "list of more than 100,000 markets") }
      }
      list = found
    }
    guard let list else { throw FeedError.missing("universe", in: "meta") }
    return list
  }

  /// Nil for a market that somebody else deployed, whose name has a colon.
  private func readPerpetual(
    _ reader: inout FieldReader, _ index: Int
  ) throws(FeedError) -> HyperliquidMarket? {
    var name = ""
    var digits: Int64?
    var isDelisted = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "name") {
        name = try reader.decodedString("name")
      } else if reader.equals(key, "szDecimals") {
        digits = try reader.int64("szDecimals")
      } else if reader.equals(key, "isDelisted"), reader.peek() == .bool {
        isDelisted = try reader.bool("isDelisted")
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("name", in: "universe") }
    guard let digits else { throw FeedError.missing("szDecimals", in: "universe") }
    guard !name.contains(":") else { return nil }
    let base = name.uppercased()
    return HyperliquidMarket(
      name: name, symbol: FeedSymbol(base: base, quote: "USDC", kind: .perpetual),
      priceScale: UInt8(clamping: 6 - digits), sizeScale: UInt8(clamping: digits), isDelisted: isDelisted, index: index,
      isExact: base == name)
  }

  /// `[{"universe":[…],…},[{"dayNtlVlm":…,…},…]]`: a list and the 24 h figures of its markets, in its order, or by `coin` where they name
  /// their market.
  private func readWithContexts(
    _ reader: inout FieldReader, isSpot: Bool
  ) throws(FeedError) -> [HyperliquidMarket] {
    reader.field = "data"
    try reader.arrayStart()
    guard try reader.nextElement() else { throw FeedError.missing("universe", in: "data") }
    var list = isSpot ? try readSpots(&reader) : try readPerpetuals(&reader)
    guard try reader.nextElement() else { throw FeedError.missing("contexts", in: "data") }
    var byName: [String: Decimal64] = [:]
    var byIndex: [Int: Decimal64] = [:]
    var index = 0
    try reader.arrayStart()
    while try reader.nextElement() {
      var name: String?
      var volume: Decimal64?
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "dayNtlVlm") {
          volume = try longStatistic(&reader, "dayNtlVlm")
        } else if reader.equals(key, "coin"), reader.peek() == .string {
          name = try reader.decodedString("coin")
        } else {
          try reader.skipValue()
        }
      }
      if let name { byName[name] = volume } else { byIndex[index] = volume }
      index += 1
      guard index <= Self.listLimit else { throw FeedError(.shape, "contexts of more than 100,000 markets") }
    }
    while try reader.nextElement() { try reader.skipValue() }
    for place in list.indices {
      list[place].quoteVolume = byName[list[place].name] ?? (isSpot ? nil : byIndex[list[place].index])
    }
    return list
  }

  private struct Token {
    var name: String
    var digits: Int64
  }

  /// `{"tokens":[{"name":"USDC","szDecimals":8,"index":0,…},…],"universe":[{"name":"@107","tokens":[150,0],"isCanonical":false,…},…]}`: a
  /// market names its tokens, base and quote, by their index. Sizes have the digits of the base.
  func readSpots(_ reader: inout FieldReader) throws(FeedError) -> [HyperliquidMarket] {
    var tokens: [Int64: Token] = [:]
    var universe: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "tokens"), reader.peek() == .array {
        try reader.arrayStart()
        while try reader.nextElement() {
          let (index, token) = try readToken(&reader)
          tokens[index] = token
          guard tokens.count <= Self.listLimit else { throw FeedError(.shape, "list of more than 100,000 tokens") }
        }
      } else if reader.equals(key, "universe"), reader.peek() == .array {
        universe = try reader.rawValue("universe")
      } else {
        try reader.skipValue()
      }
    }
    guard let universe else { throw FeedError.missing("universe", in: "spotMeta") }
    var list: [HyperliquidMarket] = []
    var markets = reader.reader(universe)
    try markets.arrayStart()
    while try markets.nextElement() {
      if let market = try readSpot(&markets, tokens) { list.append(market) }
      guard list.count <= Self.listLimit else { throw FeedError(.shape, "list of more than 100,000 markets") }
    }
    return list
  }

  private func readToken(_ reader: inout FieldReader) throws(FeedError) -> (index: Int64, Token) {
    var token = Token(name: "", digits: 0)
    var index: Int64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "name") {
        token.name = try reader.decodedString("name")
      } else if reader.equals(key, "szDecimals") {
        token.digits = try reader.int64("szDecimals")
      } else if reader.equals(key, "index") {
        index = try reader.int64("index")
      } else {
        try reader.skipValue()
      }
    }
    guard let index else { throw FeedError.missing("index", in: "token") }
    return (index, token)
  }

  /// Nil for a market whose tokens are not listed.
  private func readSpot(
    _ reader: inout FieldReader, _ tokens: [Int64: Token]
  ) throws(FeedError) -> HyperliquidMarket? {
    var name = ""
    var sides: [Int64] = []
    var isCanonical = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "name") {
        name = try reader.decodedString("name")
      } else if reader.equals(key, "tokens") {
        try reader.arrayStart()
        while try reader.nextElement() {
          let index = try reader.int64("tokens")
          if sides.count < 2 { sides.append(index) }
        }
      } else if reader.equals(key, "isCanonical"), reader.peek() == .bool {
        isCanonical = try reader.bool("isCanonical")
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("name", in: "spot universe") }
    guard sides.count == 2, let base = tokens[sides[0]], let quote = tokens[sides[1]] else { return nil }
    return HyperliquidMarket(
      name: name, symbol: FeedSymbol(base: base.name.uppercased(), quote: quote.name.uppercased()),
      priceScale: UInt8(clamping: 8 - base.digits), sizeScale: UInt8(clamping: base.digits),
      isExact: isCanonical || (base.name == base.name.uppercased() && quote.name == quote.name.uppercased()))
  }
}
