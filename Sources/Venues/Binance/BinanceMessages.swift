import Bytes
import MarketData

/// Reading Binance's messages: `{"stream":…,"data":{…}}` or the bare event, told apart by `e`; the spot `bookTicker`
/// has no `e` and is told by its fields.
extension Binance {
  func readMessage(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    if readFixed(message, instruments, &hearing, into: &batch) { return }
    try readAny(message, &instruments, &hearing, into: &batch)
  }

  // MARK: As the venue prints them

  /// Reads the two messages that make up nearly all traffic, if they are spelled exactly as the venue spells them.
  /// False: not one of these, or spelled otherwise; nothing has been done then.
  private func readFixed(
    _ message: RawSpan, _ instruments: InstrumentTable, _ hearing: inout Hearing,
    into batch: inout EventBatch
  ) -> Bool {
    let now = hearing.now
    var depth: (place: Int, numbers: UpdateNumbers, time: Timestamp)?
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
        let place = instruments.names.find(symbol)
        guard place >= 0 else { return false }
        let priceScale = instruments[place].priceScale
        let sizeScale = instruments[place].sizeScale
        guard cursor.levels(priceScale: priceScale, sizeScale: sizeScale, into: &batch.bids), cursor.skip(",\"a\":["),
          cursor.levels(priceScale: priceScale, sizeScale: sizeScale, into: &batch.asks),
          cursor.skip(byte: UInt8(ascii: "}")),
          !isWrapped || cursor.skip(byte: UInt8(ascii: "}")), cursor.isAtEnd
        else { return false }
        depth = (place, UpdateNumbers(first: first, last: last), VenueTime.epoch(time) ?? now)
        return true
      }
      if cursor.skip("{\"u\":") {
        guard cursor.integer() != nil, cursor.skip(",\"s\":\""), let symbol = cursor.untilQuote() else { return false }
        let place = instruments.names.find(symbol)
        guard place >= 0 else { return false }
        let priceScale = instruments[place].priceScale
        let sizeScale = instruments[place].sizeScale
        guard cursor.skip(",\"b\":\""), let bid = cursor.decimal(scale: priceScale), cursor.skip(",\"B\":\""),
          let bidSize = cursor.decimal(scale: sizeScale), cursor.skip(",\"a\":\""),
          let ask = cursor.decimal(scale: priceScale), cursor.skip(",\"A\":\""),
          let askSize = cursor.decimal(scale: sizeScale), cursor.skip(byte: UInt8(ascii: "}")),
          !isWrapped || cursor.skip(byte: UInt8(ascii: "}")), cursor.isAtEnd
        else { return false }
        quote = Quote(
          instrument: InstrumentID(place), bid: bid, bidSize: bidSize, ask: ask, askSize: askSize, time: now)
        return true
      }
      return false
    }
    guard matched else {
      mark.dropLevels(&batch)
      return false
    }
    if let depth {
      append(depth.place, depth.numbers, since: mark, depth.time, &hearing, into: &batch)
    } else if let quote {
      batch.events.append(.quote(quote))
    }
    return true
  }

  // MARK: Any order, any spelling

  /// The values of an event by their one-letter names.
  struct Fields: ~Copyable {
    /// Names `A`…`z`.
    private var slices = InlineArray<58, FieldSlice?>(repeating: nil)
    /// `pu`, on futures: the last number of the update before.
    var previous: FieldSlice?

    subscript(_ name: Unicode.Scalar) -> FieldSlice? { slices[Int(name.value) - 65] }

    mutating func set(_ name: UInt8, _ slice: FieldSlice) {
      guard name >= 65, name < 65 + 58 else { return }
      slices[Int(name) - 65] = slice
    }
  }

  private func readAny(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var fields = Fields()
    var data: FieldSlice?
    var result = false
    var failure: FieldSlice?
    var id: Int?
    var code: Int64?
    var text: String?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if key.count == 1, !key.isEscaped {
        let name = reader.text(key).unsafeLoad(as: UInt8.self)
        fields.set(name, try reader.rawValue("event"))
      } else if reader.equals(key, "pu") {
        fields.previous = try reader.rawValue("pu")
      } else if reader.equals(key, "data") {
        data = try reader.rawValue("data")
      } else if reader.equals(key, "result") {
        result = true
        try reader.skipValue()
      } else if reader.equals(key, "id"), reader.peek() == .number {
        id = Int(exactly: try reader.int64("id"))
      } else if reader.equals(key, "error") {
        failure = try reader.rawValue("error")
      } else if reader.equals(key, "code") {
        code = try reader.int64("code")
      } else if reader.equals(key, "msg") {
        text = try reader.decodedString("msg")
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    if let data {
      var event = reader.reader(data)
      guard event.peek() == .object else {
        // Streams of several symbols come as arrays; none is subscribed.
        hearing.ignored += 1
        return
      }
      var inner = Fields()
      try event.objectStart()
      while let key = try event.nextKey() {
        if key.count == 1, !key.isEscaped {
          let name = event.text(key).unsafeLoad(as: UInt8.self)
          inner.set(name, try event.rawValue("event"))
        } else if event.equals(key, "pu") {
          inner.previous = try event.rawValue("pu")
        } else {
          try event.skipValue()
        }
      }
      return try readEvent(inner, event, &instruments, &hearing, into: &batch)
    }
    if let failure {
      var nested = reader.reader(failure)
      let error = try FieldObject(&nested, "error")
      code = error.integer("code") ?? code
      text = error.text("msg") ?? text
    }
    if failure != nil || (code != nil && text != nil) {
      let message = text ?? "no reason given"
      // Too many messages: none of the symbols is to blame.
      let isTooMuch = message.lowercased().contains("too many requests")
      return hearing.report(
        .refused(
          Hearing.Refusal(
            id: id, reason: "code \(code ?? 0), \(message)", effect: isTooMuch ? .pause(Self.ratePause) : .final,
            what: "request refused")))
    }
    if result {
      hearing.isAnswer = true
      if let id { hearing.report(.acknowledged(id: id, place: nil, channel: nil)) }
      return
    }
    try readEvent(fields, reader, &instruments, &hearing, into: &batch)
  }

  private func readEvent(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let type = fields["e"] else {
      guard fields["u"] != nil, fields["s"] != nil, fields["b"] != nil, fields["B"] != nil, fields["a"] != nil,
        fields["A"] != nil
      else {
        // Partial depth has neither type nor symbol, and is not subscribed.
        hearing.ignored += 1
        return
      }
      return try readBookTicker(fields, reader, &instruments, &hearing, into: &batch)
    }
    var value = reader.reader(type)
    let name = try value.string("e")
    if value.equals(name, "depthUpdate") {
      try readDepth(fields, reader, &instruments, &hearing, into: &batch)
    } else if value.equals(name, "trade") {
      try readTrade(fields, reader, id: "t", isAggregate: false, &instruments, &hearing, into: &batch)
    } else if value.equals(name, "aggTrade") {
      try readTrade(fields, reader, id: "a", isAggregate: true, &instruments, &hearing, into: &batch)
    } else if value.equals(name, "24hrTicker") {
      try readTicker(fields, reader, &instruments, &hearing, into: &batch)
    } else if value.equals(name, "bookTicker") {
      try readBookTicker(fields, reader, &instruments, &hearing, into: &batch)
    } else if value.equals(name, "serverShutdown") {
      hearing.report(.leave("the venue announced a shutdown", within: Self.shutdownNotice))
    } else {
      hearing.ignored += 1
    }
  }

  private func place(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ instruments: InstrumentTable,
    _ what: StaticString
  ) throws(FeedError) -> Int {
    guard let slice = fields["s"] else { throw FeedError.missing("s", in: what) }
    var value = reader.reader(slice)
    let symbol = try value.string("s")
    return try instruments.place(value.text(symbol))
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
    _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, reader, instruments, "depthUpdate")
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
    let mark = BatchMark(batch)
    try instruments.readSides(fields["b"], fields["a"], of: reader, place, Self.bookFormat, into: &batch)
    let time = try time(fields, reader, "E", "E", now: hearing.now)
    append(
      place, UpdateNumbers(first: first, last: last, previous: previous), since: mark, time, &hearing, into: &batch)
  }

  private static let quoteFormat = QuoteFormat(
    title: "bookTicker", symbol: "s", bid: "b", bidSize: "B", ask: "a", askSize: "A")

  private func readBookTicker(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let bid = fields["b"] else { throw FeedError.missing("b", in: "bookTicker") }
    guard let bidSize = fields["B"] else { throw FeedError.missing("B", in: "bookTicker") }
    guard let ask = fields["a"] else { throw FeedError.missing("a", in: "bookTicker") }
    guard let askSize = fields["A"] else { throw FeedError.missing("A", in: "bookTicker") }
    let found = QuoteFields(
      place: try place(fields, reader, instruments, "bookTicker"), bid: bid, bidSize: bidSize, ask: ask,
      askSize: askSize)
    batch.events.append(.quote(try instruments.quote(found, reader, Self.quoteFormat, now: hearing.now)))
  }

  private static let tradeFormat = TradeFormat(price: "p", size: "q", id: "t", side: "m")

  /// `m` says that the buyer was the maker: the taker sold.
  private func readTrade(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, id name: Unicode.Scalar, isAggregate: Bool,
    _ instruments: inout InstrumentTable, _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, reader, instruments, "trade")
    var found = TradeFields(place: place, price: fields["p"], size: fields["q"], id: fields[name]?.slice)
    found.time = try time(fields, reader, "T", "T", now: hearing.now)
    if let slice = fields["m"] {
      var value = reader.reader(slice)
      found.side = try value.bool("m") ? .sell : .buy
    }
    let trade = try instruments.trade(found, reader, Self.tradeFormat, now: hearing.now)
    guard trade.id.number != nil else {
      throw FeedError(.decimal, "field \(isAggregate ? "a" : "t"): \(trade.id.text) is no trade's number")
    }
    if let slice = fields["X"] {
      // On futures: what the insurance fund takes over and what is closed by force is no price of the market.
      var value = reader.reader(slice)
      let kind = try value.string("X")
      guard value.equals(kind, "MARKET") else {
        hearing.ignored += 1
        return
      }
    }
    while hasTrades.count <= place { hasTrades.append(false) }
    if isAggregate {
      if hasTrades[place] { return }
    } else {
      hasTrades[place] = true
    }
    batch.events.append(.trade(trade))
  }

  private func readTicker(
    _ fields: borrowing Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, reader, instruments, "24hrTicker")
    var ticker = Ticker(instrument: InstrumentID(place), time: try time(fields, reader, "E", "E", now: hearing.now))
    let known = instruments
    func price(_ name: Unicode.Scalar, _ field: StaticString) throws(FeedError) -> Int64? {
      guard let slice = fields[name] else { return nil }
      var value = reader.reader(slice)
      return try known.statisticsPrice(&value, place, field)
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
    _ place: Int, _ numbers: UpdateNumbers, since mark: BatchMark, _ time: Timestamp, _ hearing: inout Hearing,
    into batch: inout EventBatch
  ) {
    batch.appendBook(.delta, place, since: mark, time: time)
    hearing.number(numbers, isBridged: true)
  }
}
