import Bytes
import MarketData

/// Bitstamp's OHLC: objects of strings, the oldest first; with both bounds the start is forgotten.
extension BitstampProtocol {
  func candles(_ name: String, _ request: SimulatedRequest) -> SimulatedResponse {
    func refuse(_ reason: String) -> SimulatedResponse {
      SimulatedResponse(status: 400, body: #"{"status":"error","reason":"\#(reason)","code":"400.001"}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited else { return Self.tooMany }
    guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == name }), !isRefused(index)
    else { return SimulatedResponse(status: 404, body: "") }
    let names = ["60", "300", "900", "3600", "14400", "86400"]
    guard let interval = CandleInterval.named(request["step"], names) else { return refuse("step") }
    guard let limit = request.integer("limit"), (1...1_000).contains(limit) else { return refuse("limit") }
    var window = CandleWindow(limit: Int(limit), hasRunning: request["exclude_current_candle"] != "true")
    if let end = request.time("end", unit: Microseconds.second) {
      window.to = end
    } else if let start = request.time("start", unit: Microseconds.second) {
      // The bar that it is in, too.
      window.from = interval.opening(start)
      window.keepsOldest = true
    }
    // A full page has been seen to lack a row: here of every other market.
    if index % 2 == 1, limit == 1_000 { window.limit = 999 }
    let instrument = market.instruments[index].instrument
    let rows = CandleRows(market.instruments[index], interval, window, now: faults.now, fault: fault)
    var out = ByteBuffer(capacity: 64 << 10)
    out.append(#"{"data":{"pair":"\#(instrument.base)/\#(instrument.quote)","ohlc":["#)
    rows.append(to: &out) { candle, out in
      out.append(#"{"timestamp":""#)
      out.append(integer: candle.seconds)
      let fields: [(StaticString, Int64)] = [
        (#"","open":"#, candle.bar.open), (#","high":"#, candle.bar.high), (#","low":"#, candle.bar.low),
        (#","close":"#, candle.bar.close),
      ]
      for (name, price) in fields {
        out.append(name)
        out.append(quoted: price, scale: instrument.priceScale)
      }
      out.append(#","volume":"#)
      out.append(quoted: candle.bar.volume, scale: instrument.sizeScale)
      out.append("}")
    }
    out.append("]}}")
    return SimulatedResponse(body: out.description)
  }
}
