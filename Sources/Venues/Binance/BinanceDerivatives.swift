import Bytes
import MarketData

/// What Binance says of USD-M contracts beside trades and books.
///
/// Its streams are `markPrice@1s` and `forceOrder`, on the route `/market`. The gateway's connection is to the route
/// `/public`, so it requests the same values by REST, for what somebody wants. Open interest and the interval of
/// funding are only there in any case.
enum BinanceDerivatives {
  enum Key { case mark, index, rate, next }

  /// Of `markPriceUpdate`: `P`, the estimated settlement, means something in the last hour only.
  static let markKeys: [(name: Unicode.Scalar, key: Key)] = [("p", .mark), ("i", .index), ("r", .rate), ("T", .next)]

  /// Takes a value of `markPriceUpdate`. The rate is that of the running interval, settled at `T`.
  static func take(_ key: Key, _ value: inout FieldReader, into report: inout DerivativeReport) throws(FeedError) {
    switch key {
    case .mark: report.mark = try value.price("p")
    case .index: report.index = try value.price("i")
    case .rate: report.fundingRate = try value.said("r")
    case .next: report.nextFunding = try value.moment("T")
    }
  }

  /// A dated contract has a time of 0 and a rate that is 0, empty or missing: no funding, which is not a funding of 0.
  static func finish(_ report: inout DerivativeReport) {
    if case .value = report.nextFunding { return }
    report.clearFunding()
  }

  /// The order of `forceOrder`:
  /// `{"s":"COTIUSDT","S":"BUY","q":"288183","p":"0.0220482","ap":"0.0219120","X":"FILLED","z":"288183","T":…}`. `S` is
  /// the closing order's side, `p` its limit, `ap` what was paid. Nil for a market that is not followed.
  static func readOrder(
    _ reader: inout FieldReader, _ instruments: InstrumentTable, now: Timestamp
  ) throws(FeedError) -> Liquidation? {
    let order = try FieldObject(&reader, "forceOrder")
    guard let index = instruments.index(named: try order.name("s")) else { return nil }
    guard let side = order.text("S"), side == "BUY" || side == "SELL" else {
      throw FeedError.missing("S", in: "forceOrder")
    }
    let paid = order.number("ap").flatMap { $0.mantissa > 0 ? $0 : nil }
    let filled = order.number("z").flatMap { $0.mantissa > 0 ? $0 : nil }
    guard let price = paid ?? order.number("p") else { throw FeedError.missing("p", in: "forceOrder") }
    guard let size = filled ?? order.number("q") else { throw FeedError.missing("q", in: "forceOrder") }
    return Liquidation(
      instrument: InstrumentID(index), position: side == "SELL" ? .long : .short, price: price,
      priceKind: paid == nil ? .order : .fill, size: size,
      time: order.integer("T").flatMap(VenueTime.epoch) ?? now)
  }

  // MARK: REST

  private static func query(_ path: String, _ instrument: Instrument) -> String {
    "\(path)?symbol=\(URLText.percentEncoded(instrument.venueSymbol))"
  }

  /// 2,400 of weight a minute are allowed, of which books and lists may take half.
  static let polls = DerivativePolls(
    polls: [
      DerivativePoll(
        path: { query("/fapi/v1/premiumIndex", $0) }, every: 5 * Microseconds.second, read: readIndex),
      DerivativePoll(
        path: { query("/fapi/v1/openInterest", $0) }, every: 30 * Microseconds.second, read: readOpenInterest),
      DerivativePoll(
        path: { $0.kind == .perpetual ? "/fapi/v1/fundingInfo" : nil }, every: Microseconds.hour, bodyLimit: 1 << 20,
        read: readInterval),
      // 500 of these and of `fundingInfo` in 5 minutes are allowed.
      DerivativePoll(
        path: { $0.kind == .perpetual ? query("/fapi/v1/fundingRate", $0) + "&limit=1000" : nil },
        every: Microseconds.hour, weight: 4, bodyLimit: 1 << 20, wish: .fundingHistory,
        read: { (reader, _, _, report) throws(FeedError) in try SettlementFormat().read(&reader, into: &report) }),
    ], weightPerMinute: 400)

  private static let indexFormat = DerivativeFormat(
    mark: "markPrice", index: "indexPrice", fundingRate: "lastFundingRate", nextFunding: "nextFundingTime",
    openInterest: "openInterest")

  /// `{"symbol":"BTCUSDT","markPrice":"…","indexPrice":"…","lastFundingRate":"…","nextFundingTime":…,"time":…}`
  @Sendable
  private static func readIndex(
    _ reader: inout FieldReader, _ instrument: Instrument, _ mark: Decimal64?, _ report: inout DerivativeReport
  ) throws(FeedError) {
    try read(&reader, into: &report)
    finish(&report)
  }

  /// `{"openInterest":"10659.509","symbol":"BTCUSDT","time":1589437530011}`, in base units, one side.
  @Sendable
  private static func readOpenInterest(
    _ reader: inout FieldReader, _ instrument: Instrument, _ mark: Decimal64?, _ report: inout DerivativeReport
  ) throws(FeedError) { try read(&reader, into: &report) }

  private static func read(_ reader: inout FieldReader, into report: inout DerivativeReport) throws(FeedError) {
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try indexFormat.take(key, of: &reader, into: &report) { continue }
      if reader.equals(key, "time") {
        report.time = try reader.time("time", .epoch) ?? report.time
      } else {
        try reader.skipValue()
      }
    }
  }

  /// `[{"symbol":"BLZUSDT","fundingIntervalHours":4,…},…]`: only of markets whose interval is not 8 h.
  @Sendable
  private static func readInterval(
    _ reader: inout FieldReader, _ instrument: Instrument, _ mark: Decimal64?, _ report: inout DerivativeReport
  ) throws(FeedError) {
    let hours = try reader.list { (reader, _) throws(FeedError) -> Int64? in
      let row = try FieldObject(&reader, "fundingInfo")
      return row.text("symbol") == instrument.venueSymbol ? row.integer("fundingIntervalHours") : nil
    }
    report.fundingInterval = .value(min(max(hours.first ?? 8, 1), 24) * Microseconds.hour)
  }
}
