import Bytes

/// The values of one venue's market at a moment: a member of a composite, and a step of a conversion. It is a value, so
/// that the loop that owns the market can pass it to another.
package struct VenueMarket: Sendable {
  package var instrument: Instrument
  /// Whether its feed is live, and also its book if quotes derive from it. A market that is not live is excluded.
  package var isLive: Bool
  /// The reason why it is not live, in a word or two: `stale`, `sequence gap`; empty if it is live.
  package var reason: String
  /// The best bid and ask at the instrument's scales; a side without orders has size 0.
  package var quote: Quote?
  /// The price that all places show: that of the last trade, or of the venue's ticker; nil before any.
  package var last: Int64?
  /// The time of that price.
  package var lastTime: Timestamp
  /// Its figures as a derivative.
  package var contract: VenueContract?
  /// The volume of 24 h, in base units.
  package var volume: Decimal64?
  /// The volume of 24 h, in quote units.
  package var quoteVolume: Decimal64?
  /// The price 24 h ago, at the instrument's scale.
  package var open: Int64?

  package init(
    instrument: Instrument, isLive: Bool, reason: String = "", quote: Quote? = nil, last: Int64? = nil,
    lastTime: Timestamp = .distantPast, volume: Decimal64? = nil, quoteVolume: Decimal64? = nil,
    open: Int64? = nil
  ) {
    self.instrument = instrument
    self.isLive = isLive
    self.reason = reason
    self.quote = quote
    self.last = last
    self.lastTime = lastTime
    self.volume = volume
    self.quoteVolume = quoteVolume
    self.open = open
  }
}

/// A derivative behind a reference: it is large, and few markets have one.
package final class VenueContract: Sendable {
  package let derivative: Derivative
  package init(_ derivative: Derivative) { self.derivative = derivative }
}

extension InstrumentState {
  /// The market as other loops see it. O(1), amortised.
  /// - Parameters:
  ///   - isLive: whether the feed is live.
  ///   - reason: the reason if it is not.
  ///   - hasFigures: whether to include the 24 h figures.
  package func venueMarket(isLive: Bool, reason: String, hasFigures: Bool, now: Timestamp) -> VenueMarket {
    let figures = hasFigures && (lastPrice != nil || ticker != nil) ? dayTicker(now: now).ticker : nil
    let shown = shownPrice
    var market = VenueMarket(
      instrument: instrument, isLive: isLive, reason: reason, quote: quote, last: shown?.price,
      lastTime: shown?.time ?? .distantPast, volume: figures?.volume, quoteVolume: figures?.quoteVolume,
      open: figures?.open)
    market.contract = derivative.map { VenueContract($0.shown(at: now)) }
    return market
  }
}
