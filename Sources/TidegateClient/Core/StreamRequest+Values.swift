import Foundation

// Requests for streams other than the markets of single venues.

extension StreamRequest where Value == Rate {
  /// The value of one unit of an asset in another: `ZEC-USD`.
  public static func rate(_ pairs: String..., every: Duration? = nil) -> Self { rate(pairs, every: every) }

  /// The value of one unit of an asset in another: `ZEC-USD`.
  public static func rate(_ pairs: [String], every: Duration? = nil) -> Self {
    Self(.rate, pairs, every: every, { if case .rate(let rate) = $0 { rate } else { nil } })
  }
}

extension StreamRequest where Value == Derivative {
  /// Mark, index, funding and open interest of perpetuals and dated futures.
  public static func derivative(_ symbols: String..., every: Duration? = nil) -> Self {
    derivative(symbols, every: every)
  }

  /// Mark, index, funding and open interest of perpetuals and dated futures.
  public static func derivative(_ symbols: [String], every: Duration? = nil) -> Self {
    Self(.derivative, symbols, every: every, { if case .derivative(let value) = $0 { value } else { nil } })
  }
}

extension StreamRequest where Value == [Liquidation] {
  /// Liquidations, oldest first. The first value of a stream has the latest ones, at most 50.
  /// ``StreamInfo/isComplete`` says whether the exchange tells of all.
  public static func liquidations(_ symbols: String...) -> Self { liquidations(symbols) }

  /// Liquidations, oldest first. The first value of a stream has the latest ones, at most 50.
  /// ``StreamInfo/isComplete`` says whether the exchange tells of all.
  public static func liquidations(_ symbols: [String]) -> Self {
    Self(.liquidations, symbols, every: nil, { if case .liquidations(let list) = $0 { list } else { nil } })
  }
}

extension StreamRequest where Value == Portfolio {
  /// The value of holdings and positions, at most once a second. The gateway does not store them.
  public static func portfolio(_ contents: PortfolioContents) -> Self { portfolio(PortfolioRequest.sent(contents)) }

  /// The value of a portfolio that the gateway stores for its owner (`/v1/portfolios`).
  /// - Parameter currency: the currency of the report; nil: the portfolio's own.
  public static func portfolio(id: String, currency: String? = nil) -> Self {
    portfolio(PortfolioRequest.kept(id: id, currency: currency))
  }

  private static func portfolio(_ request: PortfolioRequest) -> Self {
    Self(.portfolio, [""], every: nil, { if case .portfolio(let value) = $0 { value } else { nil } }) {
      $0.portfolio = request
    }
  }
}

extension StreamRequest where Value == [TopicDocument] {
  /// The documents of topics, each once, oldest first. The first value has the latest documents.
  /// - Parameter last: the number of latest documents, 1…100.
  public static func topic(_ names: String..., last: Int = 1) -> Self { topic(names, last: last) }

  /// The documents of topics, each once, oldest first. The first value has the latest documents.
  /// - Parameter last: the number of latest documents, 1…100.
  public static func topic(_ names: [String], last: Int = 1) -> Self {
    Self(.topic, names, every: nil, { if case .topic(let documents) = $0 { documents } else { nil } }) {
      $0.last = last
    }
  }
}

extension StreamRequest where Value == DeckDay {
  /// The card of the day of decks, and that of the next day when it begins.
  /// - Parameter timeZone: the time zone of the day; nil: the device's.
  public static func deck(_ names: String..., timeZone: TimeZone? = nil) -> Self {
    Self(.deck, names, every: nil, { if case .deck(let day) = $0 { day } else { nil } }) {
      $0.zone = (timeZone ?? .current).identifier
    }
  }
}

extension StreamRequest where Value == AlertList {
  /// The alerts of the owner whose token the client shows. ``GatewayClient/perform(_:)`` changes them.
  public static var alerts: Self {
    Self(.alerts, [""], every: nil, { if case .alerts(let list) = $0 { list } else { nil } })
  }
}

/// What a subscription of `portfolio` names.
enum PortfolioRequest: Sendable, Hashable {
  case sent(PortfolioContents)
  case kept(id: String, currency: String?)
}
