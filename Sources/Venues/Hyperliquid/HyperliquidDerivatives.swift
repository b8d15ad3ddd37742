import MarketData

/// What Hyperliquid says of perpetuals beside trades and books. It tells of no liquidations: trades carry no mark of
/// them.
enum HyperliquidDerivatives {
  /// `funding` is the estimate for the running hour, per hour. Open interest is in base units and counts one side.
  static let format = DerivativeFormat(
    mark: "markPx", index: "oraclePx", fundingRate: "funding", openInterest: "openInterest")

  /// Funding is settled at each full hour.
  static func complete(_ report: inout DerivativeReport) {
    guard case .value = report.fundingRate else { return }
    report.fundingInterval = .value(Microseconds.hour)
    report.nextFunding = .value(report.time + (Microseconds.hour - report.time.microseconds % Microseconds.hour))
    report.computed = [.fundingInterval, .nextFunding]
  }
}
