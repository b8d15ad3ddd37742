import Bytes
import MarketData
import PubSub
import Venues

/// Publishes replayed markets as the gateway does, to a subscriber of everything, at the times of the recording: all
/// trades, liquidations, quotes and whole books as they come, tickers, derivatives and sparklines every second, pulses
/// and 25 levels of the books every 100 ms.
///
/// The same recordings give the same bytes, however fast they are played and on every machine.
package final class ReplayPublisher {
  /// The streams of every instrument.
  private static let keys: [(channel: ChannelName, depth: UInt16, points: UInt16, interval: UInt16)] = [
    (.trades, 0, 0, 0), (.quote, 0, 0, 0), (.ticker, 0, 0, 1000), (.pulse, 0, 0, 100),
    (.book, 0, 0, 0), (.book, StreamLimits.defaultDepth, 0, 100), (.sparkline, 0, StreamLimits.defaultPoints, 1000),
  ]
  /// Those of a perpetual or dated future beside these.
  private static let contractKeys: [(channel: ChannelName, depth: UInt16, points: UInt16, interval: UInt16)] = [
    (.derivative, 0, 0, 1000), (.liquidations, 0, 0, 0),
  ]
  /// A hole in the recordings longer than this is jumped over.
  private static let longestIdle = 10 * Microseconds.minute

  private let publisher = StreamPublisher(loop: 0, loops: 1, epoch: "replay")
  private var markets: [(market: Market, joined: Int)] = []
  private var out: [Delivery] = []
  private let output: (UnsafeRawBufferPointer) throws(RecordingError) -> Void
  private let isBinary: Bool
  /// The streams by number, and what their binary records are relative to.
  package private(set) var streams: [UInt32: (key: StreamKey, scale: BinaryScale?)] = [:]
  /// Messages published.
  package private(set) var count = 0
  /// Bytes of these.
  package private(set) var bytes = 0
  /// FNV-1a (64 bits) over the length (8 bytes, low first) and the text of each message.
  package private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325

  /// - Parameters:
  ///   - isBinary: whether the messages are binary records.
  ///   - output: is handed the content of every message.
  package init(
    isBinary: Bool = false, output: @escaping (UnsafeRawBufferPointer) throws(RecordingError) -> Void = { _ in }
  ) {
    self.isBinary = isBinary
    self.output = output
  }

  /// Adds a market before anything of it is published; answers its slot.
  package func add(_ market: Market, venue: String) -> Int {
    markets.append((market, 0))
    return publisher.add(market: market, venue: venue)
  }

  /// The next moment at which something is due that no message brings.
  private var deadline: Timestamp { markets.reduce(publisher.nextDeadline) { min($0, $1.market.nextDeadline) } }

  /// Brings the pipelines and the streams up to `time`, one moment after the other.
  /// - Parameter pipelines: by slot.
  func advance(to time: Timestamp, _ pipelines: [FeedPipelineSlot]) throws(RecordingError) {
    while deadline <= time {
      let due = time - deadline > Self.longestIdle ? time : deadline
      for entry in pipelines where entry.pipeline.market.nextDeadline <= due {
        entry.pipeline.advance(now: due)
        try publish(entry, at: due)
      }
      if publisher.nextDeadline <= due { publisher.advance(to: due, into: &out) }
      try deliver()
      // Whatever does not move on must not hold everything up.
      if deadline <= due { break }
    }
  }

  /// Publishes what a pipeline changed and empties that.
  func publish(_ entry: FeedPipelineSlot, at now: Timestamp) throws(RecordingError) {
    let pipeline = entry.pipeline
    guard !pipeline.changes.items.isEmpty else { return }
    publisher.publish(pipeline.changes, market: entry.slot, now: now, into: &out)
    pipeline.clear()
    let market = pipeline.market
    while markets[entry.slot].joined < market.instruments.count {
      let instrument = market.instruments[markets[entry.slot].joined].instrument
      markets[entry.slot].joined += 1
      for key in Self.keys + (instrument.kind == .spot ? [] : Self.contractKeys) {
        var stream = StreamKey(
          channel: key.channel, symbol: instrument.symbol, depth: key.depth, points: key.points,
          intervalMilliseconds: key.interval)
        if isBinary { stream.setBinary() }
        let request = JoinRequest(
          key: stream, market: entry.slot, instrument: instrument.id, loop: 0,
          client: ClientID(slot: 0, generation: 0), request: 0, item: 0, reason: .subscribe)
        publisher.perform(.join(request), now: now, into: &out)
      }
    }
    try deliver()
  }

  private func deliver() throws(RecordingError) {
    guard !out.isEmpty else { return }
    defer { out.removeAll(keepingCapacity: true) }
    for delivery in out {
      switch delivery {
      case .frame(let frame, _), .snapshot(let frame, _, _): try take(frame)
      case .joined(let result, _, _):
        streams[result.stream.rawValue] = (result.key, result.scale)
        if let frame = result.snapshot { try take(frame) }
      // Nothing is delivered to other loops here.
      case .nothing, .missed: break
      }
    }
  }

  private func take(_ frame: StreamFrame) throws(RecordingError) {
    let whole = UnsafeRawBufferPointer(start: frame.bytes.start, count: frame.bytes.count)
    // RFC 6455 section 5.2: an unmasked frame's header has 2, 4 or 10 bytes.
    let header =
      switch whole[1] {
      case 126: 4
      case 127: 10
      default: 2
      }
    let text = UnsafeRawBufferPointer(rebasing: whole[header...])
    count += 1
    bytes += text.count
    var hash = digest
    withUnsafeBytes(of: UInt64(text.count).littleEndian) { length in
      for byte in length { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
    for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    digest = hash
    try withExtendedLifetime(frame) { () throws(RecordingError) in try output(text) }
  }
}
