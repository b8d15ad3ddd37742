import Bytes
import MarketData

/// Reading Bitstamp's messages: `{"data":…,"channel":…,"event":…}` with its fields in any order, and REST answers.
extension Bitstamp {
  private enum Event { case data, trade, subscribed, unsubscribed, error, heartbeat, reconnect, other }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var event: Event?
    var name: JSONSlice?
    var data: FieldSlice?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "data") {
        data = try reader.rawValue("data")
      } else if reader.equals(key, "channel"), reader.peek() == .string {
        name = try reader.string("channel")
      } else if reader.equals(key, "event") {
        event = Self.event(try reader.string("event"), reader)
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let event else { throw FeedError.missing("event", in: "message") }
    let topic = name.flatMap { Self.topic(reader.text($0), instruments) }
    let followed = topic.flatMap { $0.index >= 0 ? $0 : nil }
    outcome.isAnswer = event != .data && event != .trade
    switch event {
    case .heartbeat: batch.events.append(.heartbeat)
    case .reconnect:
      outcome.report(.leave("the venue asks to connect again", within: Self.reconnectNotice))
    case .error:
      // `{"code":null,"message":"Invalid channel provided."}`
      var text: String?
      if let data {
        var value = reader.reader(data)
        if value.peek() == .object { text = try FieldObject(&value, "error").text("message") }
      }
      outcome.report(
        .refused(
          MessageOutcome.Refusal(
            index: followed?.index, channel: followed?.channel, reason: text ?? "no reason given")))
    case .subscribed:
      if let followed {
        outcome.report(.acknowledged(id: nil, index: followed.index, channel: followed.channel))
      }
    case .unsubscribed: break
    case .data, .trade:
      guard let name else { throw FeedError.missing("channel", in: "message") }
      guard let topic, (topic.channel == 0) == (event == .data) else {
        outcome.ignored += 1
        return
      }
      guard let followed else {
        let shown = reader.text(name).withUnsafeBytes { String(decoding: $0.prefix(60), as: UTF8.self) }
        throw FeedError(.unknownSymbol, "channel \(shown) was not subscribed")
      }
      guard let data else { throw FeedError.missing("data", in: "message") }
      var value = reader.reader(data)
      if event == .data {
        try readBook(&value, followed.index, &instruments, &outcome, into: &batch)
      } else {
        try readTrade(&value, followed.index, &instruments, now: outcome.now, into: &batch)
      }
    case .other: outcome.ignored += 1
    }
  }

  private static func event(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Event {
    if reader.equals(name, "data") { return .data }
    if reader.equals(name, "trade") { return .trade }
    if reader.equals(name, "bts:subscription_succeeded") { return .subscribed }
    if reader.equals(name, "bts:unsubscription_succeeded") { return .unsubscribed }
    if reader.equals(name, "bts:error") { return .error }
    if reader.equals(name, "bts:heartbeat") { return .heartbeat }
    return reader.equals(name, "bts:request_reconnect") ? .reconnect : .other
  }

  /// What a channel's name says; nil for one that is not used, index -1 for a symbol that is not followed.
  private static func topic(_ name: RawSpan, _ instruments: InstrumentTable) -> Topic? {
    name.withUnsafeBytes { bytes in
      for (channel, prefix) in prefixes.enumerated() where bytes.count > prefix.utf8CodeUnitCount {
        guard let symbol = MalformedMessageScan.inner(bytes, prefix: prefix, suffix: "") else { continue }
        return Topic(index: instruments.names.find(symbol), channel: channel)
      }
      return nil
    }
  }

  // MARK: Books

  /// `{"timestamp":…,"microtimestamp":…,"bids":[["77049","0.00000"],…],"asks":[…]}`: levels that changed; a size of
  /// 0, however it is spelled, removes one.
  private func readBook(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let mark = BatchMark(batch)
    let time = try Self.readBookFields(&reader, index, &instruments, into: &batch)
    batch.appendBook(.delta, index, since: mark, time: Timestamp(microseconds: time))
    outcome.number(UpdateNumbers(first: time, last: time))
  }

  private static let bookFormat = BookFormat(title: "book")
  private static let updateFormat = UpdateFormat(last: "microtimestamp")

  /// The time of a book, µs; its levels are appended to the batch.
  static func readBookFields(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    var seconds: Int64?
    reader.field = "data"
    let fields = try instruments.readUpdate(&reader, of: index, updateFormat, bookFormat, into: &batch) {
      (key, reader) throws(FeedError) in
      guard reader.equals(key, "timestamp") else { return false }
      seconds = try reader.int64("timestamp")
      return true
    }
    var time = fields.last
    // The beginning of its second is early enough: updates that are applied again change nothing in the end.
    if time == nil, let seconds, seconds > 0, seconds < 100_000_000_000 { time = seconds * 1_000_000 }
    guard let time else { throw FeedError.missing("microtimestamp", in: "book") }
    // From 2001 to 5138: the year 0001 and seconds or nanoseconds are no microseconds.
    guard time > 1_000_000_000_000_000, time < 100_000_000_000_000_000 else {
      throw FeedError(.shape, "book whose microtimestamp \(time) is no time in microseconds")
    }
    return time
  }

  // MARK: Trades

  private static let tradeFormat = TradeFormat(price: "price_str", size: "amount_str", id: "id", side: "type (0 or 1)")

  /// `{"id":…,"amount_str":…,"price_str":…,"type":0,"microtimestamp":…}`: the numbers beside the texts have been
  /// through a binary fraction (3651.3000000000002). `type` is the taker's side, 0 for a purchase.
  private func readTrade(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var fields = TradeFields(index: index)
    var hasPriceText = false
    var hasSizeText = false
    var micro: Int64?
    var time: Int64?
    reader.field = "data"
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "price_str") {
        fields.price = try reader.rawValue("price_str")
        hasPriceText = true
      } else if reader.equals(key, "amount_str") {
        fields.size = try reader.rawValue("amount_str")
        hasSizeText = true
      } else if reader.equals(key, "price"), !hasPriceText {
        fields.price = try reader.rawValue("price")
      } else if reader.equals(key, "amount"), !hasSizeText {
        fields.size = try reader.rawValue("amount")
      } else if reader.equals(key, "id_str"), reader.peek() == .string {
        fields.id = try reader.string("id_str")
      } else if reader.equals(key, "id"), fields.id == nil {
        fields.id = try reader.name("id")
      } else if reader.equals(key, "type") {
        let type = try reader.int64("type")
        fields.side = type == 0 ? .buy : type == 1 ? .sell : nil
      } else if reader.equals(key, "microtimestamp") {
        micro = try reader.int64("microtimestamp")
      } else if reader.equals(key, "timestamp") {
        time = try reader.int64("timestamp")
      } else {
        try reader.skipValue()
      }
    }
    fields.time = micro.flatMap(VenueTime.epoch) ?? time.flatMap(Self.time)
    batch.events.append(.trade(try instruments.trade(fields, reader, Self.tradeFormat, now: now)))
  }

  /// Seconds on spot, and milliseconds have been seen.
  private static func time(_ value: Int64) -> Timestamp? {
    value > 0 && value < 100_000_000_000 ? Timestamp(microseconds: value * 1_000_000) : VenueTime.epoch(value)
  }
}
