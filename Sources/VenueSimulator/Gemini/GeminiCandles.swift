import Bytes
import MarketData

/// Gemini's candles: windows of fixed lengths, the newest first; what is asked for beside the name and the interval is not looked at.
extension GeminiProtocol {
  /// Rows of each interval.
  private static let candleCounts = ["1m": 1_440, "5m": 2_015, "15m": 1_343, "1hr": 1_463, "1day": 364]

  func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    let parts = request.path.split(separator: "/").map(String.init)
    let isSpot = parts.count == 4 && parts[0] == "v2" && parts[1] == "candles"
    guard isSpot || (parts.count == 5 && parts[..<3] == ["v2", "derivatives", "candles"]) else { return nil }
    func refuse(_ reason: String, _ message: String) -> SimulatedResponse {
      SimulatedResponse(
        status: 400, body: #"{"result":"error","reason":"\#(reason)","message":"\#(message)"}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited else { return Self.tooMany }
    let (name, frame) = (parts[parts.count - 2], parts[parts.count - 1])
    guard
      let state = market.instruments.first(where: {
        $0.instrument.venueSymbol == name.lowercased() && ($0.instrument.kind == .spot) == isSpot
      })
    else {
      return refuse(
        "Bad Request", "Supplied value '\(name.filter { $0.isLetter || $0.isNumber })' is not a valid symbol.")
    }
    guard let interval = CandleInterval.named(frame, ["1m", "5m", "15m", "1hr", nil, "1day"]),
      let count = Self.candleCounts[frame], isSpot || frame == "1m"
    else {
      return refuse(
        "InvalidParameterValue", "time_frame expects one of the following: [1m, 5m, 15m, 30m, 1hr, 6hr, 1day]")
    }
    let window = CandleWindow(limit: count, isNewestFirst: true)
    let rows = CandleRows(state, interval, window, now: faults.now, fault: fault)
    var out = ByteBuffer(capacity: 64 << 10)
    out.append("[")
    rows.append(to: &out) { candle, out in
      out.append("[")
      out.append(integer: candle.milliseconds)
      for price in [candle.bar.open, candle.bar.high, candle.bar.low, candle.bar.close] {
        out.append(",")
        out.append(script: price, scale: state.instrument.priceScale)
      }
      out.append(",")
      out.append(script: candle.bar.volume, scale: state.instrument.sizeScale)
      out.append("]")
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }
}
