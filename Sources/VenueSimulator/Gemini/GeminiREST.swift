import Bytes
import MarketData

/// Gemini's REST answers: names, details of one market, and its 24 h figures.
extension GeminiProtocol {
  func answer(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    restRequests.removeAll { faults.now - $0 >= Microseconds.minute }
    guard restRequests.count < Self.restLimit else { return Self.tooMany }
    restRequests.append(faults.now)
    if let candles = candles(SimulatedRequest(path: path, query: query)) { return candles }
    if path == "/v1/symbols" {
      let names = market.instruments.map { "\"\($0.instrument.venueSymbol)\"" }
      return SimulatedResponse(body: "[\(names.joined(separator: ","))]")
    }
    for prefix in ["/v1/symbols/details/", "/v2/ticker/", "/v1/pubticker/"] where path.hasPrefix(prefix) {
      let name = path.dropFirst(prefix.count).lowercased()
      guard let state = market.instruments.first(where: { $0.instrument.venueSymbol == name }) else { break }
      switch prefix {
      case "/v2/ticker/": return SimulatedResponse(body: Self.day(state))
      case "/v1/pubticker/": return SimulatedResponse(body: Self.volume(state, faults.now))
      default: return SimulatedResponse(body: Self.details(state.instrument))
      }
    }
    return SimulatedResponse(
      status: 400, body: #"{"result":"error","reason":"Bad Request","message":"Supplied value is not a valid symbol"}"#)
  }

  static let tooMany = SimulatedResponse(
    status: 429, body: #"{"result":"error","reason":"RateLimit","message":"Requests were made too frequently"}"#)

  static func text(_ value: Int64, _ scale: UInt8) -> String {
    var out = ByteBuffer()
    out.append(decimal: value, scale: scale)
    return out.description
  }

  /// Steps as the venue prints them: bare, and the step of sizes with an exponent.
  private static func details(_ instrument: SimulatedInstrument) -> String {
    let contract = instrument.kind == .spot ? "vanilla" : "linear"
    let product = instrument.kind == .spot ? "spot" : "swap"
    return
      #"{"symbol":"\#(instrument.venueSymbol.uppercased())","base_currency":"\#(instrument.base)","quote_currency":"\#(instrument.quote)","#
      + #""tick_size":\#(instrument.lot)E-\#(instrument.sizeScale),"quote_increment":\#(text(instrument.tick, instrument.priceScale)),"#
      + #""min_order_size":"\#(text(instrument.minimumSize, instrument.sizeScale))","status":"open","wrap_enabled":false,"#
      + #""product_type":"\#(product)","contract_type":"\#(contract)","contract_price_currency":"\#(instrument.quote)"}"#
  }

  private static func day(_ state: InstrumentMarket) -> String {
    let scale = state.instrument.priceScale
    let changes = state.day.minutes(last: 1_440).minutes.enumerated().filter { $0.offset % 60 == 59 }
    let closes = changes.reversed().map { "\"\(text($0.element.close, scale))\"" }.joined(separator: ",")
    return #"{"symbol":"\#(state.instrument.venueSymbol.uppercased())","open":"\#(text(state.day.open, scale))","#
      + #""high":"\#(text(state.day.high, scale))","low":"\#(text(state.day.low, scale))","close":"\#(text(state.day.last, scale))","#
      + #""changes":[\#(closes)],"bid":"\#(text(state.book.bestBid?.price ?? 0, scale))","ask":"\#(text(state.book.bestAsk?.price ?? 0, scale))"}"#
  }

  private static func volume(_ state: InstrumentMarket, _ now: Timestamp) -> String {
    let instrument = state.instrument
    var turnover = ByteBuffer()
    turnover.append(quoteVolumeOf: state)
    return
      #"{"bid":"\#(text(state.book.bestBid?.price ?? 0, instrument.priceScale))","ask":"\#(text(state.book.bestAsk?.price ?? 0, instrument.priceScale))","#
      + #""volume":{"\#(instrument.base)":"\#(text(state.day.volume, instrument.sizeScale))","\#(instrument.quote)":\#(turnover.description),"#
      + #""timestamp":\#(now.rawValue / 1_000)},"last":"\#(text(state.day.last, instrument.priceScale))"}"#
  }
}
