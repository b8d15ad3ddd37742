import Bytes
import MarketData

/// Reading Bitstamp's messages: `{"data":…,"channel":…,"event":…}` with its fields in any order, and REST answers.
extension BitstampHandler {
  private enum Event { case data, trade, subscribed, unsubscribed, error, heartbeat, reconnect, other }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
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
    var channel: (kind: Channel, place: Int)?
    if let name { channel = self.channel(reader.text(name)) }
    isAnswer = event != .data && event != .trade
    switch event {
    case .heartbeat: batch.events.append(.heartbeat)
    case .reconnect: leave("the venue asks to connect again")
    case .error:
      var text = ""
      if let data {
        var value = reader.reader(data)
        text = try readError(&value)
      }
      let named = channel.flatMap { $0.place >= 0 ? $0 : nil }
      try failed(named?.place, named?.kind, text.isEmpty ? "no reason given" : text, now: now)
    case .subscribed:
      if let channel, channel.place >= 0 { answered(channel.place, channel.kind, now: now) }
    case .unsubscribed: break
    case .data, .trade:
      guard let name else { throw FeedError.missing("channel", in: "message") }
      guard let channel, (channel.kind == .book) == (event == .data) else {
        counts.ignored += 1
        return
      }
      guard channel.place >= 0 else {
        let shown = reader.text(name).withUnsafeBytes { String(decoding: $0.prefix(60), as: UTF8.self) }
        throw FeedError(.unknownSymbol, "channel \(shown) was not subscribed")
      }
      guard let data else { throw FeedError.missing("data", in: "message") }
      var value = reader.reader(data)
      if event == .data {
        try readBook(&value, channel.place, now: now, into: &batch)
      } else {
        try readTrade(&value, channel.place, now: now, into: &batch)
      }
      answered(channel.place, channel.kind, now: now)
    case .other: counts.ignored += 1
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

  /// A channel's kind and symbol; nil for one that is not used, place -1 for a symbol that is not carried.
  private func channel(_ name: RawSpan) -> (kind: Channel, place: Int)? {
    name.withUnsafeBytes { bytes in
      for kind in Channel.allCases {
        let prefix = kind.prefix
        let count = prefix.utf8CodeUnitCount
        guard bytes.count > count, (0..<count).allSatisfy({ bytes[$0] == prefix.utf8Start[$0] }) else { continue }
        return (kind, table.find(UnsafeRawBufferPointer(rebasing: bytes[count...])))
      }
      return nil
    }
  }

  /// The place of the symbol whose book a message that could not be read is of; nil if it does not say.
  func bookPlace(_ message: RawSpan) -> Int? {
    let prefix = Channel.book.prefix
    let count = prefix.utf8CodeUnitCount
    return message.withUnsafeBytes { bytes -> Int? in
      var start = 0
      while start + count < bytes.count {
        guard (0..<count).allSatisfy({ bytes[start + $0] == prefix.utf8Start[$0] }) else {
          start += 1
          continue
        }
        guard let end = bytes[(start + count)...].firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        let place = table.find(UnsafeRawBufferPointer(rebasing: bytes[(start + count)..<end]))
        return place >= 0 ? place : nil
      }
      return nil
    }
  }

  /// `{"code":null,"message":"Invalid channel provided."}`
  private func readError(_ reader: inout FieldReader) throws(FeedError) -> String {
    guard reader.peek() == .object else { return "" }
    var text = ""
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "message"), reader.peek() == .string {
        text = try reader.decodedString("message")
      } else {
        try reader.skipValue()
      }
    }
    return text
  }

  // MARK: Books

  /// `{"timestamp":…,"microtimestamp":…,"bids":[["77049","0.00000"],…],"asks":[…]}`: levels that changed; a size of
  /// 0, however it is spelled, removes one.
  private func readBook(
    _ reader: inout FieldReader, _ place: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let mark = BatchMark(batch)
    let time = try readBookFields(&reader, place, into: &batch)
    update(place, at: time, since: mark, now: now, into: &batch)
  }

  /// The answer of `order_book`: its time, µs; levels are appended to the batch.
  func readOrderBook(_ body: RawSpan, _ place: Int, into batch: inout EventBatch) throws(FeedError) -> Int64 {
    var reader = FieldReader(body)
    let time = try readBookFields(&reader, place, into: &batch)
    try reader.end()
    return time
  }

  private static let bookFormat = BookFormat(title: "book")

  private func readBookFields(
    _ reader: inout FieldReader, _ place: Int, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    var time: Int64?
    var seconds: Int64?
    var hasBids = false
    var hasAsks = false
    reader.field = "data"
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "microtimestamp") {
        time = try reader.int64("microtimestamp")
      } else if reader.equals(key, "timestamp") {
        seconds = try reader.int64("timestamp")
      } else if reader.equals(key, "bids") {
        try readLevels(&reader, place, "bids", isBid: true, Self.bookFormat, into: &batch.bids)
        hasBids = true
      } else if reader.equals(key, "asks") {
        try readLevels(&reader, place, "asks", isBid: false, Self.bookFormat, into: &batch.asks)
        hasAsks = true
      } else {
        try reader.skipValue()
      }
    }
    guard hasBids else { throw FeedError.missing("bids", in: "book") }
    guard hasAsks else { throw FeedError.missing("asks", in: "book") }
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
    _ reader: inout FieldReader, _ place: Int, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var fields = TradeFields(place: place)
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
    let trade = try trade(fields, reader, Self.tradeFormat, now: now)
    count(trade)
    traded(place, at: fields.time, now: now)
    batch.events.append(.trade(trade))
  }

  /// Seconds on spot, and milliseconds have been seen.
  private static func time(_ value: Int64) -> Timestamp? {
    value > 0 && value < 100_000_000_000 ? Timestamp(microseconds: value * 1_000_000) : VenueTime.epoch(value)
  }
}
