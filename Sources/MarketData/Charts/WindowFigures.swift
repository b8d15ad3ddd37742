import Bytes

/// Rolling figures of a window of minutes.
package struct WindowFigures: Sendable, Equatable {
  /// Price of the first trade in the window; this and the next three are nil if there was none.
  package var open: Int64?
  package var high: Int64?
  package var low: Int64?
  /// Price of the last trade in the window.
  package var last: Int64?
  /// At the size scale.
  package var volume: Int128 = 0
  /// At the price scale plus the size scale; nil while a venue's minute without it is in the window.
  package var quoteVolume: Int128? = 0
  /// Nil while a venue's minute without it is in the window.
  package var trades: Int64? = 0

  package init() {}

  /// Digits after the point of a change in percent.
  package static let percentDigits: UInt8 = 2
  /// The most digits after the point of a quote volume.
  package static let quoteVolumeDigits = 8

  /// The figures as a `Ticker`: volume at the size scale, quote volume with at most 8 digits, vwap at the price scale,
  /// change in percent with 2 digits, each rounded once, half to even. Values that are unknown, or do not fit in an
  /// `Int64`, are nil.
  /// - Parameter lastPrice: the price if the window has none.
  package func ticker(of instrument: Instrument, lastPrice: Int64?, quote: Quote?, now: Timestamp) -> Ticker {
    let sizeScale = Int(instrument.sizeScale)
    var ticker = Ticker(instrument: instrument.id, time: now)
    ticker.last = last ?? lastPrice
    if let quote {
      ticker.bid = quote.bidSize > 0 ? quote.bid : nil
      ticker.ask = quote.askSize > 0 ? quote.ask : nil
    }
    ticker.open = open
    ticker.high = high
    ticker.low = low
    ticker.volume = Ratio.decimal(volume, scale: sizeScale, digits: sizeScale)
    if let quoteVolume {
      ticker.quoteVolume = Ratio.decimal(
        quoteVolume, scale: Int(instrument.priceScale) + sizeScale, digits: Self.quoteVolumeDigits)
      if volume > 0, let vwap = Int64(exactly: Ratio.divide(quoteVolume, by: volume)) {
        ticker.vwap = Decimal64(mantissa: vwap, scale: instrument.priceScale)
      }
    }
    if let open, let last {
      let (change, overflow) = last.subtractingReportingOverflow(open)
      if !overflow {
        ticker.change = Decimal64(mantissa: change, scale: instrument.priceScale)
        ticker.changePercent = Ratio.percent(change, of: open, digits: Self.percentDigits)
      }
    }
    ticker.trades = trades
    return ticker
  }
}
