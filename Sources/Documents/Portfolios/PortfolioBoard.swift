import Bytes
import MarketData
import Portfolio
import PubSub

/// The documents of portfolio streams, and the prices that value them. A value owned by the desk.
///
/// It collects the prices of all spot markets when a new subscriber's conversion paths are not known yet, and from time
/// to time. In between it collects only the prices on the paths used last.
package struct PortfolioBoard {
  /// A portfolio that streams show.
  struct Shown {
    var subject: PortfolioSubject
    /// The last text.
    var text: SharedBytes?
    /// The symbols that its prices came from.
    var symbols: Set<String> = []
  }

  /// The interval at which the prices of all markets are collected, µs.
  static let wholeInterval = 10 * Microseconds.second
  /// The same while a price is stale or missing: another conversion path may exist by then.
  static let searchInterval = 3 * Microseconds.second
  /// The most holdings and positions that one round values: under 0.2 s of a core. The rest follows in the next round.
  static let linesOfRound = 50_000
  /// The most sets of rules that one round makes prices for; each needs a search of the markets.
  static let scopesOfRound = 64

  private(set) var shown: [PortfolioSubject: Shown] = [:]
  /// In the order of their arrival.
  private(set) var order: [PortfolioSubject] = []
  /// Where the next round begins.
  private var cursor = 0
  /// Whether a subscriber has been added since the last complete collection.
  var isSearching = false
  var gatheredWhole = Timestamp.distantPast
  /// Whether a value contains a price that is not live.
  var isIncomplete = false
  private(set) var parts: [QuotePart] = []
  private(set) var partsTime = Timestamp.distantPast
  private var sources: [String: DataSource] = [:]
  private var prices: [[SymbolRules]: PortfolioPrices] = [:]

  mutating func add(_ subject: PortfolioSubject) {
    guard shown[subject] == nil else { return }
    shown[subject] = Shown(subject: subject)
    order.append(subject)
    isSearching = true
  }

  mutating func remove(_ subject: PortfolioSubject) {
    guard shown.removeValue(forKey: subject) != nil else { return }
    order.removeAll { $0 == subject }
  }

  /// Whether the next round needs all markets.
  func needsAll(_ now: Timestamp) -> Bool {
    let since = now - gatheredWhole
    return isSearching || since < 0 || since >= (isIncomplete ? Self.searchInterval : Self.wholeInterval)
  }

  /// The markets that the last values came from.
  var symbols: Set<String> { shown.values.reduce(into: []) { $0.formUnion($1.symbols) } }

  /// The symbols of positions, whose markets need not be spot. O(positions).
  func positionSymbols(_ kept: (Int64) -> PortfolioContents?) -> Set<String> {
    var symbols: Set<String> = []
    for subject in order {
      let contents: PortfolioContents? =
        switch subject.source {
        case .sent(let contents): contents
        case .kept(let id, _): PortfolioCall.id(id).flatMap(kept)
        }
      for position in contents?.positions ?? [] { symbols.insert(position.symbol) }
    }
    return symbols
  }

  /// Takes the markets of a round.
  mutating func take(_ parts: [QuotePart], isWhole: Bool, now: Timestamp) {
    self.parts = parts
    partsTime = now
    if isWhole {
      gatheredWhole = now
      isSearching = false
    }
    prices = [:]
    sources = [:]
    for part in parts where part.source != .live { sources[part.market.instrument.symbol] = part.source }
  }

  /// The next portfolios to value, as many as a round takes.
  mutating func round() -> [PortfolioSubject] {
    isIncomplete = false
    var subjects: [PortfolioSubject] = []
    var lines = 0
    var scopes: Set<[SymbolRules]> = []
    for _ in order.indices {
      guard lines < Self.linesOfRound else { break }
      cursor = cursor < order.count ? cursor : 0
      let subject = order[cursor]
      scopes.insert(subject.scope)
      guard scopes.count <= Self.scopesOfRound else { break }
      cursor += 1
      lines += subject.lines
      subjects.append(subject)
    }
    return subjects
  }

  /// Values contents at the prices of the round.
  package mutating func value(
    _ contents: PortfolioContents, _ ledger: PortfolioLedger?, in currency: String, scope: [SymbolRules]
  ) -> (priced: PricedPortfolio, source: DataSource) {
    var prices = prices(of: scope)
    let priced = PricedPortfolio(contents, ledger: ledger, in: currency, at: &prices)
    self.prices[scope] = prices
    if priced.valuation.trust != .live { isIncomplete = true }
    let source = QuoteAnswer.source(of: sources.isEmpty ? [] : priced.symbols.compactMap { sources[$0] })
    return (priced, source)
  }

  /// The conversion path of an asset to a currency, with its rate.
  mutating func rate(_ pair: PortfolioPrices.Pair, scope: [SymbolRules]) -> PortfolioPrices.Rate {
    var prices = prices(of: scope)
    defer { self.prices[scope] = prices }
    return prices.rate(pair)
  }

  /// Takes the prices out, so that they are changed in place.
  private mutating func prices(of scope: [SymbolRules]) -> PortfolioPrices {
    if let known = prices.removeValue(forKey: scope) { return known }
    return PortfolioPrices(
      parts.filter { part in
        let symbol = part.market.instrument.symbol
        return scope.allSatisfy { $0.allows(symbol) }
      }.map { PortfolioPrices.Market($0.market, isFeedLive: $0.isFeedLive) })
  }

  /// Keeps the text of a portfolio; true if it differs from the one before.
  mutating func keep(_ text: SharedBytes, _ symbols: [String], of subject: PortfolioSubject) -> Bool {
    guard let old = shown[subject] else { return false }
    if old.symbols.count != symbols.count || !symbols.allSatisfy(old.symbols.contains) {
      shown[subject]?.symbols = Set(symbols)
    }
    if let before = old.text, before.unsafeBytes.elementsEqual(text.unsafeBytes) { return false }
    shown[subject]?.text = text
    return true
  }
}
