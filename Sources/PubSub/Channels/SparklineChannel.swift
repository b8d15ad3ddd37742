import Bytes
import MarketData

/// `sparkline`: the last price of each of n equal slices of a range, and the newest point as it moves.
enum SparklineChannel: Channel {
  /// Lines move so little that the rate-limited classes start at 1 s.
  static let facts = ChannelFacts(
    composites: .state, rate: .requested(usual: 1000, fastest: 1000, allowsEvery: true),
    parameters: [.range, .points], hasLargeSnapshots: true, hears: [.sparkline, .ticker, .past], rank: 5,
    hasGroups: true, binary: .sparkline)
  static let data = WireDescription.ChannelData(
    ["range", "from", "step_s", "points", "gaps"], update: ["index", "price", "from"])

  static func makeStream(_ start: StreamStart) -> PublishedStream { SparklineStream(start) }

  static func ringLimits(of key: StreamKey) -> ReplayRing.Limits? {
    .differences(snapshotBytes: 16 * Int(key.points))
  }

  static func addNeeds(of key: StreamKey, to wants: inout CompositeWants) {
    wants.add(key.range.candles.interval, key.range.candles.count)
  }

  /// `"range":"24h","from":…,"step_s":900,"points":[…],"open":"…","trend":"up","change":"1.5","change_pct":"0.12",
  /// "covered_from":…,"gaps":[{"from":…,"to":…}]`, without braces. The trend and the change compare the same two
  /// prices: `open` and the last point.
  static func appendSnapshot(_ line: Sparkline, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append("\"range\":\"")
    out.append(line.range.name)
    out.append("\",\"from\":")
    out.append(integer: line.from.microseconds)
    out.append(",\"step_s\":")
    out.append(integer: line.step / Microseconds.second)
    out.append(",\"points\":[")
    var isFirst = true
    for point in line.points {
      if isFirst { out.append(UInt8(ascii: "\"")) } else { out.append(",\"") }
      isFirst = false
      out.append(decimal: point, scale: instrument.priceScale)
      out.append(UInt8(ascii: "\""))
    }
    out.append(UInt8(ascii: "]"))
    append(line.change, of: instrument, to: &out)
    if let coveredFrom = line.coveredFrom {
      out.append(",\"covered_from\":")
      out.append(integer: coveredFrom.microseconds)
    }
    out.append(",\"gaps\":[")
    for (index, gap) in line.gaps.enumerated() {
      out.append(index == 0 ? "{\"from\":" : ",{\"from\":")
      out.append(integer: gap.from.microseconds)
      out.append(",\"to\":")
      out.append(integer: gap.to.microseconds)
      out.append(UInt8(ascii: "}"))
    }
    out.append(UInt8(ascii: "]"))
  }

  /// `{"index":95,"price":"…","from":…,"open":"…","trend":"up","change":"1.5","change_pct":"0.12"}`
  static func appendUpdate(
    _ tip: SparklineTip, _ change: PriceChange?, of instrument: Instrument, to out: inout ByteBuffer
  ) {
    out.append("{\"index\":")
    out.append(integer: Int64(tip.index))
    out.append(",\"price\":\"")
    out.append(decimal: tip.price, scale: instrument.priceScale)
    out.append("\",\"from\":")
    out.append(integer: tip.from.microseconds)
    append(change, of: instrument, to: &out)
    out.append(UInt8(ascii: "}"))
  }

  private static func append(_ change: PriceChange?, of instrument: Instrument, to out: inout ByteBuffer) {
    guard let change else { return }
    if let open = change.open {
      out.append(",\"open\":\"")
      out.append(decimal: open, scale: instrument.priceScale)
      out.append(UInt8(ascii: "\""))
    }
    let trend = change.trend
    out.append(trend > 0 ? ",\"trend\":\"up\"" : trend < 0 ? ",\"trend\":\"down\"" : ",\"trend\":\"flat\"")
    if let amount = change.change {
      out.append(",\"change\":\"")
      out.append(amount)
      out.append(UInt8(ascii: "\""))
    }
    if let percent = change.percent {
      out.append(",\"change_pct\":\"")
      out.append(decimal: percent, scale: WindowFigures.percentDigits)
      out.append(UInt8(ascii: "\""))
    }
  }
}

