import Bytes
import MarketData

/// Hyperliquid's candle snapshots: objects, the oldest first, of the newest 5,000 bars only.
extension HyperliquidProtocol {
  private static let candleLimit = 5_000

  func candles(_ request: HyperliquidRequest) -> SimulatedResponse {
    let fault = faults.takeCandleFault()
    func tooMany() -> SimulatedResponse { SimulatedResponse(status: 429, body: "null") }
    guard fault != .limited, candleBudget.take(20, at: faults.now) else { return tooMany() }
    guard let index = index(of: request.coin),
      let interval = CandleInterval.named(request.interval, ["1m", "5m", "15m", "1h", "4h", "1d"])
    else { return SimulatedResponse(status: 500, body: "null") }
    // The bar that the start is in is among them.
    let window = CandleWindow(
      from: interval.opening(request.start), to: request.end ?? faults.now, limit: Self.candleLimit,
      depth: Self.candleLimit - 1)
    let rows = CandleRows(market.instruments[index], interval, window, now: faults.now, fault: fault)
    // Another one for every 60 rows: paid afterwards, or not at all.
    _ = candleBudget.take(Double(rows.candles.count / 60), at: faults.now)
    // A bar without a trade is told of late.
    let recent = interval.opening(faults.now) - 2 * interval.length
    let told = rows.filtered { $0.bar.trades > 0 || $0.start < recent }
    var out = ByteBuffer(capacity: 128 << 10)
    out.append("[")
    told.append(to: &out) { candle, out in
      out.append(#"{"t":"#)
      out.append(integer: candle.milliseconds)
      out.append(#","T":"#)
      out.append(integer: candle.lastMillisecond)
      out.append(#","s":"#)
      out.append(json: request.coin)
      out.append(#","i":"#)
      out.append(json: request.interval)
      let fields: [(StaticString, Int64)] = [
        (#","o":"#, candle.bar.open), (#","c":"#, candle.bar.close), (#","h":"#, candle.bar.high),
        (#","l":"#, candle.bar.low),
      ]
      for (name, price) in fields {
        out.append(name)
        number(price, rows.instrument.priceScale, to: &out)
      }
      out.append(#","v":"#)
      number(candle.bar.volume, rows.instrument.sizeScale, to: &out)
      out.append(#","n":"#)
      out.append(integer: candle.bar.trades)
      out.append("}")
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }
}
