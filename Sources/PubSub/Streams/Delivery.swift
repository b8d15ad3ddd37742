import Bytes
import MarketData

/// A client of one loop's `SubscriberHub`. Slots are reused; the generation tells an old client of a slot from a new
/// one.
@frozen
package struct ClientID: Sendable, Hashable {
  package let slot: UInt32
  package let generation: UInt32
  @inlinable package init(slot: UInt32, generation: UInt32) {
    self.slot = slot
    self.generation = generation
  }
}

/// One encoded message of a stream: a whole unmasked WebSocket frame, made once and shared by all its subscribers.
package struct StreamFrame: Sendable {
  package enum Kind: Sendable { case snapshot, update }
  package var stream: StreamID
  package var kind: Kind
  /// The `seq` that an update follows; for a snapshot, its own.
  package var prev: UInt64
  package var seq: UInt64
  /// The number of events in the message, for the bound of event channels and `notice lost`; 0 on state channels.
  package var events: UInt32
  package var bytes: SharedBytes

  package init(stream: StreamID, kind: Kind, prev: UInt64, seq: UInt64, events: UInt32, bytes: SharedBytes) {
    self.stream = stream
    self.kind = kind
    self.prev = prev
    self.seq = seq
    self.events = events
    self.bytes = bytes
  }
}

/// A publisher's output for the loops with clients. FIFO per loop, so that snapshots and updates link.
package enum Delivery: Sendable {
  /// To every subscriber of the stream on the loops of the bit mask (bit n: loop n).
  case frame(StreamFrame, loops: UInt64)
  /// The answer to a `JoinRequest`, with the snapshot if there is data; to one client of one loop.
  case joined(JoinResult, loop: Int, client: ClientID)
  /// A fresh snapshot for one client, after its frames were merged.
  case snapshot(StreamFrame, loop: Int, client: ClientID)
  /// There is no data for that snapshot: the stream's next frame will be a snapshot for all.
  case nothing(StreamID, loop: Int, client: ClientID)
  /// Replaces frames of a stream that a busy loop could not take, for all subscribers there.
  case missed(MissedFrames, loop: Int)
}

/// A run of updates of one stream that was not delivered.
package struct MissedFrames: Sendable, Equatable {
  package var stream: StreamID
  /// The `seq` of the first and of the last.
  package var first: UInt64
  package var last: UInt64
  /// The number of their events; 0 on state channels.
  package var events: UInt64
}

/// A hub's command to the loop that publishes a stream.
package enum PublisherCommand: Sendable {
  case join(JoinRequest)
  /// The loop has no subscriber of the stream left.
  case leave(StreamID, loop: Int)
  /// Send this client a fresh snapshot with this reason.
  case resnapshot(StreamID, loop: Int, client: ClientID, reason: SnapshotReason)
}

/// Why a snapshot is sent.
package enum SnapshotReason: String, Sendable, CaseIterable {
  /// The client subscribed.
  case subscribe
  /// The client paused and resumed, or reconnected after missing more than the ring of the stream has.
  case resume
  /// The publisher began the state anew: a book is in sync again, or there were too many changes for one update.
  case resync
  /// Messages were merged because the client was slow.
  case slow
  /// The numbering restarted: the client's position is of another epoch.
  case epoch
}

package struct JoinRequest: Sendable {
  package var key: StreamKey
  /// The slot of the market in the publisher; ignored for `status`.
  package var market: Int
  package var instrument: InstrumentID
  /// The requester.
  package var loop: Int
  package var client: ClientID
  /// The client's request and the item in it, echoed in the result.
  package var request: UInt32
  package var item: UInt32
  package var reason: SnapshotReason
  /// Where the client stopped, if it reconnects.
  package var position: StreamPosition?
  /// Where each member of a group is published, in the order of the key's symbols.
  package var members: [GroupMember]

  package init(
    key: StreamKey, market: Int, instrument: InstrumentID, loop: Int, client: ClientID, request: UInt32, item: UInt32,
    reason: SnapshotReason, position: StreamPosition? = nil, members: [GroupMember] = []
  ) {
    self.key = key
    self.market = market
    self.instrument = instrument
    self.loop = loop
    self.client = client
    self.request = request
    self.item = item
    self.reason = reason
    self.position = position
    self.members = members
  }
}

package struct JoinResult: Sendable {
  package var stream: StreamID
  package var key: StreamKey
  package var epoch: String
  package var seq: UInt64
  /// For `book`, the state of the symbol's book (`live` or `syncing`), otherwise `live`. The feed's state replaces it
  /// in the hub.
  package var state: String
  package var request: UInt32
  package var item: UInt32
  /// Nil while there is no data (no trade yet, a book out of sync): the snapshot follows later.
  package var snapshot: StreamFrame?
  /// Whether the stream continues where the client stopped: then the missed messages replace the snapshot. Nil if the
  /// client sent no position.
  package var isRecovered: Bool?
  package var replay: [StreamFrame] = []
  /// The base time and digits of its binary records; nil: its messages are text.
  package var scale: BinaryScale?
}
