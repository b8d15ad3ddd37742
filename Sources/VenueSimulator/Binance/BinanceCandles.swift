import Bytes
import MarketData

/// Binance's klines: both bounds test the opening, and of more rows than the limit the oldest are left where a start is given.
extension BinanceREST {
  static let klineNames = ["1m", "5m", "15m", "1h", "4h", "1d"]

  /// What a request of klines weighs.
  static func klineWeight(_ request: SimulatedRequest, isSpot: Bool) -> Int {
    guard !isSpot else { return 2 }
    let limit = request.integer("limit") ?? 500
    return limit < 100 ? 1 : limit < 500 ? 2 : limit <= 1_000 ? 5 : 10
  }

  func klines(_ request: SimulatedRequest, isSpot: Bool, _ now: Timestamp, _ fault: CandleFault?) -> SimulatedResponse {
    guard let symbol = request["symbol"], request["interval"] != nil else {
      return Self.bad(-1102, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.")
    }
    guard
      let state = market.instruments.first(where: {
        $0.instrument.venueSymbol == symbol && ($0.instrument.kind == .spot) == isSpot
      })
    else { return Self.bad(-1121, "Invalid symbol.") }
    guard let interval = CandleInterval.named(request["interval"], Self.klineNames) else {
      return Self.bad(-1120, "Invalid interval.")
    }
    let limit = request["limit"].map { Int($0) ?? 0 } ?? 500
    // Spot cuts it without a word.
    guard limit > 0, isSpot || limit <= 1_500 else {
      return Self.bad(-1130, "Data sent for parameter 'limit' is not valid.")
    }
    var window = CandleWindow(limit: isSpot ? min(limit, 1_000) : limit)
    if let start = request.time("startTime", unit: Microseconds.millisecond) {
      window.from = start
      window.keepsOldest = true
    }
    if let end = request.time("endTime", unit: Microseconds.millisecond) { window.to = end }
    let rows = CandleRows(state, interval, window, now: now, fault: fault)
    let instrument = state.instrument
    var out = ByteBuffer(capacity: 128 << 10)
    out.append("[")
    rows.append(to: &out) { candle, out in
      let half = SimulatedDay.Minute(halfOf: candle.bar)
      out.append("[")
      out.append(integer: candle.milliseconds)
      out.append(",")
      out.append(quotedPrices: candle.bar, instrument)
      out.append(",")
      out.append(quoted: candle.bar.volume, scale: instrument.sizeScale)
      out.append(",")
      out.append(integer: candle.lastMillisecond)
      out.append(",")
      out.append(quotedTurnover: candle.bar, instrument)
      out.append(",")
      out.append(integer: candle.bar.trades)
      out.append(",")
      out.append(quoted: half.volume, scale: instrument.sizeScale)
      out.append(",")
      out.append(quotedTurnover: half, instrument)
      out.append(#","0"]"#)
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }
}

extension SimulatedDay.Minute {
  /// What takers bought, let us say.
  fileprivate init(halfOf bar: SimulatedDay.Minute) {
    self = bar
    volume /= 2
    turnover /= 2
  }
}
