import Bytes
import MarketData

/// Reading Bybit's messages: `{"topic":…,"type":…,"ts":…,"data":…}` with its fields in any order, or a reply with `op`.
extension Bybit {
  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var channel: Channel?
    var isSnapshot = false
    var data: FieldSlice?
    var update: UpdateFields?
    var time: Timestamp?
    var isReply = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "topic") {
        let slice = try reader.string("topic")
        channel = Self.channel(of: reader.text(slice))
      } else if reader.equals(key, "data") {
        if channel == .book || channel == .quote {
          // The topic stands before the levels as a rule; if not, they wait.
          update = try instruments.readUpdate(&reader, Self.updateFormat, Self.bookFormat, into: &batch)
        } else {
          data = try reader.rawValue("data")
        }
      } else if reader.equals(key, "type"), reader.peek() == .string {
        isSnapshot = reader.equals(try reader.string("type"), "snapshot")
      } else if reader.equals(key, "ts") {
        time = VenueTime.epoch(try reader.int64("ts"))
      } else {
        isReply = isReply || reader.equals(key, "op") || reader.equals(key, "success")
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let channel else {
      guard isReply else { throw FeedError.missing("topic", in: "message") }
      outcome.isAnswer = true
      guard let report = Self.report(try FieldObject(message, "reply"), instruments) else {
        return batch.events.append(.heartbeat)
      }
      return outcome.report(report)
    }
    guard channel != .other else {
      outcome.ignored += 1
      return
    }
    let at = time ?? outcome.now
    if let data {
      var value = reader.reader(data)
      switch channel {
      case .book, .quote:
        update = try instruments.readUpdate(&value, Self.updateFormat, Self.bookFormat, into: &batch)
      case .trades: try readTrades(&value, &instruments, now: outcome.now, into: &batch)
      case .ticker: try readTicker(data, reader, isSnapshot: isSnapshot, at, &instruments, &outcome, into: &batch)
      case .liquidations: try BybitDerivatives.readLiquidations(&value, instruments, at, into: &batch)
      case .other: break
      }
    } else if update == nil {
      throw FeedError.missing("data", in: "message")
    }
    guard let update else { return }
    guard let index = update.index else { throw FeedError.missing("s", in: "orderbook") }
    if channel == .quote {
      take(quote: update, index, isSnapshot: isSnapshot, at, &outcome, into: &batch)
    } else {
      // A change with `u` = 1 replaces the book too: the service began anew. Others must follow by one.
      guard let number = update.last else { throw FeedError.missing("u", in: "orderbook") }
      batch.appendBook(isSnapshot || number == 1 ? .snapshot : .delta, index, since: update.mark, time: at)
      outcome.number(UpdateNumbers(first: number, last: number))
    }
  }

  /// By what stands before the symbol; any depth but 1 is a book.
  private static func channel(of text: RawSpan) -> Channel {
    if text.begins(with: "orderbook.") {
      if text.begins(with: "orderbook.1.") { return .quote }
      // Levels of the RPI book have three parts; it is not subscribed.
      return text.begins(with: "orderbook.rpi.") || text.begins(with: "orderbook.full.") ? .other : .book
    }
    if text.begins(with: "publicTrade.") { return .trades }
    if text.begins(with: "allLiquidation.") { return .liquidations }
    return text.begins(with: "tickers.") ? .ticker : .other
  }

  // MARK: Books

  private static let bookFormat = BookFormat(title: "orderbook", bids: "b", asks: "a")

  /// `{"s":…,"b":[["price","size"],…],"a":[…],"u":…,"seq":…}`
  private static let updateFormat = UpdateFormat(symbol: "s", last: "u")

  /// `orderbook.1`: the whole best level each time; a side that is not there has no orders. (Changes, which it once
  /// sent, keep the other side.)
  private func take(
    quote update: UpdateFields, _ index: Int, isSnapshot: Bool, _ time: Timestamp, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) {
    var quote = Quote(instrument: InstrumentID(index), bid: 0, bidSize: 0, ask: 0, askSize: 0, time: time)
    if !isSnapshot, index < quotes.count, let old = quotes[index] {
      quote = old
      quote.time = time
    }
    let (bid, ask) = batch.takeBest(since: update.mark)
    if let bid { (quote.bid, quote.bidSize) = (bid.price, bid.size) }
    if let ask { (quote.ask, quote.askSize) = (ask.price, ask.size) }
    while quotes.count <= index { quotes.append(nil) }
    quotes[index] = quote
    outcome.hear(Topic(index: index, channel: Channel.quote.rawValue))
    batch.events.append(.quote(quote))
  }

  // MARK: Trades and statistics

  private static let tradeFormat = TradeFormat(
    symbol: "s", price: "p", size: "v", id: "i", side: "S", buy: "Buy", sell: "Sell", time: "T")

  /// `[{"T":…,"s":…,"S":"Buy","v":"0.001","p":"16578.50","i":…,"BT":false},…]`; `S` is the taker's side. Block
  /// trades, which are made off the book, are no price of the market.
  private func readTrades(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "data"
    try reader.arrayStart()
    while try reader.nextElement() {
      var fields = TradeFields()
      var isBlock = false
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if try instruments.take(key, of: &reader, Self.tradeFormat, into: &fields) { continue }
        if reader.equals(key, "BT") {
          isBlock = try reader.bool("BT")
        } else {
          try reader.skipValue()
        }
      }
      let trade = try instruments.trade(fields, reader, Self.tradeFormat, now: now)
      if !isBlock { batch.events.append(.trade(trade)) }
    }
  }

  static let tickerFormat = TickerFormat(
    last: "lastPrice", bid: "bid1Price", ask: "ask1Price", open: "prevPrice24h", high: "highPrice24h",
    low: "lowPrice24h", volume: "volume24h", quoteVolume: "turnover24h", changePercent: "price24hPcnt",
    isFraction: true)

  /// 24 h figures: whole on spot; on linear whole once, then only what changed.
  private func readTicker(
    _ data: FieldSlice, _ outer: borrowing FieldReader, isSnapshot: Bool, _ time: Timestamp,
    _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try instruments.index("symbol", in: outer.reader(data))
    while tickers.count <= index { tickers.append(nil) }
    // A change of what is not known yet says too little.
    let old = isSnapshot ? Ticker(instrument: InstrumentID(index), time: time) : tickers[index]
    guard var ticker = old else { return askForTicker(index, &outcome) }
    ticker.time = time
    var reader = outer.reader(data)
    if instruments[index].kind == .spot {
      try instruments.readFigures(&reader, Self.tickerFormat, into: &ticker)
    } else {
      let report = try BybitDerivatives.readContract(&reader, isSnapshot: isSnapshot, &instruments, into: &ticker)
      if !report.isEmpty { batch.append(derivative: report) }
    }
    tickers[index] = ticker
    batch.events.append(.ticker(ticker))
  }

  /// The snapshot of a ticker is missing, and nothing but another subscription brings one.
  private func askForTicker(_ index: Int, _ outcome: inout MessageOutcome) {
    while tickersAsked.count <= index { tickersAsked.append(.distantPast) }
    guard outcome.now - tickersAsked[index] >= Self.tickerPatience else { return }
    tickersAsked[index] = outcome.now
    outcome.report(.unfounded(Topic(index: index, channel: Channel.ticker.rawValue)))
  }
}
