import Bytes
import MarketData

/// A market as its venue lists it, followed or not.
package struct ListedMarket: Sendable, Hashable {
  package enum State: String, Sendable, Hashable, CaseIterable {
    /// Orders are matched.
    case trading
    /// Listed, but not matched now: announced, halted, in an auction, cancel-only, in settlement.
    case halted

    init(isTrading: Bool) { self = isTrading ? .trading : .halted }
  }

  /// The venue's own name: `BTC/USD`, `BTCUSDT`.
  package let venueSymbol: String
  /// The gateway's: `BTC-USD`, `BTC-USDT-PERP`.
  package let symbol: FeedSymbol
  /// Digits after the point that the venue prints prices and sizes (in base units) with, as far as its list says: 0 to
  /// `InstrumentTable.widestScale`. Values with more widen an instrument's.
  package let priceScale: UInt8
  package let sizeScale: UInt8
  /// The smallest step of a price; nil if the venue does not say.
  package var priceIncrement: Decimal64?
  /// The smallest step of a size in base units; nil if the venue does not say.
  package var sizeIncrement: Decimal64?
  /// Base units in one unit of the venue's own sizes, above 0. Nil for what has no exact size in base units (inverse
  /// contracts): such a market is listed and cannot be followed.
  package var contractSize: Decimal64?
  package var state: State
  /// What was traded in the last 24 h, in the quote currency, rounded down at most; nil if it was not asked for or
  /// the venue does not say.
  package var quoteVolume: Decimal64?
  /// Whether it is another name of a market that is listed by its own: it is not shown.
  var isAlias = false

  /// - Parameters:
  ///   - priceScale: nil if the increment says it.
  ///   - sizeScale: in the venue's own unit, as the increment; nil if that says it.
  ///   - sizeIncrement: in the venue's own unit, as it lists it; it is brought to base units here.
  ///   - contractSize: nil, not above 0 or beyond the widest scale for what cannot be followed.
  package init(
    venueSymbol: String, symbol: FeedSymbol, priceScale: UInt8? = nil, sizeScale: UInt8? = nil,
    priceIncrement: Decimal64? = nil, sizeIncrement: Decimal64? = nil,
    contractSize: Decimal64? = Decimal64(mantissa: 1, scale: 0), state: State = .trading,
    quoteVolume: Decimal64? = nil
  ) {
    self.venueSymbol = venueSymbol
    self.symbol = symbol
    self.priceIncrement = priceIncrement?.trimmed
    let widest = InstrumentTable.widestScale
    let contract = contractSize.flatMap { $0.mantissa > 0 && $0.trimmed.scale <= widest ? $0.trimmed : nil }
    self.contractSize = contract
    self.priceScale = min(priceScale ?? priceIncrement?.scale ?? 0, widest)
    let digits = Int(sizeScale ?? sizeIncrement?.scale ?? 0) + Int(contract?.scale ?? 0)
    self.sizeScale = UInt8(min(digits, Int(widest)))
    self.sizeIncrement = sizeIncrement.flatMap { step in contract.flatMap { step.multiplied(by: $0) } }
    self.state = state
    self.quoteVolume = quoteVolume
  }
}

extension FieldReader {
  /// Reads an array of what a list is of, which begins next: each by `read`, that gets its index in it and answers nil
  /// for one that is left out.
  /// - Throws: `.shape` where more than `MarketList.longest` are left; what `read` throws.
  mutating func list<Element>(
    _ read: (inout FieldReader, _ index: Int) throws(FeedError) -> Element?
  ) throws(FeedError) -> [Element] {
    var list: [Element] = []
    var index = 0
    try arrayStart()
    while try nextElement() {
      defer { index += 1 }
      guard let element = try read(&self, index) else { continue }
      guard list.count < MarketList.longest else {
        throw FeedError(.shape, "list of more than \(MarketList.longest) markets")
      }
      list.append(element)
    }
    return list
  }
}

/// What is kept of a venue's list of markets once the configured ones have been found in it: some 200 bytes a market,
/// a thousand markets or more, for as long as the engine lives.
package enum ListingDetail: Sendable, Hashable {
  /// Nothing: what a feed needs.
  case none
  case markets
  /// The markets with `ListedMarket.quoteVolume`, which may cost requests of their own.
  case volumes
}

extension Decimal64 {
  /// Whether this number is below `other`. Exact.
  package func isLess(than other: Decimal64) -> Bool {
    // Two mantissas below 2^63 times 10^18 stay below 2^127.
    Int128(mantissa) * Int128(DecimalText.power(other.scale)) < Int128(other.mantissa)
      * Int128(DecimalText.power(scale))
  }

  /// The product, cut to the digits that fit; nil if even its whole part does not.
  func product(with other: Decimal64) -> Decimal64? {
    var mantissa = Int128(self.mantissa) * Int128(other.mantissa)
    var scale = Int(self.scale) + Int(other.scale)
    while scale > 0, scale > Int(DecimalText.scaleLimit) || Int64(exactly: mantissa) == nil {
      mantissa /= 10
      scale -= 1
    }
    return Int64(exactly: mantissa).map { Decimal64(mantissa: $0, scale: UInt8(scale)).trimmed }
  }
}
