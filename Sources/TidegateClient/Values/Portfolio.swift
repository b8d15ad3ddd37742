import Foundation

/// What holdings and positions are worth: whole in every value. Sums are exact and rounded to 8 digits, percentages to
/// 4. What is not known is nil.
public struct Portfolio: Sendable, Hashable {
  /// An asset that is held.
  public struct Holding: Sendable, Hashable {
    /// The asset: `BTC`.
    public var asset = ""
    /// Whether its price is the present one.
    public var state = PriceState.missing
    /// When the price was made, where that is not now.
    public var priceTime: Date?
    /// How much of it.
    public var quantity: ExactDecimal?
    /// Of one, and of all of it, in the currency of the report.
    public var price: ExactDecimal?, value: ExactDecimal?
    /// Of the whole, in per cent.
    public var sharePercent: ExactDecimal?
    /// What it has made in 24 hours, absolutely and in per cent.
    public var dayProfit: ExactDecimal?, dayPercent: ExactDecimal?
    /// What was paid for it.
    public var cost: ExactDecimal?
    /// What it has made since, by prices and by sales, and together.
    public var unrealised: ExactDecimal?, realised: ExactDecimal?, profit: ExactDecimal?
  }

  /// An open position.
  public struct Position: Sendable, Hashable {
    /// Which way it gains.
    public enum Side: String, Sendable, Codable { case long, short }
    /// The market: `deribit:BTC-PERPETUAL`.
    public var symbol = ""
    /// Whether its mark is the present price.
    public var state = PriceState.missing
    /// When the price was made, where that is not now.
    public var priceTime: Date?
    /// Which way it gains; nil for a word that this version does not know.
    public var side: Side?
    /// How much, and how many times its margin.
    public var size: ExactDecimal?, leverage: ExactDecimal?
    /// The price at which it was opened, and the price now.
    public var entry: ExactDecimal?, mark: ExactDecimal?
    /// What it has made, in the currency of the report, and in per cent of its margin.
    public var unrealised: ExactDecimal?, unrealisedPercent: ExactDecimal?
  }

  /// Of a portfolio that the gateway keeps.
  public var id: String?, name: String?
  /// Grows with each change of its contents.
  public var revision: Int64?
  /// What the report is in; nil of one that is deleted.
  public var currency: String?
  /// The worst state of its prices.
  public var state = PriceState.missing
  /// Holdings, and what open positions have made.
  public var value: ExactDecimal?
  /// In 24 hours, absolutely and in per cent.
  public var dayProfit: ExactDecimal?, dayPercent: ExactDecimal?
  /// What was paid for the holdings.
  public var cost: ExactDecimal?
  /// What all of it has made, by prices and by sales, and together.
  public var unrealised: ExactDecimal?, realised: ExactDecimal?, profit: ExactDecimal?
  /// In the order in which they were sent.
  public var holdings: [Holding] = []
  /// In the order in which they were sent.
  public var positions: [Position] = []
  /// Whether a price is simulated, or that of a recording: not for trading.
  public var isSimulated = false

  /// The most holdings, or positions, that are read.
  static let limit = 1_000
}

/// Whether a price can be taken for the present one.
public enum PriceState: OpenState {
  case live
  /// Its market says nothing new.
  case stale
  /// No market leads there: there is no value, and the total lacks it.
  case missing
  /// The portfolio is gone.
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
    ///   - cost: what was paid for all of it, in the currency of the report; nil: not known.
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

    /// - Parameters:
    ///   - symbol: `deribit:BTC-PERPETUAL`.
    ///   - entry: the price at which it was opened.
    public init(
      _ symbol: String, _ side: Portfolio.Position.Side, size: ExactDecimal, leverage: ExactDecimal = 1,
      entry: ExactDecimal
    ) {
      (self.symbol, self.side, self.size, self.leverage, self.entry) = (symbol, side, size, leverage, entry)
    }
  }

  /// What costs and the report are in: `EUR`.
  public var currency: String
  /// At most 100.
  public var holdings: [Holding]
  /// At most 50.
  public var positions: [Position]

  /// What is to be valued, in `currency`.
  public init(currency: String, holdings: [Holding] = [], positions: [Position] = []) {
    (self.currency, self.holdings, self.positions) = (currency, holdings, positions)
  }
}
