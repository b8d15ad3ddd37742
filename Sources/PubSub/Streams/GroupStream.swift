import Bytes
import MarketData

/// A stream of several instruments of one publisher: one message a tick for all of them, shared by all who ask for the
/// same list.
///
/// Its members are streams of the channel without subscribers of their own. What they would publish is collected here,
/// with the index of the member, and goes out together: at the tick of the class, or at the end of the batch in class
/// 0.
final class GroupStream: PublishedStream {
  /// In the order of the symbols in the key.
  private var members: [MarketStream] = []
  /// The members' updates since the last message: JSON with commas between, or elements of a record.
  private var pending = ByteBuffer()
  /// The number of elements in it.
  private var count = 0
  /// The time of the first of them, to which the times in records are relative.
  private var pendingTime = Timestamp.distantPast

  override init(_ start: StreamStart) {
    super.init(start)
    for (index, member) in zip(start.key.group, start.members).enumerated() {
      let start = StreamStart(
        id: start.id, seq: 0, key: start.key.alone(member.0), market: member.1.market, instrument: member.1.instrument)
      guard let stream = start.key.channel.type.makeStream(start) as? MarketStream else { continue }
      stream.group = (self, index)
      members.append(stream)
    }
  }

  override func wake(in publisher: StreamPublisher) {
    isShown = true
    for member in members {
      // It runs without subscribers.
      member.isHeld = true
      member.wake(in: publisher)
    }
  }

  override func sleep(in publisher: StreamPublisher) {
    for member in members {
      member.isHeld = false
      member.sleep(in: publisher)
      member.clear()
    }
  }

  override func clear() {
    super.clear()
    pending.release()
    count = 0
  }

  override func scale(in publisher: StreamPublisher, now: Timestamp) -> BinaryScale {
    BinaryScale(
      base: now.microseconds, priceDigits: 0, sizeDigits: 0, members: members.map { $0.binaryDigits(in: publisher) })
  }

  // MARK: Members

  /// Collects a message of a member.
  /// - Parameters:
  ///   - isSnapshot: whether it replaces what clients have of the member.
  ///   - data: appends the message's `data`; false if there is none.
  func collect(
    _ index: Int, isSnapshot: Bool, in publisher: StreamPublisher, now: Timestamp, _ data: (inout ByteBuffer) -> Bool
  ) -> Bool {
    if count == 0 { pendingTime = now }
    let start = pending.count
    if isBinary {
      let digits = members[index].binaryDigits(in: publisher)
      let isOther = now != pendingTime || digits != scale?.members[index]
      BinaryGroup.appendHead(
        index, isSnapshot: isSnapshot, own: isOther ? (digits, now.microseconds &- pendingTime.microseconds) : nil,
        to: &pending)
    } else {
      append(index, isSnapshot: isSnapshot, isFirst: count == 0, to: &pending)
    }
    guard isBinary ? pending.appendCounted(data) : data(&pending) else {
      pending.truncate(to: start)
      return false
    }
    if !isBinary { pending.append(UInt8(ascii: "}")) }
    count += 1
    return true
  }

  private func append(_ index: Int, isSnapshot: Bool, isFirst: Bool, to out: inout ByteBuffer) {
    out.append(isFirst ? "{\"i\":" : ",{\"i\":")
    out.append(integer: Int64(index))
    out.append(isSnapshot ? ",\"snapshot\":true,\"data\":" : ",\"data\":")
  }

  override func flush(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    guard count > 0 else { return }
    // The others of this tick come first.
    guard !publisher.schedule.isTicking else { return publisher.schedule.addGroup(self) }
    publisher.update(self, events: 0, now: now, into: &out) { out in
      guard !isBinary else {
        out.append(zigzag: now.microseconds &- pendingTime.microseconds)
        out.append(varint: UInt64(count))
        return out.append(pending.unsafeBytes)
      }
      out.append("{\"updates\":[")
      out.append(pending.unsafeBytes)
      out.append("]}")
    }
    pending.removeAll()
    count = 0
  }

  override func prepareSnapshot(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    for member in members { member.prepareSnapshot(in: publisher, now: now, into: &out) }
    publisher.flush(self, now: now, into: &out)
  }

  /// `{"members":["kraken:BTC-USD",…],"updates":[{"i":0,"data":{…}},…]}`; members without data are only listed.
  override func appendSnapshot(in publisher: StreamPublisher, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    guard !isBinary else {
      appendBinarySnapshot(in: publisher, now: now, to: &out)
      return true
    }
    out.append("{\"members\":[")
    for (index, symbol) in key.group.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: symbol)
    }
    out.append("],\"updates\":[")
    var isFirst = true
    for (index, member) in members.enumerated() {
      let start = out.count
      append(index, isSnapshot: false, isFirst: isFirst, to: &out)
      if member.appendShown(in: publisher, now: now, to: &out) {
        out.append(UInt8(ascii: "}"))
        isFirst = false
      } else {
        out.truncate(to: start)
      }
    }
    out.append("]}")
    return true
  }

  private func appendBinarySnapshot(in publisher: StreamPublisher, now: Timestamp, to out: inout ByteBuffer) {
    var elements = ByteBuffer(capacity: 32 * members.count)
    var shown = 0
    for (index, member) in members.enumerated() {
      let start = elements.count
      BinaryGroup.appendHead(index, isSnapshot: false, own: nil, to: &elements)
      if elements.appendCounted({ member.appendShown(in: publisher, now: now, to: &$0) }) {
        shown += 1
      } else {
        elements.truncate(to: start)
      }
    }
    out.append(varint: UInt64(members.count))
    for (symbol, member) in zip(key.group, members) {
      out.append(binary: symbol)
      let digits = member.binaryDigits(in: publisher)
      out.append(digits.price)
      out.append(digits.size)
    }
    // All times are relative to that of the record.
    out.append(zigzag: 0)
    out.append(varint: UInt64(shown))
    out.append(elements.unsafeBytes)
  }
}

extension MarketStream {
  fileprivate func binaryDigits(in publisher: StreamPublisher) -> BinaryDigits {
    let digits = digits(in: publisher)
    return BinaryDigits(price: digits.price, size: digits.size)
  }

  /// Appends the data of a snapshot, or why there is none; false if there is neither.
  fileprivate func appendShown(in publisher: StreamPublisher, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    isShown
      ? appendSnapshot(in: publisher, now: now, to: &out) : appendSyncing(in: publisher, now: now, to: &out)
  }
}

/// The elements of a group's record.
enum BinaryGroup {
  private static let snapshot: UInt64 = 1
  private static let own: UInt64 = 2

  /// Appends the start of an element, before the length of its data.
  /// - Parameter own: its digits, and its time after that of the first element, if they differ, µs.
  static func appendHead(
    _ index: Int, isSnapshot: Bool, own: (digits: BinaryDigits, time: Int64)?, to out: inout ByteBuffer
  ) {
    out.append(varint: UInt64(index) << 2 | (isSnapshot ? snapshot : 0) | (own == nil ? 0 : Self.own))
    guard let own else { return }
    out.append(own.digits.price)
    out.append(own.digits.size)
    out.append(zigzag: own.time)
  }
}
