extension AlertRule {
  /// The symbols that the rule watches, each once, in the order of the rule.
  package var symbols: [String] {
    var symbols: [String] = []
    condition.collect(&symbols)
    return symbols
  }
}

extension AlertCondition {
  fileprivate func collect(_ symbols: inout [String]) {
    switch self {
    case .threshold(let threshold): if !symbols.contains(threshold.symbol) { symbols.append(threshold.symbol) }
    case .stale(let staleness): if !symbols.contains(staleness.symbol) { symbols.append(staleness.symbol) }
    case .clock: break
    case .all(let parts), .any(let parts): for part in parts { part.collect(&symbols) }
    }
  }
}
