import Bytes
import MarketData

/// What OKX says of contracts beside trades and books.
///
/// Mark, index, funding and open interest are four channels of a symbol. A connection may begin 480 topics an hour, of
/// which books, quotes, trades and figures of its symbols take most. So these values are requested by REST, for what
/// somebody wants. Their messages in recordings are read as well.
enum OKXDerivatives {
  /// `fundingTime` is the **next** settlement, of `fundingRate`; `nextFundingTime` is the one after it.
  /// `nextFundingRate` is empty since the venue gave up the mode that filled it. `oiCcy` is in base units (`oi` is in
  /// contracts).
  private static let format = DerivativeFormat(
    mark: "markPx", index: "idxPx", fundingRate: "fundingRate", predictedRate: "nextFundingRate",
    nextFunding: "fundingTime", openInterest: "oiCcy")

  /// Reads an entry of `mark-price`, `index-tickers`, `funding-rate` or `open-interest`.
  static func readRow(_ reader: inout FieldReader, into report: inout DerivativeReport) throws(FeedError) {
    var after = DerivativeReport.Said<Timestamp>.nothing
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try format.take(key, of: &reader, into: &report) { continue }
      if reader.equals(key, "nextFundingTime") {
        after = try reader.moment("nextFundingTime")
      } else if reader.equals(key, "ts") {
        report.time = try reader.time("ts", .epoch) ?? report.time
      } else {
        try reader.skipValue()
      }
    }
    // The interval may change at any time: 1, 2, 4, 6 or 8 h.
    guard case .value(let next) = report.nextFunding, case .value(let second) = after, second > next else { return }
    report.fundingInterval = .value(second - next)
    report.computed.insert(.fundingInterval)
  }

  /// Reads the price of an index, `BTC-USDT`, for all contracts on it.
  static func readIndex(
    _ data: inout FieldReader, of index: RawSpan, _ instruments: InstrumentTable, _ now: Timestamp,
    _ batch: inout EventBatch
  ) throws(FeedError) {
    let name = index.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } + "-"
    data.field = "data"
    try data.arrayStart()
    while try data.nextElement() {
      var report = DerivativeReport(instrument: InstrumentID(0), time: now)
      try readRow(&data, into: &report)
      for instrument in instruments.instruments
      where instrument.kind != .spot && instrument.venueSymbol.hasPrefix(name) {
        report.instrument = instrument.id
        batch.append(derivative: report)
      }
    }
  }

  // MARK: Liquidations

  /// The subscription that has the liquidations of a contract, and of all others of its kind.
  static func liquidations(of instrument: Instrument) -> String {
    #"{"channel":"liquidation-orders","instType":"\#(instrument.kind == .perpetual ? "SWAP" : "FUTURES")"}"#
  }

  /// `[{"instId":"CNPY-USDT-SWAP","details":[{"bkPx":"0.4162","posSide":"short","side":"buy","sz":"2137","ts":…}]}]`.
  /// `side` is the closing order's, `sz` counts contracts, `bkPx` is the bankruptcy price. Not in order of time; the
  /// first message repeats the past.
  static func readLiquidations(
    _ reader: inout FieldReader, _ instruments: InstrumentTable, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "data"
    try reader.arrayStart()
    while try reader.nextElement() {
      let row = try FieldObject(&reader, "liquidation-orders")
      // Most are of contracts that are not followed.
      guard let index = instruments.index(named: try row.name("instId")), instruments[index].kind != .spot else {
        continue
      }
      let found = try row.objects("details") { (detail, _) throws(FeedError) in
        try liquidation(detail, of: instruments[index], now: now)
      }
      for liquidation in found { batch.events.append(.liquidation(liquidation)) }
    }
  }

  private static func liquidation(
    _ row: borrowing FieldObject, of instrument: Instrument, now: Timestamp
  ) throws(FeedError) -> Liquidation {
    guard let price = row.number("bkPx"), let contracts = row.number("sz"),
      let size = contracts.multiplied(by: instrument.contractSize)
    else { throw FeedError.missing("bkPx or sz", in: "liquidation-orders") }
    let position: Liquidation.Position
    switch (row.text("side"), row.text("posSide")) {
    case ("sell", _), (_, "long"): position = .long
    case ("buy", _), (_, "short"): position = .short
    default: throw FeedError.missing("side", in: "liquidation-orders")
    }
    return Liquidation(
      instrument: instrument.id, position: position, price: price, priceKind: .bankruptcy, size: size,
      time: row.integer("ts").flatMap(VenueTime.epoch) ?? now)
  }

  // MARK: REST

  /// Each path has its own limit of 10 or 20 requests in 2 s.
  static let polls = DerivativePolls(
    polls: [
      poll("/api/v5/public/mark-price", 5) { "instType=\(family(of: $0))&instId=\($0.venueSymbol)" },
      poll("/api/v5/market/index-tickers", 5) { "instId=\($0.base)-\($0.quote)" },
      poll("/api/v5/public/funding-rate", 60) { $0.kind == .perpetual ? "instId=\($0.venueSymbol)" : nil },
      poll("/api/v5/public/open-interest", 30) { "instType=\(family(of: $0))&instId=\($0.venueSymbol)" },
      // The last 100; `realizedRate` is what was paid, `fundingRate` was the forecast.
      DerivativePoll(
        path: {
          $0.kind == .perpetual ? "/api/v5/public/funding-rate-history?instId=\($0.venueSymbol)&limit=100" : nil
        }, every: Microseconds.hour, wish: .fundingHistory,
        read: { (reader, _, _, report) throws(FeedError) in
          guard var rows = try FieldObject(&reader, "answer").reader("data") else {
            throw FeedError.missing("data", in: "answer")
          }
          try SettlementFormat(rate: "realizedRate").read(&rows, into: &report)
        }),
    ], weightPerMinute: 240)

  private static func family(of instrument: Instrument) -> String {
    instrument.kind == .perpetual ? "SWAP" : "FUTURES"
  }

  /// `{"code":"0","msg":"","data":[{…}]}`, with an entry as the stream has it.
  private static func poll(
    _ path: String, _ seconds: Int64, _ query: @escaping @Sendable (Instrument) -> String?
  ) -> DerivativePoll {
    DerivativePoll(
      path: { instrument in query(instrument).map { "\(path)?\($0)" } }, every: seconds * Microseconds.second
    ) { (reader, _, _, report) throws(FeedError) in
      guard var rows = try FieldObject(&reader, "answer").reader("data") else {
        throw FeedError.missing("data", in: "answer")
      }
      try rows.arrayStart()
      while try rows.nextElement() { try readRow(&rows, into: &report) }
    }
  }
}
