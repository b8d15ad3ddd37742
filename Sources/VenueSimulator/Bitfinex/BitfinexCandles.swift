import Bytes
import MarketData

/// Bitfinex' candles: the close before the high, the newest first unless sorted, none where nothing was traded.
extension BitfinexProtocol {
  private static let candleLimit = 10_000

  func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    let path = request.path.replacing("%3A", with: ":")
    let parts = path.split(separator: "/")
    guard parts.count == 4, parts[0] == "v2", parts[1] == "candles", ["hist", "last"].contains(parts[3]) else {
      return nil
    }
    func refuse(_ reason: String) -> SimulatedResponse {
      SimulatedResponse(status: 500, body: #"["error",10020,"\#(reason): invalid"]"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: faults.now) else {
      return SimulatedResponse(status: 429, body: #"{"error":"ERR_RATE_LIMIT"}"#)
    }
    let key = parts[2].split(separator: ":", maxSplits: 2).map(String.init)
    guard key.count == 3, key[0] == "trade",
      let interval = CandleInterval.named(key[1], ["1m", "5m", "15m", "1h", nil, "1D"])
    else { return refuse("time_interval") }
    let limit = request["limit"].map { Int($0) ?? 0 } ?? 100
    guard (1...Self.candleLimit).contains(limit) else { return refuse("limit") }
    // An unknown name has been answered like one that was never traded.
    guard let state = market.instruments.first(where: { $0.instrument.venueSymbol == key[2] }) else {
      return SimulatedResponse(body: "[]")
    }
    let isLast = parts[3] == "last"
    let isSorted = request["sort"] == "1"
    var window = CandleWindow(
      limit: isLast ? 1 : limit, keepsOldest: isSorted, isNewestFirst: !isSorted, isFilled: false)
    if let start = request.time("start", unit: Microseconds.millisecond) { window.from = start }
    if let end = request.time("end", unit: Microseconds.millisecond) { window.to = end }
    let rows = CandleRows(state, interval, window, now: faults.now, fault: fault)
    var out = ByteBuffer(capacity: 64 << 10)
    if !isLast { out.append("[") }
    rows.append(to: &out) { candle, out in
      out.append("[")
      out.append(integer: candle.milliseconds)
      for price in [candle.bar.open, candle.bar.close, candle.bar.high, candle.bar.low] {
        out.append(",")
        out.append(script: price, scale: state.instrument.priceScale)
      }
      out.append(",")
      out.append(script: candle.bar.volume, scale: state.instrument.sizeScale)
      out.append("]")
    }
    if !isLast { out.append("]") }
    return SimulatedResponse(body: out.description)
  }
}
