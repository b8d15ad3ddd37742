import Bytes
import MarketData

/// Reading OKX's messages: `{"arg":{"channel":…,"instId":…},"action":…,"data":[…]}`, or `{"event":…}`.
extension OKX {
  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    // The answer to `ping` is the bare word.
    if message.equals("pong") {
      outcome.isAnswer = true
      return batch.events.append(.heartbeat)
    }
    var reader = FieldReader(message)
    var channel: Channel?
    var symbol: JSONSlice?
    var isSnapshot: Bool?
    var data: FieldSlice?
    var isRead = false
    var isReply = false
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
        // What it is of stands before it as a rule; if not, it waits.
        if let channel, channel.isOfSymbol, let symbol, channel != .book || isSnapshot != nil {
          let index = try instruments.index(reader.text(symbol))
          try readData(&reader, channel, index, isSnapshot: isSnapshot ?? true, &instruments, &outcome, into: &batch)
          isRead = true
        } else {
          data = try reader.rawValue("data")
        }
      } else if reader.equals(key, "action") {
        isSnapshot = reader.equals(try reader.string("action"), "snapshot")
      } else {
        isReply = isReply || reader.equals(key, "event")
        try reader.skipValue()
      }
    }
    try reader.end()
    if isReply {
      outcome.isAnswer = true
      if let report = try report(try FieldObject(message, "reply"), instruments) { outcome.report(report) }
      return
    }
    if isRead { return }
    guard let channel else { throw FeedError.missing("channel", in: "message") }
    guard channel != .other else {
      outcome.ignored += 1
      return
    }
    guard let data else { throw FeedError.missing("data", in: "message") }
    var entries = reader.reader(data)
    if channel == .liquidations {
      return try OKXDerivatives.readLiquidations(&entries, instruments, now: outcome.now, into: &batch)
    }
    guard let symbol else { throw FeedError.missing("instId", in: "message") }
    if channel == .index {
      return try OKXDerivatives.readIndex(&entries, of: reader.text(symbol), instruments, outcome.now, &batch)
    }
    let index = try instruments.index(reader.text(symbol))
    try readData(&entries, channel, index, isSnapshot: isSnapshot ?? true, &instruments, &outcome, into: &batch)
  }

  private func readData(
    _ entries: inout FieldReader, _ channel: Channel, _ index: Int, isSnapshot: Bool,
    _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    entries.field = "data"
    try entries.arrayStart()
    switch channel {
    case .book: try readBook(&entries, index, isSnapshot: isSnapshot, &instruments, &outcome, into: &batch)
    case .quote:
      while try entries.nextElement() {
        let quote = try instruments.readQuote(
          &entries, index, Self.updateFormat, Self.bookFormat, now: outcome.now, &batch)
        batch.events.append(.quote(quote))
      }
    case .trades: try readTrades(&entries, index, &instruments, &outcome, into: &batch)
    case .ticker:
      while try entries.nextElement() {
        try readTicker(&entries, index, &instruments, now: outcome.now, into: &batch)
      }
    case .derivative:
      while try entries.nextElement() {
        var report = DerivativeReport(instrument: InstrumentID(index), time: outcome.now)
        try OKXDerivatives.readRow(&entries, into: &report)
        if !report.isEmpty { batch.append(derivative: report) }
      }
    case .liquidations, .index, .other: break
    }
  }

  private static func channel(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Channel {
    if reader.equals(name, "books") { return .book }
    if reader.equals(name, "bbo-tbt") { return .quote }
    if reader.equals(name, "trades") { return .trades }
    if reader.equals(name, "tickers") { return .ticker }
    if reader.equals(name, "liquidation-orders") { return .liquidations }
    if reader.equals(name, "index-tickers") { return .index }
    return reader.equals(name, "mark-price") || reader.equals(name, "funding-rate")
      || reader.equals(name, "open-interest") ? .derivative : .other
  }

  // MARK: Books

  private static let bookFormat = BookFormat(title: "books")

  /// `{"asks":[["price","size","0","orders"],…],"bids":[…],"ts":…,"checksum":0,"seqId":…,"prevSeqId":…}`
  private static let updateFormat = UpdateFormat(last: "seqId", previous: "prevSeqId", time: "ts")

  /// A message of a book has one entry; were it to have more, they would have to be applied together or not at all.
  ///
  /// A number below the one before it is the venue's reset after maintenance: going on from it would do by one
  /// reading of the documentation, a new snapshot does by every reading.
  private func readBook(
    _ entries: inout FieldReader, _ index: Int, isSnapshot: Bool, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    guard try entries.nextElement() else { throw FeedError.missing("data[0]", in: "books") }
    let fields = try instruments.readUpdate(&entries, of: index, Self.updateFormat, Self.bookFormat, into: &batch)
    guard try !entries.nextElement() else { throw FeedError(.shape, "books with more than one entry") }
    guard let number = fields.last else { throw FeedError.missing("seqId", in: "books") }
    guard let previous = fields.previous ?? (isSnapshot ? -1 : nil) else {
      throw FeedError.missing("prevSeqId", in: "books update")
    }
    guard isSnapshot || number >= previous else { return outcome.report(.lost(index: index, .venueReset)) }
    batch.appendBook(
      isSnapshot ? .snapshot : .delta, index, since: fields.mark, time: fields.time ?? outcome.now)
    outcome.number(UpdateNumbers(first: number, last: number, previous: previous))
  }

  // MARK: Trades and statistics

  private static let tradeFormat = TradeFormat(
    price: "px", size: "sz", id: "tradeId", side: "side", buy: "buy", sell: "sell", time: "ts")

  /// `[{"instId":…,"tradeId":"130639474","px":…,"sz":…,"side":"buy","ts":…,"count":"3"},…]`: fills of one taker at
  /// one price in one entry, named by the last of `count`; `side` is the taker's.
  ///
  /// The first message after a subscription may be the last trade before it, hours old and not marked.
  private func readTrades(
    _ entries: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    while try entries.nextElement() {
      var fields = TradeFields()
      fields.index = index
      var fills: Int64 = 1
      try entries.objectStart()
      while let key = try entries.nextKey() {
        if try instruments.take(key, of: &entries, Self.tradeFormat, into: &fields) { continue }
        if entries.equals(key, "count"), entries.peek() == .string {
          let slice = try entries.string("count")
          fills = max(1, (try? DecimalText.parse(entries.text(slice), scale: 0)) ?? 1)
        } else {
          try entries.skipValue()
        }
      }
      batch.events.append(.trade(try instruments.trade(fields, entries, Self.tradeFormat, now: outcome.now)))
      outcome.fill(fills)
    }
  }

  private static let tickerFormat = TickerFormat(
    last: "last", bid: "bidPx", ask: "askPx", open: "open24h", high: "high24h", low: "low24h",
    time: "ts")

  /// Volumes: on spot `vol24h` is in base and `volCcy24h` in quote units; on contracts `vol24h` is in contracts and
  /// `volCcy24h` in base units.
  private func readTicker(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var ticker = Ticker(instrument: InstrumentID(index), time: now)
    let isSpot = instruments[index].kind == .spot
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try instruments.take(key, of: &reader, Self.tickerFormat, into: &ticker) { continue }
      if reader.equals(key, "vol24h") {
        let volume = try reader.statistic("vol24h")
        if isSpot { ticker.volume = volume }
      } else if reader.equals(key, "volCcy24h") {
        let volume = try reader.statistic("volCcy24h")
        if isSpot { ticker.quoteVolume = volume } else { ticker.volume = volume }
      } else {
        try reader.skipValue()
      }
    }
    batch.events.append(.ticker(ticker))
  }
}

extension OKX.Channel {
  /// Whether its messages name a symbol that is followed, and are read as they come.
  fileprivate var isOfSymbol: Bool { self != .other && self != .liquidations && self != .index }
}
