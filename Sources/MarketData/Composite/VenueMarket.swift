import Bytes

/// What one venue's market shows at a moment: a member of a composite market, and a leg of a conversion. A value, so
/// that the loop that owns the market can hand it to another.
package struct VenueMarket: Sendable {
  package var instrument: Instrument
  /// Whether its feed is live, and also its book if quotes derive from it. A market that is not live is excluded.
  package var isLive: Bool
  /// Why it is not live, in a word or two: `stale`, `sequence gap`; empty where it is.
  package var reason: String
  /// The best bid and ask at the instrument's scales; a side without orders has size 0.
  package var quote: Quote?
  /// The last trade's price; nil before any.
  package var last: Int64?
  /// When that trade was.
  package var lastTime: Timestamp
  /// Of 24 h, in base units.
  package var volume: Decimal64?
  /// Of 24 h, in quote units.
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

extension InstrumentState {
  /// The market as other loops see it. O(1), amortised.
  /// - Parameters:
  ///   - isLive: whether the feed is.
  ///   - reason: why not.
  ///   - hasFigures: whether the 24 h figures are wanted.
  package func venueMarket(isLive: Bool, reason: String, hasFigures: Bool, now: Timestamp) -> VenueMarket {
    let figures = hasFigures && (lastPrice != nil || ticker != nil) ? dayTicker(now: now).ticker : nil
    var market = VenueMarket(
      instrument: instrument, isLive: isLive, reason: reason, quote: quote, last: lastTrade?.price ?? lastPrice,
      lastTime: lastTrade?.time ?? chart.lines.lastTradeTime ?? .distantPast, volume: figures?.volume,
      quoteVolume: figures?.quoteVolume, open: figures?.open)
    // A quote read from a book goes with it, and a venue's own ticker may know a price before the first trade.
    if market.last == nil, let last = ticker?.last {
      market.last = last
      market.lastTime = ticker?.time ?? .distantPast
    }
    return market
  }
}
