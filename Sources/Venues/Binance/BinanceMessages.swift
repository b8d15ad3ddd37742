import Bytes
import MarketData

/// Reading Binance's messages: `{"stream":…,"data":{…}}` or the bare event, which `e` distinguishes; the spot
/// `bookTicker` has no `e`, and its fields identify it.
extension Binance {
  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    if readFixed(message, instruments, &outcome, into: &batch) { return }
    try readAny(message, &instruments, &outcome, into: &batch)
  }

  // MARK: As the venue prints them

  /// Reads the two messages that make up nearly all traffic, if they are spelled exactly as the venue spells them.
  /// False: not one of these, or spelled otherwise; nothing has been done then.
  private func readFixed(
    _ message: RawSpan, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) -> Bool {
    let now = outcome.now
    var depth: (index: Int, numbers: UpdateNumbers, time: Timestamp)?
    var quote: Quote?
    let mark = BatchMark(batch)
    let matched = message.withUnsafeBytes { bytes -> Bool in
      guard var cursor = FixedCursor(bytes) else { return false }
      let isWrapped = cursor.skip("{\"stream\":\"")
      if isWrapped {
        guard cursor.untilQuote() != nil, cursor.skip(",\"data\":") else { return false }
      }
      if cursor.skip("{\"e\":\"depthUpdate\",\"E\":") {
        guard let time = cursor.integer(), cursor.skip(",\"s\":\""), let symbol = cursor.untilQuote(),
          cursor.skip(",\"U\":"), let first = cursor.integer(), cursor.skip(",\"u\":"), let last = cursor.integer(),
          cursor.skip(",\"b\":[")
        else { return false }
        let index = instruments.names.find(symbol)
        guard index >= 0 else { return false }
        let priceScale = instruments[index].priceScale
        let sizeScale = instruments[index].sizeScale
        guard cursor.levels(priceScale: priceScale, sizeScale: sizeScale, into: &batch.bids), cursor.skip(",\"a\":["),
          cursor.levels(priceScale: priceScale, sizeScale: sizeScale, into: &batch.asks),
          cursor.skip(byte: UInt8(ascii: "}")),
          !isWrapped || cursor.skip(byte: UInt8(ascii: "}")), cursor.isAtEnd
        else { return false }
        depth = (index, UpdateNumbers(first: first, last: last), VenueTime.epoch(time) ?? now)
        return true
      }
      if cursor.skip("{\"u\":") {
        guard cursor.integer() != nil, cursor.skip(",\"s\":\""), let symbol = cursor.untilQuote() else { return false }
        let index = instruments.names.find(symbol)
        guard index >= 0 else { return false }
        let priceScale = instruments[index].priceScale
        let sizeScale = instruments[index].sizeScale
        guard cursor.skip(",\"b\":\""), let bid = cursor.decimal(scale: priceScale), cursor.skip(",\"B\":\""),
          let bidSize = cursor.decimal(scale: sizeScale), cursor.skip(",\"a\":\""),
          let ask = cursor.decimal(scale: priceScale), cursor.skip(",\"A\":\""),
          let askSize = cursor.decimal(scale: sizeScale), cursor.skip(byte: UInt8(ascii: "}")),
          !isWrapped || cursor.skip(byte: UInt8(ascii: "}")), cursor.isAtEnd
        else { return false }
        quote = Quote(
          instrument: InstrumentID(index), bid: bid, bidSize: bidSize, ask: ask, askSize: askSize, time: now)
        return true
      }
      return false
    }
    guard matched else {
      mark.dropLevels(&batch)
      return false
    }
    if let depth {
      append(depth.index, depth.numbers, since: mark, depth.time, &outcome, into: &batch)
    } else if let quote {
      batch.events.append(.quote(quote))
    }
    return true
  }

  // MARK: Any order, any spelling

  private enum Event { case depth, trade, aggregate, ticker, quote, mark, liquidation, shutdown, other }

  /// The values of an event by their one-letter names, but for what has been read.
  private struct Fields: ~Copyable {
    /// Names `A`…`z`. Where the values stand in the message; no value has no bytes.
    private var slices = InlineArray<58, (offset: UInt32, count: UInt32)>(repeating: (0, 0))
    /// `pu`, on futures: the last number of the update before.
    var previous: FieldSlice?
    /// `e`
    var event: Event?
    /// `s`, and its index; -1 if it has none.
    var symbol: JSONSlice?
    var index = -1
    /// Whether the levels of an update have been read, which stand behind `mark`.
    var hasBids = false
    var hasAsks = false
    let mark: BatchMark

    init(_ batch: borrowing EventBatch) { mark = BatchMark(batch) }

    subscript(_ name: Unicode.Scalar) -> FieldSlice? {
      let (offset, count) = slices[Int(name.value) - 65]
      guard count > 0 else { return nil }
      return FieldSlice(slice: JSONSlice(offset: Int(offset), count: Int(count), isEscaped: false), base: Int(offset))
    }

    mutating func set(_ name: UInt8, _ value: FieldSlice) {
      guard name >= 65, name < 65 + 58 else { return }
      slices[Int(name) - 65] = (UInt32(value.slice.offset), UInt32(value.slice.count))
    }
  }

  /// Takes the value of `key` if it may be an event's. Levels are read where they stand behind `e` and `s`, as they do;
  /// else they wait.
  private func take(
    _ key: JSONSlice, of reader: inout FieldReader, _ instruments: inout InstrumentTable, into fields: inout Fields,
    _ batch: inout EventBatch
  ) throws(FeedError) -> Bool {
    guard key.count == 1, !key.isEscaped else {
      guard reader.equals(key, "pu") else { return false }
      fields.previous = try reader.rawValue("pu")
      return true
    }
    let name = reader.text(key).unsafeLoad(as: UInt8.self)
    switch name {
    case UInt8(ascii: "e"): fields.event = Self.event(try reader.string("e"), reader)
    case UInt8(ascii: "s") where reader.peek() == .string:
      let symbol = try reader.string("s")
      (fields.symbol, fields.index) = (symbol, instruments.names.find(reader.text(symbol)))
    case UInt8(ascii: "b") where fields.event == .depth && fields.index >= 0:
      try instruments.readLevels(&reader, fields.index, "b", isBid: true, Self.bookFormat, into: &batch)
      fields.hasBids = true
    case UInt8(ascii: "a") where fields.event == .depth && fields.index >= 0:
      try instruments.readLevels(&reader, fields.index, "a", isBid: false, Self.bookFormat, into: &batch)
      fields.hasAsks = true
    default: fields.set(name, try reader.rawValue("event"))
    }
    return true
  }

  private static func event(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Event {
    if reader.equals(name, "depthUpdate") { return .depth }
    if reader.equals(name, "trade") { return .trade }
    if reader.equals(name, "aggTrade") { return .aggregate }
    if reader.equals(name, "24hrTicker") { return .ticker }
    if reader.equals(name, "bookTicker") { return .quote }
    if reader.equals(name, "markPriceUpdate") { return .mark }
    if reader.equals(name, "forceOrder") { return .liquidation }
    return reader.equals(name, "serverShutdown") ? .shutdown : .other
  }

  private func readAny(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var fields = Fields(batch)
    var (isWrapped, isList, isReply) = (false, false, false)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try take(key, of: &reader, &instruments, into: &fields, &batch) { continue }
      if reader.equals(key, "data") {
        isWrapped = true
        isList = reader.peek() != .object
        if isList {
          try reader.skipValue()
          continue
        }
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if try !take(key, of: &reader, &instruments, into: &fields, &batch) { try reader.skipValue() }
        }
      } else {
        isReply = isReply || reader.equals(key, "result") || reader.equals(key, "error") || reader.equals(key, "code")
        try reader.skipValue()
      }
    }
    try reader.end()
    if isList {
      // Streams of several symbols come as arrays; none is subscribed.
      outcome.ignored += 1
      return
    }
    guard isReply, !isWrapped else { return try readEvent(fields, reader, &instruments, &outcome, into: &batch) }
    try readReply(try FieldObject(message, "reply"), &outcome)
  }

  /// `{"result":null,"id":1}`, `{"error":{"code":…,"msg":…},"id":1}`, or code and text without the object.
  private func readReply(_ reply: borrowing FieldObject, _ outcome: inout MessageOutcome) throws(FeedError) {
    outcome.isAnswer = true
    let id = reply.id("id")
    var (code, text) = (reply.integer("code"), reply.text("msg"))
    if let error = try reply.object("error") {
      (code, text) = (error.integer("code") ?? code, error.text("msg") ?? text)
    }
    guard code != nil || reply.has("error") else {
      if let id { outcome.report(.acknowledged(id: id, index: nil, channel: nil)) }
      return
    }
    let words = text ?? "no reason given"
    // Too many messages: none of the symbols is to blame.
    let isTooMuch = words.lowercased().contains("too many requests")
    outcome.report(
      .refused(
        MessageOutcome.Refusal(
          id: id, reason: "code \(code ?? 0), \(words)", effect: isTooMuch ? .pause(Self.ratePause) : .final,
          what: "request refused")))
  }

  private func readEvent(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    switch fields.event {
    case .depth: try readDepth(fields, reader, &instruments, &outcome, into: &batch)
    case .trade: try readTrade(fields, reader, id: "t", isAggregate: false, &instruments, &outcome, into: &batch)
    case .aggregate: try readTrade(fields, reader, id: "a", isAggregate: true, &instruments, &outcome, into: &batch)
    case .ticker: try readTicker(fields, reader, &instruments, &outcome, into: &batch)
    case .quote: try readBookTicker(fields, reader, &instruments, &outcome, into: &batch)
    case .mark:
      var report = DerivativeReport(
        instrument: InstrumentID(try index(fields, reader, instruments, "markPriceUpdate")),
        time: try time(fields, reader, "E", "E", now: outcome.now))
      for (name, key) in BinanceDerivatives.markKeys {
        guard let slice = fields[name] else { continue }
        var value = reader.reader(slice)
        try BinanceDerivatives.take(key, &value, into: &report)
      }
      BinanceDerivatives.finish(&report)
      batch.append(derivative: report)
    case .liquidation:
      guard let slice = fields["o"] else { throw FeedError.missing("o", in: "forceOrder") }
      var order = reader.reader(slice)
      guard let liquidation = try BinanceDerivatives.readOrder(&order, instruments, now: outcome.now) else {
        outcome.ignored += 1
        return
      }
      batch.events.append(.liquidation(liquidation))
    case .shutdown: outcome.report(.leave("the venue announced a shutdown", within: Self.shutdownNotice))
    case .other: outcome.ignored += 1
    case nil:
      guard fields["u"] != nil, fields.symbol != nil, fields["b"] != nil, fields["B"] != nil, fields["a"] != nil,
        fields["A"] != nil
      else {
        // Partial depth has neither type nor symbol, and is not subscribed.
        outcome.ignored += 1
        return
      }
      try readBookTicker(fields, reader, &instruments, &outcome, into: &batch)
    }
  }

  private func index(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ instruments: InstrumentTable,
    _ what: StaticString
  ) throws(FeedError) -> Int {
    guard let symbol = fields.symbol else { throw FeedError.missing("s", in: what) }
    return fields.index >= 0 ? fields.index : try instruments.index(reader.text(symbol))
  }

  private func integer(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ name: Unicode.Scalar, _ field: StaticString,
    _ what: StaticString
  ) throws(FeedError) -> Int64 {
    guard let slice = fields[name] else { throw FeedError.missing(field, in: what) }
    var value = reader.reader(slice)
    return try value.int64(field)
  }

  private func time(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ name: Unicode.Scalar, _ field: StaticString,
    now: Timestamp
  ) throws(FeedError) -> Timestamp {
    guard fields[name] != nil else { return now }
    return VenueTime.epoch(try integer(fields, reader, name, field, "event")) ?? now
  }

  private static let bookFormat = BookFormat(title: "depthUpdate", bids: "b", asks: "a")

  private func readDepth(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try index(fields, reader, instruments, "depthUpdate")
    let first = try integer(fields, reader, "U", "U", "depthUpdate")
    let last = try integer(fields, reader, "u", "u", "depthUpdate")
    guard first <= last else { throw FeedError(.shape, "depthUpdate from \(first) to \(last)") }
    var previous: Int64 = 0
    if let slice = fields.previous {
      var value = reader.reader(slice)
      previous = try value.int64("pu")
    } else if market.part != "spot" {
      throw FeedError.missing("pu", in: "depthUpdate")
    }
    if !fields.hasBids {
      try instruments.readLevels(fields["b"], of: reader, index, isBid: true, Self.bookFormat, into: &batch)
    }
    if !fields.hasAsks {
      try instruments.readLevels(fields["a"], of: reader, index, isBid: false, Self.bookFormat, into: &batch)
    }
    let time = try time(fields, reader, "E", "E", now: outcome.now)
    append(
      index, UpdateNumbers(first: first, last: last, previous: previous), since: fields.mark, time, &outcome,
      into: &batch)
  }

  private static let quoteFormat = QuoteFormat(
    title: "bookTicker", symbol: "s", bid: "b", bidSize: "B", ask: "a", askSize: "A")

  private func readBookTicker(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let bid = fields["b"] else { throw FeedError.missing("b", in: "bookTicker") }
    guard let bidSize = fields["B"] else { throw FeedError.missing("B", in: "bookTicker") }
    guard let ask = fields["a"] else { throw FeedError.missing("a", in: "bookTicker") }
    guard let askSize = fields["A"] else { throw FeedError.missing("A", in: "bookTicker") }
    let found = QuoteFields(
      index: try index(fields, reader, instruments, "bookTicker"), bid: bid, bidSize: bidSize, ask: ask,
      askSize: askSize)
    batch.events.append(.quote(try instruments.quote(found, reader, Self.quoteFormat, now: outcome.now)))
  }

  private static let tradeFormat = TradeFormat(price: "p", size: "q", id: "t", side: "m")

  /// `m` says that the buyer was the maker: the taker sold.
  private func readTrade(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, id name: Unicode.Scalar, isAggregate: Bool,
    _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try index(fields, reader, instruments, "trade")
    var found = TradeFields(index: index, price: fields["p"], size: fields["q"], id: fields[name]?.slice)
    found.time = try time(fields, reader, "T", "T", now: outcome.now)
    if let slice = fields["m"] {
      var value = reader.reader(slice)
      found.side = try value.bool("m") ? .sell : .buy
    }
    let trade = try instruments.trade(found, reader, Self.tradeFormat, now: outcome.now)
    guard trade.id.number != nil else {
      throw FeedError(.decimal, "field \(isAggregate ? "a" : "t"): \(trade.id.text) is no trade's number")
    }
    if let slice = fields["X"] {
      // On futures: what the insurance fund takes over and what is closed by force is no price of the market.
      var value = reader.reader(slice)
      let kind = try value.string("X")
      guard value.equals(kind, "MARKET") else {
        outcome.ignored += 1
        outcome.report(.passedTrade(index: index, id: Int64(clamping: trade.id.number ?? 0)))
        return
      }
    }
    while hasTrades.count <= index { hasTrades.append(false) }
    if isAggregate {
      if hasTrades[index] { return }
    } else {
      // Aggregates before it had numbers of their own.
      if !hasTrades[index] { outcome.fill(0) }
      hasTrades[index] = true
    }
    batch.events.append(.trade(trade))
  }

  private func readTicker(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try index(fields, reader, instruments, "24hrTicker")
    var ticker = Ticker(instrument: InstrumentID(index), time: try time(fields, reader, "E", "E", now: outcome.now))
    let known = instruments
    func price(_ name: Unicode.Scalar, _ field: StaticString) throws(FeedError) -> Int64? {
      guard let slice = fields[name] else { return nil }
      var value = reader.reader(slice)
      return try known.statisticsPrice(&value, index, field)
    }
    func number(_ name: Unicode.Scalar, _ field: StaticString) throws(FeedError) -> Decimal64? {
      guard let slice = fields[name] else { return nil }
      var value = reader.reader(slice)
      return try value.statistic(field)
    }
    ticker.last = try price("c", "c")
    ticker.bid = try price("b", "b")
    ticker.ask = try price("a", "a")
    ticker.open = try price("o", "o")
    ticker.high = try price("h", "h")
    ticker.low = try price("l", "l")
    ticker.volume = try number("v", "v")
    ticker.quoteVolume = try number("q", "q")
    ticker.vwap = try number("w", "w")
    ticker.change = try number("p", "p")
    ticker.changePercent = try number("P", "P")
    if fields["n"] != nil { ticker.trades = try integer(fields, reader, "n", "n", "24hrTicker") }
    batch.events.append(.ticker(ticker))
  }

  /// Appends an update whose levels stand at the end of `batch`.
  private func append(
    _ index: Int, _ numbers: UpdateNumbers, since mark: BatchMark, _ time: Timestamp, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) {
    batch.appendBook(.delta, index, since: mark, time: time)
    outcome.number(numbers, isBridged: true)
  }
}
