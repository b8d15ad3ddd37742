import MarketData

/// The trades of one answer, with what a fault has made of them.
struct TradeRows {
  private(set) var trades: [SimulatedTrade]
  /// Whether a row is to lack its price.
  let isRagged: Bool

  /// - Parameters:
  ///   - limit: rows at most: the oldest are left, or the newest.
  ///   - fits: which of the venue's latest trades are asked for.
  init(
    _ state: InstrumentMarket, limit: Int, keepsOldest: Bool = false, isNewestFirst: Bool = false, fault: TradeFault?,
    where fits: (SimulatedTrade) -> Bool
  ) {
    isRagged = fault == .ragged
    var chosen = fault == .empty ? [] : state.pastTrades.filter(fits)
    chosen = Array(keepsOldest ? chosen.prefix(limit) : chosen.suffix(limit))
    if fault == .holes { chosen = chosen.enumerated().filter { $0.offset % 3 != 1 }.map(\.element) }
    trades = isNewestFirst ? chosen.reversed() : chosen
  }

  /// The rows with commas between, each as `row` writes it; a price that is missing is null.
  func text(_ i: Speller, _ row: (SimulatedTrade, _ price: JSONText) -> JSONText) -> JSONText {
    JSONText.list(trades.enumerated()) { index, trade in
      row(trade, isRagged && index == 1 ? "null" : "\(i.price(trade.price))")
    }
  }
}
