import Foundation

/// The value of holdings and positions. Every value is whole. Sums are exact, then rounded to 8 digits; percentages are
/// rounded to 4. Unknown values are nil.
public struct Portfolio: Sendable, Hashable {
  /// An asset that is held.
  public struct Holding: Sendable, Hashable {
    /// The asset: `BTC`.
    public var asset: String
    /// The state of its price.
    public var state: PriceState
    /// The time of the price, if it is not the present one.
    public var priceTime: Date?
    /// How much of it.
    public var quantity: ExactDecimal
    /// The price of one unit and the value of all, in the currency of the report.
    public var price: ExactDecimal?, value: ExactDecimal?
    /// The share of the whole, in per cent.
    public var sharePercent: ExactDecimal?
    /// The profit of 24 hours, absolute and in per cent.
    public var dayProfit: ExactDecimal?, dayPercent: ExactDecimal?
    /// Its cost.
    public var cost: ExactDecimal?
    /// Its profit: unrealised, realised, and the sum.
    public var unrealised: ExactDecimal?, realised: ExactDecimal?, profit: ExactDecimal?
  }

  /// An open position.
  public struct Position: Sendable, Hashable {
    /// Long or short.
    public enum Side: String, Sendable, Codable { case long, short }
    /// The market: `deribit:BTC-PERPETUAL`.
    public var symbol: String
    /// The state of its mark.
    public var state: PriceState
    /// The time of the price, if it is not the present one.
    public var priceTime: Date?
    /// Long or short.
    public var side: Side
    /// The size, and the leverage.
    public var size: ExactDecimal, leverage: ExactDecimal
    /// The entry price.
    public var entry: ExactDecimal
    /// The present price; nil while there is none.
    public var mark: ExactDecimal?
    /// The unrealised profit, in the currency of the report, and in per cent of the margin.
    public var unrealised: ExactDecimal?, unrealisedPercent: ExactDecimal?
    /// The margin that the exchange requires at least, as a fraction of the value.
    public var maintenance: ExactDecimal?
    /// The mark at which the exchange closes the position; nil if `maintenance` is unknown, or no price is low enough.
    public var liquidationPrice: ExactDecimal?
    /// The required margin in per cent of what is left of the position's own: it is closed at 100.
    public var marginPercent: ExactDecimal?
  }

  /// For a portfolio that the gateway stores.
  public var id: String?, name: String?
  /// Grows with each change of its contents.
  public var revision: Int64?
  /// The currency of the report; nil if the portfolio was deleted.
  public var currency: String?
  /// The worst state of its prices; `.deleted` after the portfolio was deleted.
  public var state: PriceState
  /// The value of holdings plus the unrealised profit of open positions.
  public var value: ExactDecimal?
  /// The profit of 24 hours, absolute and in per cent.
  public var dayProfit: ExactDecimal?, dayPercent: ExactDecimal?
  /// The cost of the holdings.
  public var cost: ExactDecimal?
  /// The total profit: unrealised, realised, and the sum.
  public var unrealised: ExactDecimal?, realised: ExactDecimal?, profit: ExactDecimal?
  /// In the order of the gateway's message.
  public var holdings: [Holding] = []
  /// In the order of the gateway's message.
  public var positions: [Position] = []
  /// Whether a price is simulated, or that of a recording: not for trading.
  public var isSimulated = false

  /// The largest number of holdings, or positions, that the client reads.
  static let limit = 1_000
}

/// The state of a price.
public enum PriceState: OpenState {
  case live
  /// Its market is not live: the last known price is used.
  case stale
  /// No market gives a price: there is no value, and the total does not include it.
  case missing
  /// The portfolio was deleted.
  case deleted
  case unknown(String)

  /// The words that this version knows.
  public static let known: [PriceState] = [.live, .stale, .missing, .deleted]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .live: "live"
    case .stale: "stale"
    case .missing: "missing"
    case .deleted: "deleted"
    case .unknown(let text): text
    }
  }
}

/// Holdings and positions to be valued, which the gateway does not store.
public struct PortfolioContents: Sendable, Hashable {
  /// An asset that is held.
  public struct Holding: Sendable, Hashable {
    let asset: String
    let quantity: ExactDecimal
    let cost: ExactDecimal?

    /// - Parameters:
    ///   - asset: `BTC`; each asset once.
    ///   - cost: the cost of all units, in the currency of the report; nil: unknown.
    public init(_ asset: String, quantity: ExactDecimal, cost: ExactDecimal? = nil) {
      (self.asset, self.quantity, self.cost) = (asset, quantity, cost)
    }
  }

  /// An open position.
  public struct Position: Sendable, Hashable {
    let symbol: String
    let side: Portfolio.Position.Side
    let size: ExactDecimal
    let leverage: ExactDecimal
    let entry: ExactDecimal
    let maintenance: ExactDecimal?

    /// - Parameters:
    ///   - symbol: `deribit:BTC-PERPETUAL`.
    ///   - entry: the price at which it was opened.
    ///   - maintenance: the margin that the exchange requires at least, as a fraction of the value: 0.005. With it, the
    ///     report has the price at which the position is closed.
    public init(
      _ symbol: String, _ side: Portfolio.Position.Side, size: ExactDecimal, leverage: ExactDecimal = 1,
      entry: ExactDecimal, maintenance: ExactDecimal? = nil
    ) {
      (self.symbol, self.side, self.size, self.leverage, self.entry) = (symbol, side, size, leverage, entry)
      self.maintenance = maintenance
    }
  }

  /// The currency of costs and of the report: `EUR`.
  public var currency: String
  /// At most 100.
  public var holdings: [Holding]
  /// At most 50.
  public var positions: [Position]

  /// Creates contents to be valued in `currency`.
  public init(currency: String, holdings: [Holding] = [], positions: [Position] = []) {
    (self.currency, self.holdings, self.positions) = (currency, holdings, positions)
  }
}
