import Bytes
import MarketData

/// The REST calls that a client of Binance's streams needs: `ping`, `time`, `exchangeInfo`, `depth`, `ticker/24hr` of
/// all markets, `klines`; of futures all but the first two, which have a weight limit of their own.
extension BinanceProtocol {
  /// A dated contract has a rate of 0 and no settlement.
  private func premium(_ index: Int) -> JSONText {
    let i = Spelling.quoted.of(state(index))
    let d = i.derivative(now: now)
    let isPerpetual = i.instrument.kind == .perpetual
    let funding: JSONText =
      isPerpetual
      ? #""lastFundingRate":\#(i.rate(d)),"nextFundingTime":\#(ms: d.settlement)"#
      : #""lastFundingRate":"0.00000000","nextFundingTime":0"#
    return #"""
      {"symbol":"\#(i.name)","markPrice":\#(i.mark(d)),"indexPrice":\#(i.index(d)),\#
      "estimatedSettlePrice":\#(i.index(d)),\#(funding),"interestRate":"0.00010000","time":\#(ms: now)}
      """#
  }

  /// Oldest first.
  private func settlements(_ index: Int, _ count: Int) -> JSONText {
    let i = Spelling.quoted.of(state(index))
    let rows = JSONText.list(i.settlements(count, now: now).reversed()) { settlement in
      #"""
      {"symbol":"\#(i.name)","fundingRate":\#(i.rate(settlement.rate)),"fundingTime":\#(ms: settlement.time),\#
      "markPrice":\#(i.last)}
      """#
    }
    return "[\(rows)]"
  }

  private func openInterest(_ index: Int) -> JSONText {
    let i = Spelling.quoted.of(state(index))
    return #"""
      {"openInterest":\#(i.number(i.derivative(now: now).openInterestBase)),"symbol":"\#(i.name)","time":\#(ms: now)}
      """#
  }

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    let isSpot = !request.path.hasPrefix("/fapi/")
    var response: SimulatedResponse
    var isWithin = true
    func weigh(_ spot: Int, _ futures: Int) {
      isWithin = isSpot ? weight.take(spot, at: now) : futuresWeight.take(futures, at: now)
    }
    switch request.path {
    case "/api/v3/ping":
      weigh(1, 1)
      response = SimulatedResponse("{}")
    case "/api/v3/time":
      weigh(1, 1)
      response = SimulatedResponse(#"{"serverTime":\#(ms: now)}"#)
    case "/api/v3/exchangeInfo", "/fapi/v1/exchangeInfo":
      weigh(20, 1)
      response = exchangeInfo(request, isSpot: isSpot)
    case "/api/v3/depth", "/fapi/v1/depth":
      weigh(0, 0)
      response = depth(request, isSpot: isSpot, weigh)
    case "/api/v3/trades", "/fapi/v1/trades", "/api/v3/historicalTrades":
      weigh(25, 5)
      let fault = faults.takeTradeFault()
      if fault == .limited { isWithin = false }
      response = pastTrades(request, isSpot: isSpot, fault)
    case "/api/v3/klines", "/fapi/v1/klines":
      let limit = request.integer("limit") ?? 500
      weigh(2, limit < 100 ? 1 : limit < 500 ? 2 : limit <= 1_000 ? 5 : 10)
      let fault = faults.takeCandleFault()
      if fault == .limited { isWithin = false }
      response = klines(request, isSpot: isSpot, fault)
    case "/api/v3/ticker/24hr", "/fapi/v1/ticker/24hr":
      if let name = request["symbol"] {
        weigh(2, 1)
        response =
          index(of: name, isSpot: isSpot).map { SimulatedResponse(figures(state($0))) }
          ?? refuse(-1121, "Invalid symbol.")
        break
      }
      weigh(80, 40)
      response = SimulatedResponse("[\(JSONText.list(states(isSpot: isSpot), figures))]")
    case "/fapi/v1/premiumIndex", "/fapi/v1/openInterest":
      weigh(1, 1)
      response =
        request["symbol"].flatMap { index(of: $0, isSpot: false) }.map {
          SimulatedResponse(request.path.hasSuffix("Index") ? premium($0) : openInterest($0))
        } ?? refuse(-1121, "Invalid symbol.")
    case "/fapi/v1/fundingRate":
      weigh(0, 0)
      response =
        request["symbol"].flatMap { index(of: $0, isSpot: false) }.map {
          SimulatedResponse(settlements($0, Int(min(max(request.integer("limit") ?? 100, 1), 1_000))))
        } ?? refuse(-1121, "Invalid symbol.")
    case "/fapi/v1/fundingInfo":
      weigh(0, 0)
      // Of those alone whose interval is another than 8 h.
      response = SimulatedResponse("[]")
    default: return SimulatedResponse(status: 404, #"{"code":-1000,"msg":"Path \#(request.path) not found."}"#)
    }
    let used = isSpot ? weight : futuresWeight
    if !isWithin {
      let message = "Too much request weight used; current limit is \(used.limit) request weight per 1 MINUTE."
      response = refuse(-1003, message, status: 429)
      response.fields.append(("Retry-After", String(60 - now.rawValue / Microseconds.second % 60)))
    }
    response.fields.append(("X-MBX-USED-WEIGHT", String(used.count)))
    response.fields.append(("X-MBX-USED-WEIGHT-1M", String(used.count)))
    return response
  }

  private func refuse(_ code: Int, _ message: String, status: Int = 400) -> SimulatedResponse {
    SimulatedResponse(status: status, #"{"code":\#(code),"msg":\#(json: message)}"#)
  }

  // MARK: - Trades

  /// The newest, or of spot those from a number on; the oldest of them first. Older ones of futures are for keys.
  private func pastTrades(_ request: SimulatedRequest, isSpot: Bool, _ fault: TradeFault?) -> SimulatedResponse {
    guard let index = request["symbol"].flatMap({ index(of: $0, isSpot: isSpot) }) else {
      return refuse(-1121, "Invalid symbol.")
    }
    let limit = Int(min(max(request.integer("limit") ?? 500, 1), 1_000))
    let first = request.path.hasSuffix("/historicalTrades") ? request.integer("fromId") : nil
    let rows = TradeRows(state(index), limit: limit, keepsOldest: first != nil, fault: fault) { $0.id >= first ?? 0 }
    let i = Spelling.quoted.of(state(index))
    let list = rows.text(i) { trade, price in
      let isSell: StaticString = trade.side == .sell ? "true" : "false"
      return #"""
        {"id":\#(trade.id),"price":\#(price),"qty":\#(i.size(trade.size)),"quoteQty":"0","time":\#(ms: trade.time),\#
        "isBuyerMaker":\#(isSell),"isBestMatch":true}
        """#
    }
    return SimulatedResponse("[\(list)]")
  }

  // MARK: - Books

  private func depth(_ request: SimulatedRequest, isSpot: Bool, _ weigh: (Int, Int) -> Void) -> SimulatedResponse {
    guard let symbol = request["symbol"], !symbol.isEmpty else {
      return refuse(-1102, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.")
    }
    var count = 100
    if let limit = request["limit"] {
      guard let number = Int(limit), number > 0 else {
        return refuse(-1100, "Illegal characters found in parameter 'limit'; legal range is '^[0-9]{1,20}$'.")
      }
      count = min(number, 5_000)
      if !isSpot, ![5, 10, 20, 50, 100, 500, 1_000].contains(count) {
        return refuse(-4021, "\(count) is not valid depth limit")
      }
    }
    weigh(
      count <= 100 ? 5 : count <= 500 ? 25 : count <= 1_000 ? 50 : 250,
      count <= 50 ? 2 : count <= 100 ? 5 : count <= 500 ? 10 : 20)
    guard let index = index(of: symbol, isSpot: isSpot) else { return refuse(-1121, "Invalid symbol.") }
    let truth = snapshots.take(index)?.truth ?? market.truth(index, isSnapshot: true)
    let events = BinanceEvents(state: state(index), now: now, isMicroseconds: false)
    return bookAnswer(truth, events.book(truth.book, truth.updateID, count))
  }

  // MARK: - Markets

  private func figures(_ state: InstrumentMarket) -> JSONText {
    let i = spell(state)
    return #"""
      {"symbol":"\#(i.name)","openPrice":\#(i.open),"highPrice":\#(i.high),"lowPrice":\#(i.low),\#
      "lastPrice":\#(i.last),"volume":\#(i.volume),"quoteVolume":\#(i.quoteVolume),"count":\#(state.day.trades)}
      """#
  }

  private func exchangeInfo(_ request: SimulatedRequest, isSpot: Bool) -> SimulatedResponse {
    var chosen = states(isSpot: isSpot)
    var names = isSpot ? request["symbol"].map { [$0] } : nil
    if isSpot, let symbols = request["symbols"] {
      guard names == nil else {
        return refuse(-1128, "Combination of optional parameters invalid. Recommendation: 'symbol' or 'symbols'")
      }
      names = Self.strings(symbols)
      guard names?.isEmpty == false else {
        let range = #"'^\[("[A-Z0-9-_.]{1,20}"(,"[A-Z0-9-_.]{1,20}"){0,}){0,1}\]$'."#
        return refuse(-1100, "Illegal characters found in parameter 'symbols'; legal range is \(range)")
      }
    }
    if let names {
      chosen = []
      for name in names {
        guard let index = index(of: name, isSpot: true) else { return refuse(-1121, "Invalid symbol.") }
        chosen.append(state(index))
      }
    }
    let rows = JSONText.list(chosen) { isSpot ? pair($0) : contract($0) }
    return SimulatedResponse(
      #"""
      {"timezone":"UTC","serverTime":\#(ms: now),"rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE",\#
      "intervalNum":1,"limit":\#((isSpot ? weight : futuresWeight).limit)}],"exchangeFilters":[],"symbols":[\#(rows)]}
      """#)
  }

  /// A JSON array of strings; nil if it is anything else.
  private static func strings(_ text: String) -> [String]? {
    let wrapped = Array((#"{"a":"# + text + "}").utf8)
    let message = wrapped.withUnsafeBytes { try? ClientMessage(RawSpan(_unsafeBytes: $0)) }
    guard let list = message?["a"].list, list.allSatisfy(\.isText) else { return nil }
    return list.map(\.text)
  }

  private func pair(_ state: InstrumentMarket) -> JSONText {
    let (i, instrument) = (spell(state), state.instrument)
    return #"""
      {"symbol":"\#(i.name)","status":"TRADING","baseAsset":"\#(instrument.base)","baseAssetPrecision":8,\#
      "quoteAsset":"\#(instrument.quote)","quotePrecision":8,"quoteAssetPrecision":8,"baseCommissionPrecision":8,\#
      "quoteCommissionPrecision":8,"orderTypes":["LIMIT","LIMIT_MAKER","MARKET","STOP_LOSS_LIMIT",\#
      "TAKE_PROFIT_LIMIT"],"icebergAllowed":true,"ocoAllowed":true,"quoteOrderQtyMarketAllowed":true,\#
      "isSpotTradingAllowed":true,"isMarginTradingAllowed":true,"filters":[{"filterType":"PRICE_FILTER",\#
      "minPrice":\#(i.tick),"maxPrice":\#(i.price(Int64(instrument.reference * 1e9))),"tickSize":\#(i.tick)},\#
      {"filterType":"LOT_SIZE","minQty":\#(i.lot),"maxQty":\#(i.size(instrument.lot * 900_000)),"stepSize":\#(i.lot)},\#
      {"filterType":"NOTIONAL","minNotional":"5.00000000","applyMinToMarket":true,"maxNotional":"9000000.00000000",\#
      "applyMaxToMarket":false,"avgPriceMins":5}],"permissions":[],"permissionSets":[["SPOT","MARGIN"]]}
      """#
  }

  /// An entry of the futures' list; its precisions are the digits that are printed.
  private func contract(_ state: InstrumentMarket) -> JSONText {
    let (i, instrument) = (spell(state), state.instrument)
    let type: JSONText =
      instrument.kind == .perpetual
      ? #""contractType":"PERPETUAL","deliveryDate":4133404800000"#
      : #""contractType":"CURRENT_QUARTER","deliveryDate":1798185600000"#
    return #"""
      {"symbol":"\#(i.name)","pair":"\#(instrument.base)\#(instrument.quote)",\#(type),"status":"TRADING",\#
      "baseAsset":"\#(instrument.base)","quoteAsset":"\#(instrument.quote)","marginAsset":"USDT",\#
      "pricePrecision":\#(instrument.priceScale),"quantityPrecision":\#(instrument.sizeScale),\#
      "filters":[{"filterType":"PRICE_FILTER","tickSize":\#(i.tick)},{"filterType":"LOT_SIZE","stepSize":\#(i.lot)}]}
      """#
  }

  // MARK: - Candles

  /// Both bounds test the opening, and of more rows than the limit the oldest are left where a start is given.
  private func klines(_ request: SimulatedRequest, isSpot: Bool, _ fault: CandleFault?) -> SimulatedResponse {
    guard let symbol = request["symbol"], request["interval"] != nil else {
      return refuse(-1102, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.")
    }
    guard let index = index(of: symbol, isSpot: isSpot) else { return refuse(-1121, "Invalid symbol.") }
    guard let interval = CandleInterval.named(request["interval"], ["1m", "5m", "15m", "1h", "4h", "1d"]) else {
      return refuse(-1120, "Invalid interval.")
    }
    let limit = request["limit"].map { Int($0) ?? 0 } ?? 500
    // Spot cuts it without a word.
    guard limit > 0, isSpot || limit <= 1_500 else {
      return refuse(-1130, "Data sent for parameter 'limit' is not valid.")
    }
    var window = CandleWindow(limit: isSpot ? min(limit, 1_000) : limit)
    if let start = request.milliseconds("startTime") {
      window.from = start
      window.keepsOldest = true
    }
    if let end = request.milliseconds("endTime") { window.to = end }
    let list = candles(index, interval, window, fault) { bar in
      // What takers bought, let us say.
      let taken = bar.half
      return #"""
        [\#(bar.milliseconds),\#(bar.prices),\#(bar.volume),\#(bar.lastMillisecond),\#(bar.turnover),\#(bar.trades),\#
        \#(taken.volume),\#(taken.turnover),"0"]
        """#
    }
    return SimulatedResponse("[\(list)]")
  }
}
