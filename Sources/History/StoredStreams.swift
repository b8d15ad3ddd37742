import Bytes
import MarketData

/// The streams and sessions that a run of the gateway that ended in order passes to the next one.
package struct StoredStreams: Sendable, Equatable {
  /// A stream of trades: its numbers, and its last messages.
  package struct Stream: Sendable, Equatable {
    package var number: UInt32
    /// The store's key of its instrument.
    package var symbol: String
    /// The interval of its rate class, ms.
    package var interval: UInt16
    package var seq: UInt64
    /// Id and time of the last trade that the stream has published; nil if there was none. The next run can continue
    /// only if the stored last trades end with this trade.
    package var last: Last?
    package var messages: [Message]
    /// The base time and digits of its binary records; nil: its messages are text.
    package var scale: Scale?

    package init(
      number: UInt32, symbol: String, interval: UInt16, seq: UInt64, last: Last?, messages: [Message],
      scale: Scale? = nil
    ) {
      self.number = number
      self.symbol = symbol
      self.interval = interval
      self.seq = seq
      self.last = last
      self.messages = messages
      self.scale = scale
    }
  }

  /// The time from which the records of a binary stream count, µs since 1970, and the digits of its prices and sizes.
  package struct Scale: Sendable, Equatable {
    package var base: Int64
    package var priceDigits: UInt8
    package var sizeDigits: UInt8

    package init(base: Int64, priceDigits: UInt8, sizeDigits: UInt8) {
      self.base = base
      self.priceDigits = priceDigits
      self.sizeDigits = sizeDigits
    }
  }

  package struct Last: Sendable, Equatable {
    package var id: String
    package var time: Timestamp

    package init(id: String, time: Timestamp) {
      self.id = id
      self.time = time
    }
  }

  package struct Message: Sendable, Equatable {
    package var prev: UInt64
    package var seq: UInt64
    package var events: UInt32
    package var time: Timestamp
    package var bytes: SharedBytes

    package init(prev: UInt64, seq: UInt64, events: UInt32, time: Timestamp, bytes: SharedBytes) {
      self.prev = prev
      self.seq = seq
      self.events = events
      self.time = time
      self.bytes = bytes
    }

    package static func == (a: Message, b: Message) -> Bool {
      a.prev == b.prev && a.seq == b.seq && a.events == b.events && a.time == b.time
        && a.bytes.unsafeBytes.elementsEqual(b.bytes.unsafeBytes)
    }
  }

  package struct Session: Sendable, Equatable {
    package var token: String
    package var subject: String?
    package var isPaused: Bool
    package var expires: Timestamp

    package init(token: String, subject: String?, isPaused: Bool, expires: Timestamp) {
      self.token = token
      self.subject = subject
      self.isPaused = isPaused
      self.expires = expires
    }
  }

  /// How long after the end of a run the next one can continue, µs: no session and no message is kept for longer.
  package static let patience = 120 * Microseconds.second

  package var epoch: String
  /// No message of the epoch has a higher `seq`.
  package var highest: UInt64
  /// Streams are numbered by the loops of the run.
  package var loops: Int
  package var streams: [Stream]
  package var sessions: [Session]

  package init(epoch: String, highest: UInt64, loops: Int, streams: [Stream], sessions: [Session]) {
    self.epoch = epoch
    self.highest = highest
    self.loops = loops
    self.streams = streams
    self.sessions = sessions
  }
}
