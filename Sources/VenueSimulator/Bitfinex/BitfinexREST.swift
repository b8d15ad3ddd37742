import Bytes
import MarketData

/// Bitfinex' REST answers: `conf`, and the figures of all pairs.
extension BitfinexProtocol {
  /// `/v2/conf/a,b`: an array with the answer to each.
  func answer(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    if let candles = candles(SimulatedRequest(path: path, query: query)) { return candles }
    if path == "/v2/tickers" { return allTickers() }
    let prefix = "/v2/conf/"
    guard path.hasPrefix(prefix) else {
      return SimulatedResponse(status: 404, body: #"["error",10020,"path: invalid"]"#)
    }
    let listed = market.instruments.indices.filter { !isRefused($0) }.map { market.instruments[$0].instrument }
    var out = ByteBuffer(capacity: 1024)
    out.append("[")
    for (position, name) in path.dropFirst(prefix.count).split(separator: ",").enumerated() {
      if position > 0 { out.append(",") }
      switch name {
      case "pub:list:pair:exchange": Self.append(listed.map { String($0.venueSymbol.dropFirst()) }, to: &out)
      case "pub:list:currency":
        var names: [String] = []
        for instrument in listed {
          for name in [Self.currency(instrument.base), Self.currency(instrument.quote)] where !names.contains(name) {
            names.append(name)
          }
        }
        Self.append(names, to: &out)
      case "pub:map:currency:sym": out.append(#"[["UST","USDt"],["ALG","ALGO"]]"#)
      case "pub:info:pair":
        out.append("[")
        for (index, instrument) in listed.enumerated() {
          if index > 0 { out.append(",") }
          out.append("[")
          out.append(json: String(instrument.venueSymbol.dropFirst()))
          out.append(#",[null,null,null,""#)
          out.append(script: instrument.minimumSize, scale: instrument.sizeScale)
          out.append(#"","100000.0",null,null,null,null,null,null,null]]"#)
        }
        out.append("]")
      default: out.append("[]")
      }
    }
    out.append("]")
    return SimulatedResponse(body: out.description)
  }

  /// Of all pairs: as a ticker in the stream, behind the name.
  private func allTickers() -> SimulatedResponse {
    var out = ByteBuffer(capacity: 2 << 10)
    out.append("[")
    for index in market.instruments.indices where !isRefused(index) {
      out.append("[")
      out.append(json: market.instruments[index].instrument.venueSymbol)
      out.append(",")
      appendFigures(index, to: &out)
      out.append("],")
    }
    out.append(
      #"["fUSD",0.0003,0.0002,30,3939629.6,0.00019,2,307776.1,-0.00005,-0.2344,0.00019,122156333.4,0.0002,6.8e-7]]"#)
    return SimulatedResponse(body: out.description)
  }

  private static func currency(_ name: String) -> String { name == "USDT" ? "UST" : name }

  static func append(_ names: [String], to out: inout ByteBuffer) {
    out.append("[")
    for (index, name) in names.enumerated() {
      if index > 0 { out.append(",") }
      out.append(json: name)
    }
    out.append("]")
  }
}
