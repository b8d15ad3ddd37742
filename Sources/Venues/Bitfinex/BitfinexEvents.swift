import Bytes
import MarketData

/// An event of Bitfinex: `{"event":…}` with what belongs to its kind.
struct BitfinexEvent {
  var name = ""
  var channel = ""
  var symbol = ""
  var message = ""
  var status = ""
  /// `prec` of a book.
  var precision = ""
  /// `chanId`; 0 if there is none.
  var number: Int64 = 0
  var code: Int64 = 0
  /// `platform.status`: whether the venue works, or is in maintenance.
  var isWorking: Bool?
}

/// Events: what they say, and what is done about it.
extension BitfinexHandler {
  func readEvent(_ reader: inout FieldReader) throws(FeedError) -> BitfinexEvent {
    var event = BitfinexEvent()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      let kind = reader.peek()
      if reader.equals(key, "event"), kind == .string {
        event.name = try reader.decodedString("event")
      } else if reader.equals(key, "channel"), kind == .string {
        event.channel = try reader.decodedString("channel")
      } else if reader.equals(key, "symbol"), kind == .string {
        event.symbol = try reader.decodedString("symbol")
      } else if reader.equals(key, "msg"), kind == .string {
        event.message = try reader.decodedString("msg")
      } else if reader.equals(key, "status"), kind == .string {
        event.status = try reader.decodedString("status")
      } else if reader.equals(key, "prec"), kind == .string {
        event.precision = try reader.decodedString("prec")
      } else if reader.equals(key, "chanId"), kind == .number || kind == .string {
        event.number = try reader.int64("chanId")
      } else if reader.equals(key, "code"), kind == .number || kind == .string {
        event.code = try reader.int64("code")
      } else if reader.equals(key, "platform"), kind == .object {
        event.isWorking = try readPlatform(&reader)
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    return event
  }

  private func readPlatform(_ reader: inout FieldReader) throws(FeedError) -> Bool? {
    var isWorking: Bool?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "status"), reader.peek() == .number {
        isWorking = try reader.int64("platform.status") != 0
      } else {
        try reader.skipValue()
      }
    }
    return isWorking
  }

  /// `{"event":…}`
  func heard(_ event: BitfinexEvent, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    switch event.name {
    case "info": informed(event, now: now, into: &batch)
    case "subscribed": subscribed(event, now: now, into: &batch)
    case "unsubscribed": unsubscribed(event, now: now, into: &batch)
    case "pong": batch.events.append(.heartbeat)
    case "conf":
      configured = nil
      guard event.status == "OK" else {
        throw FeedError(.refused, "conf: \(event.status) \(event.message); books go without their count and checksum")
      }
    case "error": try failed(event, now: now, into: &batch)
    default: counts.ignored += 1
    }
  }

  private func informed(_ event: BitfinexEvent, now: Timestamp, into batch: inout EventBatch) {
    switch event.code {
    case 20_051: leave("the venue restarts its server and asks to connect again")
    case 20_060: maintain(true, now: now, into: &batch)
    case 20_061: maintain(false, now: now, into: &batch)
    default:
      if let isWorking = event.isWorking, isWorking == inMaintenance {
        maintain(!isWorking, now: now, into: &batch)
      }
    }
  }

  /// In maintenance nothing is asked for, and no book is vouched for; after it everything is subscribed again.
  func maintain(_ begins: Bool, now: Timestamp, into batch: inout EventBatch) {
    if begins != inMaintenance { actions.append(.maintenance(begins)) }
    inMaintenance = begins
    maintenanceSince = now
    for place in feeds.indices where feeds[place].book.resync(now: now) {
      batch.events.append(.bookReset(InstrumentID(place), .venueReset))
    }
    guard !begins else { return }
    for slot in slots.indices where !feeds[Self.place(slot)].isRefused { renew(slot, now) }
  }

  private func slot(of event: BitfinexEvent) -> Int? {
    guard let channel = Channel.allCases.first(where: { $0.name == event.channel }) else { return nil }
    var symbol = event.symbol
    let place = symbol.withUTF8 { table.find(UnsafeRawBufferPointer($0)) }
    return place >= 0 ? Self.slot(place, channel) : nil
  }

  private func subscribed(_ event: BitfinexEvent, now: Timestamp, into batch: inout EventBatch) {
    let slot = slot(of: event)
    // A number may come again for something else; then it is no longer what it was.
    let former = self.slot(of: event.number)
    if former >= 0, former != slot { ended(former, now: now, into: &batch) }
    guard let slot, event.number != 0,
      Self.channel(slot) != .book || event.precision.isEmpty || event.precision == "P0"
    else {
      counts.ignored += 1
      return
    }
    if slots[slot].leaving == event.number { slots[slot].leaving = 0 }
    numbers[slot] = event.number
    slots[slot].asked = nil
    slots[slot].heard = now
    slots[slot].patience = Self.answerTimeout
    slots[slot].attempts = 0
    slots[slot].refusals = 0
    slots[slot].again = nil
    slots[slot].backoff.reset()
  }

  private func unsubscribed(_ event: BitfinexEvent, now: Timestamp, into batch: inout EventBatch) {
    if let slot = slots.indices.first(where: { slots[$0].leaving == event.number && event.number != 0 }) {
      slots[slot].leaving = 0
      return
    }
    let slot = slot(of: event.number)
    if slot >= 0 { ended(slot, now: now, into: &batch) }
  }

  /// A channel is no more, and not at our wish: it is asked for again.
  private func ended(_ slot: Int, now: Timestamp, into batch: inout EventBatch) {
    numbers[slot] = 0
    slots[slot].asked = now
    let place = Self.place(slot)
    guard Self.channel(slot) == .book, feeds[place].book.resync(now: now) else { return }
    batch.events.append(.bookReset(InstrumentID(place), .venueReset))
    tick(now: now, into: &batch)
  }

  private func failed(_ event: BitfinexEvent, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    let slot = slot(of: event)
    switch (event.code, slot) {
    case (10_301, _):
      // It is subscribed, or about to be: the acknowledgement is on its way, or the retry comes.
      return
    case (10_300, let slot?), (10_001, let slot?):
      let place = Self.place(slot)
      slots[slot].asked = nil
      if feeds[place].isRefused { return }
      if Self.channel(slot) != .book {
        // It touches nothing else. Where the pair itself is refused, its book says so.
        slots[slot].refusals += 1
        slots[slot].again = now + RequestDeadline.refusalWait(slots[slot].refusals)
        break
      }
      guard !feeds[place].book.isLive else { break }
      feeds[place].isRefused = true
      feeds[place].book.disconnected()
      refuse(configuredName(place), "Bitfinex refused \(instruments[place].venueSymbol): \(event.message)")
      return
    case (10_305, let slot?): slots[slot].patience = Microseconds.minute
    case (10_400, _):
      // What was to be given up is not there.
      for slot in slots.indices where event.number == 0 || slots[slot].leaving == event.number {
        slots[slot].leaving = 0
      }
    default: break
    }
    let subject = event.symbol.isEmpty ? "" : "\(event.channel) \(event.symbol): "
    throw FeedError(.refused, "\(subject)\(event.message) (code \(event.code))")
  }
}
