import Bytes
import MarketData

/// What Bybit says of linear contracts beside trades and books.
enum BybitDerivatives {
  /// All keys of funding are `""` on dated futures. The rate is that of the running interval.
  private static let format = DerivativeFormat(
    mark: "markPrice", index: "indexPrice", fundingRate: "fundingRate", nextFunding: "nextFundingTime",
    fundingInterval: ("fundingIntervalHour", Microseconds.hour), openInterest: "singleOpenInterest",
    openInterestQuote: "singleOpenInterestValue")

  /// 24 h figures with mark, index, funding and open interest; what a change leaves out is as it was.
  ///
  /// **`openInterest` counts both sides**, and so does its value. The `single…` keys count one; messages from before
  /// June 2026 lack them.
  static func readContract(
    _ reader: inout FieldReader, isSnapshot: Bool, _ instruments: inout InstrumentTable, into ticker: inout Ticker
  ) throws(FeedError) -> DerivativeReport {
    var report = DerivativeReport(instrument: ticker.instrument, time: ticker.time)
    report.confirmsOthers = !isSnapshot
    var both = DerivativeReport.Said<Decimal64>.nothing
    var bothQuote = DerivativeReport.Said<Decimal64>.nothing
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try instruments.take(key, of: &reader, Bybit.tickerFormat, into: &ticker) { continue }
      if try format.take(key, of: &reader, into: &report) { continue }
      if reader.equals(key, "openInterest") {
        both = try reader.amount("openInterest")
      } else if reader.equals(key, "openInterestValue") {
        bothQuote = try reader.amount("openInterestValue")
      } else {
        try reader.skipValue()
      }
    }
    if case .nothing = report.openInterest { report.openInterest = both.halved }
    if case .nothing = report.openInterestQuote { report.openInterestQuote = bothQuote.halved }
    return report
  }

  /// `[{"T":…,"s":"COTIUSDT","S":"Sell","v":"6666","p":"0.021436"},…]`, every 500 ms, all of them. **`S` is the
  /// position's side**, measured against the book: `Buy` is a long, which was sold. `p` is its bankruptcy price.
  static func readLiquidations(
    _ reader: inout FieldReader, _ instruments: InstrumentTable, _ time: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "data"
    try reader.arrayStart()
    while try reader.nextElement() {
      let row = try FieldObject(&reader, "liquidation")
      let name = try row.name("s")
      guard let index = instruments.index(named: name) else {
        throw FeedError(.unknownSymbol, "symbol \(name.prefix(40)) was not subscribed")
      }
      guard let price = row.number("p"), let size = row.number("v"), let side = row.text("S") else {
        throw FeedError.missing("p, v or S", in: "liquidation")
      }
      guard side == "Buy" || side == "Sell" else { throw FeedError(.value, "liquidation of side \(side.prefix(20))") }
      batch.events.append(
        .liquidation(
          Liquidation(
            instrument: InstrumentID(index), position: side == "Buy" ? .long : .short, price: price,
            priceKind: .bankruptcy, size: size, time: row.integer("T").flatMap(VenueTime.epoch) ?? time)))
    }
  }
}

extension BybitDerivatives {
  /// `{"result":{"list":[{"symbol":"ETHPERP","fundingRate":"0.0001","fundingRateTimestamp":"1672041600000"},…]}}`, the
  /// last 200. 600 requests in 5 s are allowed.
  static let polls = DerivativePolls(
    polls: [
      DerivativePoll(
        path: {
          $0.kind == .perpetual
            ? "/v5/market/funding/history?category=linear&symbol=\(URLText.percentEncoded($0.venueSymbol))" : nil
        }, every: Microseconds.hour, wish: .fundingHistory,
        read: { (reader, _, _, report) throws(FeedError) in
          guard var rows = try FieldObject(&reader, "answer").object("result")?.reader("list") else {
            throw FeedError.missing("result.list", in: "answer")
          }
          try SettlementFormat(time: "fundingRateTimestamp").read(&rows, into: &report)
        })
    ], weightPerMinute: 60)
}

extension DerivativeReport.Said<Decimal64> {
  /// Half of it, exactly.
  fileprivate var halved: Self {
    guard case .value(let both) = self else { return self }
    if both.mantissa % 2 == 0 { return .value(Decimal64(mantissa: both.mantissa / 2, scale: both.scale)) }
    let (mantissa, overflow) = both.mantissa.multipliedReportingOverflow(by: 5)
    guard !overflow, both.scale < DecimalText.scaleLimit else { return .nothing }
    return .value(Decimal64(mantissa: mantissa, scale: both.scale + 1))
  }
}
