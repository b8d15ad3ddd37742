import Bytes
import MarketData

/// What a stream begins with.
struct StreamStart {
  let id: StreamID
  let seq: UInt64
  let key: StreamKey
  /// The slot of its market in the publisher, and the instrument there; 0 for streams of no market.
  var market = 0
  var instrument = InstrumentID(rawValue: 0)
  /// The same of each member of a group.
  var members: [GroupMember] = []
}

/// Where a member of a group is published.
package struct GroupMember: Sendable, Equatable {
  /// The slot of its market in the publisher.
  package var market: Int
  package var instrument: InstrumentID
}

/// A stream as its publisher sees it. Each channel has a subclass, which holds what its subscribers have and publishes
/// what changed since. A class, because the lists by key, by instrument and by due time share it.
class PublishedStream {
  let id: StreamID
  let key: StreamKey
  /// The number of the last message. It never goes back in an epoch, also not when the slot is given to another key.
  var seq: UInt64
  /// Bit n: loop n has subscribers. A stream without subscribers publishes nothing, unless it is held.
  var loops: UInt64 = 0
  /// Whether it continues without subscribers, for returning clients of an earlier run.
  var isHeld = false
  /// Whether the stream publishes changes.
  var isRunning: Bool { loops != 0 || isHeld }
  /// Whether it waits for its tick or for the end of the batch.
  var isDirty = false
  /// Whether its subscribers hold its state, so that updates make sense; if not, a snapshot is due when there is data.
  var isShown = false
  /// The reason of that snapshot.
  var dueReason = SnapshotReason.subscribe
  /// Raised each time the last subscriber leaves, so that a note of it in the idle queue can be told from a newer one.
  private(set) var idleGeneration: UInt32 = 0
  /// `"channel":"book","symbol":"kraken:BTC-USD","stream":2`, the part of every message that stays the same.
  let label: [UInt8]
  /// Whether every message matters.
  let isEvent: Bool
  /// Whether it publishes each change at once.
  let isImmediate: Bool
  /// Whether its messages are binary records.
  let isBinary: Bool
  /// The base time and scales of its records, set when it last began to run; nil: its messages are text.
  var scale: BinaryScale?
  /// The group that publishes what this stream has, and its index there.
  var group: (stream: GroupStream, index: Int)? {
    get { ownGroup.map { ($0, groupIndex) } }
    set { (ownGroup, groupIndex) = (newValue?.stream, newValue?.index ?? 0) }
  }
  private unowned var ownGroup: GroupStream?
  private var groupIndex = 0
  /// The snapshot of this `seq`, so that a thousand joiners cost one encoding.
  var cachedSnapshot: StreamFrame?
  var cachedReason = SnapshotReason.subscribe
  var cachedTime = Timestamp.distantPast
  var ring = ReplayRing()
  /// Nil: the channel's messages are whole, so only the last one matters.
  let ringLimits: ReplayRing.Limits?

  init(_ start: StreamStart) {
    id = start.id
    seq = start.seq
    key = start.key
    let facts = key.channel.facts
    isEvent = facts.isEvent
    // A group has one message a tick, also where its members publish at once.
    isImmediate = key.intervalMilliseconds <= (key.group.isEmpty ? facts.naturalInterval : 0)
    isBinary = key.isBinary
    // A message of a group has some of its members.
    ringLimits =
      key.dialect != nil
      ? nil
      : key.group.isEmpty
        ? key.channel.type.ringLimits(of: key) : .differences(snapshotBytes: 256 * key.group.count)
    label = PublishedStream.label(of: start)
  }

  /// A stream of the key's channel.
  static func make(_ start: StreamStart) -> PublishedStream {
    if let dialect = start.key.dialect { return DialectStream(start, dialect) }
    if !start.key.group.isEmpty { return GroupStream(start) }
    return start.key.isOfCompositeDocument ? DocumentStream(start) : start.key.channel.type.makeStream(start)
  }

