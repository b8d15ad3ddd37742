import Bytes
import MarketData

/// Coinbase's products, in the stream and by REST, and the REST answers beside them.
extension CoinbaseProtocol {
  func appendStatus(to out: inout ByteBuffer) {
    out.append(#"{"type":"status","currencies":[],"products":["#)
    for (index, state) in market.instruments.enumerated() {
      if index > 0 { out.append(",") }
      appendProduct(state.instrument, to: &out)
    }
    out.append("]}")
  }

  private func appendProduct(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"id":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","base_currency":""#)
    out.append(instrument.base)
    out.append(#"","quote_currency":"USD","quote_increment":"#)
    out.append(quoted: instrument.tick, scale: instrument.priceScale)
    out.append(#","base_increment":"#)
    out.append(quoted: instrument.lot, scale: instrument.sizeScale)
    out.append(#","display_name":""#)
    out.append(instrument.venueSymbol)
    out.append(
      #"","min_market_funds":"1","margin_enabled":false,"post_only":false,"limit_only":false,"cancel_only":false,"#)
    out.append(#""status":"online","status_message":"","trading_disabled":false,"fx_stablecoin":false,"#)
    out.append(#""max_slippage_percentage":"0.02000000","auction_mode":false,"high_bid_limit_percentage":""}"#)
  }

  func answer(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    if let candles = candles(SimulatedRequest(path: path, query: query)) { return candles }
    let parts = path.split(separator: "/")
    guard parts.first == "products", parts.count <= 3 else { return Self.notFound }
    var out = ByteBuffer(capacity: 4 << 10)
    if parts.count == 1 {
      out.append("[")
      for (index, state) in market.instruments.enumerated() {
        if index > 0 { out.append(",") }
        appendProduct(state.instrument, to: &out)
      }
      out.append("]")
      return SimulatedResponse(body: out.description)
    }
    if path == "/products/stats" {
      out.append("{")
      for (index, state) in market.instruments.enumerated() {
        if index > 0 { out.append(",") }
        appendStatistics(state, to: &out)
      }
      out.append("}")
      return SimulatedResponse(body: out.description)
    }
    guard let state = market.instruments.first(where: { $0.instrument.venueSymbol == parts[1] }) else {
      return Self.notFound
    }
    if parts.count == 2 {
      appendProduct(state.instrument, to: &out)
    } else if parts[2] == "book" {
      appendRESTBook(state, level: query.first { $0.name == "level" }?.value ?? "1", to: &out)
    } else {
      return Self.notFound
    }
    return SimulatedResponse(body: out.description)
  }

  private func appendStatistics(_ state: InstrumentMarket, to out: inout ByteBuffer) {
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(quoted: value, scale: scale)
    }
    out.append(json: state.instrument.venueSymbol)
    field(#":{"stats_30day":{"volume":"#, state.day.volume * 30, size)
    field(#"},"stats_24hour":{"open":"#, state.day.open, price)
    field(#","high":"#, state.day.high, price)
    field(#","low":"#, state.day.low, price)
    field(#","last":"#, state.day.last, price)
    field(#","volume":"#, state.day.volume, size)
    out.append("}}")
  }

  private static let notFound = SimulatedResponse(status: 404, body: #"{"message":"NotFound"}"#)

  /// Levels have a third member, the number of orders.
  private func appendRESTBook(_ state: InstrumentMarket, level: String, to out: inout ByteBuffer) {
    let depth = level == "1" ? 1 : state.instrument.levels * 2
    func side(_ levels: [PriceLevel]) {
      for (index, level) in levels.enumerated() {
        if index > 0 { out.append(",") }
        out.append("[")
        out.append(quoted: level.price, scale: state.instrument.priceScale)
        out.append(",")
        out.append(quoted: level.size, scale: state.instrument.sizeScale)
        out.append(",1]")
      }
    }
    out.append(#"{"bids":["#)
    side(state.book.top(.bid, depth))
    out.append(#"],"asks":["#)
    side(state.book.top(.ask, depth))
    out.append(#"],"sequence":"#)
    out.append(integer: state.sequence)
    out.append(#","auction_mode":false,"auction":null,"time":""#)
    out.append(rfc3339: faults.now)
    out.append(#""}"#)
  }
}
