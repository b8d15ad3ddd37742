import Bytes
import MarketData

/// Reading Deribit's messages: `{"method":"subscription","params":{"channel":…,"data":…}}`, heartbeats, and answers
/// with an `id`. All numbers are bare, with exponents where that is shorter.
extension Deribit {
  private enum Kind { case book, quote, trades, ticker, platform, other }
  private enum Method { case none, subscription, heartbeat, other }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var method = Method.none
    var kind: Kind?
    var data: FieldSlice?
    var isRead = false
    var isTest = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "params"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "channel") {
            let slice = try reader.string("channel")
            kind = Self.kind(reader.text(slice))
          } else if reader.equals(key, "data") {
            // What it is of stands before it as a rule; if not, it waits.
            if method == .subscription, let kind, kind == .book || kind == .quote || kind == .trades {
              try readNotification(&reader, kind, &instruments, &outcome, into: &batch)
              isRead = true
            } else {
              data = try reader.rawValue("data")
            }
          } else if reader.equals(key, "type"), reader.peek() == .string {
            isTest = reader.equals(try reader.string("type"), "test_request")
          } else {
            try reader.skipValue()
          }
        }
      } else if reader.equals(key, "method"), reader.peek() == .string {
        let slice = try reader.string("method")
        method =
          reader.equals(slice, "subscription")
          ? .subscription : reader.equals(slice, "heartbeat") ? .heartbeat : .other
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    switch method {
    case .subscription:
      if !isRead {
        guard let kind else { throw FeedError.missing("channel", in: "subscription") }
        guard let data else { throw FeedError.missing("data", in: "subscription") }
        var value = reader.reader(data)
        try readNotification(&value, kind, &instruments, &outcome, into: &batch)
      }
    case .heartbeat:
      if isTest { outcome.report(.send(Self.testAnswer)) }
      batch.events.append(.heartbeat)
    case .other: outcome.ignored += 1
    case .none:
      outcome.isAnswer = true
      try readAnswer(try FieldObject(message, "answer"), instruments, &outcome)
    }
  }

  /// By what stands before the first point.
  private static func kind(_ text: RawSpan) -> Kind {
    // `book.BTC_USDC-PERPETUAL.100ms`. With more points it is a grouped book, whose levels are of another shape.
    if text.begins(with: "book.") { return text.withUnsafeBytes { $0.count { $0 == 0x2E } } == 2 ? .book : .other }
    if text.begins(with: "trades.") { return .trades }
    if text.begins(with: "quote.") { return .quote }
    if text.begins(with: "ticker.") { return .ticker }
    return text.begins(with: "platform_state") ? .platform : .other
  }

  private func readNotification(
    _ reader: inout FieldReader, _ kind: Kind, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    switch kind {
    case .book: try readBook(&reader, &instruments, &outcome, into: &batch)
    case .quote:
      batch.events.append(.quote(try instruments.readQuote(&reader, Self.quoteFormat, now: outcome.now)))
    case .trades: try readTrades(&reader, &instruments, now: outcome.now, into: &batch)
    case .ticker: try readTicker(&reader, &instruments, now: outcome.now, into: &batch)
    case .platform: try readPlatform(&reader, &outcome)
    case .other: outcome.ignored += 1
    }
  }

  // MARK: Books

  /// Levels are `["new",price,amount]`, `["change",price,amount]`, `["delete",price,0.0]`: one goes with an amount of
  /// 0 or with the word, whichever says so.
  private static let bookFormat = BookFormat(title: "book", word: .action(removal: "delete"))

  /// `{"timestamp":…,"type":"change","change_id":…,"instrument_name":…,"bids":[["new",0.11374,1054.0],…],"asks":[…],"prev_change_id":…}`
  ///
  /// A snapshot names no number before it, or null, or any: older ones have had 0 and 20. Grouped books have no
  /// `type` and are not subscribed.
  private static let updateFormat = UpdateFormat(
    symbol: "instrument_name", last: "change_id", previous: "prev_change_id", time: "timestamp")

  private func readBook(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var isSnapshot: Bool?
    let fields = try instruments.readUpdate(&reader, Self.updateFormat, Self.bookFormat, into: &batch) {
      (key, reader) throws(FeedError) in
      guard reader.equals(key, "type") else { return false }
      let slice = try reader.string("type")
      isSnapshot = reader.equals(slice, "snapshot") ? true : reader.equals(slice, "change") ? false : nil
      return true
    }
    guard let index = fields.index else { throw FeedError.missing("instrument_name", in: "book") }
    guard let isSnapshot else {
      outcome.ignored += 1
      return
    }
    guard let number = fields.last else { throw FeedError.missing("change_id", in: "book") }
    guard isSnapshot || fields.previous != nil else { throw FeedError.missing("prev_change_id", in: "book change") }
    batch.appendBook(
      isSnapshot ? .snapshot : .delta, index, since: fields.mark, time: fields.time ?? outcome.now)
    // What a snapshot says came before it is nothing that a change could repeat.
    outcome.number(UpdateNumbers(first: number, last: number, previous: isSnapshot ? -1 : fields.previous ?? 0))
  }

  // MARK: Quotes, trades and statistics

  private static let quoteFormat = QuoteFormat(
    title: "quote", symbol: "instrument_name", bid: "best_bid_price", bidSize: "best_bid_amount", ask: "best_ask_price",
    askSize: "best_ask_amount", time: "timestamp")

  /// `{"timestamp":…,"instrument_name":…,"best_ask_price":92288.5,"best_bid_price":92288.0,"best_ask_amount":99470.0,"best_bid_amount":133440.0}`;
  /// a side without orders has an amount of 0, or null.
  private static let tradeFormat = TradeFormat(
    symbol: "instrument_name", price: "price", size: "amount", id: "trade_id", side: "direction", buy: "buy",
    sell: "sell",
    time: "timestamp")

  /// `[{"timestamp":…,"price":…,"amount":…,"direction":"sell","instrument_name":…,"trade_id":"403691825","trade_seq":…,…},…]`;
  /// `direction` is the taker's. Block trades are agreed upon away from the book and are no price of the market; the
  /// legs of combos are.
  private func readTrades(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "data"
    try reader.arrayStart()
    while try reader.nextElement() {
      var fields = TradeFields()
      var isBlock = false
      var liquidated = DeribitDerivatives.Liquidated()
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if try instruments.take(key, of: &reader, Self.tradeFormat, into: &fields) { continue }
        if reader.equals(key, "liquidation"), reader.peek() == .string {
          liquidated = DeribitDerivatives.Liquidated(try reader.string("liquidation"), reader)
          continue
        }
        if reader.equals(key, "block_trade_id") { isBlock = reader.peek() != .null }
        try reader.skipValue()
      }
      let trade = try instruments.trade(fields, reader, Self.tradeFormat, now: now)
      guard !isBlock else { continue }
      batch.events.append(.trade(trade))
      liquidated.append(trade, of: instruments[trade.instrument.index], into: &batch)
    }
  }

  private static let priceFormat = TickerFormat(
    last: "last_price", bid: "best_bid_price", ask: "best_ask_price", time: "timestamp", zeroIsNone: true)
  private static let statisticsFormat = TickerFormat(
    high: "high", low: "low", volume: "volume", quoteVolume: "volume_notional", changePercent: "price_change")

  /// The figures of `stats` are of the last 24 h; any of them may be null or missing. `price_change` is in percent,
  /// as the high and low of captures show.
  private func readTicker(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try instruments.index("instrument_name", in: reader.again())
    var ticker = Ticker(instrument: InstrumentID(index), time: now)
    var report = DerivativeReport(instrument: InstrumentID(index), time: now)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try instruments.take(key, of: &reader, Self.priceFormat, into: &ticker) { continue }
      if try DeribitDerivatives.format.take(key, of: &reader, into: &report) { continue }
      if reader.equals(key, "stats"), reader.peek() == .object {
        try instruments.readFigures(&reader, Self.statisticsFormat, into: &ticker)
      } else {
        try reader.skipValue()
      }
    }
    batch.events.append(.ticker(ticker))
    report.time = ticker.time
    DeribitDerivatives.complete(&report)
    if !report.isEmpty { batch.append(derivative: report) }
  }

  /// `{"maintenance":true}`; other states have other fields.
  private func readPlatform(_ reader: inout FieldReader, _ outcome: inout MessageOutcome) throws(FeedError) {
    guard reader.peek() == .object, let state = try FieldObject(&reader, "platform_state").flag("maintenance") else {
      outcome.ignored += 1
      return
    }
    hasSaidMaintenance = true
    outcome.report(.maintenance(state))
  }

  // MARK: Answers

  /// `"error":{"code":10028,"message":"too_many_requests","data":null}`: one that is refused as a whole does not say
  /// for whose sake. Or `"result":…`: the channels that were subscribed or left, in any order; anything else where it
  /// was no such request. A channel that is missing there does not exist: nothing else says so.
  private func readAnswer(
    _ answer: borrowing FieldObject, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome
  ) throws(FeedError) {
    let id = answer.id("id")
    if let error = try answer.object("error") {
      let (code, message) = (error.integer("code") ?? 0, error.text("message") ?? "")
      return outcome.report(
        .refused(
          MessageOutcome.Refusal(
            id: id, reason: "code \(code): \(message)", effect: code == 10028 ? .pause(nil) : .final)))
    }
    guard var result = answer.reader("result") else {
      throw FeedError.missing("method, result or error", in: "message")
    }
    guard let id else { return }
    guard result.peek() == .array else { return outcome.report(.acknowledged(id: id, index: nil, channel: nil)) }
    let names = answer.elements("result") { (name) throws(FeedError) in try name.decodedString("result") }
    followsPlatform = followsPlatform || names.contains("platform_state")
    let topics = names.compactMap { name -> Topic? in
      let parts = name.split(separator: ".")
      guard parts.count > 1, let index = instruments.index(named: String(parts[1])),
        let channel = facts.channels.firstIndex(where: { $0.name.split(separator: ".")[0] == parts[0] })
      else { return nil }
      return Topic(index: index, channel: channel)
    }
    // A platform that takes subscriptions and says nothing of maintenance is back.
    if !topics.isEmpty, !hasSaidMaintenance { outcome.report(.maintenance(false)) }
    outcome.report(.taken(id: id, topics, rest: "Deribit did not subscribe it: it is not listed, or has expired"))
  }
}
