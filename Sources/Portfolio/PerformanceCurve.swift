import Bytes
import MarketData

/// The value of a portfolio at several moments: the quantities of each moment at the prices of that moment.
package enum PerformanceCurve {
  /// The quantities of one asset over time, and its prices in the reporting currency.
  package struct Asset: Sendable, Hashable {
    /// The quantity from each time on, in order; 0 before the first.
    package var quantities: [(time: Timestamp, quantity: WideDecimal)]
    /// A price for each moment; nil: not observed.
    package var prices: [WideDecimal?]

    package init(quantities: [(time: Timestamp, quantity: WideDecimal)], prices: [WideDecimal?]) {
      self.quantities = quantities
      self.prices = prices
    }

    package static func == (a: Asset, b: Asset) -> Bool {
      a.prices == b.prices && a.quantities.count == b.quantities.count
        && zip(a.quantities, b.quantities).allSatisfy { $0.time == $1.time && $0.quantity == $1.quantity }
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(prices) }
  }

  /// A value for each of `moments` (in order), rounded like sums; nil if the price of a held asset was not observed.
  /// O(assets × (moments + transactions)).
  package static func values(_ assets: [Asset], at moments: [Timestamp]) -> [WideDecimal?] {
    var sums: [WideDecimal?] = Array(repeating: .zero, count: moments.count)
    for asset in assets {
      precondition(asset.prices.count == moments.count)
      var next = 0
      var quantity = WideDecimal.zero
      for (index, moment) in moments.enumerated() {
        while next < asset.quantities.count, asset.quantities[next].time <= moment {
          quantity = asset.quantities[next].quantity
          next += 1
        }
        guard !quantity.isZero else { continue }
        guard let sum = sums[index], let price = asset.prices[index], let value = try? quantity.times(price) else {
          sums[index] = nil
          continue
        }
        sums[index] = try? sum.plus(value)
      }
    }
    return sums.map { $0?.rounded(Valuation.digits) }
  }
}
