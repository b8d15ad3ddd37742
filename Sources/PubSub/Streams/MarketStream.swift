import Bytes
import MarketData

/// A stream that shows an instrument of a market, or the state of a composite market. Each channel of markets has a
/// subclass.
class MarketStream: PublishedStream {
  /// The slot of its market in the publisher.
  let market: Int
  let instrument: InstrumentID
  private let isOfCompositeState: Bool

  override init(_ start: StreamStart) {
    market = start.market
    instrument = start.instrument
    isOfCompositeState = start.key.isOfCompositeState
    super.init(start)
  }

  /// The publisher's state of its instrument; nil if the market does not have the instrument.
  func instrument(in publisher: StreamPublisher) -> PublishedInstrument? {
    if isOfCompositeState { return publisher.composites.instrument(of: key.symbol) }
    guard market >= 0, market < publisher.markets.count else { return nil }
    return publisher.markets[market].instrument(instrument)
  }

  private var route: MarketRoute { MarketRoute(market: market, instrument: instrument) }

  override func wake(in publisher: StreamPublisher) {
    let wish = key.channel.facts.wish
    if !wish.isEmpty { publisher.wishes.add(id, at: route, wish) }
    if isOfCompositeState { publisher.composites.add(self) }
    guard let instrument = instrument(in: publisher) else { return }
    instrument.add(self)
    show(instrument)
  }

  override func sleep(in publisher: StreamPublisher) {
    if key.channel.isOfDerivatives { publisher.wishes.remove(id, at: route) }
    if isOfCompositeState {
      publisher.composites.remove(self)
    } else {
      instrument(in: publisher)?.remove(self)
    }
  }

  override func digits(in publisher: StreamPublisher) -> (price: UInt8, size: UInt8) {
    guard let instrument = instrument(in: publisher)?.state.instrument else { return (0, 0) }
    return (instrument.priceScale, instrument.sizeScale)
  }

  override func flush(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    guard let instrument = instrument(in: publisher) else { return }
    guard isShown else {
      show(instrument)
      if isShown { publisher.publishDue(self, now: now, into: &out) }
      return
    }
    publishChanges(of: instrument, in: publisher, now: now, into: &out)
  }

  override func appendSnapshot(in publisher: StreamPublisher, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    guard let instrument = instrument(in: publisher) else { return false }
    return appendSnapshot(of: instrument, now: now, to: &out)
  }

  override func appendSyncing(in publisher: StreamPublisher, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    guard !isShown, let instrument = instrument(in: publisher), isOutOfSync(instrument.state) else { return false }
    appendSyncing(of: instrument, now: now, to: &out)
    return true
  }

  // MARK: What a channel does

  /// The changes that it receives.
  var hears: MarketChangeKinds { key.channel.facts.hears }

  /// Takes over the present state, if there is any, as the published one; the snapshot has exactly this state.
  func show(_ instrument: PublishedInstrument) {}

  /// Publishes what changed since the last message. Precondition: the stream is shown.
  func publishChanges(
    of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {}

  /// Appends a snapshot's `data`; false if there is none.
  func appendSnapshot(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) -> Bool { false }

  /// Receives a change of the kinds in `hears`, after `instrument` has taken it.
  func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {}

  /// The scales of the instrument widened, so that the texts of all prices differ.
  func rescale(_ rescaling: Rescaling, in publisher: StreamPublisher, now: Timestamp) { cachedSnapshot = nil }

  /// The members of its composite market changed.
  func membersChanged(in publisher: StreamPublisher, now: Timestamp) {}

  /// Whether its data comes from a book or a channel that is out of sync, so that there is none.
  func isOutOfSync(_ state: InstrumentState) -> Bool { false }

  /// Appends the data that says so.
  func appendSyncing(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) {}
}

/// By what prices and sizes at narrower scales are multiplied; nil if they cannot be converted.
struct Rescaling {
  var factors: (price: Int64, size: Int64)?
}
