import Bytes
import MarketData

/// A stream of trades as the next run of the gateway continues with it: its place in the numbering, and the messages
/// that a returning client may have missed.
package struct KeptStream: Sendable {
  package struct Message: Sendable {
    package var prev: UInt64
    package var seq: UInt64
    package var events: UInt32
    package var time: Timestamp
    /// The whole frame.
    package var bytes: SharedBytes

    package init(prev: UInt64, seq: UInt64, events: UInt32, time: Timestamp, bytes: SharedBytes) {
      self.prev = prev
      self.seq = seq
      self.events = events
      self.time = time
      self.bytes = bytes
    }
  }

  package var number: UInt32
  /// The slot of its market in the publisher, and the instrument there.
  package var market: Int
  package var instrument: InstrumentID
  package var symbol: String
  /// The interval of its rate class, ms.
  package var interval: UInt16
  /// The `seq` of its last message.
  package var seq: UInt64
  /// Oldest first, without a gap up to `seq`; empty if no messages were kept.
  package var messages: [Message]
  /// The base time and digits of its binary records; nil: its messages are text.
  package var scale: BinaryScale?

  package init(
    number: UInt32, market: Int, instrument: InstrumentID, symbol: String, interval: UInt16, seq: UInt64,
    messages: [Message], scale: BinaryScale? = nil
  ) {
    self.number = number
    self.market = market
    self.instrument = instrument
    self.symbol = symbol
    self.interval = interval
    self.seq = seq
    self.messages = messages
    self.scale = scale
  }
}

/// Where the numbering of an epoch continues after a run that ended normally.
package struct KeptNumbering: Sendable {
  package var epoch: String
  /// No message of the epoch has a higher `seq`.
  package var highest: UInt64
  /// The numbers of streams that are, or may be, restored.
  package var numbers: Set<UInt32>

  package init(epoch: String, highest: UInt64 = 0, numbers: Set<UInt32> = []) {
    self.epoch = epoch
    self.highest = highest
    self.numbers = numbers
  }
}
