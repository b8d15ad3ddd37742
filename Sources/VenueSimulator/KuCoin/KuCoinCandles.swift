import Bytes
import MarketData

/// KuCoin's klines: the close before the high, the newest first, none where nothing was traded; of a wide range the newest part.
extension KuCoinProtocol {
  static let candlesPath = "/api/v1/market/candles"

  func candles(_ request: SimulatedRequest) -> SimulatedResponse {
    func refuse(_ message: String) -> SimulatedResponse {
      SimulatedResponse(body: #"{"code":"400100","msg":"\#(message)"}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited else { return Self.tooMany }
    guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == request["symbol"] }) else {
      return refuse("This pair is not provided at present")
    }
    let names = ["1min", "5min", "15min", "1hour", "4hour", "1day"]
    guard let interval = CandleInterval.named(request["type"], names) else {
      return refuse("Incorrect candlestick type")
    }
    var window = CandleWindow(limit: 1_500, isNewestFirst: true, isFilled: false)
    let start = request.time("startAt", unit: Microseconds.second)
    let end = request.time("endAt", unit: Microseconds.second)
    // Each bound is 0 unless it is given.
    if let start, let end, end.rawValue > 0 {
      window.from = start
      window.to = end - 1
    } else {
      window.limit = 100
    }
    let instrument = market.instruments[index].instrument
    let rows = CandleRows(market.instruments[index], interval, window, now: faults.now, fault: fault)
    var out = ByteBuffer(capacity: 64 << 10)
    out.append(#"{"code":"200000","data":["#)
    rows.append(to: &out) { candle, out in
      out.append("[\"")
      out.append(integer: candle.seconds)
      out.append("\"")
      for price in [candle.bar.open, candle.bar.close, candle.bar.high, candle.bar.low] {
        out.append(",")
        out.append(shortest: price, scale: instrument.priceScale)
      }
      // Twenty digits after the point are more than 64 bits hold: here of every other market.
      let turnover = instrument.quoteUnits(candle.bar.turnover)
      for volume in [Decimal64(mantissa: candle.bar.volume, scale: instrument.sizeScale), turnover] {
        out.append(",")
        out.append(quoted: volume.mantissa, scale: volume.scale)
        guard index % 2 == 1, volume.scale > 0 else { continue }
        out.truncate(to: out.count - 1)
        out.append(String(repeating: "0", count: 20 - Int(volume.scale)))
        out.append("\"")
      }
      out.append("]")
    }
    out.append("]}")
    return SimulatedResponse(body: out.description)
  }
}
