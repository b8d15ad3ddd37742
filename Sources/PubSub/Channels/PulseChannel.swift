import Bytes
import MarketData

/// `pulse`: that the price moved, at most ten times a second. The first pulse of an instrument has no `previous` and so
/// no `direction` or `change_pct`.
enum PulseChannel: Channel {
  static let facts = ChannelFacts(
    composites: .documents, rate: .requested(usual: 100, fastest: 100), naturalInterval: 100,
    hears: [.pulse, .channel], rank: 3, hasGroups: true,
    binary: .pulse)
  static let data = WireDescription.ChannelData(["price", "merged", "time"])

  static func makeStream(_ start: StreamStart) -> PublishedStream { PulseStream(start) }

  /// `{"price":"…","merged":0,"time":…,"state":"syncing","reason":"…"}`: the price did not move, but its state changed.
  static func append(
    _ price: Int64, _ mark: ChannelMark, time: Timestamp, of instrument: Instrument, to out: inout ByteBuffer
  ) {
    out.append("{\"price\":\"")
    out.append(decimal: price, scale: instrument.priceScale)
    out.append("\",\"merged\":0,\"time\":")
    out.append(integer: time.microseconds)
    mark.append(to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// - Parameters:
  ///   - changePercent: the change of 24 h to the pulse's price, with two digits, if known.
  ///   - mark: the state of the price, if it is to be told.
  static func append(
    _ pulse: Pulse, changePercent: Int64?, of instrument: Instrument, mark: ChannelMark? = nil,
    to out: inout ByteBuffer
  ) {
    out.append(UInt8(ascii: "{"))
    if let previous = pulse.previous {
      if pulse.price >= previous {
        out.append("\"direction\":\"up\",\"price\":\"")
      } else {
        out.append("\"direction\":\"down\",\"price\":\"")
      }
      out.append(decimal: pulse.price, scale: instrument.priceScale)
      out.append("\",\"previous\":\"")
      out.append(decimal: previous, scale: instrument.priceScale)
      out.append("\",")
      if let change = Ratio.percent(pulse.price &- previous, of: previous, digits: 4) {
        out.append("\"change_pct\":\"")
        out.append(change)
        out.append("\",")
      }
    } else {
      out.append("\"price\":\"")
      out.append(decimal: pulse.price, scale: instrument.priceScale)
      out.append("\",")
    }
    if let changePercent {
      out.append("\"change_pct_24h\":\"")
      out.append(decimal: changePercent, scale: 2)
      out.append("\",")
    }
    out.append("\"merged\":")
    out.append(integer: Int64(pulse.merged))
    out.append(",\"time\":")
    out.append(integer: pulse.time.microseconds)
    mark?.append(to: &out)
    out.append(UInt8(ascii: "}"))
  }
}

/// A stream of pulses. `PulseMerger` merges them to ten a second.
final class PulseStream: MarketStream {
  /// The revision of the instrument's figures in the last snapshot.
  private var figures: UInt64 = 0

  override func show(_ instrument: PublishedInstrument) { isShown = instrument.lastPulse != nil }

  override func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    switch change {
    case .pulse: publisher.changed(self, now: now, into: &out)
    case .channel(_, .trades, _) where isShown && isRunning:
      guard let price = instrument.lastPulse?.price else { return }
      let mark = instrument.state.mark(.trades)
      publisher.update(self, events: 0, now: now, into: &out) {
        if isBinary { return PulseChannel.appendBinary(price, mark, time: now, now: now, to: &$0) }
        PulseChannel.append(price, mark, time: now, of: instrument.state.instrument, to: &$0)
      }
    default: break
    }
  }

  override func publishChanges(
    of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    guard let pulse = instrument.lastPulse else { return }
    publisher.update(self, events: 0, now: now, into: &out) { append(pulse, of: instrument, now: now, to: &$0) }
  }

  /// Beside the last pulse a snapshot has the present change of 24 h.
  override func prepareSnapshot(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    guard let state = instrument(in: publisher)?.state else { return }
    if figures != state.revision.number(of: .figures) { cachedSnapshot = nil }
  }

  override func appendSnapshot(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    guard let pulse = instrument.lastPulse else { return false }
    figures = instrument.state.revision.number(of: .figures)
    append(pulse, of: instrument, now: now, to: &out)
    return true
  }

  private func append(
    _ pulse: Pulse, of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer
  ) {
    let state = instrument.state
    let change = state.dayChange(to: pulse.price, now: now)
    let mark = state.silenceMark(.trades)
    if isBinary {
      return PulseChannel.appendBinary(pulse, changePercent: change?.percent, mark: mark, now: now, to: &out)
    }
    PulseChannel.append(pulse, changePercent: change?.percent, of: state.instrument, mark: mark, to: &out)
  }
}