/// A stream of a line.
final class SparklineStream: MarketStream {
  /// The last published tip, and the coverage of its line.
  private var tip: SparklineTip?
  private var coverageRevision: UInt32 = 0
  /// The price at the beginning of that line, and the last published change over it.
  private var open: Int64?
  private var change: PriceChange?
  /// For a composite: the line that clients have.
  private var line: Sparkline?

  override func clear() {
    super.clear()
    tip = nil
    open = nil
    change = nil
    line = nil
  }

  override func show(_ instrument: PublishedInstrument) { isShown = instrument.state.hasLine(key.range) }

  override func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    switch change {
    case .sparkline, .past: publisher.changed(self, now: now, into: &out)
    // The change over a day follows from the ticker.
    case .ticker where key.range == .day: publisher.changed(self, now: now, into: &out)
    default: break
    }
  }

  override func publishChanges(
    of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    if instrument.state.isComposite {
      publishCompositeLine(instrument.state, in: publisher, now: now, into: &out)
    } else {
      publishTip(instrument.state, in: publisher, now: now, into: &out)
    }
  }

  private func publishTip(
    _ state: InstrumentState, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    guard let newTip = state.sparklineTip(key.range, points: Int(key.points), now: now) else { return }
    guard let old = tip, newTip.revision == old.revision, newTip.step == old.step,
      coverageRevision == state.chart.coverageRevision
    else { return publisher.republish(self, now: now, into: &out) }
    if newTip.from != old.from { open = state.lineOpen(key.range, points: Int(key.points), now: now) }
    let newChange = state.change(over: key.range, from: open, to: newTip.price, now: now)
    guard newTip != old || newChange != change else { return }
    tip = newTip
    change = newChange
    publisher.update(self, events: 0, now: now, into: &out) {
      append(newTip, newChange, of: state.instrument, now: now, to: &$0)
    }
  }

  /// Publishes the newest point, or the whole line if a client could not make it of the line that it has.
  private func publishCompositeLine(
    _ state: InstrumentState, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    let newLine = state.sparkline(key.range, points: Int(key.points), now: now)
    guard let newTip = newLine.tip else { return }
    guard let shown = line, shown.leads(to: newLine, now: now) else {
      return publisher.republish(self, now: now, into: &out)
    }
    line = newLine
    guard newTip != shown.tip || newLine.change != shown.change else { return }
    publisher.update(self, events: 0, now: now, into: &out) {
      append(newTip, newLine.change, of: state.instrument, now: now, to: &$0)
    }
  }

  private func append(
    _ tip: SparklineTip, _ change: PriceChange?, of instrument: Instrument, now: Timestamp, to out: inout ByteBuffer
  ) {
    if isBinary { return SparklineChannel.appendBinaryUpdate(tip, change, now: now, to: &out) }
    SparklineChannel.appendUpdate(tip, change, of: instrument, to: &out)
  }

  /// The change of a line may have moved with time alone.
  override func prepareSnapshot(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    if isDirty || isShown && cachedSnapshot == nil { publisher.flush(self, now: now, into: &out) }
  }

  override func appendSnapshot(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    let state = instrument.state
    let points = Int(key.points)
    guard let newTip = state.sparklineTip(key.range, points: points, now: now) else { return false }
    tip = newTip
    coverageRevision = state.chart.coverageRevision
    let newLine = state.sparkline(key.range, points: points, now: now)
    (open, change) = (newLine.open, newLine.change)
    if state.isComposite { line = newLine }
    if isBinary {
      SparklineChannel.appendBinarySnapshot(newLine, now: now, to: &out)
      return true
    }
    out.append(UInt8(ascii: "{"))
    SparklineChannel.appendSnapshot(newLine, of: state.instrument, to: &out)
    out.append(UInt8(ascii: "}"))
    return true
  }

  override func rescale(_ rescaling: Rescaling, in publisher: StreamPublisher, now: Timestamp) {
    publisher.restart(self, now: now)
  }
}
