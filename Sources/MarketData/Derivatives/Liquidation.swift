import Bytes

/// A position that the venue closed because its margin was used up.
package struct Liquidation: Sendable, Equatable {
  package enum Position: UInt8, Sendable { case long, short }

  /// Which price a venue sends.
  package enum PriceKind: String, Sendable, CaseIterable {
    /// At which the closing order was executed.
    case fill
    /// The limit of the closing order.
    case order
    /// At which the position's margin is zero: not a price of the market.
    case bankruptcy
    /// The venue does not say.
    case unknown
  }

  package var instrument: InstrumentID
  /// The venue's name for it; empty if it has none.
  package var id: TradeID
  /// The position that was closed. Half of all mistakes with liquidations confuse this with the order's side.
  package var position: Position
  package var price: Decimal64
  package var priceKind: PriceKind
  /// In units of the base asset.
  package var size: Decimal64
  /// In the quote currency; nil if it does not fit.
  package var value: Decimal64?
  /// The venue's, or that of arrival if the venue sends none.
  package var time: Timestamp

  /// The side of the order that closed it: a long is sold.
  package var orderSide: TakerSide { position == .long ? .sell : .buy }

  /// - Parameter value: nil: price × size.
  package init(
    instrument: InstrumentID, id: TradeID = .none, position: Position, price: Decimal64, priceKind: PriceKind,
    size: Decimal64, value: Decimal64? = nil, time: Timestamp
  ) {
    self.instrument = instrument
    self.id = id
    self.position = position
    self.price = price
    self.priceKind = priceKind
    self.size = size
    self.value =
      value
      ?? Ratio.decimal(
        Int128(price.mantissa) * Int128(size.mantissa), scale: Int(price.scale + size.scale),
        digits: Int(DecimalText.scaleLimit))
    self.time = time
  }
}

/// Whether a venue tells of liquidations.
package enum LiquidationFeed: Sendable {
  case none
  /// All of them, while the connection lasts.
  case complete
  /// Some of them: the venue throttles or selects, so that counts and sums are lower bounds.
  case sampled
}

/// The last liquidations of an instrument, oldest first; at most `limit`. Allocates only at the first one.
package struct RecentLiquidations: Sendable {
  package static let limit = 50
  private var ring: [Liquidation] = []
  /// The index of the oldest one once the ring is full.
  private var start = 0

  package init() {}

  /// Appends one, unless it is known: venues repeat the last ones to a new connection. Returns whether it was new.
  /// O(limit).
  mutating func add(_ liquidation: Liquidation) -> Bool {
    guard !ring.contains(liquidation) else { return false }
    if ring.count < Self.limit {
      if ring.isEmpty { ring.reserveCapacity(Self.limit) }
      ring.append(liquidation)
    } else {
      ring[start] = liquidation
      start = (start + 1) % Self.limit
    }
    return true
  }

  /// The last `count`, oldest first. O(count), allocates.
  package func last(_ count: Int) -> ArraySlice<Liquidation> { (ring[start...] + ring[..<start]).suffix(count) }
}
