import Bytes
import MarketData

/// OKX's REST answers: lists of instruments, and the figures of all of them.
extension OKXProtocol {
  func answer(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    if let candles = candles(SimulatedRequest(path: path, query: query)) { return candles }
    guard path == "/api/v5/public/instruments" || path == "/api/v5/market/tickers" else {
      return SimulatedResponse(status: 404, body: #"{"code":"404","msg":"Not Found","data":[]}"#)
    }
    guard let type = query.first(where: { $0.name == "instType" })?.value, ["SPOT", "SWAP", "FUTURES"].contains(type)
    else {
      return SimulatedResponse(
        status: 400, body: #"{"code":"50014","msg":"Parameter instType can not be empty.","data":[]}"#)
    }
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"code":"0","msg":"","data":["#)
    if path == "/api/v5/market/tickers" {
      for (index, state) in market.instruments.filter({ Self.type($0.instrument) == type }).enumerated() {
        if index > 0 { out.append(",") }
        append(tickerOf: state, type, to: &out)
      }
      out.append("]}")
      return SimulatedResponse(body: out.description)
    }
    let list = market.instruments.map(\.instrument).filter { Self.type($0) == type }
    for (index, instrument) in list.enumerated() {
      if index > 0 { out.append(",") }
      append(instrument, type, to: &out)
    }
    out.append("]}")
    return SimulatedResponse(body: out.description)
  }

  /// Volumes as in the channel: `volCcy24h` is in the quote currency on spot and in base units on contracts.
  func append(tickerOf state: InstrumentMarket, _ type: String, to out: inout ByteBuffer) {
    let instrument = state.instrument
    out.append(#"{"instType":""#)
    out.append(type)
    out.append(#"","instId":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","last":"#)
    out.append(quoted: state.day.last, scale: instrument.priceScale)
    out.append(#","vol24h":"#)
    out.append(quoted: state.day.volume, scale: instrument.sizeScale)
    out.append(#","volCcy24h":"#)
    if instrument.kind == .spot {
      out.append(quoteVolumeOf: state)
    } else {
      let contract = instrument.contractSize
      out.append(quoted: state.day.volume * contract.mantissa, scale: instrument.sizeScale + contract.scale)
    }
    out.append(#","ts":""#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#""}"#)
  }

  private static func type(_ instrument: SimulatedInstrument) -> String {
    switch instrument.kind {
    case .spot: "SPOT"
    case .perpetual: "SWAP"
    case .future: "FUTURES"
    }
  }

  func append(_ instrument: SimulatedInstrument, _ type: String, to out: inout ByteBuffer) {
    out.append(#"{"instType":""#)
    out.append(type)
    out.append(#"","instId":""#)
    out.append(instrument.venueSymbol)
    if instrument.kind == .spot {
      out.append(#"","baseCcy":""#)
      out.append(instrument.base)
      out.append(#"","quoteCcy":""#)
      out.append(instrument.quote)
      out.append(#"","ctVal":"","ctMult":"","ctType":"","ctValCcy":"","settleCcy":"","tickSz":"#)
    } else {
      out.append(#"","baseCcy":"","quoteCcy":"","ctVal":"#)
      number(instrument.contractSize.mantissa, instrument.contractSize.scale, to: &out)
      out.append(#","ctMult":"1","ctType":"linear","ctValCcy":""#)
      out.append(instrument.base)
      out.append(#"","settleCcy":""#)
      out.append(instrument.quote)
      for name in [#"","instFamily":""#, #"","uly":""#] {
        out.append(name)
        out.append("\(instrument.base)-\(instrument.quote)")
      }
      out.append(#"","tickSz":"#)
    }
    number(instrument.tick, instrument.priceScale, to: &out)
    out.append(#","lotSz":"#)
    number(instrument.lot, instrument.sizeScale, to: &out)
    out.append(#","minSz":"#)
    number(instrument.lot, instrument.sizeScale, to: &out)
    out.append(#","state":"live","instIdCode":10458}"#)
  }
}
