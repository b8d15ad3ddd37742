import MarketData

/// The texts of Bybit's topics.
extension BybitProtocol {
  func book(
    _ index: Int, _ depth: Int, _ type: StaticString, _ bids: [PriceLevel], _ asks: [PriceLevel], number: Int64
  ) -> JSONText {
    let i = spell(index)
    // The order of the two differs by endpoint and depth.
    let head: JSONText =
      i.instrument.kind == .spot || depth == 1
      ? #""ts":\#(ms: now),"type":"\#(type)""# : #""type":"\#(type)","ts":\#(ms: now)"#
    return #"""
      {"topic":"orderbook.\#(depth).\#(i.name)",\#(head),"data":{"s":"\#(i.name)","b":\#(i.pairs(bids)),\#
      "a":\#(i.pairs(asks)),"u":\#(number),"seq":\#(state(index).sequence)},"cts":\#(now.rawValue / 1_000 - 4)}
      """#
  }

  func trades(_ list: [SimulatedTrade], _ index: Int) -> JSONText {
    let i = spell(index)
    let direction: JSONText = i.instrument.kind == .spot ? "" : #","L":"PlusTick""#
    let rows = JSONText.list(list) { trade in
      #"""
      {"T":\#(ms: trade.time),"s":"\#(i.name)","S":"\#(trade.side == .buy ? "Buy" : "Sell")","v":\#(i.size(trade.size)),\#
      "p":\#(i.price(trade.price))\#(direction),"i":"\#(orderID: trade.id)","BT":false,"seq":\#(state(index).sequence)}
      """#
    }
    return #"{"topic":"publicTrade.\#(i.name)","type":"snapshot","ts":\#(ms: now),"data":[\#(rows)]}"#
  }

  /// On linear contracts only what moves, after the first.
  func ticker(_ index: Int, isWhole: Bool) -> JSONText {
    let (state, i) = (state(index), spell(index))
    let (bid, ask, day) = (state.book.bestBid, state.book.bestAsk, state.day)
    let range: JSONText =
      isWhole
      ? #"""
      ,"prevPrice24h":\#(i.price(day.open)),"highPrice24h":\#(i.price(day.high)),"lowPrice24h":\#(i.price(day.low))
      """# : ""
    let more: JSONText =
      i.instrument.kind == .spot
      ? #","usdIndexPrice":\#(i.price(day.last))"#
      : #"""
      ,"bid1Price":\#(i.price(bid)),"bid1Size":\#(i.size(bid)),"ask1Price":\#(i.price(ask)),"ask1Size":\#(i.size(ask))
      """#
    return #"""
      {"topic":"tickers.\#(i.name)","type":"\#(isWhole ? "snapshot" : "delta")","data":{"symbol":"\#(i.name)",\#
      "lastPrice":\#(i.price(day.last)),"price24hPcnt":\#(i.number(day.rise(in: 1_000_000), 6))\#(range),\#
      "volume24h":\#(i.size(day.volume)),"turnover24h":\#(i.number(state.quoteVolume))\#(more)},\#
      "cs":\#(state.sequence),"ts":\#(ms: now)}
      """#
  }

  // MARK: - REST

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    if request.path == "/v5/market/kline" { return candles(request) }
    guard request.path == "/v5/market/instruments-info" || request.path == "/v5/market/tickers" else {
      return SimulatedResponse(status: 404, #"{"retCode":404,"retMsg":"not found","result":{}}"#)
    }
    guard let category = request["category"], category == "spot" || category == "linear" else {
      return SimulatedResponse(#"{"retCode":10001,"retMsg":"params error: Category is invalid","result":{}}"#)
    }
    let states = market.instruments.filter { ($0.instrument.kind == .spot) == (category == "spot") }
    if request.path == "/v5/market/tickers" {
      let rows = JSONText.list(states) { state in
        let i = spell(state)
        return #"""
          {"symbol":"\#(i.name)","lastPrice":\#(i.price(state.day.last)),"volume24h":\#(i.size(state.day.volume)),\#
          "turnover24h":\#(i.number(state.quoteVolume))}
          """#
      }
      return result(#""category":"\#(category)","list":[\#(rows)]"#)
    }
    // Pages of five, so that following the cursor is something that happens.
    let page = category == "spot" ? states.count : 5
    let first = request["cursor"].flatMap { Int($0.dropFirst("first=".count)) } ?? 0
    let end = min(states.count, first + page)
    let rows = JSONText.list(states[min(first, end)..<end]) { instrument($0.instrument) }
    return result(
      #"""
      "category":"\#(category)","list":[\#(rows)],"nextPageCursor":"\#(end < states.count ? "first=\(end)" : "")"
      """#)
  }

  private func result(_ members: JSONText, clock: Timestamp? = nil) -> SimulatedResponse {
    SimulatedResponse(
      #"{"retCode":0,"retMsg":"OK","result":{\#(members)},"retExtInfo":{},"time":\#(ms: clock ?? now)}"#)
  }

  private func instrument(_ instrument: SimulatedInstrument) -> JSONText {
    let i = Self.spelling.of(instrument)
    let kind: JSONText =
      switch instrument.kind {
      case .spot: #""marginTrading":"both""#
      case .perpetual: #""contractType":"LinearPerpetual","deliveryTime":"0","settleCoin":"USDT""#
      case .future: #""contractType":"LinearFutures","deliveryTime":"1798185600000","settleCoin":"USDT""#
      }
    return #"""
      {"symbol":"\#(i.name)","baseCoin":"\#(instrument.base)","quoteCoin":"\#(instrument.quote)","status":"Trading",\#
      \#(kind),"lotSizeFilter":{"\#(instrument.kind == .spot ? "basePrecision" : "qtyStep")":\#(i.lot),\#
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
    let state = market.instruments.first {
      $0.instrument.venueSymbol == request["symbol"] && ($0.instrument.kind == .spot) == (category == "spot")
    }
    guard let state else { return refuse(10_001, "Not supported symbols") }
    guard let interval = CandleInterval.named(request["interval"], ["1", "5", "15", "60", "240", "D"]) else {
      return refuse(10_001, "Invalid period!")
    }
    var window = CandleWindow(limit: Int(min(max(request.integer("limit") ?? 200, 1), 1_000)), isNewestFirst: true)
    if let start = request.time("start", unit: Microseconds.millisecond) { window.from = start }
    if let end = request.time("end", unit: Microseconds.millisecond) { window.to = end }
    let rows = CandleRows(state, interval, window, now: now, fault: fault)
    let i = spell(state)
    let list = JSONText.rows(rows) { candle in
      let bar = candle.bar
      return #"["\#(candle.milliseconds)",\#(i.prices(bar)),\#(i.size(bar.volume)),\#(i.turnover(bar))]"#
    }
    return result(#""category":"\#(category)","symbol":"\#(i.name)","list":[\#(list)]"#, clock: rows.clock)
  }
}
