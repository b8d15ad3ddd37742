import Bytes

/// Figures that follow from a venue's other figures.
extension Ticker {
  /// `open` from `last` and `change`, or from `last` and `changePercent`, then rounded half to even.
  package mutating func deriveOpen(_ instrument: Instrument) {
    guard open == nil, let last else { return }
    if change == nil, let percent = changePercent, percent.scale <= 16 {
      // last ÷ (1 + p·10^-s ÷ 100)
      let whole = 100 * Int128(DecimalText.power(percent.scale))
      let factor = whole + Int128(percent.mantissa)
      guard factor > 0, let value = Int64(exactly: Ratio.divide(Int128(last) * whole, by: factor)), value > 0 else {
        return
      }
      open = value
      return
    }
    guard let change,
      let difference = Ratio.rescaled(change.mantissa, from: change.scale, to: instrument.priceScale)
    else { return }
    let (value, overflow) = last.subtractingReportingOverflow(difference)
    if !overflow, value > 0 { open = value }
  }

  /// `change` and `changePercent` from `last` and `open`.
  mutating func deriveChange(_ instrument: Instrument) {
    guard let last, let open else { return }
    let (difference, overflow) = last.subtractingReportingOverflow(open)
    guard !overflow else { return }
    if change == nil { change = Decimal64(mantissa: difference, scale: instrument.priceScale) }
    if changePercent == nil {
      changePercent = Ratio.percent(difference, of: open, digits: WindowFigures.percentDigits)
    }
  }

  /// `vwap` from the two volumes, or `quoteVolume` from `volume` and `vwap`; rounded half to even.
  mutating func deriveAverages(_ instrument: Instrument) {
    guard let volume, volume.mantissa > 0 else { return }
    if vwap == nil, let quoteVolume {
      // q·10^-a ÷ v·10^-b, at the price scale.
      let digits = Int(volume.scale) + Int(instrument.priceScale) - Int(quoteVolume.scale)
      if let value = Ratio.quotient(Int128(quoteVolume.mantissa), by: Int128(volume.mantissa), powerOfTen: digits) {
        vwap = Decimal64(mantissa: value, scale: instrument.priceScale)
      }
    }
    if quoteVolume == nil, let vwap {
      quoteVolume = Ratio.decimal(
        Int128(volume.mantissa) * Int128(vwap.mantissa), scale: Int(volume.scale) + Int(vwap.scale),
        digits: WindowFigures.quoteVolumeDigits)
    }
  }
}
