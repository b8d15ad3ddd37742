import Bytes
import MarketData

/// The texts of Gemini's streams, and its REST answers: names, details of one market, its 24 h figures, candles.
extension GeminiProtocol {
  private func time(_ time: Timestamp) -> JSONText { "\(time.rawValue)209" }

  func book(_ index: Int, _ first: Int64, _ last: Int64, _ sides: BookSides) -> JSONText {
    let i = spell(index)
    return #"""
      {"e":"depthUpdate","E":\#(time(now)),"s":"\#(i.name)","U":\#(first),"u":\#(last),"b":\#(i.pairs(sides.bids)),\#
      "a":\#(i.pairs(sides.asks))}
      """#
  }

  /// Of one sequence with everybody else's.
  static func number(of trade: SimulatedTrade) -> Int64 { trade.id &* 7 }

  func trade(_ trade: SimulatedTrade, _ index: Int) -> JSONText {
    let i = spell(index)
    return #"""
      {"E":\#(time(trade.time)),"s":"\#(i.name)","t":\#(Self.number(of: trade)),"p":\#(i.price(trade.price)),\#
      "q":\#(i.size(trade.size)),"m":\#(trade.side == .sell ? "true" : "false")}
      """#
  }

  func quote(_ index: Int) -> JSONText {
    let (state, i) = (state(index), spell(index))
    func side(_ price: StaticString, _ size: StaticString, _ best: PriceLevel?) -> JSONText {
      guard let best else { return #","\#(price)":"","\#(size)":"""# }
      return #","\#(price)":\#(i.price(best.price)),"\#(size)":\#(i.size(best.size))"#
    }
    let last = state.recentTrades.last.map { side("c", "C", PriceLevel(price: $0.price, size: $0.size)) }
    return #"""
      {"u":\#(number),"E":\#(time(now)),\#
      "s":"\#(i.name)"\#(side("b", "B", state.book.bestBid))\#(side("a", "A", state.book.bestAsk))\#(last ?? "")}
      """#
  }

  // MARK: - REST

  /// Requests in a minute.
  private static let restLimit = 120

  private var tooMany: SimulatedResponse {
    SimulatedResponse(
      status: 429, #"{"result":"error","reason":"RateLimit","message":"Requests were made too frequently"}"#)
  }

  private func refuse(_ reason: String, _ message: String) -> SimulatedResponse {
    SimulatedResponse(status: 400, #"{"result":"error","reason":"\#(reason)","message":"\#(message)"}"#)
  }

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    restRequests.removeAll { now - $0 >= Microseconds.minute }
    guard restRequests.count < Self.restLimit else { return tooMany }
    restRequests.append(now)
    if let candles = candles(request) { return candles }
    if request.path == "/v1/symbols" {
      return SimulatedResponse("[\(names: market.instruments.map(\.instrument.venueSymbol))]")
    }
    let answers: [(String, (InstrumentMarket) -> JSONText)] = [
      ("/v1/symbols/details/", details), ("/v2/ticker/", day), ("/v1/pubticker/", volume),
      ("/v1/riskstats/", risk), ("/v1/fundingamount/", funding),
    ]
    for (prefix, text) in answers {
      guard let name = request.part(after: prefix), let index = index(of: name.lowercased()) else { continue }
      return SimulatedResponse(text(state(index)))
    }
    return refuse("Bad Request", "Supplied value is not a valid symbol")
  }

  /// Steps as the venue prints them: bare, and the step of sizes with an exponent.
  private func details(_ state: InstrumentMarket) -> JSONText {
    let (i, instrument) = (Spelling.bare.of(state), state.instrument)
    return #"""
      {"symbol":"\#(i.name.uppercased())","base_currency":"\#(instrument.base)",\#
      "quote_currency":"\#(instrument.quote)","tick_size":\#(instrument.lot)E-\#(instrument.sizeScale),\#
      "quote_increment":\#(i.tick),"min_order_size":"\#(i.minimum)","status":"open","wrap_enabled":false,\#
      "product_type":"\#(instrument.isSpot ? "spot" : "swap")",\#
      "contract_type":"\#(instrument.isSpot ? "vanilla" : "linear")","contract_price_currency":"\#(instrument.quote)"}
      """#
  }

  private func day(_ state: InstrumentMarket) -> JSONText {
    let i = Spelling.quoted.of(state)
    let hours = state.day.minutes(last: 1_440).minutes.enumerated().filter { $0.offset % 60 == 59 }
    let closes = JSONText.list(hours.reversed()) { "\(i.price($0.element.close))" }
    return #"""
      {"symbol":"\#(i.name.uppercased())","open":\#(i.open),"high":\#(i.high),"low":\#(i.low),"close":\#(i.last),\#
      "changes":[\#(closes)],"bid":\#(i.bid),"ask":\#(i.ask)}
      """#
  }

  private func volume(_ state: InstrumentMarket) -> JSONText {
    let i = Spelling.quoted.of(state)
    return #"""
      {"bid":\#(i.bid),"ask":\#(i.ask),"volume":{"\#(i.base)":\#(i.volume),"\#(i.quote)":\#(i.quoteVolume),\#
      "timestamp":\#(ms: now)},"last":\#(i.last)}
      """#
  }

  private func risk(_ state: InstrumentMarket) -> JSONText {
    let i = Spelling.quoted.of(state)
    let d = i.derivative(now: now, interval: Microseconds.hour)
    return #"""
      {"product_type":"PerpetualSwapContract","mark_price":\#(i.mark(d)),"index_price":\#(i.index(d)),\#
      "open_interest":\#(i.number(d.openInterestBase)),"open_interest_notional":\#(i.number(d.openInterestQuote, 2))}
      """#
  }

  /// The payment of one base unit in the hour, in the quote currency.
  private func funding(_ state: InstrumentMarket) -> JSONText {
    let i = Spelling.bare.of(state)
    let d = i.derivative(now: now, interval: Microseconds.hour)
    let amount = Int64(
      clamping: Int128(d.mark) * Int128(d.rate) / Int128(DecimalText.power(SimulatedDerivative.rateScale)))
    return #"""
      {"symbol":"\#(i.name)","fundingAmount":\#(i.number(amount, d.scale)),\#
      "estimatedFundingAmount":\#(i.number(amount, d.scale)),"nextFundingTimestamp":\#(ms: d.settlement)}
      """#
  }

  // MARK: - Candles

  /// Rows of each interval.
  private static let candleCounts = ["1m": 1_440, "5m": 2_015, "15m": 1_343, "1hr": 1_463, "1day": 364]

  /// Windows of fixed lengths, the newest first; what is asked for beside the name and the interval is not looked at.
  private func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    let parts = request.path.split(separator: "/").map(String.init)
    let isSpot = parts.count == 4 && parts[0] == "v2" && parts[1] == "candles"
    guard isSpot || (parts.count == 5 && parts[..<3] == ["v2", "derivatives", "candles"]) else { return nil }
    let fault = faults.takeCandleFault()
    guard fault != .limited else { return tooMany }
    let (name, frame) = (parts[parts.count - 2], parts[parts.count - 1])
    guard let index = index(of: name.lowercased(), isSpot: isSpot) else {
      let shown = name.filter { $0.isLetter || $0.isNumber }
      return refuse("Bad Request", "Supplied value '\(shown)' is not a valid symbol.")
    }
    guard let interval = CandleInterval.named(frame, ["1m", "5m", "15m", "1hr", nil, "1day"]),
      let count = Self.candleCounts[frame], isSpot || frame == "1m"
    else {
      return refuse(
        "InvalidParameterValue", "time_frame expects one of the following: [1m, 5m, 15m, 30m, 1hr, 6hr, 1day]")
    }
    let window = CandleWindow(limit: count, isNewestFirst: true)
    let list = candles(index, interval, window, fault, .script) { "[\($0.milliseconds),\($0.prices),\($0.volume)]" }
    return SimulatedResponse("[\(list)]")
  }
}
