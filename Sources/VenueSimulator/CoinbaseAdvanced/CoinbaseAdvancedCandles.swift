import Bytes
import MarketData

/// Advanced Trade's candles: objects of strings, the newest first, with both bounds in seconds.
extension CoinbaseAdvancedProtocol {
  private static let spanLimit: Int64 = 350

  func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    guard let name = request.part(after: Self.productsPath + "/", before: "/candles") else { return nil }
    func refuse(_ status: Int, _ error: String, _ message: String) -> SimulatedResponse {
      var out = ByteBuffer()
      out.append(#"{"error":"\#(error)","error_details":"#)
      out.append(json: message)
      out.append(#","message":"#)
      out.append(json: message)
      out.append("}")
      return SimulatedResponse(status: status, body: out.description)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: faults.now) else {
      return refuse(429, "RATE_LIMIT_EXCEEDED", "too many requests")
    }
    guard let index = instrument(named: name) else {
      return refuse(404, "NOT_FOUND", "Product \(name) not supported")
    }
    let names = ["ONE_MINUTE", "FIVE_MINUTE", "FIFTEEN_MINUTE", "ONE_HOUR", "FOUR_HOUR", "ONE_DAY"]
    guard let interval = CandleInterval.named(request["granularity"], names) else {
      return refuse(400, "INVALID_ARGUMENT", "\"\(request["granularity"] ?? "")\" is not a valid value")
    }
    guard let start = request.time("start", unit: Microseconds.second),
      let end = request.time("end", unit: Microseconds.second)
    else { return refuse(400, "INVALID_ARGUMENT", "start and end are required") }
    let limit = request.integer("limit") ?? Self.spanLimit
    guard (end - start) / interval.length <= Self.spanLimit, (1...Self.spanLimit).contains(limit) else {
      return refuse(
        400, "INVALID_ARGUMENT",
        "start and end argument is invalid - number of candles requested should be less than 350"
      )
    }
    let window = CandleWindow(from: start, to: end - 1, limit: Int(limit), isNewestFirst: true, isFilled: false)
    let instrument = market.instruments[index].instrument
    let rows = CandleRows(market.instruments[index], interval, window, now: faults.now, fault: fault)
    var out = ByteBuffer(capacity: 32 << 10)
    out.append(#"{"candles":["#)
    rows.append(to: &out) { candle, out in
      out.append(#"{"start":""#)
      out.append(integer: candle.seconds)
      out.append("\"")
      let fields: [(StaticString, Int64)] = [
        (#","low":"#, candle.bar.low), (#","high":"#, candle.bar.high), (#","open":"#, candle.bar.open),
        (#","close":"#, candle.bar.close),
      ]
      for (name, price) in fields {
        out.append(name)
        out.append(shortest: price, scale: instrument.priceScale)
      }
      out.append(#","volume":"#)
      out.append(shortest: candle.bar.volume, scale: instrument.sizeScale)
      out.append("}")
    }
    out.append("]}")
    return SimulatedResponse(body: out.description)
  }
}
