import Bytes
import MarketData

/// What Deribit says of linear contracts beside trades and books.
enum DeribitDerivatives {
  /// Open interest of linear contracts is in their base currency.
  static let format = DerivativeFormat(
    mark: "mark_price", index: "index_price", fundingRate: "current_funding", openInterest: "open_interest")

  /// Funding is paid all the time. `current_funding` is the rate at this instant **per 8 h**; dated futures have none.
  /// (`funding_8h` is what was paid in the last 8 h, and no forecast.)
  static func complete(_ report: inout DerivativeReport) {
    guard case .value = report.fundingRate else { return }
    report.isContinuous = true
    report.fundingInterval = .value(8 * Microseconds.hour)
    report.computed = .fundingInterval
  }

  /// Who was liquidated by a trade: its key `liquidation` is `T` for the taker, `M` for the maker, `MT` for both.
  struct Liquidated {
    var isTaker = false
    var isMaker = false

    init() {}

    init(_ word: JSONSlice, _ reader: borrowing FieldReader) {
      isTaker = reader.equals(word, "T") || reader.equals(word, "MT")
      isMaker = reader.equals(word, "M") || reader.equals(word, "MT")
    }

    /// Appends an event for each of them: who had to sell was long.
    func append(_ trade: Trade, of instrument: Instrument, into batch: inout EventBatch) {
      if isTaker { append(trade.side == .sell ? .long : .short, trade, instrument, &batch) }
      if isMaker { append(trade.side == .sell ? .short : .long, trade, instrument, &batch) }
    }

    private func append(
      _ position: Liquidation.Position, _ trade: Trade, _ instrument: Instrument, _ batch: inout EventBatch
    ) {
      batch.events.append(
        .liquidation(
          Liquidation(
            instrument: trade.instrument, id: trade.id, position: position,
            price: Decimal64(mantissa: trade.price, scale: instrument.priceScale), priceKind: .fill,
            size: Decimal64(mantissa: trade.size, scale: instrument.sizeScale), time: trade.time)))
    }
  }
}
