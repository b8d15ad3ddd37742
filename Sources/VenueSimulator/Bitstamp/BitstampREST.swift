import Bytes
import MarketData

/// Bitstamp's REST answers: books that may be some seconds old, lists of markets, the figures of all of them, candles.
extension BitstampProtocol {
  /// Requests a minute.
  private static let requestLimit = 1_000
  /// Answers with a book come from a cache, and are up to this old.
  private static let cacheAge = Microseconds.second

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    let minute = now.rawValue / Microseconds.minute
    if minute != self.minute { (self.minute, requests) = (minute, 0) }
    requests += 1
    guard requests <= Self.requestLimit else { return tooMany }
    let notFound = SimulatedResponse(status: 404, #"{"status":"error","reason":"Not found","code":"404.000"}"#)
    let parts = request.path.split(separator: "/").map(String.init)
    guard parts.count >= 3, parts[0] == "api", parts[1] == "v2" else { return notFound }
    switch (parts[2], parts.count) {
    case ("markets", 3): return list(market)
    case ("trading-pairs-info", 3): return list(pair)
    case ("order_book", 4): return listed(parts[3]).map(orderBook) ?? notFound
    case ("ohlc", 4): return candles(parts[3], request)
    case ("ticker", 3): return SimulatedResponse("[\(JSONText.list(listedMarkets, ticker))]")
    case ("ticker", 4): return listed(parts[3]).map { SimulatedResponse(ticker($0)) } ?? notFound
    default: return notFound
    }
  }

  private var tooMany: SimulatedResponse {
    SimulatedResponse(
      status: 429, #"{"response_code":"400.002","response_explanation":"Request rate limit exceeded"}"#)
  }

  private var listedMarkets: [Int] { indices.filter { !isRefused($0) } }

  private func orderBook(_ index: Int) -> SimulatedResponse {
    let book: (truth: SimulatedTruth, time: Timestamp)
    if let old = snapshots.take(index) {
      book = old
    } else if let cached = cache[index], now - cached.time <= Self.cacheAge {
      book = cached
    } else {
      book = (market.truth(index, isSnapshot: true), now)
      cache[index] = book
    }
    let sides = book.truth.book
    var response = SimulatedResponse(self.sides(sides.bids.reversed(), sides.asks.reversed(), index, at: book.time))
    response.truth = book.truth
    return response
  }

  private func list(_ row: (SimulatedInstrument) -> JSONText) -> SimulatedResponse {
    let rows = JSONText.list(listedMarkets) { row(state($0).instrument) }
    // A perpetual, which is on the same socket.
    return SimulatedResponse(
      #"""
      [\#(rows)\#(listedMarkets.isEmpty ? "" : ","){"name":"BTC/USD-PERP","market_symbol":"btcusd-perp",\#
      "url_symbol":"btcusd-perp","base_currency":"BTC","base_decimals":5,"counter_currency":"USD",\#
      "counter_decimals":0,\#
      "trading":"Enabled","market_type":"PERPETUAL","contract_size":"1"}]
      """#)
  }

  private func market(_ instrument: SimulatedInstrument) -> JSONText {
    let (base, quote) = (instrument.base, instrument.quote)
    return #"""
      {"name":"\#(base)/\#(quote)","market_symbol":"\#(instrument.venueSymbol)","base_currency":"\#(base)",\#
      "base_decimals":\#(instrument.sizeScale),"counter_currency":"\#(quote)",\#
      "counter_decimals":\#(instrument.priceScale),\#
      "minimum_order_value":"10.00","trading":"Enabled","instant_order_counter_decimals":2,\#
      "instant_and_market_orders":"Enabled","market_type":"SPOT"}
      """#
  }

  private func pair(_ instrument: SimulatedInstrument) -> JSONText {
    let (base, quote) = (instrument.base, instrument.quote)
    return #"""
      {"name":"\#(base)/\#(quote)","url_symbol":"\#(instrument.venueSymbol)","base_decimals":\#(instrument.sizeScale),\#
      "counter_decimals":\#(instrument.priceScale),"minimum_order":"10.00 \#(quote)","trading":"Enabled",\#
      "instant_and_market_orders":"Enabled"}
      """#
  }

  private func ticker(_ index: Int) -> JSONText {
    let (state, i) = (state(index), spell(index))
    let day = state.day
    return #"""
      {"timestamp":"\#(seconds: now)","open":\#(i.price(day.open)),"high":\#(i.price(day.high)),\#
      "low":\#(i.price(day.low)),\#
      "last":\#(i.price(day.last)),"volume":\#(i.size(day.volume)),"vwap":\#(i.price(day.vwap)),\#
      "bid":\#(i.price(state.book.bestBid)),"ask":\#(i.price(state.book.bestAsk)),"open_24":\#(i.price(day.open)),\#
      "percent_change_24":\#(i.number(day.rise(in: 10_000), 2)),"pair":"\#(i.instrument.base)/\#(i.instrument.quote)"}
      """#
  }

  // MARK: - Candles

  /// Objects of strings, the oldest first; with both bounds the start is forgotten.
  private func candles(_ name: String, _ request: SimulatedRequest) -> SimulatedResponse {
    func refuse(_ reason: String) -> SimulatedResponse {
      SimulatedResponse(status: 400, #"{"status":"error","reason":"\#(reason)","code":"400.001"}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited else { return tooMany }
    guard let index = listed(name) else { return SimulatedResponse(status: 404, "") }
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
    let i = spell(index)
    let list = JSONText.rows(CandleRows(state(index), interval, window, now: now, fault: fault)) { candle in
      let bar = candle.bar
      return #"""
        {"timestamp":"\#(candle.seconds)","open":\#(i.price(bar.open)),"high":\#(i.price(bar.high)),\#
        "low":\#(i.price(bar.low)),"close":\#(i.price(bar.close)),"volume":\#(i.size(bar.volume))}
        """#
    }
    return SimulatedResponse(
      #"{"data":{"pair":"\#(i.instrument.base)/\#(i.instrument.quote)","ohlc":[\#(list)]}}"#)
  }
}
