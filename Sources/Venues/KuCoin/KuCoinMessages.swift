import Bytes
import MarketData

/// Reading KuCoin's messages: `{"T":"obu.SPOT","dp":…,"t":…,"P":…,"d":{…}}` with its fields in any order, or the welcome, a pong, the answer
/// to a request.
extension KuCoinHandler {
  private enum Topic { case book, trades, other }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    var topic: Topic?
    var data: FieldSlice?
    var isSnapshot = false
    var isIncrement = true
    var reply = KuCoinReply()
    var isReply = false
    var isPong = false
    var isWelcome = false
    var isClassic = false
    var pingInterval: Int64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "T") {
        let slice = try reader.string("T")
        topic = reader.equals(slice, "obu.SPOT") ? .book : reader.equals(slice, "trade.SPOT") ? .trades : .other
      } else if reader.equals(key, "d") {
        data = try reader.rawValue("d")
      } else if reader.equals(key, "t"), reader.peek() == .string {
        isSnapshot = reader.equals(try reader.string("t"), "snapshot")
      } else if reader.equals(key, "dp"), reader.peek() == .string {
        isIncrement = reader.equals(try reader.string("dp"), "increment@10ms")
      } else if reader.equals(key, "id") {
        // A text, or a number.
        reply.id = reader.peek() == .string ? Int(try reader.decodedString("id")) : nil
        if reply.id == nil, reader.peek() == .number { reply.id = Int(try reader.int64("id")) }
      } else if reader.equals(key, "result") {
        isReply = true
        if reader.peek() == .string {
          reply.failed = !reader.equals(try reader.string("result"), "true")
        } else {
          reply.failed = !(try reader.bool("result"))
        }
      } else if reader.equals(key, "message") || reader.equals(key, "reason") || reader.equals(key, "data"),
        reader.peek() == .string
      {
        reply.message = try reader.decodedString("message")
        isWelcome = isWelcome || reply.message == "welcome"
      } else if reader.equals(key, "type"), reader.peek() == .string {
        let type = try reader.string("type")
        isPong = reader.equals(type, "pong")
        isWelcome = isWelcome || reader.equals(type, "welcome")
        isClassic = true
        if reader.equals(type, "error") {
          isReply = true
          reply.failed = true
        }
      } else if reader.equals(key, "pingInterval"), reader.peek() == .number {
        pingInterval = try reader.int64("pingInterval")
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    if let topic {
      guard topic != .other, isIncrement || topic == .trades else {
        counts.ignored += 1
        return
      }
      guard let data else { throw FeedError.missing("d", in: "message") }
      var value = reader.reader(data)
      if topic == .book {
        try readBook(&value, isSnapshot: isSnapshot, now: now, into: &batch)
      } else {
        try readTrade(&value, now: now, into: &batch)
      }
      return
    }
    if isReply { return try replied(reply, now: now) }
    if isWelcome { return welcomed(pingInterval: pingInterval, now: now) }
    if isPong { return batch.events.append(.heartbeat) }
    guard isClassic else { throw FeedError.missing("T", in: "message") }
    // A frame of the classic socket's kind, none of which is subscribed.
    counts.ignored += 1
  }

  // MARK: The book

  /// `{"s":"BTC-USDT","O":…,"C":…,"M":ns,"a":[["price","size"],…],"b":[…]}`
  private func readBook(
    _ reader: inout FieldReader, isSnapshot: Bool, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var place: Int?
    var first: Int64?
    var last: Int64?
    var time = now
    var bids: FieldSlice?
    var asks: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "s") {
        let slice = try reader.string("s")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "O") {
        first = try reader.int64("O")
      } else if reader.equals(key, "C") {
        last = try reader.int64("C")
      } else if reader.equals(key, "M") {
        // A number, or a text.
        time = try statistic(&reader, "M").flatMap { $0.scale == 0 ? VenueTime.nanoseconds($0.mantissa) : nil } ?? now
      } else if reader.equals(key, "a") {
        asks = try reader.rawValue("a")
      } else if reader.equals(key, "b") {
        bids = try reader.rawValue("b")
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("s", in: "obu") }
    guard let last, last >= 0 else { throw FeedError.missing("C", in: "obu") }
    guard let first, first >= 0 else { throw FeedError.missing("O", in: "obu") }
    guard first <= last else { throw FeedError(.shape, "obu from \(first) to \(last)") }
    let bidStart = batch.bids.count
    let askStart = batch.asks.count
    if let bids {
      var levels = reader.reader(bids)
      try readPairs(&levels, place, "b", into: &batch.bids)
    }
    if let asks {
      var levels = reader.reader(asks)
      try readPairs(&levels, place, "a", into: &batch.asks)
    }
    let event = BookEvent(
      instrument: InstrumentID(place), kind: isSnapshot ? .snapshot : .delta, bidRange: bidStart..<batch.bids.count,
      askRange: askStart..<batch.asks.count, time: time)
    accept(event, UpdateNumbers(first: first, last: last), now: now, into: &batch)
  }

  /// A snapshot replaces the book; a change is applied if `O <= last + 1` and `C > last`, as documented. In two years' captures `O` was
  /// always `last + 1`. What the snapshot has already may come after it and is nothing.
  private func accept(_ event: BookEvent, _ numbers: UpdateNumbers, now: Timestamp, into batch: inout EventBatch) {
    let place = event.instrument.index
    if event.kind == .snapshot {
      seen[place].snapshots += 1
      feeds[place].isHeard = true
      feeds[place].wasLive = true
      feeds[place].isJoined = false
      feeds[place].book.snapshotArrived(now: now)
    } else {
      seen[place].deltas += 1
      let last = feeds[place].last
      let isLive = feeds[place].book.isLive
      guard isLive, numbers.first <= last &+ 1, numbers.last > last else {
        batch.bids.removeSubrange(event.bidRange.lowerBound...)
        batch.asks.removeSubrange(event.askRange.lowerBound...)
        guard isLive else { return }
        if numbers.last <= last, !feeds[place].isJoined {
          seen[place].dropped += 1
        } else if numbers.last != last {
          // Later ones are missing before it, or it is late itself, or the numbering began anew.
          seen[place].gaps += 1
          lost(place, .gap, now: now, into: &batch)
        }
        return
      }
      feeds[place].isJoined = true
      seen[place].sequenceOK += 1
    }
    feeds[place].last = numbers.last
    note(place, batch.bids[event.bidRange])
    note(place, batch.asks[event.askRange])
    batch.events.append(.book(event))
  }

  // MARK: Trades

  /// `{"s":"BTC-USDT","S":"sell","p":"92525.6","q":"0.00008036","ti":"20631804219899904","M":ns,"E":…}`; `S` is the taker's side.
  private func readTrade(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var place: Int?
    var price: FieldSlice?
    var size: FieldSlice?
    var id: TradeID?
    var side: TakerSide?
    var time = now
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "s") {
        let slice = try reader.string("s")
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "S") {
        // In capitals on other channels.
        let slice = try reader.string("S")
        if reader.equals(slice, "buy") || reader.equals(slice, "BUY") { side = .buy }
        if reader.equals(slice, "sell") || reader.equals(slice, "SELL") { side = .sell }
      } else if reader.equals(key, "p") {
        price = try reader.rawValue("p")
      } else if reader.equals(key, "q") {
        size = try reader.rawValue("q")
      } else if reader.equals(key, "ti") {
        let slice = reader.peek() == .string ? try reader.string("ti") : try reader.number("ti")
        id = TradeID(reader.text(slice))
      } else if reader.equals(key, "M") {
        // A number, or a text.
        time = try statistic(&reader, "M").flatMap { $0.scale == 0 ? VenueTime.nanoseconds($0.mantissa) : nil } ?? now
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("s", in: "trade") }
    guard let price else { throw FeedError.missing("p", in: "trade") }
    guard let size else { throw FeedError.missing("q", in: "trade") }
    guard let id else { throw FeedError.missing("ti", in: "trade") }
    guard let side else { throw FeedError.missing("S (buy or sell)", in: "trade") }
    var value = reader.reader(price)
    let tradePrice = try self.price(&value, place, "p")
    value = reader.reader(size)
    let tradeSize = try self.size(&value, place, "q")
    note(place, price: tradePrice, size: tradeSize)
    seen[place].trades += 1
    batch.events.append(
      .trade(
        Trade(
          instrument: InstrumentID(place), id: id, price: tradePrice, size: tradeSize, side: side, time: time)))
  }

  // MARK: Instruments

  /// `{"code":"200000","data":[{"symbol":"BTC-USDT","baseCurrency":…,"quoteCurrency":…,"baseIncrement":…,"priceIncrement":…,"enableTrading":true},…]}`: all
  /// of them in one.
  func readInstruments(_ body: RawSpan) throws(FeedError) -> [KuCoinInstrument] {
    var reader = FieldReader(body)
    var code = "200000"
    var message = "no reason given"
    var list: [KuCoinInstrument]?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code"), reader.peek() == .string {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "msg"), reader.peek() == .string {
        message = try reader.decodedString("msg")
      } else if reader.equals(key, "data"), reader.peek() == .array {
        var entries: [KuCoinInstrument] = []
        try reader.arrayStart()
        while try reader.nextElement() {
          entries.append(try readInstrument(&reader))
          guard entries.count <= 100_000 else { throw FeedError(.shape, "list of more than 100,000 instruments") }
        }
        list = entries
      } else {
        try reader.skipValue()
      }
    }
    guard code == "200000" else { throw FeedError(.refused, "symbols: code \(code), \(message)") }
    guard let list else { throw FeedError.missing("data", in: "symbols") }
    return list
  }

  /// `{"code":"200000","data":{"time":…,"ticker":[{"symbol":"BTC-USDT","vol":…,"volValue":"133988049.45",…},…]}}`: 24 h figures of all
  /// markets; `volValue` is in the quote currency.
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    var code = "200000"
    var isThere = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code"), reader.peek() == .string {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "data"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "ticker"), reader.peek() == .array {
            isThere = true
            try reader.arrayStart()
            while try reader.nextElement() { try readVolume(&reader, into: &volumes) }
          } else {
            try reader.skipValue()
          }
        }
      } else {
        try reader.skipValue()
      }
    }
    guard code == "200000" else { throw FeedError(.refused, "allTickers: code \(code)") }
    guard isThere else { throw FeedError.missing("ticker", in: "allTickers") }
  }

  private func readVolume(
    _ reader: inout FieldReader, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    var name = ""
    var volume: Decimal64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        name = try reader.decodedString("symbol")
      } else if reader.equals(key, "volValue") {
        volume = try statistic(&reader, "volValue")
      } else {
        try reader.skipValue()
      }
    }
    try note(volume, of: name, in: &volumes)
  }

  private func readInstrument(_ reader: inout FieldReader) throws(FeedError) -> KuCoinInstrument {
    var instrument = KuCoinInstrument()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        instrument.name = try reader.decodedString("symbol")
      } else if reader.equals(key, "baseCurrency") {
        instrument.base = try reader.decodedString("baseCurrency")
      } else if reader.equals(key, "quoteCurrency") {
        instrument.quote = try reader.decodedString("quoteCurrency")
      } else if reader.equals(key, "priceIncrement"), reader.peek() == .string {
        (instrument.priceIncrement, instrument.priceScale) = try readStep(&reader, "priceIncrement")
      } else if reader.equals(key, "baseIncrement"), reader.peek() == .string {
        (instrument.sizeIncrement, instrument.sizeScale) = try readStep(&reader, "baseIncrement")
      } else if reader.equals(key, "enableTrading"), reader.peek() == .bool {
        instrument.isTraded = try reader.bool("enableTrading")
      } else {
        try reader.skipValue()
      }
    }
    guard !instrument.name.isEmpty, !instrument.base.isEmpty, !instrument.quote.isEmpty else {
      throw FeedError.missing("symbol, baseCurrency or quoteCurrency", in: "symbol")
    }
    return instrument
  }

  private func readStep(
    _ reader: inout FieldReader, _ field: StaticString
  ) throws(FeedError) -> (Decimal64?, UInt8) {
    let slice = try reader.string(field)
    return (try? DecimalText.parse(reader.text(slice)), DecimalText.printedScale(reader.text(slice)))
  }
}
