import Bytes
import MarketData

/// What Gemini says of perpetuals beside trades and books: by REST alone. Its socket has undocumented streams, of which
/// the index is off by a power of ten. It tells of no liquidations.
enum GeminiDerivatives {
  /// 120 requests a minute are allowed, of which lists and figures may take half.
  static let polls = DerivativePolls(
    polls: [
      DerivativePoll(
        path: { "/v1/riskstats/\(URLText.percentEncoded($0.venueSymbol))" }, every: 15 * Microseconds.second,
        read: readRisk),
      DerivativePoll(
        path: { "/v1/fundingamount/\(URLText.percentEncoded($0.venueSymbol))" }, every: Microseconds.minute,
        needsMark: true, read: readFunding),
    ], weightPerMinute: 30)

  /// Digits after the point of a rate.
  private static let rateDigits: UInt8 = 12

  private static let riskFormat = DerivativeFormat(
    mark: "mark_price", index: "index_price", openInterest: "open_interest", openInterestQuote: "open_interest_notional"
  )

  /// `{"mark_price":"…","index_price":"…","open_interest":"…","open_interest_notional":"…"}`: base units and quote
  /// currency, one side.
  @Sendable
  private static func readRisk(
    _ reader: inout FieldReader, _ instrument: Instrument, _ mark: Decimal64?, _ report: inout DerivativeReport
  ) throws(FeedError) {
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try !riskFormat.take(key, of: &reader, into: &report) { try reader.skipValue() }
    }
  }

  /// `{"fundingAmount":…,"estimatedFundingAmount":0.51692,"nextFundingTimestamp":1789459200000,…}`: **an amount** in
  /// the quote currency for one unit of the base asset and hour. The rate is this amount as a part of the mark; without
  /// a mark it is unknown.
  @Sendable
  private static func readFunding(
    _ reader: inout FieldReader, _ instrument: Instrument, _ mark: Decimal64?, _ report: inout DerivativeReport
  ) throws(FeedError) {
    var amount = DerivativeReport.Said<Decimal64>.nothing
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "estimatedFundingAmount") {
        amount = try reader.said("estimatedFundingAmount")
      } else if reader.equals(key, "nextFundingTimestamp") {
        report.nextFunding = try reader.moment("nextFundingTimestamp")
      } else {
        try reader.skipValue()
      }
    }
    report.fundingInterval = .value(Microseconds.hour)
    guard let mark, mark.mantissa > 0, case .value(let amount) = amount,
      let rate = Ratio.quotient(
        Int128(amount.mantissa), by: Int128(mark.mantissa),
        powerOfTen: Int(rateDigits) + Int(mark.scale) - Int(amount.scale))
    else { return }
    report.fundingRate = .value(Decimal64(mantissa: rate, scale: rateDigits).trimmed)
    report.computed = .fundingRate
  }
}
