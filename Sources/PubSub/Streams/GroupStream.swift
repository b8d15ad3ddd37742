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
  /// What the members have published since the last message, with commas between.
  private var pending = ByteBuffer()
  private var isEmpty = true

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
    isEmpty = true
  }

  // MARK: Members

  /// Collects a message of a member.
  /// - Parameters:
  ///   - isSnapshot: whether it replaces what clients have of the member.
  ///   - data: appends the message's `data`; false if there is none.
  func collect(_ index: Int, isSnapshot: Bool, _ data: (inout ByteBuffer) -> Bool) -> Bool {
    let start = pending.count
    append(index, isSnapshot: isSnapshot, isFirst: isEmpty, to: &pending)
    guard data(&pending) else {
      pending.truncate(to: start)
      return false
    }
    pending.append(UInt8(ascii: "}"))
    isEmpty = false
    return true
  }

  private func append(_ index: Int, isSnapshot: Bool, isFirst: Bool, to out: inout ByteBuffer) {
    out.append(isFirst ? "{\"i\":" : ",{\"i\":")
    out.append(integer: Int64(index))
    out.append(isSnapshot ? ",\"snapshot\":true,\"data\":" : ",\"data\":")
  }

  override func flush(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    guard !isEmpty else { return }
    // The others of this tick come first.
    guard !publisher.schedule.isTicking else { return publisher.schedule.addGroup(self) }
    publisher.update(self, events: 0, now: now, into: &out) { out in
      out.append("{\"updates\":[")
      out.append(pending.unsafeBytes)
      out.append("]}")
    }
    pending.removeAll()
    isEmpty = true
  }

  override func prepareSnapshot(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    for member in members { member.prepareSnapshot(in: publisher, now: now, into: &out) }
    publisher.flush(self, now: now, into: &out)
  }

  /// `{"members":["kraken:BTC-USD",…],"updates":[{"i":0,"data":{…}},…]}`; members without data are only listed.
  override func appendSnapshot(in publisher: StreamPublisher, now: Timestamp, to out: inout ByteBuffer) -> Bool {
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
      let hasData =
        member.isShown
        ? member.appendSnapshot(in: publisher, now: now, to: &out)
        : member.appendSyncing(in: publisher, now: now, to: &out)
      if hasData {
        out.append(UInt8(ascii: "}"))
        isFirst = false
      } else {
        out.truncate(to: start)
      }
    }
    out.append("]}")
    return true
  }
}
