import Bytes
import MarketData
import WebSocket

/// The number of a stream; the same for every client of this run. `number % loops` is the loop that publishes it.
@frozen
package struct StreamID: Sendable, Hashable, RawRepresentable {
  package let rawValue: UInt32
  @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// A client of one loop's `FanOut`. Slots are reused; the generation tells an old client of a slot from a new one.
@frozen
package struct ClientID: Sendable, Hashable {
  package let slot: UInt32
  package let generation: UInt32
  @inlinable package init(slot: UInt32, generation: UInt32) { self.slot = slot; self.generation = generation }
}

/// One encoded message of a stream: a whole unmasked WebSocket text frame, made once and shared by all its subscribers.
package struct StreamFrame: Sendable {
  package enum Kind: Sendable { case snapshot, update }
  package var stream: StreamID
  package var kind: Kind
  package var prev: UInt64
  package var seq: UInt64
  /// Events it carries, for the bound of event channels and `notice lost`; 0 on state channels.
  package var events: UInt32
  package var bytes: SharedBytes
}

/// What a hub wants carried to the loops that have clients. FIFO per loop, which is what makes snapshots and updates link.
package enum Delivery: Sendable {
  /// To every subscriber of the stream on the loops of the bit mask (bit n: loop n).
  case frame(StreamFrame, loops: UInt64)
  /// The answer to a `JoinRequest`, with the snapshot if there is data; to one client of one loop.
  case joined(JoinResult, loop: Int, client: ClientID)
  /// A fresh snapshot for one client, after its frames were merged.
  case snapshot(StreamFrame, loop: Int, client: ClientID)
}

/// What a fan-out wants from the loop that publishes a stream.
package enum HubCommand: Sendable {
  case join(JoinRequest)
  /// The loop has no subscriber of the stream left.
  case leave(StreamID, loop: Int)
  /// Send this client a fresh snapshot with this reason.
  case resnapshot(StreamID, loop: Int, client: ClientID, reason: SnapshotReason)
}

/// Why a snapshot is sent (PROTOCOL, section 4).
package enum SnapshotReason: String, Sendable { case subscribe, resume, resync, slow, epoch }

package enum ChannelName: String, Sendable, CaseIterable { case trades, quote, ticker, pulse, book, sparkline, status }

/// What makes two subscriptions the same stream.
package struct StreamKey: Sendable, Hashable {
  package var channel: ChannelName
  /// `kraken:BTC-USD`; empty for `status`.
  package var symbol: String
  /// Levels a side of a `book`: 10, 25, 100, or 0 for all.
  package var depth: UInt16
  /// Points of a `sparkline`.
  package var points: UInt16
  /// 0 (every update), 100, 250, 1000 or 5000 ms.
  package var intervalMilliseconds: UInt16
  package init(channel: ChannelName, symbol: String, depth: UInt16 = 0, points: UInt16 = 0, intervalMilliseconds: UInt16 = 0) {
    self.channel = channel; self.symbol = symbol; self.depth = depth; self.points = points
    self.intervalMilliseconds = intervalMilliseconds
  }
}

package struct JoinRequest: Sendable {
  package var key: StreamKey
  /// The slot of the market in the hub; ignored for `status`.
  package var market: Int
  package var instrument: InstrumentID
  /// Who asks.
  package var loop: Int
  package var client: ClientID
  /// The client's request and the item in it, echoed in the result.
  package var request: UInt32
  package var item: UInt32
  package var reason: SnapshotReason
}

package struct JoinResult: Sendable {
  package var stream: StreamID
  package var key: StreamKey
  package var epoch: String
  package var seq: UInt64
  /// `live`, `syncing`, ...: of the feed or the symbol's book.
  package var state: String
  package var request: UInt32
  package var item: UInt32
  /// Nil while there is nothing to show (no trade yet, a book out of sync): the snapshot follows when there is.
  package var snapshot: StreamFrame?
}

/// The publishing half of the fan-out, one per loop that has markets: it owns the streams of their instruments, encodes
/// each update once per stream, and says which loops it goes to. Sans-IO.
package final class Hub {
  /// - Parameters:
  ///   - loop: this loop; stream numbers are striped so that `number % loops == loop`.
  ///   - epoch: of this run; changes when numbering restarts.
  package init(loop: Int, loops: Int, epoch: String) {}

  /// Adds a market whose changes will be published; returns its slot.
  package func add(market: Market, venue: String) -> Int { fatalError("being written") }

  /// Carries out what a fan-out asked for.
  package func perform(_ command: HubCommand, now: Timestamp, into out: inout [Delivery]) { fatalError("being written") }

  /// Publishes what a batch changed: streams at full rate at once, the others at their next tick.
  package func publish(_ changes: borrowing MarketChanges, market: Int, now: Timestamp, into out: inout [Delivery]) {
    fatalError("being written")
  }

  /// Replaces the feed states that the `status` stream shows; publishes if something other than an age changed. Loop 0 only.
  package func publish(status: [FeedStatus], now: Timestamp, into out: inout [Delivery]) { fatalError("being written") }

  /// Publishes rate-limited streams that are due.
  package func advance(to now: Timestamp, into out: inout [Delivery]) { fatalError("being written") }

  /// When `advance` next has something to do.
  package var nextDeadline: Timestamp { fatalError("being written") }
}
