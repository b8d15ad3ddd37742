import Bytes
import MarketData

/// What Bitget says of perpetuals beside trades and books. Liquidations are on its other socket (v3), which the gateway
/// does not use.
enum BitgetDerivatives {
  /// Open interest is in base units.
  private static let format = DerivativeFormat(
    mark: "markPrice", index: "indexPrice", fundingRate: "fundingRate", nextFunding: "nextFundingTime",
    openInterest: "holdingAmount")

  /// 24 h figures with mark, index, funding and open interest. A market without a next settlement has no funding,
  /// though it has a rate of 0.
  static func read(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, into ticker: inout Ticker
  ) throws(FeedError) -> DerivativeReport {
    var report = DerivativeReport(instrument: ticker.instrument, time: ticker.time)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try instruments.take(key, of: &reader, Bitget.tickerFormat, into: &ticker) { continue }
      if try !format.take(key, of: &reader, into: &report) { try reader.skipValue() }
    }
    report.time = ticker.time
    if case .absent = report.nextFunding { report.clearFunding() }
    return report
  }

  /// The interval of funding is only in an answer by REST. It changes rarely.
  static let polls = DerivativePolls(
    polls: [
      DerivativePoll(
        path: {
          "/api/v2/mix/market/current-fund-rate?symbol=\(URLText.percentEncoded($0.venueSymbol))"
            + "&productType=USDT-FUTURES"
        }, every: 10 * Microseconds.minute, read: readInterval),
      // The last 100.
      DerivativePoll(
        path: {
          "/api/v2/mix/market/history-fund-rate?symbol=\(URLText.percentEncoded($0.venueSymbol))"
            + "&productType=USDT-FUTURES&pageSize=100"
        }, every: Microseconds.hour, wish: .fundingHistory,
        read: { (reader, _, _, report) throws(FeedError) in
          guard var rows = try FieldObject(&reader, "answer").reader("data") else {
            throw FeedError.missing("data", in: "answer")
          }
          try SettlementFormat().read(&rows, into: &report)
        }),
    ],
    // 20 a second are allowed.
    weightPerMinute: 60)

  /// `{"code":"00000","data":[{"symbol":"BTCUSDT","fundingRate":"0.000068","fundingRateInterval":"8",…}]}`
  @Sendable
  private static func readInterval(
    _ reader: inout FieldReader, _ instrument: Instrument, _ mark: Decimal64?, _ report: inout DerivativeReport
  ) throws(FeedError) {
    let rows = try FieldObject(&reader, "current-fund-rate").objects("data") {
      (row, _) throws(FeedError) -> Int64? in
      row.text("symbol") == instrument.venueSymbol ? row.integer("fundingRateInterval") : nil
    }
    guard let hours = rows.first, (1...24).contains(hours) else { return }
    report.fundingInterval = .value(hours * Microseconds.hour)
  }
}
