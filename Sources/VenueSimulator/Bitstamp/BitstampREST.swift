import Bytes
import MarketData

/// Bitstamp's REST answers: books that may be some seconds old, lists of markets, and the figures of all of them.
extension BitstampProtocol {
  func answer(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    let now = faults.now.rawValue / Microseconds.minute
    if now != minute {
      minute = now
      requests = 0
    }
    requests += 1
    guard requests <= Self.requestLimit else { return Self.tooMany }
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count >= 3, parts[0] == "api", parts[1] == "v2" else { return Self.notFound }
    switch (parts[2], parts.count) {
    case ("markets", 3): return list { Self.appendMarket($0, to: &$1) }
    case ("trading-pairs-info", 3): return list { Self.appendPair($0, to: &$1) }
    case ("order_book", 4): return listed(parts[3]).map(orderBook) ?? Self.notFound
    case ("ohlc", 4): return candles(parts[3], SimulatedRequest(path: path, query: query))
    case ("ticker", 3): return tickers()
    case ("ticker", 4):
      guard let index = listed(parts[3]) else { return Self.notFound }
      var out = ByteBuffer(capacity: 512)
      appendTicker(index, to: &out)
      return SimulatedResponse(body: out.description)
    default: return Self.notFound
    }
  }

  static let tooMany = SimulatedResponse(
    status: 429, body: #"{"response_code":"400.002","response_explanation":"Request rate limit exceeded"}"#)

  private static let notFound = SimulatedResponse(
    status: 404, body: #"{"status":"error","reason":"Not found","code":"404.000"}"#)

  private var listedMarkets: [Int] { market.instruments.indices.filter { !isRefused($0) } }

  private func listed(_ name: String) -> Int? {
    listedMarkets.first { market.instruments[$0].instrument.venueSymbol == name }
  }

  private func orderBook(_ index: Int) -> SimulatedResponse {
    let book: (truth: SimulatedTruth, time: Timestamp)
    if let old = kept.removeValue(forKey: index) {
      book = old
    } else if let cached = cache[index], faults.now - cached.time <= Self.cacheAge {
      book = cached
    } else {
      book = (market.truth(index, isSnapshot: true), faults.now)
      cache[index] = book
    }
    var out = ByteBuffer(capacity: 64 << 10)
    append(
      book.truth.book.bids.reversed(), book.truth.book.asks.reversed(), at: book.time,
      market.instruments[index].instrument, to: &out)
    var response = SimulatedResponse(body: out.description)
    response.truth = book.truth
    return response
  }

  private func list(_ append: (SimulatedInstrument, inout ByteBuffer) -> Void) -> SimulatedResponse {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append("[")
    for index in listedMarkets {
      append(market.instruments[index].instrument, &out)
      out.append(",")
    }
    // A perpetual, which is on the same socket.
    out.append(
      #"{"name":"BTC/USD-PERP","market_symbol":"btcusd-perp","url_symbol":"btcusd-perp","base_currency":"BTC","base_decimals":5,"counter_currency":"USD","counter_decimals":0,"trading":"Enabled","market_type":"PERPETUAL","contract_size":"1"}]"#
    )
    return SimulatedResponse(body: out.description)
  }

  private static func appendMarket(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"name":""#)
    out.append(instrument.base)
    out.append("/")
    out.append(instrument.quote)
    out.append(#"","market_symbol":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","base_currency":""#)
    out.append(instrument.base)
    out.append(#"","base_decimals":"#)
    out.append(integer: Int64(instrument.sizeScale))
    out.append(#","counter_currency":""#)
    out.append(instrument.quote)
    out.append(#"","counter_decimals":"#)
    out.append(integer: Int64(instrument.priceScale))
    out.append(
      #","minimum_order_value":"10.00","trading":"Enabled","instant_order_counter_decimals":2,"instant_and_market_orders":"Enabled","market_type":"SPOT"}"#
    )
  }

  private static func appendPair(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"name":""#)
    out.append(instrument.base)
    out.append("/")
    out.append(instrument.quote)
    out.append(#"","url_symbol":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","base_decimals":"#)
    out.append(integer: Int64(instrument.sizeScale))
    out.append(#","counter_decimals":"#)
    out.append(integer: Int64(instrument.priceScale))
    out.append(#","minimum_order":"10.00 "#)
    out.append(instrument.quote)
    out.append(#"","trading":"Enabled","instant_and_market_orders":"Enabled"}"#)
  }

  private func tickers() -> SimulatedResponse {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append("[")
    out.append(separated: listedMarkets) { appendTicker($0, to: &$1) }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }

  private func appendTicker(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(quoted: value, scale: scale)
    }
    out.append(#"{"timestamp":""#)
    out.append(integer: faults.now.rawValue / Microseconds.second)
    out.append("\"")
    field(#","open":"#, state.day.open, price)
    field(#","high":"#, state.day.high, price)
    field(#","low":"#, state.day.low, price)
    field(#","last":"#, state.day.last, price)
    field(#","volume":"#, state.day.volume, size)
    field(#","vwap":"#, state.day.vwap, price)
    field(#","bid":"#, state.book.bestBid?.price ?? 0, price)
    field(#","ask":"#, state.book.bestAsk?.price ?? 0, price)
    field(#","open_24":"#, state.day.open, price)
    field(#","percent_change_24":"#, state.day.rise(in: 10_000), 2)
    out.append(#","pair":""#)
    out.append(state.instrument.base)
    out.append("/")
    out.append(state.instrument.quote)
    out.append(#""}"#)
  }
}
