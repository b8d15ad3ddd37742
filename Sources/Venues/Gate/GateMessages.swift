import Bytes
import MarketData

/// Reading Gate's messages: `{"time":…,"time_ms":…,"channel":…,"event":…,"error":…,"result":…}` with its fields in any
/// order.
extension Gate {
  private enum Kind { case stream, updates, trades, quote, ticker, pong, system, other }

  private static func kind(_ text: RawSpan) -> Kind {
    if text.equals("spot.obu") { return .stream }
    if text.equals("spot.book_ticker") { return .quote }
    if text.equals("spot.trades") { return .trades }
    if text.equals("spot.tickers") { return .ticker }
    if text.equals("spot.order_book_update") { return .updates }
    if text.equals("spot.pong") { return .pong }
    return text.equals("spot.system") ? .system : .other
  }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var kind: Kind?
    var result: FieldSlice?
    var isRead = false
    var time: Timestamp?
    var (isReply, isUpdate) = (false, false)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "channel") {
        let slice = try reader.string("channel")
        kind = Self.kind(reader.text(slice))
      } else if reader.equals(key, "result") {
        // What it is of stands before it as a rule; if not, it waits.
        if isUpdate, let time, kind == .stream || kind == .updates {
          try readBook(&reader, isStream: kind == .stream, time, &instruments, &outcome, into: &batch)
          isRead = true
        } else {
          result = try reader.rawValue("result")
        }
      } else if reader.equals(key, "event"), reader.peek() == .string {
        let event = try reader.string("event")
        isUpdate = !reader.equals(event, "subscribe") && !reader.equals(event, "unsubscribe")
        isReply = isReply || !isUpdate
      } else if reader.equals(key, "time_ms"), reader.peek() == .number {
        time = VenueTime.epoch(try reader.int64("time_ms"))
      } else {
        isReply = isReply || (reader.equals(key, "error") && reader.peek() == .object)
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let kind else { throw FeedError.missing("channel", in: "message") }
    if isReply {
      outcome.isAnswer = true
      return outcome.report(try Self.report(try FieldObject(message, "reply")))
    }
    if isRead { return }
    switch kind {
    case .pong:
      outcome.isAnswer = true
      return batch.events.append(.heartbeat)
    case .other:
      outcome.ignored += 1
      return
    default: break
    }
    guard let result else { throw FeedError.missing("result", in: "message") }
    var value = reader.reader(result)
    switch kind {
    case .stream: try readBook(&value, isStream: true, time, &instruments, &outcome, into: &batch)
    case .updates: try readBook(&value, isStream: false, time, &instruments, &outcome, into: &batch)
    case .quote:
      batch.events.append(
        .quote(try instruments.readQuote(&value, Self.quoteFormat, now: time ?? outcome.now)))
    case .trades: try readTrades(&value, time ?? outcome.now, &instruments, into: &batch)
    case .ticker: try readTicker(result, reader, time ?? outcome.now, &instruments, into: &batch)
    case .system: try readSystem(&value, &outcome)
    case .pong, .other: break
    }
  }

  /// `{"type":"upgrade","msg":…}`: the connection will close soon. Documented for futures; taken here too, should it
  /// come.
  private func readSystem(_ reader: inout FieldReader, _ outcome: inout MessageOutcome) throws(FeedError) {
    if try FieldObject(&reader, "system").says("type", "upgrade") == true {
      outcome.report(.leave("the venue announced an upgrade", within: Self.upgradeNotice))
    } else {
      outcome.ignored += 1
    }
  }

  // MARK: Books

  private static let bookFormat = BookFormat(title: "order book", bids: "b", asks: "a", needsBothSides: false)

  /// `{"t":…,"full":true,"s":"ob.BTC_USDT.400","U":…,"u":…,"b":[["price","size"],…],"a":[…]}`; `U` is missing where
  /// `full` is there, and a side, or both, where nothing changed.
  private static let streamFormat = UpdateFormat(
    symbol: "s", prefix: "ob.", suffix: ".400", first: "U", last: "u", time: "t")
  /// `{"t":…,"s":"BTC_USDT","U":…,"u":…,"b":[…],"a":[…]}`
  private static let updateFormat = UpdateFormat(symbol: "s", first: "U", last: "u", time: "t")

  private func readBook(
    _ reader: inout FieldReader, isStream: Bool, _ time: Timestamp?, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    var isFull = false
    let format = isStream ? Self.streamFormat : Self.updateFormat
    let fields = try instruments.readUpdate(&reader, format, Self.bookFormat, into: &batch) {
      (key, reader) throws(FeedError) in
      guard reader.equals(key, "full"), reader.peek() == .bool else { return false }
      isFull = try reader.bool("full")
      return true
    }
    guard !fields.isOther else {
      // A stream of another depth.
      outcome.ignored += 1
      return
    }
    guard let index = fields.index else { throw FeedError.missing("s", in: "order book") }
    guard let last = fields.last, last >= 0 else { throw FeedError.missing("u", in: "order book") }
    guard isFull || fields.first != nil else { throw FeedError.missing("U", in: "order book") }
    let first = isFull ? last : fields.first ?? last
    guard first <= last, first >= 0 else { throw FeedError(.shape, "order book from \(first) to \(last)") }
    batch.appendBook(
      isFull ? .snapshot : .delta, index, since: fields.mark, time: fields.time ?? time ?? outcome.now)
    outcome.number(UpdateNumbers(first: first, last: last), isBridged: !isStream)
  }

  // MARK: Quotes, trades, statistics

  /// `{"t":…,"u":…,"s":"BTC_USDT","b":"19177.79","B":"0.0003341504","a":"19179.38","A":"0.09"}`. What a side without
  /// orders looks like has not been seen: empty texts, zeros and missing fields are all taken for one.
  private static let quoteFormat = QuoteFormat(
    title: "book_ticker", symbol: "s", bid: "b", bidSize: "B", ask: "a", askSize: "A", time: "t")

  /// One trade, or several in an array.
  private func readTrades(
    _ reader: inout FieldReader, _ time: Timestamp, _ instruments: inout InstrumentTable, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "result"
    if reader.peek() == .array {
      try reader.arrayStart()
      while try reader.nextElement() { batch.events.append(.trade(try readTrade(&reader, time, &instruments))) }
    } else {
      batch.events.append(.trade(try readTrade(&reader, time, &instruments)))
    }
  }

  private static let tradeFormat = TradeFormat(
    symbol: "currency_pair", price: "price", size: "amount", id: "id", side: "side", buy: "buy", sell: "sell")

  /// `{"id":309143071,"create_time":…,"create_time_ms":"1606292218213.4578","side":"sell","currency_pair":…,"amount":…,"price":…}`;
  /// `side` is the taker's.
  private func readTrade(
    _ reader: inout FieldReader, _ fallback: Timestamp, _ instruments: inout InstrumentTable
  ) throws(FeedError) -> Trade {
    var fields = TradeFields()
    var seconds: Timestamp?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try instruments.take(key, of: &reader, Self.tradeFormat, into: &fields) { continue }
      if reader.equals(key, "create_time_ms") {
        fields.time = try reader.statistic("create_time_ms").flatMap(VenueTime.milliseconds)
      } else if reader.equals(key, "create_time"), reader.peek() == .number {
        seconds = Timestamp(reading: try reader.int64("create_time"), unit: Microseconds.second)
      } else {
        try reader.skipValue()
      }
    }
    return try instruments.trade(fields, reader, Self.tradeFormat, now: seconds ?? fallback)
  }

  private static let tickerFormat = TickerFormat(
    last: "last", bid: "highest_bid", ask: "lowest_ask", high: "high_24h", low: "low_24h", volume: "base_volume",
    quoteVolume: "quote_volume", changePercent: "change_percentage")

  /// 24 h figures, once a second.
  private func readTicker(
    _ result: FieldSlice, _ outer: borrowing FieldReader, _ time: Timestamp, _ instruments: inout InstrumentTable,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var ticker = Ticker(
      instrument: InstrumentID(try instruments.index("currency_pair", in: outer.reader(result))), time: time)
    var reader = outer.reader(result)
    try instruments.readFigures(&reader, Self.tickerFormat, into: &ticker)
    batch.events.append(.ticker(ticker))
  }
}
