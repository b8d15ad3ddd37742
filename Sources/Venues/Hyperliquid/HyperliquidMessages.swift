import Bytes
import MarketData

/// Reading Hyperliquid's messages: `{"channel":…,"data":…}`; prices and sizes are strings, times are in ms.
extension Hyperliquid {
  private enum Kind: Equatable { case data(Channel), reply, error, post, pong, other }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    // It has greeted in plain text.
    if message.equals("Websocket connection established.") {
      outcome.isAnswer = true
      return batch.events.append(.heartbeat)
    }
    var reader = FieldReader(message)
    var kind: Kind?
    var data: FieldSlice?
    var isRead = false
    let first = batch.events.count
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "channel") {
        kind = Self.kind(try reader.string("channel"), reader)
      } else if reader.equals(key, "data") {
        // What it is of stands before it as a rule; if not, it waits.
        if case .data? = kind, let kind {
          try readData(&reader, kind, &instruments, &outcome, into: &batch)
          isRead = true
        } else {
          data = try reader.rawValue("data")
        }
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let kind else { throw FeedError.missing("channel", in: "message") }
    outcome.isAnswer = kind == .pong || kind == .reply || kind == .error || kind == .post
    switch kind {
    case .pong: return batch.events.append(.heartbeat)
    case .other: return outcome.ignored += 1
    default: break
    }
    if !isRead {
      guard let data else { throw FeedError.missing("data", in: "message") }
      var value = reader.reader(data)
      try readData(&value, kind, &instruments, &outcome, into: &batch)
    }
    // All of the text could be read: nothing fails from here on.
    if kind == .data(.trades) { dropKnownTrades(from: first, instruments, &outcome, &batch.events) }
  }

  private func readData(
    _ reader: inout FieldReader, _ kind: Kind, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    switch kind {
    case .data(.book): try readBook(&reader, &instruments, now: outcome.now, into: &batch)
    case .data(.quote): try readQuote(&reader, &instruments, now: outcome.now, into: &batch)
    case .data(.trades): try readTrades(&reader, &instruments, now: outcome.now, into: &batch)
    case .data(.context): try readContext(&reader, &instruments, &outcome, into: &batch)
    case .reply: try readReply(&reader, instruments, &outcome)
    case .error: try readError(&reader, instruments, &outcome)
    case .post: try readPost(&reader, &instruments, &outcome, into: &batch)
    case .pong, .other: break
    }
  }

  private static func kind(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Kind {
    if let channel = channel(name, reader) { return .data(channel) }
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

  private static let bookFormat = BookFormat(title: "l2Book", level: .object(price: "px", size: "sz"))

  /// What `l2Book`, `bbo` and `activeAssetCtx` have in common: `{"coin":"BTC","time":…,"…":…}`. The value of
  /// `field` is read where it stands once the coin is known; else it waits.
  private func readEntry(
    _ reader: inout FieldReader, _ title: StaticString, _ field: StaticString, _ instruments: inout InstrumentTable,
    now: Timestamp,
    _ read: (inout FieldReader, _ index: Int, inout InstrumentTable) throws(FeedError) -> Void
  ) throws(FeedError) -> (index: Int, time: Timestamp) {
    var index: Int?
    var time = now
    var content: FieldSlice?
    var isRead = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "coin") {
        let slice = try reader.string("coin")
        index = try instruments.index(reader.text(slice))
      } else if reader.equals(key, "time") {
        time = try reader.time("time", .epoch) ?? now
      } else if reader.equals(key, field) {
        reader.field = field
        if let index {
          try read(&reader, index, &instruments)
          isRead = true
        } else {
          content = try reader.rawValue(field)
        }
      } else {
        try reader.skipValue()
      }
    }
    guard let index else { throw FeedError.missing("coin", in: title) }
    if isRead { return (index, time) }
    guard let content else { throw FeedError.missing(field, in: title) }
    var value = reader.reader(content)
    value.field = field
    try read(&value, index, &instruments)
    return (index, time)
  }

  /// `{"coin":"BTC","time":…,"levels":[[{"px":"84143.0","sz":"10.25923","n":36},…],[…]],"fast":true}`: bids and asks,
  /// both best first. The slower stream has no `fast` and more levels; each is a whole book, whichever comes.
  private func readBook(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let mark = BatchMark(batch)
    let (index, time) = try readEntry(&reader, "l2Book", "levels", &instruments, now: now) {
      (sides, index, instruments) throws(FeedError) in
      try sides.arrayStart()
      guard try sides.nextElement() else { throw FeedError.missing("bids", in: "levels") }
      try instruments.readLevels(&sides, index, "levels", isBid: true, Self.bookFormat, into: &batch)
      guard try sides.nextElement() else { throw FeedError.missing("asks", in: "levels") }
      try instruments.readLevels(&sides, index, "levels", isBid: false, Self.bookFormat, into: &batch)
      guard try !sides.nextElement() else { throw FeedError(.shape, "levels with more than two sides") }
    }
    batch.appendBook(.snapshot, index, since: mark, time: time)
  }

  /// `{"coin":"BTC","time":…,"bbo":[{…},{…}]}`: bid and ask; one without orders is null, or not there.
  private func readQuote(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var best = (bid: PriceLevel(price: 0, size: 0), ask: PriceLevel(price: 0, size: 0))
    let (index, time) = try readEntry(&reader, "bbo", "bbo", &instruments, now: now) {
      (sides, index, instruments) throws(FeedError) in
      try sides.arrayStart()
      var side = 0
      while try sides.nextElement() {
        defer { side += 1 }
        if try sides.null() { continue }
        var word: JSONSlice?
        let level = try instruments.readLevel(&sides, index, "bbo", Self.bookFormat, &word)
        guard level.size > 0, level.price < .max else { continue }
        if side == 0 { best.bid = level } else if side == 1 { best.ask = level }
      }
    }
    let (bid, ask) = best
    batch.events.append(
      .quote(
        Quote(
          instrument: InstrumentID(index), bid: bid.price, bidSize: bid.size, ask: ask.price, askSize: ask.size,
          time: time)))
  }

  // MARK: Trades and statistics

  private static let tradeFormat = TradeFormat(
    symbol: "coin", price: "px", size: "sz", id: "tid", side: "side", buy: "B", sell: "A", time: "time")

  /// `[{"coin":…,"side":"A","px":…,"sz":…,"time":…,"hash":…,"tid":…},…]`; `side` is the taker's, `B` bought and `A`
  /// sold.
  private func readTrades(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "data"
    try reader.arrayStart()
    while try reader.nextElement() {
      let trade = try instruments.readTrade(&reader, Self.tradeFormat, now: now)
      guard trade.id.number != nil else {
        throw FeedError(.decimal, "field tid before offset \(reader.offset): not a number of 64 bits")
      }
      batch.events.append(.trade(trade))
    }
  }

  /// The first message after a subscription repeats what was traded before it: those are backlog, but for what came
  /// before the connection was lost and is known already.
  private func dropKnownTrades(
    from start: Int, _ instruments: borrowing InstrumentTable, _ outcome: inout MessageOutcome,
    _ events: inout [MarketEvent]
  ) {
    var kept = start
    var last = -1
    for index in start..<events.count {
      guard case .trade(var trade) = events[index], let id = trade.id.number else { continue }
      let symbolIndex = trade.instrument.index
      if symbolIndex != last { outcome.hear(Topic(index: symbolIndex, channel: Channel.trades.rawValue)) }
      last = symbolIndex
      guard classify(&trade, id, scale: instruments[symbolIndex].priceScale, now: outcome.now) else { continue }
      events[kept] = .trade(trade)
      kept += 1
    }
    for event in events[start..<kept] {
      if case .trade(let trade) = event { trades[trade.instrument.index].hasTraded = true }
    }
    events.removeSubrange(kept...)
  }

  /// Marks a trade that is from before its subscription; false for one that is known.
  private func classify(_ trade: inout Trade, _ id: UInt64, scale: UInt8, now: Timestamp) -> Bool {
    // No copy of the entry: its ids would have two owners, and be copied before they change.
    let index = trades(trade.instrument.index)
    let subscribed = trades[index].subscribed
    if trade.time < subscribed {
      if trades[index].seen.contains(id, at: trade.time) { return false }
      trade.isBacklog = !trades[index].hasTraded || trade.time < subscribed - Market.clockTolerance
    }
    trades[index].seen.append(id, at: trade.time)
    // A time that is still to come would make all that follows known.
    let time = min(trade.time, now)
    guard time >= trades[index].newest else { return true }
    trades[index].newest = time
    if trade.price > 0 { trades[index].price = (trade.price, scale) }
    return true
  }

  /// The newest price of a symbol at its scale of now. A scale grows only as far as its prices have room.
  private func lastPrice(_ index: Int, _ instruments: borrowing InstrumentTable) -> Int64? {
    trades[trades(index)].price.map { $0.value &* Int64(DecimalText.power(instruments[index].priceScale - $0.scale)) }
  }

  /// `{"coin":"BTC","ctx":{"prevDayPx":…,"dayNtlVlm":…,"markPx":…,"midPx":…,"dayBaseVlm":…,…}}`. There is no high,
  /// low or last price; the change is that of the middle of the book since the day before.
  private func readContext(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let now = outcome.now
    var figures: Ticker?
    var report: DerivativeReport?
    var middle: Decimal64?
    var before: Decimal64?
    let (index, _) = try readEntry(&reader, "activeAssetCtx", "ctx", &instruments, now: now) {
      (fields, index, instruments) throws(FeedError) in
      var ticker = Ticker(instrument: InstrumentID(index), time: now)
      ticker.last = lastPrice(index, instruments)
      let isPerpetual = instruments[index].kind == .perpetual
      var derivative = DerivativeReport(instrument: InstrumentID(index), time: now)
      try fields.objectStart()
      while let key = try fields.nextKey() {
        if fields.equals(key, "prevDayPx") {
          let slice = try fields.rawValue("prevDayPx")
          var value = fields.reader(slice)
          ticker.open = try instruments.statisticsPrice(&value, index, "prevDayPx")
          value = fields.reader(slice)
          before = try value.statistic("prevDayPx")
        } else if fields.equals(key, "midPx") {
          middle = try fields.statistic("midPx")
        } else if fields.equals(key, "dayBaseVlm") {
          ticker.volume = try readLongStatistic(&fields, "dayBaseVlm")
        } else if fields.equals(key, "dayNtlVlm") {
          ticker.quoteVolume = try readLongStatistic(&fields, "dayNtlVlm")
        } else if isPerpetual, try HyperliquidDerivatives.format.take(key, of: &fields, into: &derivative) {
          continue
        } else {
          try fields.skipValue()
        }
      }
      figures = ticker
      report = derivative
    }
    guard var ticker = figures else { return }
    if let middle, let before { Self.setChange(&ticker, from: before, to: middle) }
    outcome.hear(Topic(index: index, channel: Channel.context.rawValue))
    batch.events.append(.ticker(ticker))
    guard var report, !report.isEmpty else { return }
    HyperliquidDerivatives.complete(&report)
    batch.append(derivative: report)
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
  func readLongStatistic(_ reader: inout FieldReader, _ field: StaticString) throws(FeedError) -> Decimal64? {
    guard reader.peek() == .string else { return try reader.statistic(field) }
    let slice = try reader.string(field)
    return reader.text(slice).withUnsafeBytes { bytes in
      if let value = try? DecimalText.parse(bytes.bytes) { return value }
      guard let point = bytes.firstIndex(of: UInt8(ascii: ".")) else { return nil }
      return try? DecimalText.parse(UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, point + 7)]).bytes)
    }
  }

  // MARK: Replies

  /// `{"method":"subscribe","subscription":{"type":"l2Book","coin":"BTC",…}}`
  private func readReply(
    _ reader: inout FieldReader, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome
  ) throws(FeedError) {
    let reply = try FieldObject(&reader, "reply")
    guard reply.says("method", "subscribe") == true, let subscription = try reply.object("subscription"),
      let index = subscription.text("coin").flatMap(instruments.index(named:))
    else { return }
    let channel = subscription.value("type") { (type) throws(FeedError) in
      Self.channel(try type.string("type"), type)
    }
    outcome.report(.acknowledged(id: nil, index: index, channel: channel?.rawValue))
  }

  /// A text, with the subscription that it is about in it, or without: then it is about the oldest request that waits
  /// for its answer.
  private func readError(
    _ reader: inout FieldReader, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome
  ) throws(FeedError) {
    guard reader.peek() == .string else { throw FeedError(.shape, "error that is no text") }
    let message = try reader.decodedString("data")
    if message.hasPrefix("Already unsubscribed") { return }
    if message.hasPrefix("Cannot subscribe") {
      return outcome.report(
        .refused(MessageOutcome.Refusal(reason: message, effect: .finalForAll, isOfOldest: true, what: "error")))
    }
    if message.hasPrefix("Already subscribed"), let index = Self.index(namedIn: message, instruments) {
      let words = [("l2Book", Channel.book), ("bbo", .quote), ("trades", .trades), ("AssetCtx", .context)]
      let channel = words.last { message.contains($0.0) }?.1
      return outcome.report(.acknowledged(id: nil, index: index, channel: channel?.rawValue))
    }
    throw FeedError(.refused, message)
  }

  private static func index(namedIn message: String, _ instruments: InstrumentTable) -> Int? {
    guard let start = message.firstIndex(of: "{") else { return nil }
    let bytes = Array(message[start...].utf8)
    return MalformedMessageScan.symbols(bytes.span.bytes, key: "\"coin\"", in: instruments.names).first
  }

  /// `{"id":1,"response":{"type":"info","payload":{"type":"l2Book","data":{…}}}}`, told apart by what it says it is.
  private func readPost(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    guard let response = try FieldObject(&reader, "post").object("response"), var value = response.reader("payload")
    else { throw FeedError.missing("payload", in: "post") }
    if response.says("type", "error") == true || value.peek() != .object {
      throw FeedError(.refused, "post: \(response.text("payload") ?? "no reason given")")
    }
    let payload = try FieldObject(&value, "payload")
    guard var type = payload.reader("type") else { throw FeedError.missing("type", in: "payload") }
    guard var data = payload.reader("data") else { throw FeedError.missing("data", in: "payload") }
    let name = try type.string("type")
    if type.equals(name, "l2Book") {
      outcome.isProbe = true
      try readBook(&data, &instruments, now: outcome.now, into: &batch)
    } else if let (part, hasContexts) = Self.part(of: name, type) {
      outcome.report(.listed(try readList(&data, part, hasContexts: hasContexts), part: part.rawValue))
    } else {
      outcome.ignored += 1
    }
  }
}
