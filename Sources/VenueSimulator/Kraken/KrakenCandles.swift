import Bytes
import MarketData

/// Kraken's OHLC: the newest 720 closed bars and the one under way, whatever is asked for.
extension KrakenProtocol {
  func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    guard request.path == "/0/public/OHLC" else { return nil }
    func refuse(_ reason: String) -> SimulatedResponse { SimulatedResponse(body: #"{"error":["\#(reason)"]}"#) }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: faults.now) else { return refuse("EGeneral:Too many requests") }
    guard let name = request["pair"], let index = KrakenREST.index(of: name, in: market) else {
      return refuse("EQuery:Unknown asset pair")
    }
    guard let interval = CandleInterval.named(request["interval"] ?? "1", ["1", "5", "15", "60", "240", "1440"]) else {
      return refuse("EGeneral:Invalid arguments:interval")
    }
    var window = CandleWindow(limit: 721, depth: 720)
    // Whether a bar that opens at `since` is among them is disputed: here of every other market.
    if let since = request.time("since", unit: Microseconds.second) { window.from = since + Int64(index % 2) }
    let state = market.instruments[index]
    let rows = CandleRows(state, interval, window, now: faults.now, fault: fault)
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    var out = ByteBuffer(capacity: 64 << 10)
    out.append(#"{"error":[],"result":{"#)
    out.append(json: name.contains("/") ? name : KrakenREST.key(state.instrument))
    out.append(":[")
    rows.append(to: &out) { candle, out in
      out.append("[")
      out.append(integer: candle.seconds)
      out.append(",")
      out.append(quotedPrices: candle.bar, state.instrument)
      out.append(",")
      if candle.bar.trades > 0 { out.append(quoted: candle.vwap, scale: price) } else { out.append(#""0.0""#) }
      out.append(",")
      out.append(quoted: candle.bar.volume, scale: size)
      out.append(",")
      out.append(integer: candle.bar.trades)
      out.append("]")
    }
    out.append(#"],"last":"#)
    out.append(integer: rows.candles.last { $0.isClosed }?.seconds ?? request.integer("since") ?? 0)
    out.append("}}")
    return SimulatedResponse(body: out.description)
  }
}
