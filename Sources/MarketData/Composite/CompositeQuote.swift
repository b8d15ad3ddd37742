import Bytes

/// Several venues' markets of the same pair, combined: the best bid and ask with the venue of each, the newest trade,
/// and the sums of volumes.
///
/// It includes only live markets: a venue is excluded as soon as its state is not live, and included again when it is.
/// Prices and sizes are counts of powers of ten that fit every member. The best bid may be at or above the best ask,
/// because they may come from different venues.
package struct CompositeQuote: Sendable, Equatable {
  /// One side of the market.
  package struct Side: Sendable, Equatable {
    /// At `priceScale`.
    package var price: Int64
    /// At `sizeScale`, of this venue only.
    package var size: Int64
    package var venue: String
  }

  /// An excluded market.
  package struct Absent: Sendable, Equatable {
    package var venue: String
    package var reason: String
  }

  /// Digits after the point of all prices.
  package var priceScale: UInt8 = 0
  /// Digits after the point of all sizes.
  package var sizeScale: UInt8 = 0
  /// The highest bid; of equal ones the larger, then that of the first venue by name. Nil if no member has a bid.
  package var bid: Side?
  /// The lowest ask, by the same rule.
  package var ask: Side?
  /// The newest trade of a member; at equal times that of the first venue by name. Its size is 0.
  package var last: Side?
  package var lastTime: Timestamp = .distantPast
  /// The time of the newest quote.
  package var time: Timestamp = .distantPast
  /// The volume of 24 h in base units, of all members that have one; nil if none has.
  package var volume: Decimal64?
  /// The volume of 24 h in quote units, of the members that have both volumes.
  package var quoteVolume: Decimal64?
  /// `quoteVolume` ÷ the volume of the same members, at `priceScale`, rounded half to even.
  package var vwap: Int64?
  /// The included venues, in the order of their names.
  package var venues: [String] = []
  /// The excluded venues, with the reason.
  package var absent: [Absent] = []

  /// Whether it includes only one venue's market.
  package var isSingle: Bool { venues.count == 1 }

  /// Computes the composite. O(n log n) in the members.
  /// - Parameter markets: of the same base and quote; at most one of a venue.
  package init(_ markets: [VenueMarket]) {
    let sorted = markets.sorted { $0.instrument.venue < $1.instrument.venue }
    let live = sorted.filter { $0.isLive && ($0.quote != nil || $0.last != nil) }
    priceScale = live.map(\.instrument.priceScale).max() ?? 0
    sizeScale = live.map(\.instrument.sizeScale).max() ?? 0
    var sums = Sums()
    for market in sorted {
      let venue = market.instrument.venue
      guard market.isLive else {
        absent.append(Absent(venue: venue, reason: market.reason))
        continue
      }
      guard market.quote != nil || market.last != nil else {
        absent.append(Absent(venue: venue, reason: "no price yet"))
        continue
      }
      guard take(market) else {
        absent.append(Absent(venue: venue, reason: "too many digits"))
        continue
      }
      venues.append(venue)
      sums.add(market)
    }
    volume = sums.volume
    quoteVolume = sums.quoteVolume
    vwap = sums.vwap(priceScale)
  }

  /// Adds a member's prices; adds nothing and returns false if one does not fit at the common scales.
  private mutating func take(_ market: VenueMarket) -> Bool {
    let prices = DecimalText.power(priceScale - market.instrument.priceScale)
    let sizes = DecimalText.power(sizeScale - market.instrument.sizeScale)
    func wider(_ value: Int64, _ factor: UInt64) -> Int64? {
      let (result, overflow) = value.multipliedReportingOverflow(by: Int64(clamping: factor))
      return overflow ? nil : result
    }
    let venue = market.instrument.venue
    var sides: [Side?] = [nil, nil]
    if let quote = market.quote {
      for (index, side) in [(quote.bid, quote.bidSize), (quote.ask, quote.askSize)].enumerated() where side.1 > 0 {
        guard let price = wider(side.0, prices), let size = wider(side.1, sizes) else { return false }
        sides[index] = Side(price: price, size: size, venue: venue)
      }
    }
    var trade: Side?
    if let price = market.last {
      guard let price = wider(price, prices) else { return false }
      trade = Side(price: price, size: 0, venue: venue)
    }
    if let side = sides[0], bid.map({ (side.price, side.size) > ($0.price, $0.size) }) ?? true { bid = side }
    if let side = sides[1],
      ask.map({ side.price < $0.price || (side.price == $0.price && side.size > $0.size) }) ?? true
    {
      ask = side
    }
    if let trade, last == nil || market.lastTime > lastTime {
      last = trade
      lastTime = market.lastTime
    }
    if let quote = market.quote { time = max(time, quote.time) }
    return true
  }

  /// Sums of volumes, exact while they fit in 128 bits.
  private struct Sums {
    private var base = Decimal()
    private var quote = Decimal()
    /// The base volume of members that also have a quote volume.
    private var weighed = Decimal()

    /// A sum of decimals: `mantissa` × 10^-`scale`; nil if nothing was added or the sum does not fit.
    private struct Decimal {
      var mantissa: Int128 = 0
      var scale = 0
      var isKnown = false
      var isLost = false

      mutating func add(_ value: Decimal64) {
        isKnown = true
        let common = max(scale, Int(value.scale))
        guard let old = Self.wider(mantissa, by: common - scale),
          let new = Self.wider(Int128(value.mantissa), by: common - Int(value.scale))
        else {
          isLost = true
          return
        }
        let (sum, overflow) = old.addingReportingOverflow(new)
        if overflow { isLost = true }
        mantissa = sum
        scale = common
      }

      private static func wider(_ value: Int128, by digits: Int) -> Int128? {
        var value = value
        for _ in 0..<digits {
          let (wider, overflow) = value.multipliedReportingOverflow(by: 10)
          guard !overflow else { return nil }
          value = wider
        }
        return value
      }

      var decimal: Decimal64? { isKnown && !isLost ? Ratio.decimal(mantissa, scale: scale, digits: scale) : nil }
    }

    mutating func add(_ market: VenueMarket) {
      guard let volume = market.volume else { return }
      base.add(volume)
      guard let quoteVolume = market.quoteVolume else { return }
      quote.add(quoteVolume)
      weighed.add(volume)
    }

    var volume: Decimal64? { base.decimal }
    var quoteVolume: Decimal64? { quote.decimal }

    func vwap(_ priceScale: UInt8) -> Int64? {
      guard !quote.isLost, !weighed.isLost, weighed.mantissa > 0 else { return nil }
      return Ratio.quotient(
        quote.mantissa, by: weighed.mantissa, powerOfTen: weighed.scale + Int(priceScale) - quote.scale)
    }
  }
}
