import Bytes
import MarketData

/// `liquidations`: positions that the venue closed because their margin was used up. An event channel.
enum LiquidationsChannel: Channel {
  static let facts = ChannelFacts(
    isEvent: true, rate: .fixed(0), hears: .liquidations, rank: 8, wish: .liquidations)
  static let data = WireDescription.ChannelData(["liquidations", "complete"], update: ["liquidations"])

  static func makeStream(_ start: StreamStart) -> PublishedStream { LiquidationsStream(start) }
  static func ringLimits(of key: StreamKey) -> ReplayRing.Limits? { .events }

  /// Appends `{"liquidations":[…]}`, in a snapshot with `complete`: false if the venue selects or throttles them, so
  /// that counts and sums are lower bounds.
  static func append(
    _ liquidations: ArraySlice<Liquidation>, isComplete: Bool? = nil, to out: inout ByteBuffer
  ) {
    out.append("{\"liquidations\":[")
    var isFirst = true
    for liquidation in liquidations {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      append(liquidation, to: &out)
    }
    out.append(UInt8(ascii: "]"))
    if let isComplete { out.append(isComplete ? ",\"complete\":true" : ",\"complete\":false") }
    out.append(UInt8(ascii: "}"))
  }

  private static func append(_ liquidation: Liquidation, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "{"))
    if !liquidation.id.isEmpty {
      out.append("\"id\":\"")
      liquidation.id.append(to: &out)
      out.append("\",")
    }
    out.append(liquidation.position == .long ? "\"position\":\"long\"" : "\"position\":\"short\"")
    out.append(liquidation.orderSide == .sell ? ",\"side\":\"sell\"" : ",\"side\":\"buy\"")
    out.append(",\"price\":\"")
    out.append(decimal: liquidation.price.mantissa, scale: liquidation.price.scale)
    out.append("\",\"price_kind\":\"")
    out.append(liquidation.priceKind.rawValue)
    out.append("\",\"size\":\"")
    out.append(decimal: liquidation.size.mantissa, scale: liquidation.size.scale)
    out.append(UInt8(ascii: "\""))
    if let value = liquidation.value {
      out.append(",\"value\":\"")
      out.append(decimal: value.mantissa, scale: value.scale)
      out.append(UInt8(ascii: "\""))
    }
    out.append(",\"time\":")
    out.append(integer: liquidation.time.microseconds)
    out.append(UInt8(ascii: "}"))
  }
}

/// A stream of liquidations.
final class LiquidationsStream: MarketStream {
  override func show(_ instrument: PublishedInstrument) { isShown = true }

  /// `unavailable` where the venue tells of none, so that silence means nothing.
  override func state(in publisher: StreamPublisher) -> String {
    instrument(in: publisher)?.state.liquidationFeed == LiquidationFeed.none ? "unavailable" : "live"
  }

  override func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    guard case .liquidations(_, let range) = change else { return }
    publisher.update(self, events: UInt32(range.count), now: now, into: &out) {
      LiquidationsChannel.append(changes.liquidations[range], to: &$0)
    }
  }

  override func appendSnapshot(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    let state = instrument.state
    LiquidationsChannel.append(
      state.liquidations.last(RecentLiquidations.limit), isComplete: state.liquidationFeed == .complete, to: &out)
    return true
  }
}
