import Bytes
import MarketData

/// A stream in another protocol. Its writer knows the messages; this class knows when a stream publishes.
final class DialectStream: MarketStream {
  private let channel: DialectChannel
  private var writer: any DialectWriter

  init(_ start: StreamStart, _ channel: DialectChannel) {
    self.channel = channel
    writer = channel.makeWriter()
    super.init(start)
  }

  override var hears: MarketChangeKinds { channel.hears }

  override func clear() {
    super.clear()
    writer = channel.makeWriter()
  }

  override func show(_ instrument: PublishedInstrument) { isShown = writer.begin(DialectView(instrument)) }

  override func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    switch writer.take(change, changes, DialectView(instrument)) {
    case .never: break
    case .soon: publisher.changed(self, now: now, into: &out)
    case .endOfBatch: publisher.changedInBatch(self, now: now)
    case .whenBack:
      isShown = false
      cachedSnapshot = nil
    }
  }

  override func publishChanges(
    of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    publisher.update(self, now: now, into: &out) { [writer] messages in
      writer.appendUpdate(DialectView(instrument), now: now, to: &messages)
      return true
    }
  }

  override func prepareSnapshot(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    publisher.flush(self, now: now, into: &out)
  }

  override func rescale(_ rescaling: Rescaling, in publisher: StreamPublisher, now: Timestamp) {
    publisher.restart(self, now: now)
  }

  /// Appends the first message of a subscriber; false if there is no data.
  func appendFirst(in publisher: StreamPublisher, now: Timestamp, to out: inout DialectMessages) -> Bool {
    guard let instrument = instrument(in: publisher) else { return false }
    return writer.appendSnapshot(DialectView(instrument), now: now, to: &out)
  }
}
