import Bytes

/// The change of a price since an earlier one: the same figure in every place that shows it.
package struct PriceChange: Sendable, Equatable {
  /// The earlier price, at the instrument's scale; nil if the venue says only by how much the price changed.
  package var open: Int64?
  /// The price − `open`; nil if neither is known.
  package var change: Decimal64?
  /// In percent, with `WindowFigures.percentDigits` digits, rounded half to even; nil if it is unknown.
  package var percent: Int64?

  /// The change from `open` to `price`, both at the instrument's scale; nil if their difference does not fit.
  package init?(from open: Int64, to price: Int64, of instrument: Instrument) {
    let (change, overflow) = price.subtractingReportingOverflow(open)
    guard !overflow else { return nil }
    self.open = open
    self.change = Decimal64(mantissa: change, scale: instrument.priceScale)
    percent = Ratio.percent(change, of: open, digits: WindowFigures.percentDigits)?.mantissa
  }

  /// The change that a ticker shows; nil if it shows none.
  package init?(_ ticker: Ticker) {
    open = ticker.open
    change = ticker.change
    percent = ticker.changePercent.flatMap {
      Ratio.rescaled($0.mantissa, from: $0.scale, to: WindowFigures.percentDigits)
    }
    guard change != nil || percent != nil else { return nil }
  }

  /// 1 if the price rose, −1 if it fell, otherwise 0. A venue may round a small change to 0 and still say its
  /// percentage.
  package var trend: Int64 {
    let change = change?.mantissa ?? 0
    return change != 0 ? change.signum() : (percent ?? 0).signum()
  }
}
