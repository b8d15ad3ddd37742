import MarketData

/// The texts of Bybit's topics.
extension BybitProtocol {
  func book(_ index: Int, _ depth: Int, _ type: StaticString, _ sides: BookSides, number: Int64) -> JSONText {
    let i = spell(index)
    // The order of the two differs by endpoint and depth.
    let head: JSONText =
      i.instrument.isSpot || depth == 1
      ? #""ts":\#(ms: now),"type":"\#(type)""# : #""type":"\#(type)","ts":\#(ms: now)"#
    return #"""
      {"topic":"orderbook.\#(depth).\#(i.name)",\#(head),"data":{"s":"\#(i.name)","b":\#(i.pairs(sides.bids)),\#
      "a":\#(i.pairs(sides.asks)),"u":\#(number),"seq":\#(state(index).sequence)},"cts":\#(now.rawValue / 1_000 - 4)}
      """#
  }

  func trades(_ list: [SimulatedTrade], _ index: Int) -> JSONText {
    let i = spell(index)
    let direction: JSONText = i.instrument.isSpot ? "" : #","L":"PlusTick""#
    let rows = JSONText.list(list) { trade in
      #"""
      {"T":\#(ms: trade.time),"s":"\#(i.name)","S":"\#(trade.side == .buy ? "Buy" : "Sell")",\#
      "v":\#(i.size(trade.size)),"p":\#(i.price(trade.price))\#(direction),"i":"\#(orderID: trade.id)","BT":false,\#
      "seq":\#(state(index).sequence)}
      """#
    }
    return #"{"topic":"publicTrade.\#(i.name)","type":"snapshot","ts":\#(ms: now),"data":[\#(rows)]}"#
  }

  /// On linear contracts only what moves, after the first.
  func ticker(_ index: Int, isWhole: Bool) -> JSONText {
    let (state, i) = (state(index), spell(index))
    let range: JSONText =
      isWhole
      ? #","prevPrice24h":\#(i.open),"highPrice24h":\#(i.high),"lowPrice24h":\#(i.low)"# : ""
    let more: JSONText =
      i.instrument.isSpot
      ? #","usdIndexPrice":\#(i.last)"#
      : #","bid1Price":\#(i.bid),"bid1Size":\#(i.bidSize),"ask1Price":\#(i.ask),"ask1Size":\#(i.askSize)\#(contract(i, isWhole: isWhole))"#
    return #"""
      {"topic":"tickers.\#(i.name)","type":"\#(isWhole ? "snapshot" : "delta")","data":{"symbol":"\#(i.name)",\#
      "lastPrice":\#(i.last),"price24hPcnt":\#(i.rise(6))\#(range),"volume24h":\#(i.volume),\#
      "turnover24h":\#(i.quoteVolume)\#(more)},"cs":\#(state.sequence),"ts":\#(ms: now)}
      """#
  }

  /// Mark, index, open interest and, first, what there is of funding. `openInterest` counts both sides.
  private func contract(_ i: Speller, isWhole: Bool) -> JSONText {
    let d = i.derivative(now: now)
    let prices: JSONText =
      #"""
      ,"markPrice":\#(i.mark(d)),"indexPrice":\#(i.index(d)),"openInterest":\#(i.size(2 * d.openInterest)),\#
      "singleOpenInterest":\#(i.size(d.openInterest)),"openInterestValue":\#(i.number(2 * d.openInterestQuote, 2)),\#
      "singleOpenInterestValue":\#(i.number(d.openInterestQuote, 2))
      """#
    guard isWhole else { return prices }
    // A dated contract has the keys, and nothing in them.
    guard i.instrument.kind == .perpetual else {
      return #"\#(prices),"fundingRate":"","nextFundingTime":"","fundingIntervalHour":"","fundingCap":"""#
    }
    return #"""
      \#(prices),"fundingRate":\#(i.rate(d)),"nextFundingTime":"\#(ms: d.settlement)","fundingIntervalHour":"8",\#
      "fundingCap":"0.005"
      """#
  }

  /// Positions that were closed, by the side of the position, at the price at which nothing was left of them.
  func liquidations(_ list: [SimulatedTrade], _ index: Int) -> JSONText {
    let i = spell(index)
    let rows = JSONText.list(list) { trade in
      // Four percent further than what was paid.
      let price = max(i.instrument.tick, trade.price + (trade.side == .buy ? 1 : -1) * (trade.price / 25))
      return #"""
        {"T":\#(ms: trade.time),"s":"\#(i.name)","S":"\#(trade.side == .buy ? "Sell" : "Buy")",\#
        "v":\#(i.size(trade.size)),"p":\#(i.price(price))}
        """#
    }
    return #"{"topic":"allLiquidation.\#(i.name)","type":"snapshot","ts":\#(ms: now),"data":[\#(rows)]}"#
  }

  // MARK: - REST

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    if request.path == "/v5/market/kline" { return candles(request) }
    if request.path == "/v5/market/funding/history" { return settlements(request) }
    guard request.path == "/v5/market/instruments-info" || request.path == "/v5/market/tickers" else {
      return SimulatedResponse(status: 404, #"{"retCode":404,"retMsg":"not found","result":{}}"#)
    }
    guard let category = request["category"], category == "spot" || category == "linear" else {
      return SimulatedResponse(#"{"retCode":10001,"retMsg":"params error: Category is invalid","result":{}}"#)
    }
    let states = states(isSpot: category == "spot")
    if request.path == "/v5/market/tickers" {
      let rows = JSONText.list(states) { state in
        let i = spell(state)
        return #"""
          {"symbol":"\#(i.name)","lastPrice":\#(i.last),"volume24h":\#(i.volume),"turnover24h":\#(i.quoteVolume)}
          """#
      }
      return result(#""category":"\#(category)","list":[\#(rows)]"#)
    }
    // Pages of five, so that following the cursor is something that happens.
    let page = category == "spot" ? states.count : 5
    let first = request["cursor"].flatMap { Int($0.dropFirst("first=".count)) } ?? 0
    let end = min(states.count, first + page)
    let rows = JSONText.list(states[min(first, end)..<end]) { instrument($0) }
    return result(
      #""category":"\#(category)","list":[\#(rows)],"nextPageCursor":"\#(end < states.count ? "first=\(end)" : "")""#)
  }

  /// The last 200, newest first.
  private func settlements(_ request: SimulatedRequest) -> SimulatedResponse {
    let found = states(isSpot: false).first { $0.instrument.venueSymbol == request["symbol"] }
    guard request["category"] == "linear", let found else {
      return SimulatedResponse(#"{"retCode":10001,"retMsg":"params error: symbol invalid","result":{}}"#)
    }
    let i = spell(found)
    let rows = JSONText.list(i.settlements(200, now: now)) { settlement in
      #"""
      {"symbol":"\#(i.name)","fundingRate":\#(i.rate(settlement.rate)),\#
      "fundingRateTimestamp":"\#(ms: settlement.time)"}
      """#
    }
    return result(#""category":"linear","list":[\#(rows)]"#)
  }

  private func result(_ members: JSONText, clock: Timestamp? = nil) -> SimulatedResponse {
    SimulatedResponse(
      #"{"retCode":0,"retMsg":"OK","result":{\#(members)},"retExtInfo":{},"time":\#(ms: clock ?? now)}"#)
  }

  private func instrument(_ state: InstrumentMarket) -> JSONText {
    let (i, instrument) = (spell(state), state.instrument)
    let kind: JSONText =
      switch instrument.kind {
      case .spot: #""marginTrading":"both""#
      case .perpetual: #""contractType":"LinearPerpetual","deliveryTime":"0","settleCoin":"USDT""#
      case .future: #""contractType":"LinearFutures","deliveryTime":"1798185600000","settleCoin":"USDT""#
      }
    return #"""
      {"symbol":"\#(i.name)","baseCoin":"\#(instrument.base)","quoteCoin":"\#(instrument.quote)","status":"Trading",\#
      \#(kind),"lotSizeFilter":{"\#(instrument.isSpot ? "basePrecision" : "qtyStep")":\#(i.lot),\#
      "minOrderQty":\#(i.minimum)},"priceFilter":{"tickSize":\#(i.tick)}}
      """#
  }

  // MARK: - Candles

  /// The newest first; of more rows than the limit the newest are left.
  private func candles(_ request: SimulatedRequest) -> SimulatedResponse {
    func refuse(_ code: Int, _ message: String) -> SimulatedResponse {
      SimulatedResponse(
        #"{"retCode":\#(code),"retMsg":"\#(message)","result":{},"retExtInfo":{},"time":\#(ms: now)}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited else { return refuse(10_006, "Too many visits!") }
    guard candleBudget.take(at: now) else {
      return SimulatedResponse(status: 403, "<html>access too frequent</html>")
    }
    let category = request["category"] ?? "linear"
    guard category == "spot" || category == "linear" else { return refuse(10_001, "params error: Category is invalid") }
    guard let name = request["symbol"], let index = index(of: name, isSpot: category == "spot") else {
      return refuse(10_001, "Not supported symbols")
    }
    guard let interval = CandleInterval.named(request["interval"], ["1", "5", "15", "60", "240", "D"]) else {
      return refuse(10_001, "Invalid period!")
    }
    var window = CandleWindow(limit: Int(min(max(request.integer("limit") ?? 200, 1), 1_000)), isNewestFirst: true)
    if let start = request.milliseconds("start") { window.from = start }
    if let end = request.milliseconds("end") { window.to = end }
    let rows = CandleRows(state(index), interval, window, now: now, fault: fault)
    let list = JSONText.rows(rows, .quoted) { bar in
      #"["\#(bar.milliseconds)",\#(bar.prices),\#(bar.volume),\#(bar.turnover)]"#
    }
    return result(#""category":"\#(category)","symbol":"\#(name)","list":[\#(list)]"#, clock: rows.clock)
  }
}
