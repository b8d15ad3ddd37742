import Bytes
import MarketData

/// A stored closed candle, with the scales of its numbers and its source.
package struct StoredCandle: Sendable, Equatable {
  /// How reliable a candle is. Of two candles of one interval the one of higher quality is kept, of equal ones the
  /// newer.
  ///
  /// | own | venue's | kept |
  /// |---|---|---|
  /// | observed from beginning to end | any | own |
  /// | it contains a gap, or began before the gateway | one | the venue's |
  /// | none: unobserved, or no trade seen | one | the venue's; a later answer of the venue corrects it |
  ///
  /// A coarser candle is computed from finer ones if those are complete. It is the gateway's own if all of them are.
  package enum Quality: Int64, Sendable, Comparable, CaseIterable {
    /// The gateway's own, of only a part of the interval.
    case partial
    /// The venue's.
    case venue
    /// Computed from the gateway's own and the venue's.
    case mixed
    /// The gateway's own, of the whole interval.
    case own

    package static func < (a: Quality, b: Quality) -> Bool { a.rawValue < b.rawValue }

    /// As in answers and exports: `own`, `venue`, `mixed`, `partial`.
    package var name: String { String(describing: self) }

    package init?(name: some StringProtocol) {
      guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
      self = match
    }
  }

  /// When the interval begins.
  package var start: Timestamp
  package var open: Int64
  package var high: Int64
  package var low: Int64
  package var close: Int64
  /// In base units, at the size scale.
  package var volume: Int128
  /// In quote units, at the price scale plus the size scale; nil if the venue does not say.
  package var quoteVolume: Int128?
  /// Nil if the venue does not say.
  package var trades: Int64?
  /// Digits after the point of the prices, 0…18.
  package var priceScale: UInt8
  /// Digits after the point of the volume, 0…18.
  package var sizeScale: UInt8
  package var quality: Quality
  /// How often the candle changed after it was closed.
  package var revision: UInt32

  package init(
    start: Timestamp, open: Int64, high: Int64, low: Int64, close: Int64, volume: Int128, quoteVolume: Int128?,
    trades: Int64?, priceScale: UInt8, sizeScale: UInt8, quality: Quality, revision: UInt32 = 0
  ) {
    self.start = start
    self.open = open
    self.high = high
    self.low = low
    self.close = close
    self.volume = volume
    self.quoteVolume = quoteVolume
    self.trades = trades
    self.priceScale = priceScale
    self.sizeScale = sizeScale
    self.quality = quality
    self.revision = revision
  }

  /// Whether `other`, a candle of the same interval, has only a part of this one's trades: both are the gateway's own,
  /// and those grow with every trade.
  package func continues(_ other: StoredCandle) -> Bool {
    guard other.quality == .partial else { return false }
    guard let same = other.rescaled(priceScale: priceScale, sizeScale: sizeScale) else { return true }
    return same.volume <= volume
  }

  /// The same candle at other scales; nil if a number would lose digits or not fit.
  package func rescaled(priceScale newPrice: UInt8, sizeScale newSize: UInt8) -> StoredCandle? {
    if newPrice == priceScale, newSize == sizeScale { return self }
    var candle = self
    let price = Int(newPrice) - Int(priceScale)
    let size = Int(newSize) - Int(sizeScale)
    for path in [\StoredCandle.open, \.high, \.low, \.close] {
      guard let value = Self.shift(Int128(self[keyPath: path]), by: price).flatMap({ Int64(exactly: $0) }) else {
        return nil
      }
      candle[keyPath: path] = value
    }
    guard let volume = Self.shift(volume, by: size) else { return nil }
    candle.volume = volume
    if let quoteVolume {
      guard let shifted = Self.shift(quoteVolume, by: price + size) else { return nil }
      candle.quoteVolume = shifted
    }
    candle.priceScale = newPrice
    candle.sizeScale = newSize
    return candle
  }

  /// `value` × 10^`digits`; nil if digits would be lost or it does not fit.
  private static func shift(_ value: Int128, by digits: Int) -> Int128? {
    var (value, digits) = (value, digits)
    while digits > 0 {
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      if overflow { return nil }
      value = product
      digits -= 1
    }
    while digits < 0 {
      let (quotient, remainder) = value.quotientAndRemainder(dividingBy: 10)
      if remainder != 0 { return nil }
      value = quotient
      digits += 1
    }
    return value
  }
}

extension StoredCandle {
  /// One candle of an interval from the candles of its parts, in the order of time; nil if there are none, or if their
  /// scales cannot be made equal. `quality` is the quality of the result.
  static func combined(_ parts: [StoredCandle], start: Timestamp, quality: Quality) -> StoredCandle? {
    guard let priceScale = parts.map(\.priceScale).max(), let sizeScale = parts.map(\.sizeScale).max() else {
      return nil
    }
    var result: StoredCandle?
    for part in parts {
      guard let part = part.rescaled(priceScale: priceScale, sizeScale: sizeScale) else { return nil }
      guard var sum = result else {
        result = part
        result?.start = start
        result?.quality = quality
        result?.revision = 0
        continue
      }
      sum.high = max(sum.high, part.high)
      sum.low = min(sum.low, part.low)
      sum.close = part.close
      let (volume, overflow) = sum.volume.addingReportingOverflow(part.volume)
      if overflow { return nil }
      sum.volume = volume
      sum.quoteVolume = sum.quoteVolume.flatMap { own in
        part.quoteVolume.flatMap { other in
          let (value, overflow) = own.addingReportingOverflow(other)
          return overflow ? nil : value
        }
      }
      sum.trades = sum.trades.flatMap { own in
        part.trades.flatMap { other in
          let (value, overflow) = own.addingReportingOverflow(other)
          return overflow ? nil : value
        }
      }
      result = sum
    }
    return result
  }
}
