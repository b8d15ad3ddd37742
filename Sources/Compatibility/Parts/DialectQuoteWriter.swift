import MarketData
import PubSub

/// Writes the best bid and ask with each change. It is silent while the market has no quote.
protocol DialectQuoteWriter: DialectWriter {}

extension DialectQuoteWriter {
  func begin(_ view: DialectView) -> Bool { view.state.quote != nil }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    if case .bookState = change { return view.state.quote == nil ? .whenBack : .never }
    return .endOfBatch
  }
}