  private static func label(of start: StreamStart) -> [UInt8] {
    let key = start.key
    var text = ByteBuffer(capacity: 96)
    text.append("\"channel\":\"")
    text.append(key.channel.rawValue)
    text.append(UInt8(ascii: "\""))
    if !key.symbol.isEmpty {
      text.append(",\"symbol\":")
      text.append(json: key.symbol)
    }
    if !key.group.isEmpty { text.append(",\"group\":true") }
    if let id = key.portfolio?.id {
      text.append(",\"portfolio\":")
      text.append(json: id)
    }
    if let zone = key.zone {
      text.append(",\"zone\":")
      text.append(json: zone)
    }
    text.append(",\"stream\":")
    text.append(integer: UInt64(start.id.rawValue))
    return Array(text.unsafeBytes)
  }

  var interval: UInt16 { key.intervalMilliseconds }

  // MARK: What a channel does

  /// Its first subscriber has come: it enters the list through which changes reach it, and is shown if there is data.
  func wake(in publisher: StreamPublisher) {}

  /// Its last subscriber has left: it leaves that list.
  func sleep(in publisher: StreamPublisher) {}

  /// Drops data that only subscribers need.
  func clear() {
    isShown = false
    dueReason = .subscribe
    cachedSnapshot = nil
    idleGeneration &+= 1
  }

  /// The present digits of its prices and sizes.
  func digits(in publisher: StreamPublisher) -> (price: UInt8, size: UInt8) { (0, 0) }

  /// Sets the base time and scales of the records that follow.
  func scale(in publisher: StreamPublisher, now: Timestamp) -> BinaryScale {
    let digits = digits(in: publisher)
    return BinaryScale(base: now.microseconds, priceDigits: digits.price, sizeDigits: digits.size)
  }

  /// Publishes the pending changes, if any. Call `StreamPublisher.flush`, which checks that it runs.
  func flush(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {}

  /// Publishes pending changes of an incremental stream before a snapshot. Then all clients have the same data at each
  /// `seq`, whenever they joined.
  func prepareSnapshot(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {}

  /// Appends a snapshot's `data`; false if there is none.
  func appendSnapshot(in publisher: StreamPublisher, now: Timestamp, to out: inout ByteBuffer) -> Bool { false }

  /// Whether a snapshot has ages. They are computed at each call, so a cached one would be wrong even at the same
  /// `seq`.
  var hasAges: Bool { false }

  /// The state that the reply to a joining client has: `live`, or what prevents data.
  func state(in publisher: StreamPublisher) -> String { "live" }

  /// Appends the data of a snapshot that says why there is none, for a client that may not know that yet; false if the
  /// channel has no such message, or there is data.
  func appendSyncing(in publisher: StreamPublisher, now: Timestamp, to out: inout ByteBuffer) -> Bool { false }
}

/// The start of a message up to and with `"data":`; a `}` ends it.
enum Envelope {
  static func appendSnapshot(
    of stream: PublishedStream, reason: SnapshotReason, now: Timestamp, to out: inout ByteBuffer
  ) {
    out.append("{\"type\":\"snapshot\",")
    out.append(stream.label)
    out.append(",\"seq\":")
    out.append(integer: stream.seq)
    switch reason {
    case .subscribe: out.append(",\"reason\":\"subscribe\",\"time\":")
    case .resume: out.append(",\"reason\":\"resume\",\"time\":")
    case .resync: out.append(",\"reason\":\"resync\",\"time\":")
    case .slow: out.append(",\"reason\":\"slow\",\"time\":")
    case .epoch: out.append(",\"reason\":\"epoch\",\"time\":")
    }
    out.append(integer: now.microseconds)
    out.append(",\"data\":")
  }

  static func appendUpdate(of stream: PublishedStream, prev: UInt64, now: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"type\":\"update\",")
    out.append(stream.label)
    out.append(",\"prev\":")
    out.append(integer: prev)
    out.append(",\"seq\":")
    out.append(integer: stream.seq)
    out.append(",\"time\":")
    out.append(integer: now.microseconds)
    out.append(",\"data\":")
  }
}
