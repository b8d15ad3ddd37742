import Bytes
import MarketData

/// `candles`: the last candles of one interval, and each that changes. A closed one changes again only with a higher
/// `rev`.
enum CandlesChannel: Channel {
  /// Candles move so little that the rate-limited classes start at 1 s.
  static let facts = ChannelFacts(
    composites: .state, rate: .requested(usual: 1000, fastest: 1000, allowsEvery: true), parameters: [.interval],
    hears: [.trades, .tradeHole, .candles, .past], rank: 6, binary: .candles)
  static let data = WireDescription.ChannelData(["interval", "candles"])
  /// The approximate size of a candle on the wire.
  private static let bytes = 220

  static func makeStream(_ start: StreamStart) -> PublishedStream { CandlesStream(start) }

  static func ringLimits(of key: StreamKey) -> ReplayRing.Limits? {
    .differences(snapshotBytes: bytes * StreamLimits.candles)
  }

  static func addNeeds(of key: StreamKey, to wants: inout CompositeWants) {
    wants.add(key.candle, StreamLimits.candles + CompositeCandles.lead)
  }

  /// `{"interval":"1m","candles":[…]}`, in order of time, except those that late trades changed.
  static func append(
    _ candles: ArraySlice<Candle>, _ interval: CandleInterval, of instrument: Instrument, to out: inout ByteBuffer
  ) {
    out.append(UInt8(ascii: "{"))
    appendFields(candles, interval, of: instrument, to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// The same without braces.
  static func appendFields(
    _ candles: ArraySlice<Candle>, _ interval: CandleInterval, of instrument: Instrument, to out: inout ByteBuffer
  ) {
    out.append("\"interval\":\"")
    out.append(interval.name)
    out.append("\",\"candles\":[")
    var isFirst = true
    for candle in candles {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      append(candle, of: instrument, to: &out)
    }
    out.append(UInt8(ascii: "]"))
  }

  private static func append(_ candle: Candle, of instrument: Instrument, to out: inout ByteBuffer) {
    let sizeScale = Int(instrument.sizeScale)
    out.append("{\"time\":")
    out.append(integer: candle.time.microseconds)
    append(candle.open, named: "open", instrument, to: &out)
    append(candle.high, named: "high", instrument, to: &out)
    append(candle.low, named: "low", instrument, to: &out)
    append(candle.close, named: "close", instrument, to: &out)
    if let volume = Ratio.decimal(candle.volume, scale: sizeScale, digits: sizeScale) {
      append(volume, named: "volume", to: &out)
    }
    if let sum = candle.quoteVolume,
      let quoteVolume = Ratio.decimal(
        sum, scale: Int(instrument.priceScale) + sizeScale, digits: WindowFigures.quoteVolumeDigits)
    {
      append(quoteVolume, named: "quote_volume", to: &out)
    }
    if let trades = candle.trades {
      out.append(",\"trades\":")
      out.append(integer: trades)
    }
    out.append(candle.isClosed ? ",\"closed\":true,\"rev\":" : ",\"closed\":false,\"rev\":")
    out.append(integer: UInt64(candle.rev))
    out.append(",\"source\":\"")
    out.append(candle.source.name)
    out.append("\"}")
  }

  private static func append(
    _ price: Int64, named name: StaticString, _ instrument: Instrument, to out: inout ByteBuffer
  ) {
    append(Decimal64(mantissa: price, scale: instrument.priceScale), named: name, to: &out)
  }

  private static func append(_ value: Decimal64, named name: StaticString, to out: inout ByteBuffer) {
    out.append(",\"")
    out.append(name)
    out.append("\":\"")
    out.append(value)
    out.append(UInt8(ascii: "\""))
  }
}

/// A stream of candles.
final class CandlesStream: MarketStream {
  /// Candles that closed, or changed after it, since the last update.
  private var closed: [Candle] = []
  /// The open candle that clients have.
  private var open: Candle?

  override func clear() {
    super.clear()
    closed = []
    open = nil
  }

  override func show(_ instrument: PublishedInstrument) {
    isShown = instrument.state.hasCandles(key.candle)
    closed.removeAll(keepingCapacity: true)
  }

  override func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    switch change {
    case .candles(_, let range):
      let isNews = gather(changes.candles[range])
      if isShown, closed.count > StreamLimits.candles, isNews {
        publisher.republish(self, now: now, into: &out)
      } else if isNews || instrument.state.isComposite {
        publisher.changed(self, now: now, into: &out)
      }
    case .past where isShown: publisher.republish(self, now: now, into: &out)
    case .trades, .tradesMissing, .tradesSearched, .past: publisher.changed(self, now: now, into: &out)
    default: break
    }
  }

  /// Gathers the candles of the stream's interval. Returns whether there are any.
  private func gather(_ candles: ArraySlice<Candle>) -> Bool {
    let count = closed.count
    for candle in candles where candle.interval == key.candle { closed.append(candle) }
    return closed.count > count
  }

  override func publishChanges(
    of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    let present = instrument.state.openCandle(key.candle, now: now)
    if let present, present != open { closed.append(present) }
    open = present
    guard !closed.isEmpty else { return }
    publisher.update(self, events: 0, now: now, into: &out) {
      append(closed[...], of: instrument.state.instrument, to: &$0)
    }
    closed.removeAll(keepingCapacity: true)
  }

  override func prepareSnapshot(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    if isDirty { publisher.flush(self, now: now, into: &out) }
  }

  override func appendSnapshot(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    let state = instrument.state
    // The next update need not repeat the content of a snapshot.
    closed.removeAll(keepingCapacity: true)
    let candles = state.candles(
      key.candle, from: .distantPast, to: .distantFuture, limit: StreamLimits.candles, now: now)
    open = candles.last.flatMap { $0.isClosed ? nil : $0 }
    append(candles[...], of: state.instrument, to: &out)
    return true
  }

  private func append(_ candles: ArraySlice<Candle>, of instrument: Instrument, to out: inout ByteBuffer) {
    if isBinary { return CandlesChannel.appendBinary(candles, key.candle, of: instrument, to: &out) }
    CandlesChannel.append(candles, key.candle, of: instrument, to: &out)
  }

  override func rescale(_ rescaling: Rescaling, in publisher: StreamPublisher, now: Timestamp) {
    publisher.restart(self, now: now)
  }
}
