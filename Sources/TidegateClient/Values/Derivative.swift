import Foundation

/// The figures of a perpetual or dated future beside its trades and its book. A value that is nil is unknown
/// or does not apply: a dated future has no funding, which is not a funding of 0.
public struct Derivative: Sendable, Hashable {
  /// The price at which the exchange values positions.
  public var mark: ExactDecimal?
  /// The price of the underlying.
  public var index: ExactDecimal?
  /// What longs pay shorts each ``fundingInterval``, as a fraction of a position's value: 0.0001 is 0.01 %. Never per
  /// 8 h or per hour unless that is the interval.
  public var fundingRate: ExactDecimal?
  /// The time between two settlements.
  public var fundingInterval: Duration?
  /// When ``fundingRate`` is settled; nil if funding is continuous.
  public var nextFunding: Date?
  /// The rate of the interval after that.
  public var predictedRate: ExactDecimal?
  /// Whether funding is paid all the time; ``fundingRate`` is then the present rate.
  public var isContinuous = false
  /// All long positions together, in the base currency. Short ones are as many.
  public var openInterest: ExactDecimal?
  /// The same in the quote currency.
  public var openInterestQuote: ExactDecimal?
  /// Of a composite: how much ``mark`` is above the spot price, in per cent.
  public var basisPercent: ExactDecimal?
  /// When each value was said or confirmed, by its name on the wire: `mark`, `funding_rate`.
  public var asOf: [String: Date] = [:]
  /// The values that the gateway requests now and then, by their names on the wire.
  public var polled: [String] = []
  /// The values that the gateway computed, by their names on the wire.
  public var computed: [String] = []
}

/// A position that the exchange closed because its margin was used up.
public struct Liquidation: Sendable, Hashable {
  /// What was closed.
  public enum Position: String, Sendable { case long, short }
  /// The exchange's name for it; nil if it gives none.
  public var id: String?
  /// The position that was closed: a long position is sold.
  public var position: Position
  /// The side of the closing order.
  public var side: Trade.Side
  /// A price of the kind ``priceKind``.
  public var price: ExactDecimal
  /// Which price it is. A bankruptcy price is not one at which anything was traded.
  public var priceKind: LiquidationPriceKind
  /// The amount of the base currency.
  public var size: ExactDecimal
  /// In the quote currency.
  public var value: ExactDecimal?
  /// When it happened.
  public var time: Date
}

/// Which price of a liquidation an exchange sends.
public enum LiquidationPriceKind: OpenState {
  /// At which the closing order was executed, its limit, or where the position's margin is zero.
  case fill, order, bankruptcy
  case unknown(String)

  /// The words that this version knows.
  public static let known: [LiquidationPriceKind] = [.fill, .order, .bankruptcy]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .fill: "fill"
    case .order: "order"
    case .bankruptcy: "bankruptcy"
    case .unknown(let text): text
    }
  }
}
