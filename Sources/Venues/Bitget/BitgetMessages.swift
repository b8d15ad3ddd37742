import Bytes
import MarketData

/// Reading Bitget's messages: `{"action":…,"arg":{"instType":…,"channel":…,"instId":…},"data":[…],"ts":…}`, or
/// `{"event":…}`.
extension Bitget {
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
    var subject = Subject()
    var isSnapshot = false
    var hasAction = false
    var data: FieldSlice?
    var isRead = false
    let first = batch.events.count
    var isReply = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "arg"), reader.peek() == .object {
        subject = try readSubject(&reader)
      } else if reader.equals(key, "data") {
        // What it is of stands before it as a rule; if not, it waits.
        if hasAction, subject.isOwn, subject.channel != .other, let symbol = subject.symbol {
          let index = try instruments.index(reader.text(symbol))
          try readData(&reader, subject.channel, index, isSnapshot, &instruments, &outcome, into: &batch)
          isRead = true
        } else {
          data = try reader.rawValue("data")
        }
      } else if reader.equals(key, "action") {
        isSnapshot = reader.equals(try reader.string("action"), "snapshot")
        hasAction = true
      } else {
        isReply = isReply || reader.equals(key, "event")
        try reader.skipValue()
      }
    }
    try reader.end()
    if isReply {
      outcome.isAnswer = true
      let reply = try FieldObject(message, "reply")
      if let report = try report(reply, isOwn: subject.isOwn, instruments) { outcome.report(report) }
      return
    }
    guard let symbol = subject.symbol else { throw FeedError.missing("instId", in: "message") }
    // The other family has markets of the same names.
    guard subject.isOwn, subject.channel != .other else {
      outcome.ignored += 1
      return
    }
    let index = try instruments.index(reader.text(symbol))
    if !isRead {
      guard let data else { throw FeedError.missing("data", in: "message") }
      var entries = reader.reader(data)
      try readData(&entries, subject.channel, index, isSnapshot, &instruments, &outcome, into: &batch)
    }
    // All of the text could be read: nothing fails from here on.
    if subject.channel == .trades { dropSeenTrades(from: first, index, &outcome, into: &batch) }
  }

  private func readData(
    _ entries: inout FieldReader, _ channel: Channel, _ index: Int, _ isSnapshot: Bool,
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
    case .trades:
      while try entries.nextElement() {
        let trade = try instruments.readTrade(
          &entries, Self.tradeFormat, index, now: outcome.now, isBacklog: isSnapshot)
        batch.events.append(.trade(trade))
      }
    case .ticker:
      while try entries.nextElement() {
        var ticker = Ticker(instrument: InstrumentID(index), time: outcome.now)
        guard !isSpot else {
          try instruments.readFigures(&entries, Self.tickerFormat, into: &ticker)
          batch.events.append(.ticker(ticker))
          continue
        }
        let report = try BitgetDerivatives.read(&entries, &instruments, into: &ticker)
        batch.events.append(.ticker(ticker))
        if !report.isEmpty { batch.append(derivative: report) }
      }
    case .other: break
    }
  }

  /// What a message is about.
  private struct Subject {
    var isOwn = false
    var channel = Channel.other
    var symbol: JSONSlice?
  }

  private func readSubject(_ reader: inout FieldReader) throws(FeedError) -> Subject {
    var subject = Subject()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "instType") {
        subject.isOwn = reader.equalsInAnyCase(try reader.string("instType"), family)
      } else if reader.equals(key, "channel") {
        subject.channel = Self.channel(try reader.string("channel"), reader)
      } else if reader.equals(key, "instId") {
        subject.symbol = try reader.string("instId")
      } else {
        try reader.skipValue()
      }
    }
    return subject
  }

  private static func channel(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Channel {
    if reader.equals(name, "books") { return .book }
    if reader.equals(name, "books1") { return .quote }
    if reader.equals(name, "trade") { return .trades }
    return reader.equals(name, "ticker") ? .ticker : .other
  }

  // MARK: Books

  /// A side that is missing has no orders, or has not changed: no such message has been seen.
  private static let bookFormat = BookFormat(title: "books", needsBothSides: false)

  /// `{"asks":[["price","size"],…],"bids":[…],"ts":"…","seq":…,"pseq":…}`, with `checksum` until May 2026.
  private static let updateFormat = UpdateFormat(last: "seq", previous: "pseq", time: "ts")

  /// A message of a book has one entry; were it to have more, they would have to be applied together or not at all.
  /// Before 2026 updates named no number before theirs: those are as good as their checksum.
  private func readBook(
    _ entries: inout FieldReader, _ index: Int, isSnapshot: Bool, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    guard try entries.nextElement() else { throw FeedError.missing("data[0]", in: "books") }
    var checksum: UInt32?
    let fields = try instruments.readUpdate(&entries, of: index, Self.updateFormat, Self.bookFormat, into: &batch) {
      (key, reader) throws(FeedError) in
      guard reader.equals(key, "checksum") else { return false }
      // Signed, in 32 bits; 0 stands for none.
      let value = try reader.int64("checksum")
      checksum = value == 0 ? nil : UInt32(truncatingIfNeeded: value)
      return true
    }
    guard try !entries.nextElement() else { throw FeedError(.shape, "books with more than one entry") }
    let isLinked = fields.last != nil && (isSnapshot || fields.previous != nil)
    guard isLinked || checksum != nil else { throw FeedError.missing("seq or pseq", in: "books") }
    if isSnapshot {
      let mark = fields.mark
      let levels = Self.window(bids: batch.bids.count - mark.bids, asks: batch.asks.count - mark.asks)
      batch.events.append(.bookDepth(InstrumentID(index), levels: levels))
    }
    batch.appendBook(
      isSnapshot ? .snapshot : .delta, index, since: fields.mark, time: fields.time ?? outcome.now, checksum: checksum)
    guard isLinked, let number = fields.last else { return }
    outcome.number(UpdateNumbers(first: number, last: number, previous: fields.previous ?? 0))
  }

  /// How many levels a side the venue tells of, by a snapshot: 500 have been seen, and its manuals name others. What
  /// leaves them may be told or not, so that a book is kept to just as many. A side that is shorter has all there are,
  /// and says nothing of the others; two that end at the same one of these numbers say it.
  static func window(bids: Int, asks: Int) -> Int {
    if bids == asks, bids == 200 || bids == 400 { return bids }
    let longest = max(bids, asks)
    return longest <= depth ? depth : max(1_000, longest)
  }

  // MARK: Trades

  private static let tradeFormat = TradeFormat(
    price: "price", size: "size", id: "tradeId", side: "side", buy: "buy", sell: "sell", time: "ts")

  /// `[{"ts":"…","price":"…","size":"…","side":"buy","tradeId":"…"},…]`, the newest first as far as it was seen, which
  /// nothing promises. A subscription begins with trades of which some may have come before.
  private func dropSeenTrades(
    from first: Int, _ symbolIndex: Int, _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) {
    batch.orderTrades(from: first)
    while seenTrades.count <= symbolIndex { seenTrades.append(SeenTrades(limit: Self.seenTradeLimit)) }
    var kept = first
    for index in first..<batch.events.count {
      guard case .trade(let trade) = batch.events[index] else { continue }
      if let number = trade.id.number, !seenTrades[symbolIndex].insert(number, at: trade.time) { continue }
      batch.events[kept] = .trade(trade)
      kept += 1
    }
    if kept == first { outcome.ignored += 1 }
    batch.events.removeSubrange(kept...)
  }

  // MARK: Figures

  /// A side without orders is left out, empty or 0.
  static let tickerFormat = TickerFormat(
    last: "lastPr", bid: "bidPr", ask: "askPr", open: "open24h", high: "high24h", low: "low24h", volume: "baseVolume",
    quoteVolume: "quoteVolume", changePercent: "change24h", isFraction: true, time: "ts", zeroIsNone: true)
}
