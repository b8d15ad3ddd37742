import Bytes
import MarketData

/// Gate's candlesticks: the open last but two, the oldest first, and loud about what it does not have.
extension GateProtocol {
  static let candlesPath = "/api/v4/spot/candlesticks"
  /// Rows of an answer, and bars that there are at all.
  private static let candleLimit: Int64 = 1_000
  private static let candleDepth: Int64 = 10_000

  func candles(_ request: SimulatedRequest) -> SimulatedResponse {
    func refuse(_ message: String, _ label: String = "INVALID_PARAM_VALUE") -> SimulatedResponse {
      SimulatedResponse(status: 400, body: #"{"label":"\#(label)","message":"\#(message)"}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited else { return Self.tooMany }
    let name = request["currency_pair"] ?? ""
    guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == name }) else {
      let currency = name.prefix { $0 != "_" }.filter { $0.isLetter || $0.isNumber }
      return refuse("Invalid currency \(currency)", "INVALID_CURRENCY")
    }
    // An interval that it does not know has been answered with bars of another one.
    let interval =
      CandleInterval.named(request["interval"] ?? "30m", ["1m", "5m", "15m", "1h", "4h", "1d"]) ?? .hour
    let from = request.time("from", unit: Microseconds.second)
    let to = request.time("to", unit: Microseconds.second)
    let limit = request["limit"].map { Int64($0) ?? 0 }
    guard from == nil || to == nil || limit == nil else {
      return refuse("limit cannot be specified together with from and to")
    }
    guard (1...Self.candleLimit).contains(limit ?? 100) else { return refuse("limit must be in 1-1000") }
    let oldest = interval.opening(faults.now) - Self.candleDepth * interval.length
    if let from {
      guard from >= oldest else {
        return refuse("Candlestick too long ago. Maximum \(Self.candleDepth) points recently are allowed")
      }
      guard limit != nil || ((to ?? faults.now) - from) / interval.length < Self.candleLimit else {
        return refuse(
          "Candlestick range too broad. Maximum \(Self.candleLimit) data points are allowed per request")
      }
    }
    var window = CandleWindow(
      limit: Int(limit ?? (from == nil ? 100 : Self.candleLimit)), keepsOldest: from != nil,
      // Whether there is a row where nothing was traded is not known: here of every other market.
      isFilled: index % 2 == 0, depth: Int(Self.candleDepth))
    if let from { window.from = from }
    if let to { window.to = to }
    let instrument = market.instruments[index].instrument
    let rows = CandleRows(market.instruments[index], interval, window, now: faults.now, fault: fault)
    var out = ByteBuffer(capacity: 64 << 10)
    out.append("[")
    rows.append(to: &out) { candle, out in
      out.append("[\"")
      out.append(integer: candle.seconds)
      out.append("\",")
      out.append(quotedTurnover: candle.bar, instrument)
      for price in [candle.bar.close, candle.bar.high, candle.bar.low, candle.bar.open] {
        out.append(",")
        out.append(shortest: price, scale: instrument.priceScale)
      }
      out.append(",")
      out.append(quoted: candle.bar.volume, scale: instrument.sizeScale)
      out.append(candle.isClosed ? #","true"]"# : #","false"]"#)
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }
}
