import Bytes
import Foundation

extension Derivative {
  static let format = MessageFormat<Derivative>(
    Derivative(),
    [
      .init("mark", \.mark), .init("index", \.index), .init("funding_rate", \.fundingRate),
      .init("funding_interval_s") { $0.fundingInterval = .seconds(try $1.int64()) },
      .init("next_funding", \.nextFunding), .init("predicted_rate", \.predictedRate),
      .init("continuous", \.isContinuous), .init("open_interest", \.openInterest),
      .init("open_interest_quote", \.openInterestQuote), .init("basis_percent", \.basisPercent),
      .init("polled", \.polled, limit: 100),
      .init("computed", \.computed, limit: 100),
      .init("as_of", isNeeded: true) { $0.asOf = try $1.map { Date(microseconds: try $0.int64()) } },
    ])
}

/// The `data` of a message of `liquidations`.
struct LiquidationList {
  var liquidations: [Liquidation] = []
  /// Whether the exchange tells of all; only in snapshots.
  var isComplete: Bool?

  static let format = MessageFormat<LiquidationList>(
    LiquidationList(), [.init("liquidations", \.liquidations, limit: 10_000), .init("complete", \.isComplete)])
}

extension Liquidation.Position: MessageWord {}
extension LiquidationPriceKind: MessageWord {}

extension Liquidation: MessageObject {
  static let format = MessageFormat<Liquidation>(
    Liquidation(position: .long, side: .sell, price: 0, priceKind: .unknown(""), size: 0, time: .distantPast),
    [
      .init("id", \.id), .init("position", needed: \.position), .init("side", needed: \.side),
      .init("price", needed: \.price), .init("price_kind", needed: \.priceKind), .init("size", needed: \.size),
      .init("value", \.value), .init("time", needed: \.time),
    ])
}
