import Bytes
import MarketData

/// Coinbase Exchange's candles: low and high before open and close, the newest first, none where nothing was traded.
extension CoinbaseProtocol {
  /// Rows of a request with both bounds, less one.
  private static let spanLimit: Int64 = 300

  func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    guard let name = request.part(after: "/products/", before: "/candles") else { return nil }
    func refuse(_ status: Int, _ message: String) -> SimulatedResponse {
      SimulatedResponse(status: status, body: #"{"message":"\#(message)"}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: faults.now) else { return refuse(429, "Public rate limit exceeded") }
    guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == name }) else {
      return refuse(404, "NotFound")
    }
    let names = ["60", "300", "900", "3600", nil, "86400"]
    guard let interval = CandleInterval.named(request["granularity"] ?? "60", names) else {
      return refuse(400, "Unsupported granularity")
    }
    var now = faults.now
    var window = CandleWindow(limit: 350, isNewestFirst: true, isFilled: false)
    if let start = request["start"].flatMap(Timestamp.init(iso8601:)),
      let end = request["end"].flatMap(Timestamp.init(iso8601:))
    {
      let count = (end - start) / interval.length
      guard count <= Self.spanLimit else {
        return refuse(
          400,
          "granularity too small for the requested time range. Count of aggregations requested exceeds \(Self.spanLimit)"
        )
      }
      // One row may be from before the start: here of every other market.
      window.from = start - (index % 2 == 1 ? interval.length : 0)
      window.to = end
    } else {
      // From a cache, five minutes old at most; one bound alone counts for nothing.
      now = Timestamp(rawValue: now.rawValue / (5 * Microseconds.minute) * 5 * Microseconds.minute)
    }
    let instrument = market.instruments[index].instrument
    let rows = CandleRows(market.instruments[index], interval, window, now: now, fault: fault)
    var out = ByteBuffer(capacity: 16 << 10)
    out.append("[")
    rows.append(to: &out) { candle, out in
      out.append("[")
      out.append(integer: candle.seconds)
      for price in [candle.bar.low, candle.bar.high, candle.bar.open, candle.bar.close] {
        out.append(",")
        out.append(script: price, scale: instrument.priceScale)
      }
      out.append(",")
      out.append(script: candle.bar.volume, scale: instrument.sizeScale)
      out.append("]")
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }
}

extension Timestamp {
  /// `2026-09-01T00:00:00Z`, with or without the Z and a fraction, or seconds since 1970; nil if it is neither.
  init?(iso8601 text: String) {
    if let seconds = Int64(text), (0...9_000_000_000).contains(seconds) {
      self.init(rawValue: seconds * Microseconds.second)
      return
    }
    let digits = text.split(whereSeparator: { !$0.isASCII || !$0.isNumber }).compactMap { Int64($0) }
    guard digits.count >= 6, text.utf8.count >= 19, (1970...2200).contains(digits[0]), (1...12).contains(digits[1]),
      (1...31).contains(digits[2]), (0...23).contains(digits[3]), (0...59).contains(digits[4]),
      (0...59).contains(digits[5])
    else { return nil }
    // Days since 1970, in years that begin in March.
    let year = digits[1] > 2 ? digits[0] : digits[0] - 1
    let month = (digits[1] + 9) % 12
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + digits[2] - 719_469
    self.init(rawValue: (days * 86_400 + digits[3] * 3_600 + digits[4] * 60 + digits[5]) * Microseconds.second)
  }
}
