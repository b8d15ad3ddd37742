import Bytes

/// The perpetuals of one pair at several venues, combined: open interest is summed; mark, index and funding are
/// weighted by it. A value combines the venues that send it with their open interest; without any it is unknown.
package struct CompositeDerivative: Sendable, Equatable {
  /// Venues settle at different intervals: rates are per this time, µs.
  package static let fundingInterval = 8 * Microseconds.hour
  /// Digits after the point: of open interest as a weight and of prices, of rates, of the basis in percent.
  private static let (weightDigits, priceDigits, rateDigits, basisDigits): (Int, UInt8, Int, Int) = (6, 8, 12, 4)

  package private(set) var mark: Decimal64?
  package private(set) var index: Decimal64?
  /// Per `fundingInterval`.
  package private(set) var fundingRate: Decimal64?
  package private(set) var openInterest: Decimal64?
  package private(set) var openInterestQuote: Decimal64?
  /// How much `mark` is above a spot price, in percent; nil if one of them is unknown.
  package private(set) var basisPercent: Decimal64?
  /// The oldest time of a value that is part of each.
  package private(set) var times = Times()

  package struct Times: Sendable, Equatable {
    package internal(set) var mark: Timestamp?
    package internal(set) var index: Timestamp?
    package internal(set) var fundingRate: Timestamp?
    package internal(set) var openInterest: Timestamp?
  }

  /// - Parameters:
  ///   - parts: of the live venues.
  ///   - spot: the price of the same pair on spot markets.
  package init(_ parts: [Derivative], spot: Decimal64?) {
    let open = parts.compactMap(\.openInterest)
    openInterest = Self.sum(open.map(\.value))
    times.openInterest = open.map(\.time).min()
    openInterestQuote = Self.sum(parts.compactMap { $0.openInterest == nil ? nil : $0.openInterestQuote?.value })
    (mark, times.mark) = Self.mean(parts, Int(Self.priceDigits)) { $0.mark.map { ($0.value, 1, $0.time) } }
    (index, times.index) = Self.mean(parts, Int(Self.priceDigits)) { $0.index.map { ($0.value, 1, $0.time) } }
    (fundingRate, times.fundingRate) = Self.mean(parts, Self.rateDigits) { part in
      guard let rate = part.fundingRate, let interval = part.fundingInterval?.value, interval > 0 else { return nil }
      return (rate.value, interval, rate.time)
    }
    if let mark, let spot, spot.mantissa > 0 {
      let scale = max(mark.scale, spot.scale)
      if let mark = Self.wide(mark, scale), let spot = Self.wide(spot, scale) {
        basisPercent = Ratio.quotient(mark - spot, by: spot, powerOfTen: Self.basisDigits + 2).map {
          Decimal64(mantissa: $0, scale: UInt8(Self.basisDigits))
        }
      }
    }
  }

  private static func wide(_ value: Decimal64, _ scale: UInt8) -> Int128? {
    let (wide, overflow) = Int128(value.mantissa).multipliedReportingOverflow(
      by: Int128(DecimalText.power(scale - value.scale)))
    return overflow ? nil : wide
  }

  /// Exact, or rounded to what fits; nil if there is nothing.
  private static func sum(_ values: [Decimal64]) -> Decimal64? {
    guard let scale = values.map(\.scale).max() else { return nil }
    var sum: Int128 = 0
    for value in values {
      guard let value = wide(value, scale) else { return nil }
      let (next, overflow) = sum.addingReportingOverflow(value)
      guard !overflow else { return nil }
      sum = next
    }
    return Ratio.decimal(sum, scale: Int(scale), digits: Int(scale))
  }

  /// The mean of a value, weighted by open interest, and the oldest time.
  /// - Parameter value: with the time that it is for, µs: what is for another time than `fundingInterval` is brought
  ///   to that; 1 for what is for no time.
  private static func mean(
    _ parts: [Derivative], _ digits: Int, _ value: (Derivative) -> (Decimal64, interval: Int64, Timestamp)?
  ) -> (Decimal64?, Timestamp?) {
    var (sum, weights): (Int128, Int128) = (0, 0)
    var oldest: Timestamp?
    for part in parts {
      guard let (figure, interval, time) = value(part), let open = part.openInterest?.value,
        let weight = Ratio.quotient(Int128(open.mantissa), by: 1, powerOfTen: weightDigits - Int(open.scale)),
        weight > 0
      else { continue }
      let factor = interval == 1 ? Int128(1) : Int128(fundingInterval)
      guard
        let count = Ratio.quotient(
          Int128(figure.mantissa) * factor, by: Int128(interval), powerOfTen: digits - Int(figure.scale))
      else { continue }
      let (product, isLost) = Int128(count).multipliedReportingOverflow(by: Int128(weight))
      let (next, isFull) = sum.addingReportingOverflow(product)
      guard !isLost, !isFull else { return (nil, nil) }
      sum = next
      weights += Int128(weight)
      oldest = min(oldest ?? time, time)
    }
    guard weights > 0, let mean = Ratio.quotient(sum, by: weights, powerOfTen: 0) else { return (nil, nil) }
    return (Decimal64(mantissa: mean, scale: UInt8(digits)), oldest)
  }
}
