import MarketData
import Venues

/// Selects what to show of a venue's list.
package struct MarketQuery: Sendable {
  private enum Filter {
    case all
    /// Part of a name, in lower case.
    case text(String)
    case selection(MarketSelection)
  }

  private let filter: Filter
  private let text: String

  /// Whether 24 h volumes are needed to answer it.
  package var isRanked: Bool { if case .selection(let selection) = filter { selection.rank != nil } else { false } }

  /// - Parameter text: nil for everything; a part of a name, in the gateway's words or the venue's; or a selection such
  ///   as `*-USD:top20`, to see what it selects.
  package init(_ text: String?) throws(MarketSelectionError) {
    self.text = text ?? ""
    guard let text, !text.isEmpty else {
      filter = .all
      return
    }
    filter = MarketSelection.isMeant(by: text) ? .selection(try MarketSelection(text)) : .text(text.lowercased())
  }

  /// The selected markets, sorted by name, or by rank for a ranked selection.
  package func choose(from markets: [ListedMarket]) -> [ListedMarket] {
    let found: [ListedMarket]
    switch filter {
    case .all: found = markets
    case .text(let part):
      found = markets.filter {
        $0.symbol.text.lowercased().contains(part) || $0.venueSymbol.lowercased().contains(part)
      }
    case .selection(let selection):
      if selection.rank != nil { return selection.choose(from: markets) }
      found = markets.filter { selection.matches($0.symbol) }
    }
    return found.sorted { $0.symbol.text < $1.symbol.text }
  }

  /// The message if nothing is selected.
  package func nothingFound(among markets: [ListedMarket], venue: Venue) -> String {
    guard !markets.isEmpty else { return "\(venue.title) lists no market of that kind" }
    let names = markets.map(\.symbol.text)
    // If the query is a venue's own name, the answer has the gateway's name.
    let near = NearNames.of(text, among: names + markets.map(\.venueSymbol))
    let symbols = near.map { name in markets.first { $0.venueSymbol == name }?.symbol.text ?? name }
    var unique: [String] = []
    for symbol in symbols where !unique.contains(symbol) { unique.append(symbol) }
    let question = unique.isEmpty ? "" : " (did you mean \(unique.joined(separator: " or "))?)"
    return "\(venue.title) lists no market like \(text)\(question)"
  }
}
