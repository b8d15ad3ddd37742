import Bytes
import MarketData

/// Deribit's chart data: columns, the oldest first, at most 5,001 bars, cut without a word. Days begin at 08:00 UTC.
extension DeribitProtocol {
  func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    guard request.path == "/api/v2/public/get_tradingview_chart_data" else { return nil }
    func refuse(_ status: Int, _ code: Int, _ message: String) -> SimulatedResponse {
      SimulatedResponse(
        status: status, body: #"{"jsonrpc":"2.0","error":{"code":\#(code),"message":"\#(message)"},"testnet":false}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: faults.now) else { return refuse(429, 10_028, "too_many_requests") }
    guard let start = request.time("start_timestamp", unit: Microseconds.millisecond),
      let end = request.time("end_timestamp", unit: Microseconds.millisecond),
      var interval = CandleInterval.named(request["resolution"], ["1", "5", "15", "60", nil, "1D"])
    else { return refuse(400, -32_602, "Invalid params") }
    guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == request["instrument_name"] })
    else { return refuse(400, 13_020, "instrument_not_found") }
    if request["resolution"] == "1D" { interval.offset = 8 * Microseconds.hour }
    let state = market.instruments[index]
    let window = CandleWindow(from: start, to: end, limit: 5_001)
    let rows = CandleRows(state, interval, window, now: faults.now, fault: fault)
    // The first bar has been missing at times: here always, of every other market.
    let candles = Array(rows.candles.dropFirst(index % 2))
    var out = ByteBuffer(capacity: 64 << 10)
    out.append(#"{"jsonrpc":"2.0","result":{"status":"\#(candles.isEmpty ? "no_data" : "ok")""#)
    func column(_ name: StaticString, _ list: [SimulatedCandle], _ value: (SimulatedCandle, inout ByteBuffer) -> Void) {
      out.append(name)
      out.append("[")
      out.append(separated: list, value)
      out.append("]")
    }
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    func prices(_ name: StaticString, _ field: KeyPath<SimulatedDay.Minute, Int64>) {
      column(name, candles) { $1.append(float: $0.bar[keyPath: field], scale: price) }
    }
    column(#","volume":"#, rows.isRagged ? candles.dropLast() : candles) {
      $1.append(float: $0.bar.volume, scale: size)
    }
    column(#","ticks":"#, candles) { $1.append(integer: $0.milliseconds) }
    prices(#","open":"#, \.open)
    prices(#","low":"#, \.low)
    prices(#","high":"#, \.high)
    column(#","cost":"#, candles) {
      let cost = state.instrument.quoteUnits($0.bar.turnover)
      $1.append(float: cost.mantissa, scale: cost.scale)
    }
    prices(#","close":"#, \.close)
    let time = rows.clock.rawValue
    out.append(#"},"usIn":\#(time - 900),"usOut":\#(time),"usDiff":900,"testnet":false}"#)
    return SimulatedResponse(body: out.description)
  }
}
