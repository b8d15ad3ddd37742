import Bytes
import MarketData

/// A stream of trades as the next run of the gateway goes on with it: its place in the numbering, and the messages that
/// a client which comes back may have missed.
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
  /// Of its rate class, ms.
  package var interval: UInt16
  /// Of its last message.
  package var seq: UInt64
  /// Oldest first, without a hole up to `seq`; empty where nothing is remembered.
  package var messages: [Message]

  package init(
    number: UInt32, market: Int, instrument: InstrumentID, symbol: String, interval: UInt16, seq: UInt64,
    messages: [Message]
  ) {
    self.number = number
    self.market = market
    self.instrument = instrument
    self.symbol = symbol
    self.interval = interval
    self.seq = seq
    self.messages = messages
  }
}

/// Where the numbering of an epoch goes on after a run that has ended in order.
package struct KeptNumbering: Sendable {
  package var epoch: String
  /// No message of the epoch has a higher `seq`.
  package var highest: UInt64
  /// Numbers of streams that are restored, or may be.
  package var numbers: Set<UInt32>

  package init(epoch: String, highest: UInt64 = 0, numbers: Set<UInt32> = []) {
    self.epoch = epoch
    self.highest = highest
    self.numbers = numbers
  }
}

/// What outlives a run of the gateway.
///
/// Streams of trades go on where the earlier run ended, under their numbers and its epoch. Every other stream begins
/// above all numbers that the epoch has seen: its clients get a snapshot, whatever position they come with.
extension StreamPublisher {
  /// Bytes of messages that are kept of all streams; of the rest the positions alone.
  static let keptBytesLimit = 16 << 20
  /// What may still be published on other streams after `keep`, until the loop ends.
  static let numberingMargin: UInt64 = 1 << 20

  /// The streams of trades that run, with what has been published on them; what was gathered is published first. When
  /// the feeds have ended: nothing more may be published on these streams in this run. O(messages).
  package func keep(now: Timestamp, into out: inout [Delivery]) -> [KeptStream] {
    var kept: [KeptStream] = []
    var room = Self.keptBytesLimit
    for case let stream? in streams where stream.key.channel == .trades && stream.isRunning {
      guard instrument(of: stream) != nil else { continue }
      flush(stream, now: now, into: &out)
      var result = KeptStream(
        number: stream.id.rawValue, market: stream.market, instrument: stream.instrument, symbol: stream.key.symbol,
        interval: stream.interval, seq: stream.seq, messages: [])
      if stream.ring.bytes <= room {
        room -= stream.ring.bytes
        result.messages = stream.ring.messages.map { item in
          KeptStream.Message(
            prev: item.frame.prev, seq: item.frame.seq, events: item.frame.events, time: item.time + stepped,
            bytes: item.frame.bytes)
        }
      }
      kept.append(result)
    }
    return kept
  }

  /// The highest `seq` of this run so far, and a margin for what follows until its end. O(streams).
  package var highestSeq: UInt64 {
    streams.reduce(retiredSeq) { max($0, $1?.seq ?? 0) } + Self.numberingMargin
  }

  /// Takes up a stream of an earlier run, before anybody joins it. It runs until `time`, whether or not somebody
  /// subscribes, so that its memory has no hole.
  /// - Returns: false if there is another with its number or its key.
  @discardableResult
  package func restore(_ kept: KeptStream, until time: Timestamp, now: Timestamp) -> Bool {
    let key = StreamKey(channel: .trades, symbol: kept.symbol, intervalMilliseconds: kept.interval)
    let index = Int(kept.number) / loops
    guard reserved.remove(kept.number) != nil, byKey[key] == nil, self.stream(StreamID(rawValue: kept.number)) == nil
    else { return false }
    while streams.count <= index { streams.append(nil) }
    let stream = PublishedStream(id: StreamID(rawValue: kept.number), seq: kept.seq, key: key)
    stream.assign(key, market: kept.market, instrument: kept.instrument)
    streams[index] = stream
    byKey[key] = stream
    stream.isHeld = true
    stream.isShown = true
    held.append((stream, steady(time)))
    instrument(of: stream)?.add(stream)
    for message in kept.messages {
      let frame = StreamFrame(
        stream: stream.id, kind: .update, prev: message.prev, seq: message.seq, events: message.events,
        bytes: message.bytes)
      // A clock that was set back would keep them for ever.
      remember(frame, of: stream, now: min(message.time, now))
    }
    return true
  }

  /// Ends the streams that were held for clients of an earlier run and have nobody. Once a second. O(held) at most.
  package func releaseHeld(now: Timestamp) {
    guard let first = held.first, first.until <= steady(now) else { return }
    held.removeAll { stream, until in
      guard until <= steady(now) else { return false }
      stream.isHeld = false
      if stream.loops == 0 { sleep(stream) }
      return true
    }
  }
}
