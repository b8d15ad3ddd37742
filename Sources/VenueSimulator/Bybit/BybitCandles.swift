import Bytes
import MarketData

/// Bybit's klines: strings, the newest first; of more rows than the limit the newest are left.
extension BybitProtocol {
  func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    guard request.path == "/v5/market/kline" else { return nil }
    func refuse(_ code: Int, _ message: String) -> SimulatedResponse {
      let time = faults.now.rawValue / 1_000
      return SimulatedResponse(
        body: #"{"retCode":\#(code),"retMsg":"\#(message)","result":{},"retExtInfo":{},"time":\#(time)}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited else { return refuse(10_006, "Too many visits!") }
    guard candleBudget.take(at: faults.now) else {
      return SimulatedResponse(status: 403, body: "<html>access too frequent</html>")
    }
    let category = request["category"] ?? "linear"
    guard category == "spot" || category == "linear" else { return refuse(10_001, "params error: Category is invalid") }
    guard let symbol = request["symbol"],
      let state = market.instruments.first(where: {
        $0.instrument.venueSymbol == symbol && ($0.instrument.kind == .spot) == (category == "spot")
      })
    else { return refuse(10_001, "Not supported symbols") }
    guard let interval = CandleInterval.named(request["interval"], ["1", "5", "15", "60", "240", "D"]) else {
      return refuse(10_001, "Invalid period!")
    }
    var window = CandleWindow(limit: Int(min(max(request.integer("limit") ?? 200, 1), 1_000)), isNewestFirst: true)
    if let start = request.time("start", unit: Microseconds.millisecond) { window.from = start }
    if let end = request.time("end", unit: Microseconds.millisecond) { window.to = end }
    let rows = CandleRows(state, interval, window, now: faults.now, fault: fault)
    var out = ByteBuffer(capacity: 64 << 10)
    out.append(#"{"retCode":0,"retMsg":"OK","result":{"category":"\#(category)","symbol":"\#(symbol)","list":["#)
    rows.append(to: &out) { candle, out in
      out.append("[\"")
      out.append(integer: candle.milliseconds)
      out.append("\",")
      out.append(quotedPrices: candle.bar, state.instrument)
      out.append(",")
      out.append(quoted: candle.bar.volume, scale: state.instrument.sizeScale)
      out.append(",")
      out.append(quotedTurnover: candle.bar, state.instrument)
      out.append("]")
    }
    out.append(#"]},"retExtInfo":{},"time":"#)
    out.append(integer: rows.clock.rawValue / 1_000)
    out.append("}")
    return SimulatedResponse(body: out.description)
  }
}
