import Bytes
import MarketData

/// Bybit's REST answers: pages of instruments, and the figures of all of them.
extension BybitProtocol {
  func answer(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    if let candles = candles(SimulatedRequest(path: path, query: query)) { return candles }
    guard path == "/v5/market/instruments-info" || path == "/v5/market/tickers" else {
      return SimulatedResponse(status: 404, body: #"{"retCode":404,"retMsg":"not found","result":{}}"#)
    }
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
    guard let category = value("category"), category == "spot" || category == "linear" else {
      return SimulatedResponse(body: #"{"retCode":10001,"retMsg":"params error: Category is invalid","result":{}}"#)
    }
    if path == "/v5/market/tickers" { return tickers(category) }
    let list = market.instruments.map(\.instrument).filter { ($0.kind == .spot) == (category == "spot") }
    // Pages of five, so that following the cursor is something that happens.
    let page = category == "spot" ? list.count : 5
    let first = value("cursor").flatMap { Int($0.dropFirst("first=".count)) } ?? 0
    let end = min(list.count, first + page)
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"retCode":0,"retMsg":"OK","result":{"category":""#)
    out.append(category)
    out.append(#"","list":["#)
    for index in min(first, end)..<end {
      if index > first { out.append(",") }
      Self.append(list[index], to: &out)
    }
    out.append(#"],"nextPageCursor":""#)
    if end < list.count { out.append("first=\(end)") }
    out.append(#""},"retExtInfo":{},"time":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append("}")
    return SimulatedResponse(body: out.description)
  }

  func tickers(_ category: String) -> SimulatedResponse {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"retCode":0,"retMsg":"OK","result":{"category":""#)
    out.append(category)
    out.append(#"","list":["#)
    let states = market.instruments.filter { ($0.instrument.kind == .spot) == (category == "spot") }
    out.append(separated: states) { state, out in
      out.append(#"{"symbol":""#)
      out.append(state.instrument.venueSymbol)
      out.append(#"","lastPrice":"#)
      out.append(quoted: state.day.last, scale: state.instrument.priceScale)
      out.append(#","volume24h":"#)
      out.append(quoted: state.day.volume, scale: state.instrument.sizeScale)
      out.append(#","turnover24h":"#)
      out.append(quoteVolumeOf: state)
      out.append("}")
    }
    out.append(#"]},"retExtInfo":{},"time":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append("}")
    return SimulatedResponse(body: out.description)
  }

  static func append(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"symbol":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","baseCoin":""#)
    out.append(instrument.base)
    out.append(#"","quoteCoin":""#)
    out.append(instrument.quote)
    switch instrument.kind {
    case .spot: out.append(#"","status":"Trading","marginTrading":"both","#)
    case .perpetual:
      out.append(#"","status":"Trading","contractType":"LinearPerpetual","deliveryTime":"0","settleCoin":"USDT","#)
    case .future:
      out.append(
        #"","status":"Trading","contractType":"LinearFutures","deliveryTime":"1798185600000","settleCoin":"USDT","#)
    }
    out.append(#""lotSizeFilter":{"#)
    out.append(instrument.kind == .spot ? #""basePrecision":"# : #""qtyStep":"#)
    out.append(quoted: instrument.lot, scale: instrument.sizeScale)
    out.append(#","minOrderQty":"#)
    out.append(quoted: instrument.minimumSize, scale: instrument.sizeScale)
    out.append(#"},"priceFilter":{"tickSize":"#)
    out.append(quoted: instrument.tick, scale: instrument.priceScale)
    out.append("}}")
  }
}
