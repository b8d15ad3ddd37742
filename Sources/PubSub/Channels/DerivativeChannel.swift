import Bytes
import MarketData

/// `derivative`: mark, index, funding and open interest of a perpetual or dated future, as the venue says them.
enum DerivativeChannel: Channel {
  static let facts = ChannelFacts(
    composites: .documents, rate: .requested(usual: 1000), hears: .derivative, rank: 7, wish: .derivative)
  static let data = WireDescription.ChannelData(["as_of"])

  static func makeStream(_ start: StreamStart) -> PublishedStream { DerivativeStream(start) }

  /// Appends an object; unknown values are left out. `polled` and `computed` name the values that are not from the
  /// venue's stream, and `as_of` has the time of each.
  static func append(_ derivative: Derivative, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "{"))
    append(derivative.mark, "mark", to: &out)
    append(derivative.index, "index", to: &out)
    append(derivative.fundingRate, "funding_rate", to: &out)
    if let interval = derivative.fundingInterval {
      append("funding_interval_s", interval.value / Microseconds.second, to: &out)
    }
    if let time = derivative.nextFunding { append("next_funding", time.value.microseconds, to: &out) }
    append(derivative.predictedRate, "predicted_rate", to: &out)
    if derivative.isContinuous, derivative.fundingRate != nil { out.append("\"continuous\":true,") }
    append(derivative.openInterest, "open_interest", to: &out)
    append(derivative.openInterestQuote, "open_interest_quote", to: &out)
    let origins = origins(of: derivative)
    append(origins, from: .polled, "polled", to: &out)
    append(origins, from: .computed, "computed", to: &out)
    out.append("\"as_of\":{")
    var isFirst = true
    for index in origins.indices {
      let origin = origins[index]
      guard let time = origin.time else { continue }
      out.append(isFirst ? "\"" : ",\"")
      isFirst = false
      out.append(origin.name)
      out.append("\":")
      out.append(integer: time.microseconds)
    }
    out.append("}}")
  }

  /// A field with where its value comes from; without a time if it has none.
  private struct Origin {
    var name: StaticString
    var source: Derivative.Source?
    var time: Timestamp?

    init<Value>(_ name: StaticString, _ fact: Derivative.Fact<Value>?) {
      self.name = name
      source = fact?.source
      time = fact?.time
    }
  }

  private static func origins(of derivative: Derivative) -> InlineArray<8, Origin> {
    [
      Origin("mark", derivative.mark), Origin("index", derivative.index),
      Origin("funding_rate", derivative.fundingRate), Origin("funding_interval_s", derivative.fundingInterval),
      Origin("next_funding", derivative.nextFunding), Origin("predicted_rate", derivative.predictedRate),
      Origin("open_interest", derivative.openInterest), Origin("open_interest_quote", derivative.openInterestQuote),
    ]
  }

  private static func append(
    _ origins: InlineArray<8, Origin>, from source: Derivative.Source, _ name: StaticString, to out: inout ByteBuffer
  ) {
    var isFirst = true
    for index in origins.indices where origins[index].source == source {
      if isFirst {
        out.append(UInt8(ascii: "\""))
        out.append(name)
        out.append("\":[\"")
        isFirst = false
      } else {
        out.append(",\"")
      }
      out.append(origins[index].name)
      out.append(UInt8(ascii: "\""))
    }
    if !isFirst { out.append("],") }
  }

  private static func append(_ fact: Derivative.Fact<Decimal64>?, _ name: StaticString, to out: inout ByteBuffer) {
    guard let value = fact?.value else { return }
    out.append(UInt8(ascii: "\""))
    out.append(name)
    out.append("\":\"")
    out.append(decimal: value.mantissa, scale: value.scale)
    out.append("\",")
  }

  private static func append(_ name: StaticString, _ value: Int64, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "\""))
    out.append(name)
    out.append("\":")
    out.append(integer: value)
    out.append(UInt8(ascii: ","))
  }
}

/// A stream of derivatives.
final class DerivativeStream: MarketStream {
  override func show(_ instrument: PublishedInstrument) {
    isShown = instrument.state.derivative.map { !$0.isEmpty } ?? false
  }

  override func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    publisher.changed(self, now: now, into: &out)
  }

  override func publishChanges(
    of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    guard let derivative = instrument.state.derivative else { return }
    publisher.update(self, events: 0, now: now, into: &out) {
      DerivativeChannel.append(derivative.shown(at: now), to: &$0)
    }
  }

  override func appendSnapshot(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    guard let derivative = instrument.state.shownDerivative(now: now) else { return false }
    DerivativeChannel.append(derivative, to: &out)
    return true
  }
}
