import Bytes
import MarketData

/// Reading Crypto.com's messages: `{"id":-1,"method":"subscribe","code":0,"result":{…}}`, an answer to a request, or a
/// heartbeat that must be answered. Numbers of the market are strings.
extension CryptoCom {
  private enum Kind { case snapshot, update, trades, ticker, other }
  private enum Method { case subscribe, heartbeat, other }

  private static func kind(_ text: RawSpan) -> Kind {
    if text.equals("book.update") { return .update }
    if text.equals("trade") { return .trades }
    if text.equals("ticker") { return .ticker }
    return text.equals("book") ? .snapshot : .other
  }

  /// The fields of a subscription's message that have been read.
  private struct Result {
    var index: Int?
    var kind: Kind?
    var data: FieldSlice?
    var isRead = false
  }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var method = Method.other
    var id: Int64?
    var result: Result?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "result"), reader.peek() == .object {
        result = try readResult(&reader, isFirst: id ?? -1 > 0, &instruments, &outcome, into: &batch)
      } else if reader.equals(key, "method"), reader.peek() == .string {
        let slice = try reader.string("method")
        method =
          reader.equals(slice, "subscribe")
          ? .subscribe : reader.equals(slice, "public/heartbeat") ? .heartbeat : .other
      } else if reader.equals(key, "id"), reader.peek() == .number {
        id = try reader.wholeNumber("id")
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    if method == .heartbeat {
      guard let id else { throw FeedError.missing("id", in: "heartbeat") }
      // Unanswered, the third ends the connection.
      outcome.report(.send(#"{"id":\#(id),"method":"public/respond-heartbeat"}"#))
      return batch.events.append(.heartbeat)
    }
    guard let result else {
      outcome.isAnswer = true
      if let report = Self.report(try FieldObject(message, "answer"), instruments) { outcome.report(report) }
      return
    }
    guard let kind = result.kind else { throw FeedError.missing("channel", in: "result") }
    guard kind != .other else {
      outcome.ignored += 1
      return
    }
    guard let index = result.index else { throw FeedError.missing("instrument_name", in: "result") }
    if let id, id > 0 { acknowledge(Int(id), index, kind, &outcome) }
    if result.isRead { return }
    guard let data = result.data else { throw FeedError.missing("data", in: "result") }
    var entries = reader.reader(data)
    try readData(&entries, kind, index, isFirst: id ?? -1 > 0, &instruments, &outcome, into: &batch)
  }

  /// `{"instrument_name":"BTCUSD-PERP","subscription":"book.BTCUSD-PERP.50","channel":"book.update","depth":50,"data":[…]}`
  /// - Parameter isFirst: whether it has the number of a request, as what a channel begins with has.
  private func readResult(
    _ reader: inout FieldReader, isFirst: Bool, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) -> Result {
    var result = Result()
    var name: JSONSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "instrument_name") {
        name = try reader.string("instrument_name")
      } else if reader.equals(key, "channel") {
        let slice = try reader.string("channel")
        result.kind = Self.kind(reader.text(slice))
      } else if reader.equals(key, "data") {
        // The channel stands before the data as a rule; if not, the data wait.
        if let name, let kind = result.kind, kind != .other, !result.isRead {
          let index = try instruments.index(reader.text(name))
          try readData(&reader, kind, index, isFirst: isFirst, &instruments, &outcome, into: &batch)
          result.isRead = true
        } else {
          result.data = try reader.rawValue("data")
        }
      } else {
        try reader.skipValue()
      }
    }
    if let name, let kind = result.kind, kind != .other { result.index = try instruments.index(reader.text(name)) }
    return result
  }

  /// The first message of a channel has the number of its request, where that has no answer of its own. Those of a
  /// symbol are answered in order, and the ticker, which has something to say at once, is the last: by then trades have
  /// been taken, or refused.
  private func acknowledge(_ id: Int, _ index: Int, _ kind: Kind, _ outcome: inout MessageOutcome) {
    switch kind {
    case .trades: outcome.report(.acknowledged(id: id, index: index, channel: Channel.trade.rawValue))
    case .ticker:
      outcome.report(.acknowledged(id: id, index: index, channel: Channel.trade.rawValue))
      outcome.report(.acknowledged(id: id, index: index, channel: Channel.ticker.rawValue))
    case .snapshot, .update: outcome.report(.acknowledged(id: id, index: index, channel: Channel.book.rawValue))
    case .other: break
    }
  }

  private func readData(
    _ reader: inout FieldReader, _ kind: Kind, _ index: Int, isFirst: Bool, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    let first = batch.events.count
    reader.field = "data"
    try reader.arrayStart()
    while try reader.nextElement() {
      switch kind {
      case .snapshot, .update:
        try readBook(&reader, isSnapshot: kind == .snapshot, index, &instruments, &outcome, into: &batch)
      case .trades:
        // The first trades of a channel are older than the subscription, if only by a moment.
        batch.events.append(
          .trade(
            try instruments.readTrade(&reader, Self.tradeFormat, index, now: outcome.now, isBacklog: isFirst)))
      case .ticker: try readTicker(&reader, index, outcome.now, &instruments, into: &batch)
      case .other: try reader.skipValue()
      }
    }
    guard kind == .trades else { return }
    // The newest comes first, and trades of one moment may have the same number.
    batch.events[first...].reverse()
    batch.orderTrades(from: first)
  }

  // MARK: Books

  private static let bookFormat = BookFormat(title: "book", needsBothSides: false)

  /// `{"update":{"asks":[["2750.20","0","0"],…],"bids":[…]},"t":…,"tt":…,"u":…,"pu":…,"cs":…}`; a whole book has its
  /// sides beside the numbers and no `pu`. Levels are price, size and number of orders. How `cs` is made is not known.
  private func readBook(
    _ reader: inout FieldReader, isSnapshot: Bool, _ index: Int, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    let mark = BatchMark(batch)
    var (number, previous, time): (Int64?, Int64?, Timestamp?)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try readSide(key, &reader, index, &instruments, into: &batch) { continue }
      if reader.equals(key, "update"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if try !readSide(key, &reader, index, &instruments, into: &batch) { try reader.skipValue() }
        }
      } else if reader.equals(key, "u") {
        number = try reader.int64("u")
      } else if reader.equals(key, "pu") {
        previous = try reader.int64("pu")
      } else if reader.equals(key, "t") {
        time = try reader.time("t", .epoch)
      } else {
        try reader.skipValue()
      }
    }
    guard let number else { throw FeedError.missing("u", in: "book") }
    guard isSnapshot || previous != nil else { throw FeedError.missing("pu", in: "book update") }
    batch.appendBook(isSnapshot ? .snapshot : .delta, index, since: mark, time: time ?? outcome.now)
    // A change never repeats an update from before the snapshot.
    outcome.number(UpdateNumbers(first: number, last: number, previous: isSnapshot ? -1 : previous ?? 0))
  }

  private func readSide(
    _ key: JSONSlice, _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable,
    into batch: inout EventBatch
  ) throws(FeedError) -> Bool {
    let isBid = reader.equals(key, "bids")
    guard isBid || reader.equals(key, "asks") else { return false }
    try instruments.readLevels(
      &reader, index, isBid ? "bids" : "asks", isBid: isBid, Self.bookFormat, into: &batch)
    return true
  }

  // MARK: Trades and statistics

  /// `{"d":"4611686018471467093","t":1667320276193,"p":"20439.5","q":"0.0050","s":"SELL","i":"BTCUSD-PERP"}`; `s` is the
  /// taker's side.
  private static let tradeFormat = TradeFormat(
    price: "p", size: "q", id: "d", side: "s", buy: "BUY", sell: "SELL", time: "t")

  private static let tickerFormat = TickerFormat(
    last: "a", bid: "b", ask: "k", high: "h", low: "l", volume: "v", changePercent: "c", isFraction: true, time: "t")

  /// `vv` is in US dollars, whatever the quote currency is.
  private static let dollarFormat: TickerFormat = {
    var format = tickerFormat
    format.quoteVolume = "vv"
    return format
  }()

  /// `{"h":"4.7743","l":"4.6082","a":"4.6121","c":"-0.0144","b":"4.6121","bs":"25","k":"4.6148","ks":"131","i":…,"v":"123899","vv":"580747.59","oi":"55851","t":…}`:
  /// figures of 24 h, any of them null; `c` is a fraction.
  private func readTicker(
    _ reader: inout FieldReader, _ index: Int, _ now: Timestamp, _ instruments: inout InstrumentTable,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var ticker = Ticker(instrument: InstrumentID(index), time: now)
    let isInDollars = instruments[index].quote == "USD"
    try instruments.readFigures(&reader, isInDollars ? Self.dollarFormat : Self.tickerFormat, into: &ticker)
    batch.events.append(.ticker(ticker))
  }
}
