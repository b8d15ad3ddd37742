import Bytes
import MarketData

/// Bitget's REST answers: lists of markets, figures of all of them, books that have no number, candles; twenty a second
/// of each path.
extension BitgetProtocol {
  private static let restLimit = 20.0

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    let family = request.path.hasPrefix("/api/v2/mix/") ? "mix" : "spot"
    let isSpot = family == "spot"
    var budget = budgets[request.path] ?? RequestBudget(Self.restLimit, perSecond: Self.restLimit)
    let isWithin = budget.take(at: now)
    // Of paths that there are: a client's own have no place here.
    if Self.restPaths.contains(request.path) { budgets[request.path] = budget }
    let fault = request.path.hasSuffix("candles") ? faults.takeCandleFault() : nil
    guard isWithin, fault != .limited else {
      return SimulatedResponse(
        status: 429, #"{"code":"429","msg":"Too many requests","requestTime":\#(ms: now),"data":null}"#)
    }
    let type = request["productType"]?.uppercased()
    if !isSpot, type != "USDT-FUTURES" {
      return type == nil
        ? refuse("400172", "Parameter productType error")
        : SimulatedResponse(body: #"{"code":"00000","msg":"success","requestTime":0,"data":[]}"#)
    }
    let states = states(isSpot: isSpot)
    switch request.path {
    case "/api/v2/spot/public/symbols":
      let chosen = states.filter { request["symbol"] == nil || $0.instrument.venueSymbol == request["symbol"] }
      guard !chosen.isEmpty else { return unknown(request["symbol"]) }
      return succeed("[\(JSONText.list(chosen) { pair($0) })]")
    case "/api/v2/mix/market/contracts": return succeed("[\(JSONText.list(states) { contract($0) })]")
    case "/api/v2/spot/market/tickers", "/api/v2/mix/market/tickers":
      return succeed("[\(JSONText.list(states) { figures($0) })]")
    case "/api/v2/spot/market/orderbook":
      guard let state = states.first(where: { $0.instrument.venueSymbol == request["symbol"] }) else {
        return unknown(request["symbol"])
      }
      let depth = Int(min(max(request.integer("limit") ?? 150, 1), 150))
      let i = spell(state)
      return succeed(
        #"""
        {"asks":\#(i.pairs(state.book.top(.ask, depth))),"bids":\#(i.pairs(state.book.top(.bid, depth))),\#
        "ts":"\#(ms: now)"}
        """#)
    case "/api/v2/mix/market/current-fund-rate":
      guard let state = states.first(where: { $0.instrument.venueSymbol == request["symbol"] }) else {
        return unknown(request["symbol"])
      }
      let i = spell(state)
      let d = i.derivative(now: now)
      return succeed(
        #"""
        [{"symbol":"\#(i.name)","fundingRate":\#(i.rate(d)),"fundingRateInterval":"8",\#
        "nextUpdate":"\#(ms: d.settlement)"}]
        """#)
    case "/api/v2/mix/market/history-fund-rate":
      guard let state = states.first(where: { $0.instrument.venueSymbol == request["symbol"] }) else {
        return unknown(request["symbol"])
      }
      let i = spell(state)
      let count = Int(min(max(request.integer("pageSize") ?? 20, 1), 100))
      let rows = JSONText.list(i.settlements(count, now: now)) { settlement in
        #"""
        {"symbol":"\#(i.name)","fundingRate":\#(i.rate(settlement.rate)),"fundingTime":"\#(ms: settlement.time)"}
        """#
      }
      return succeed("[\(rows)]")
    // Nothing is lent here. Other people's clients ask, and take an error for the end.
    case "/api/v2/margin/currencies": return succeed("[]")
    case "/api/v2/public/time": return succeed(#"{"serverTime":"\#(ms: now)"}"#)
    case _ where Self.candlePaths.contains(request.path): return candles(request, isSpot: isSpot, states, fault)
    default: return SimulatedResponse(status: 404, body: #"{"code":"40404","msg":"Request URL NOT FOUND","data":null}"#)
    }
  }

  private static let candlePaths = ["spot", "mix"].flatMap {
    ["/api/v2/\($0)/market/candles", "/api/v2/\($0)/market/history-candles"]
  }
  private static let restPaths =
    candlePaths + [
      "/api/v2/spot/public/symbols", "/api/v2/mix/market/contracts", "/api/v2/spot/market/tickers",
      "/api/v2/mix/market/tickers", "/api/v2/mix/market/current-fund-rate", "/api/v2/spot/market/orderbook",
      "/api/v2/mix/market/history-fund-rate", "/api/v2/margin/currencies", "/api/v2/public/time",
    ]

  private func succeed(_ data: JSONText, clock: Timestamp? = nil) -> SimulatedResponse {
    SimulatedResponse(#"{"code":"00000","msg":"success","requestTime":\#(ms: clock ?? now),"data":\#(data)}"#)
  }

  private func refuse(_ code: String, _ message: String) -> SimulatedResponse {
    SimulatedResponse(
      status: 400, #"{"code":"\#(code)","msg":\#(json: message),"requestTime":\#(ms: now),"data":null}"#)
  }

  private func unknown(_ name: String?) -> SimulatedResponse {
    refuse("40034", "Parameter \(name ?? "symbol") does not exist")
  }

  // MARK: - Markets

  /// All are texts; what is not there is empty.
  private func pair(_ state: InstrumentMarket) -> JSONText {
    let (i, instrument) = (spell(state), state.instrument)
    return #"""
      {"symbol":"\#(i.name)","baseCoin":"\#(instrument.base)","quoteCoin":"\#(instrument.quote)","minTradeAmount":"0",\#
      "maxTradeAmount":"900000000000000000000","takerFeeRate":"0.002","makerFeeRate":"0.002",\#
      "pricePrecision":"\#(instrument.priceScale)","quantityPrecision":"\#(instrument.sizeScale)",\#
      "quotePrecision":"8","status":"online","minTradeUSDT":"1","areaSymbol":"no","orderQuantity":"200",\#
      "openTime":"1532454360000","offTime":""}
      """#
  }

  /// The step of a price is `priceEndStep` of the last of `pricePlace` digits; `sizeMultiplier` is a step, no contract.
  private func contract(_ state: InstrumentMarket) -> JSONText {
    let (i, instrument) = (spell(state), state.instrument)
    return #"""
      {"symbol":"\#(i.name)","baseCoin":"\#(instrument.base)","quoteCoin":"\#(instrument.quote)",\#
      "supportMarginCoins":["USDT"],"minTradeNum":\#(i.minimum),"priceEndStep":"\#(instrument.tick)",\#
      "volumePlace":"\#(instrument.sizeScale)","pricePlace":"\#(instrument.priceScale)","sizeMultiplier":\#(i.lot),\#
      "symbolType":"perpetual","minTradeUSDT":"5","symbolStatus":"normal","offTime":"-1","limitOpenTime":"-1",\#
      "fundInterval":"8","maintainTime":"","isRwa":"NO"}
      """#
  }

  private func figures(_ state: InstrumentMarket) -> JSONText {
    let i = spell(state)
    let head: JSONText =
      #"""
      {"symbol":"\#(i.name)","lastPr":\#(i.last),"open":\#(i.open),"high24h":\#(i.high),"low24h":\#(i.low),\#
      "baseVolume":\#(i.volume),"quoteVolume":\#(i.quoteVolume),"usdtVolume":\#(i.quoteVolume),
      """#
    let more: JSONText =
      i.instrument.isSpot ? "" : #""indexPrice":\#(i.last),"fundingRate":"0.0001","#
    return #"\#(head)\#(more)"ts":"\#(ms: now)"}"#
  }

  // MARK: - Candles

  /// The oldest first. `candles` knows a month of minutes and answers an older window with success and nothing;
  /// `history-candles` has no bar under way, pages of 200, and on spot wants an end. Plain days begin at 16:00 UTC.
  private func candles(
    _ request: SimulatedRequest, isSpot: Bool, _ states: [InstrumentMarket], _ fault: CandleFault?
  ) -> SimulatedResponse {
    let isHistory = request.path.hasSuffix("history-candles")
    guard let state = states.first(where: { $0.instrument.venueSymbol == request["symbol"] }) else {
      return unknown(request["symbol"])
    }
    let names = isSpot ? ["1min", "5min", "15min", "1h", "4h", "1Dutc"] : ["1m", "5m", "15m", "1H", "4H", "1Dutc"]
    let name = request["granularity"]
    guard let interval = name == (isSpot ? "1day" : "1D") ? .hongKongDay : CandleInterval.named(name, names) else {
      return refuse("400171", "Parameter verification failed")
    }
    let limit = request.integer("limit") ?? 100
    guard limit > 0, limit <= (isHistory ? 200 : 1_000) else { return refuse("40053", "limit out of range") }
    let end = request.milliseconds("endTime")
    guard end != nil || !isHistory || !isSpot else { return refuse("400172", "endTime is required") }
    var window = CandleWindow(limit: Int(limit), hasRunning: !isHistory)
    // Of contracts the start is behind the first bar.
    if let start = request.milliseconds("startTime") { window.from = start + (isSpot ? 0 : 1) }
    if let end { window.to = end }
    if !isHistory { window.depth = Int(Self.kept(interval) / interval.length) }
    let rows = CandleRows(state, interval, window, now: now, fault: fault)
    let list = JSONText.rows(rows, Self.facts.spelling) { bar in
      let row: JSONText = #"["\#(bar.milliseconds)",\#(bar.prices),\#(bar.volume),\#(bar.turnover)"#
      return isSpot ? "\(row),\(bar.turnover)]" : "\(row)]"
    }
    return succeed("[\(list)]", clock: rows.clock)
  }

  /// How long `candles` keeps bars, µs.
  private static func kept(_ interval: CandleInterval) -> Int64 {
    switch interval.length {
    case ..<(15 * Microseconds.minute): 30 * Microseconds.day
    case ..<Microseconds.hour: 52 * Microseconds.day
    case ..<(4 * Microseconds.hour): 83 * Microseconds.day
    case ..<Microseconds.day: 240 * Microseconds.day
    default: 2_000 * Microseconds.day
    }
  }
}
