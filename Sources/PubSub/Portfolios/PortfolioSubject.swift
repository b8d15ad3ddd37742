import Portfolio

/// What a stream of the channel `portfolio` values: the contents that a client sent, or a stored portfolio of its
/// owner. It includes the markets whose prices may be used.
///
/// A class, because it is part of stream keys, which are copied often. Two subjects with the same contents are equal,
/// so they share one stream.
package final class PortfolioSubject: Sendable, Hashable {
  package enum Source: Sendable, Hashable {
    case sent(PortfolioContents)
    case kept(id: String, owner: String)
  }

  package let source: Source
  /// The currency of the report; nil: the portfolio's own.
  package let currency: String?
  /// The rules of clients that may see only the allowed markets; empty: all markets.
  package let scope: [SymbolRules]
  private let digest: Int

  package init(_ source: Source, currency: String?, scope: [SymbolRules]) {
    self.source = source
    self.currency = currency
    self.scope = scope
    var hasher = Hasher()
    hasher.combine(source)
    hasher.combine(currency)
    hasher.combine(scope)
    digest = hasher.finalize()
  }

  package static func == (a: PortfolioSubject, b: PortfolioSubject) -> Bool {
    a === b || (a.digest == b.digest && a.source == b.source && a.currency == b.currency && a.scope == b.scope)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(digest) }

  /// The id of a stored portfolio.
  package var id: String? {
    if case .kept(let id, _) = source { return id }
    return nil
  }

  package var owner: String? {
    if case .kept(_, let owner) = source { return owner }
    return nil
  }

  /// The cost of a valuation, in lines; for a stored portfolio, the most lines that it may have.
  package var lines: Int {
    switch source {
    case .sent(let contents): max(1, contents.lines)
    case .kept: PortfolioContents.holdingLimit
    }
  }
}

/// A portfolio as a subscription names it.
package struct PortfolioRequestItem: Sendable, Equatable {
  /// The id of a stored one.
  package var id: String?
  package var currency: String?
  package var holdings: [PortfolioContents.Holding]?
  package var positions: [PortfolioContents.Position]?

  package init() {}

  package static let fields = ["portfolio", "currency", "holdings", "positions"]

  var isEmpty: Bool { id == nil && currency == nil && holdings == nil && positions == nil }
}

extension PortfolioRequestItem {
  /// The subject of an item, for the holder of a grant.
  /// - Parameters:
  ///   - directory: the assets that there are.
  ///   - exists: whether an owner has a portfolio of an id.
  func subject(
    for grant: Grant, _ directory: inout Directory, exists: (_ id: String, _ owner: String) -> Bool
  ) throws(ProtocolError)
    -> PortfolioSubject
  {
    if let currency, !PortfolioContents.isAsset(currency) {
      throw ProtocolError(.outOfRange, "`currency` is not an asset", hint: "write assets as in symbols: EUR, BTC")
    }
    for name in [currency].compactMap(\.self) + (holdings ?? []).map(\.asset) {
      guard let mistake = directory.misspelling(inAsset: name) else { continue }
      throw ProtocolError(.outOfRange, "there is no asset `\(name)`", hint: mistake.hint)
    }
    if let id {
      guard holdings == nil, positions == nil else {
        throw ProtocolError(
          .badRequest, "`portfolio` excludes `holdings` and `positions`", hint: "name one, or send its contents")
      }
      guard let owner = grant.owner else {
        throw ProtocolError(
          .forbidden, "your token does not say who you are, so you have no portfolios",
          hint: "use a key of your own, or a token with a `sub`; or send `holdings`")
      }
      guard exists(id, owner) else {
        throw ProtocolError(
          .unknownPortfolio, "you have no portfolio `\(id.prefix(40))`", hint: "GET /v1/portfolios lists yours")
      }
      return PortfolioSubject(.kept(id: id, owner: owner), currency: currency, scope: grant.scope)
    }
    let (holdings, positions) = (holdings ?? [], positions ?? [])
    guard !holdings.isEmpty || !positions.isEmpty else {
      throw ProtocolError(
        .badRequest, "a portfolio needs `portfolio`, `holdings` or `positions`",
        hint: "{\"channel\":\"portfolio\",\"currency\":\"USD\",\"holdings\":[{\"asset\":\"BTC\",\"quantity\":\"0.5\"}]}"
      )
    }
    guard let currency else {
      throw ProtocolError(.badRequest, "`currency` is missing", hint: "the currency of costs and values: USD, EUR, BTC")
    }
    for position in positions where !grant.allows(position.symbol) {
      throw ProtocolError(
        .forbidden, "your token does not allow `\(position.symbol)`",
        hint: "GET /v1/instruments lists what it allows")
    }
    return PortfolioSubject(
      .sent(PortfolioContents(currency: currency, holdings: holdings, positions: positions)), currency: nil,
      scope: grant.scope)
  }
}
