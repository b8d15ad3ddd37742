import Bytes
import MarketData

/// OKX' candles: `before` and `after` exclude their own bars, the newest come first, and of a range the newest are left. Plain days begin
/// at 16:00 UTC; sizes of contracts are in contracts, with base units behind them.
extension OKXProtocol {
  func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    let isHistory = request.path == "/api/v5/market/history-candles"
    guard isHistory || request.path == "/api/v5/market/candles" else { return nil }
    func refuse(_ status: Int, _ code: String, _ message: String) -> SimulatedResponse {
      SimulatedResponse(status: status, body: #"{"code":"\#(code)","msg":"\#(message)","data":[]}"#)
    }
    let fault = faults.takeCandleFault()
    let isWithin = isHistory ? historyBudget.take(at: faults.now) : candleBudget.take(at: faults.now)
    guard fault != .limited, isWithin else { return refuse(429, "50011", "Too Many Requests") }
    guard let name = request["instId"] else { return refuse(400, "50014", "Parameter instId can not be empty.") }
    guard let state = market.instruments.first(where: { $0.instrument.venueSymbol == name }) else {
      return refuse(200, "51001", "Instrument ID, Instrument ID code, or Spread ID doesn't exist.")
    }
    let bar = request["bar"] ?? "1m"
    let names = ["1m", "5m", "15m", "1H", "4H", "1Dutc"]
    guard let interval = bar == "1D" ? .hongKongDay : CandleInterval.named(bar, names) else {
      return refuse(200, "51000", "Parameter bar error")
    }
    var window = CandleWindow(limit: Int(min(max(request.integer("limit") ?? 100, 1), 300)), isNewestFirst: true)
    if let after = request.time("after", unit: Microseconds.millisecond) { window.to = after - 1 }
    if let before = request.time("before", unit: Microseconds.millisecond) { window.from = before + 1 }
    if !isHistory { window.depth = 1_440 }
    let instrument = state.instrument
    let isSpot = instrument.kind == .spot
    let rows = CandleRows(state, interval, window, now: faults.now, fault: fault)
    var out = ByteBuffer(capacity: 32 << 10)
    out.append(#"{"code":"0","msg":"","data":["#)
    rows.append(to: &out) { candle, out in
      out.append("[\"")
      out.append(integer: candle.milliseconds)
      out.append("\"")
      for price in [candle.bar.open, candle.bar.high, candle.bar.low, candle.bar.close] {
        out.append(",")
        out.append(shortest: price, scale: instrument.priceScale)
      }
      let quote = instrument.quoteUnits(candle.bar.turnover)
      let base = instrument.baseUnits(candle.bar.volume)
      let volumes = [
        Decimal64(mantissa: candle.bar.volume, scale: instrument.sizeScale), isSpot ? quote : base, quote,
      ]
      for volume in volumes {
        out.append(",")
        out.append(shortest: volume.mantissa, scale: volume.scale)
      }
      out.append(candle.isClosed ? #","1"]"# : #","0"]"#)
    }
    out.append("]}")
    return SimulatedResponse(body: out.description)
  }
}
