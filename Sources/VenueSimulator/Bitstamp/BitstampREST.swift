import Bytes
import MarketData

/// Bitstamp's REST answers: books that may be some seconds old, lists of markets, the figures of all of them, candles.
extension BitstampProtocol {
  /// Answers with a book come from a cache, and are up to this old.
  private static let cacheAge = Microseconds.second

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    guard requests.take(at: now) else { return tooMany }
    let notFound = SimulatedResponse(status: 404, #"{"status":"error","reason":"Not found","code":"404.000"}"#)
    let parts = request.path.split(separator: "/").map(String.init)
    guard parts.count >= 3, parts[0] == "api", parts[1] == "v2" else { return notFound }
    switch (parts[2], parts.count) {
    case ("markets", 3): return list(market)
    case ("trading-pairs-info", 3): return list(pair)
    case ("order_book", 4): return listed(parts[3]).map(orderBook) ?? notFound
    case ("ohlc", 4): return candles(parts[3], request)
    case ("ticker", 3): return SimulatedResponse("[\(JSONText.list(listed, ticker))]")
    case ("ticker", 4): return listed(parts[3]).map { SimulatedResponse(ticker(state($0))) } ?? notFound
    default: return notFound
    }
  }

  private var tooMany: SimulatedResponse {
    SimulatedResponse(
      status: 429, #"{"response_code":"400.002","response_explanation":"Request rate limit exceeded"}"#)
  }

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
    return bookAnswer(book.truth, levels(book.truth.book.sides, index, at: book.time))
  }

  private func list(_ row: (SimulatedInstrument) -> JSONText) -> SimulatedResponse {
    let rows = JSONText.list(listed) { row($0.instrument) }
    // A perpetual, which is on the same socket.
    return SimulatedResponse(
      #"""
      [\#(rows)\#(listed.isEmpty ? "" : ","){"name":"BTC/USD-PERP","market_symbol":"btcusd-perp",\#
      "url_symbol":"btcusd-perp","base_currency":"BTC","base_decimals":5,"counter_currency":"USD",\#
      "counter_decimals":0,"trading":"Enabled","market_type":"PERPETUAL","contract_size":"1"}]
      """#)
  }

  private func market(_ instrument: SimulatedInstrument) -> JSONText {
    let (base, quote) = (instrument.base, instrument.quote)
    return #"""
      {"name":"\#(base)/\#(quote)","market_symbol":"\#(instrument.venueSymbol)","base_currency":"\#(base)",\#
      "base_decimals":\#(instrument.sizeScale),"counter_currency":"\#(quote)",\#
      "counter_decimals":\#(instrument.priceScale),"minimum_order_value":"10.00","trading":"Enabled",\#
      "instant_order_counter_decimals":2,"instant_and_market_orders":"Enabled","market_type":"SPOT"}
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

  private func ticker(_ state: InstrumentMarket) -> JSONText {
    let i = spell(state)
    return #"""
      {"timestamp":"\#(seconds: now)","open":\#(i.open),"high":\#(i.high),"low":\#(i.low),"last":\#(i.last),\#
      "volume":\#(i.volume),"vwap":\#(i.vwap),"bid":\#(i.bid),"ask":\#(i.ask),"open_24":\#(i.open),\#
      "percent_change_24":\#(i.percent(2)),"pair":"\#(i.base)/\#(i.quote)"}
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
    if let end = request.seconds("end") {
      window.to = end
    } else if let start = request.seconds("start") {
      // The bar that it is in, too.
      window.from = interval.opening(start)
      window.keepsOldest = true
    }
    // A full page has been seen to lack a row: here of every other market.
    if index % 2 == 1, limit == 1_000 { window.limit = 999 }
    let i = spell(index)
    let list = candles(index, interval, window, fault) { bar in
      #"""
      {"timestamp":"\#(bar.seconds)","open":\#(bar.open),"high":\#(bar.high),"low":\#(bar.low),"close":\#(bar.close),\#
      "volume":\#(bar.volume)}
      """#
    }
    return SimulatedResponse(#"{"data":{"pair":"\#(i.base)/\#(i.quote)","ohlc":[\#(list)]}}"#)
  }
}
