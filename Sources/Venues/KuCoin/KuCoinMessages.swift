import Bytes
import MarketData

/// Reading KuCoin's messages: `{"T":"obu.SPOT","dp":…,"t":…,"P":…,"d":{…}}` with its fields in any order, or the
/// welcome, a pong, the answer to a request.
extension KuCoin {
  private enum TopicKind { case book, trades, other }

  /// `obu.SPOT`, `trade.FUTURES`
  private func topic(_ text: RawSpan) -> TopicKind {
    switch part {
    case .spot: text.equals("obu.SPOT") ? .book : text.equals("trade.SPOT") ? .trades : .other
    case .futures: text.equals("obu.FUTURES") ? .book : text.equals("trade.FUTURES") ? .trades : .other
    }
  }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var topic: TopicKind?
    var data: FieldSlice?
    var update: UpdateFields?
    var trade: Trade?
    var isSnapshot = false
    var isIncrement: Bool?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "T") {
        let slice = try reader.string("T")
        topic = self.topic(reader.text(slice))
      } else if reader.equals(key, "d") {
        // What it is of stands before it as a rule; if not, it waits.
        switch topic {
        case .book where isIncrement == true:
          update = try instruments.readUpdate(&reader, Self.updateFormat, Self.bookFormat, into: &batch)
        case .trades: trade = try instruments.readTrade(&reader, Self.tradeFormat, now: outcome.now)
        default: data = try reader.rawValue("d")
        }
      } else if reader.equals(key, "t"), reader.peek() == .string {
        isSnapshot = reader.equals(try reader.string("t"), "snapshot")
      } else if reader.equals(key, "dp"), reader.peek() == .string {
        isIncrement = reader.equals(try reader.string("dp"), "increment@10ms")
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let topic else { return try readAnswer(try FieldObject(message, "answer"), &outcome, into: &batch) }
    guard topic != .other, isIncrement ?? true || topic == .trades else {
      // Another depth is the canary's, if anybody's.
      outcome.mayBeCanary = topic == .book
      outcome.ignored += 1
      return
    }
    if let data {
      var value = reader.reader(data)
      if topic == .book {
        update = try instruments.readUpdate(&value, Self.updateFormat, Self.bookFormat, into: &batch)
      } else {
        trade = try instruments.readTrade(&value, Self.tradeFormat, now: outcome.now)
      }
    }
    if let trade { return batch.events.append(.trade(trade)) }
    guard let update else { throw FeedError.missing("d", in: "message") }
    try append(update, isSnapshot: isSnapshot, &outcome, into: &batch)
  }

  private func readAnswer(
    _ answer: borrowing FieldObject, _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    let type = answer.text("type")
    let text = answer.text("message") ?? answer.text("reason") ?? answer.text("data")
    outcome.isAnswer = true
    if let isDone = type == "error" ? false : answer.flag("result") ?? answer.says("result", "true") {
      if let report = Self.report(answer.id("id"), isDone: isDone, text) { outcome.report(report) }
    } else if type == "welcome" || text == "welcome" {
      outcome.report(Self.welcome(pingInterval: answer.integer("pingInterval")))
    } else if type == "pong" {
      batch.events.append(.heartbeat)
    } else if type != nil {
      // A frame of the classic socket's kind, none of which is subscribed.
      outcome.isAnswer = false
      outcome.ignored += 1
    } else {
      throw FeedError.missing("T", in: "message")
    }
  }

  // MARK: The book

  private static let bookFormat = BookFormat(title: "obu", bids: "b", asks: "a", needsBothSides: false)

  /// `{"s":"BTC-USDT","O":…,"C":…,"M":ns,"a":[["price","size"],…],"b":[…]}`
  private static let updateFormat = UpdateFormat(symbol: "s", first: "O", last: "C", time: "M", clock: .nanoseconds)

  private func append(
    _ fields: UpdateFields, isSnapshot: Bool, _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let index = fields.index else { throw FeedError.missing("s", in: "obu") }
    guard let last = fields.last, last >= 0 else { throw FeedError.missing("C", in: "obu") }
    guard let first = fields.first, first >= 0 else { throw FeedError.missing("O", in: "obu") }
    guard first <= last else { throw FeedError(.shape, "obu from \(first) to \(last)") }
    batch.appendBook(
      isSnapshot ? .snapshot : .delta, index, since: fields.mark, time: fields.time ?? outcome.now)
    outcome.number(UpdateNumbers(first: first, last: last))
  }

  // MARK: Trades

  /// `{"s":"BTC-USDT","S":"sell","p":"92525.6","q":"0.00008036","ti":"20631804219899904","M":ns,"E":…}`; `S` is the
  /// taker's side.
  private static let tradeFormat = TradeFormat(
    symbol: "s", price: "p", size: "q", id: "ti", side: "S", buy: "buy", sell: "sell", time: "M", clock: .nanoseconds)
}
