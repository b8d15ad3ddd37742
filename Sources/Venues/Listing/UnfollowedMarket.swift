import MarketData

/// Why what was configured is not followed, in words for people.
extension Venue {
  /// Why no market of the venue's list is what was configured.
  func unlisted(_ wanted: FeedSymbol, among markets: [ListedMarket]) -> String {
    let followed = markets.lazy.filter { $0.contractSize != nil }.map(\.symbol.text)
    return "\(title) has no market \(wanted.text)\(NearNames.question(wanted.text, among: followed))"
  }
}

extension ListedMarket {
  /// Why a market without a contract size is not followed, and which one like it is.
  func inexact(among markets: [ListedMarket]) -> String {
    let other = markets.first {
      $0.contractSize != nil && $0.symbol.base == symbol.base && $0.symbol.kind == symbol.kind
    }
    let advice = other.map { ": write \($0.symbol.text)" } ?? ""
    return
      "\(venueSymbol) is an inverse contract, or its size is not listed: what is traded has no exact value in \(symbol.base)\(advice)"
  }
}
