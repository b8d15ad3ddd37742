import Bytes
import MarketData

/// What KuCoin sends and answers, as JSON.
extension KuCoinProtocol {
  /// The socket of a market: spot's, or that of contracts.
  private func message(_ topic: StaticString, _ index: Int, _ more: JSONText, _ data: JSONText) -> JSONText {
    let type: StaticString = state(index).instrument.isSpot ? "SPOT" : "FUTURES"
    return #"{"T":"\#(topic).\#(type)"\#(more), "P":\#(now.rawValue * 1_000 + 177), "d":{\#(data)}}"#
  }

  /// Whole milliseconds, in ns.
  private var milliseconds: Int64 { now.rawValue / 1_000 * 1_000_000 }

  /// A message of `obu`: a whole book of some depth, or what changed.
  func book(
    _ index: Int, _ depth: String, _ type: StaticString, _ numbers: ClosedRange<Int64>, _ sides: BookSides
  ) -> JSONText {
    let i = spell(index)
    return message(
      "obu", index, #", "dp":"\#(depth)", "t":"\#(type)""#,
      #"""
      "a":\#(i.pairs(sides.asks)),"b":\#(i.pairs(sides.bids)),"C":\#(numbers.upperBound),"s":"\#(i.name)",\#
      "M":\#(milliseconds),"O":\#(numbers.lowerBound)
      """#)
  }

  func whole(_ index: Int, _ name: String, _ depth: Int) -> JSONText {
    let state = state(index)
    return book(index, name, "snapshot", state.updateID...state.updateID, state.book.top(depth))
  }

  func trade(_ trade: SimulatedTrade, _ index: Int) -> JSONText {
    let i = spell(index)
    return message(
      "trade", index, "",
      #"""
      "E":\#(trade.id),"M":\#(trade.time.rawValue * 1_000),"S":"\#(trade.side == .buy ? "buy" : "sell")",\#
      "p":\#(i.price(trade.price)),"q":\#(i.size(trade.size)),"s":"\#(i.name)","ti":"\#(trade.id)"
      """#)
  }

  func ticker(_ index: Int) -> JSONText {
    let i = spell(index)
    let last = i.state.recentTrades.last
    return message(
      "ticker", index, "",
      #"""
      "A":\#(i.askSize),"B":\#(i.bidSize),"E":\#(i.state.updateID),"M":\#(milliseconds),\#
      "S":"\#(last?.side == .sell ? "SELL" : "BUY")","a":\#(i.ask),"b":\#(i.bid),"l":\#(i.price(last?.price ?? 0)),\#
      "q":\#(i.size(last?.size ?? 0)),"s":"\#(i.name)"
      """#)
  }

  // MARK: - REST

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    let isCandles = request.path == "/api/v1/market/candles"
    let isNames = request.path == "/api/v3/currencies"
    if request.path == "/api/v1/market/stats" { return statistics(request) }
    if let contracts = contractsAnswer(request) { return contracts }
    guard isCandles || isNames || ["/api/v2/symbols", "/api/v1/market/allTickers"].contains(request.path) else {
      return SimulatedResponse(status: 404, #"{"code":"404000","msg":"Url Not Found"}"#)
    }
    let isOver = !restWeight.take(isCandles ? 3 : 4, at: now)
    let fault = isCandles && !isOver ? faults.takeCandleFault() : nil
    let nameFault = isNames && !isOver ? faults.takeNameFault() : nil
    guard !isOver, fault != .limited, nameFault != .limited else {
      return SimulatedResponse(
        status: 429, fields: [("gw-ratelimit-remaining", "0"), ("gw-ratelimit-reset", "1489")],
        #"{"code":"429000","msg":"Too many requests in a short period of time, please retry later"}"#)
    }
    if isCandles { return candles(request, fault) }
    if isNames { return currencies(nameFault) }
    let isSymbols = request.path == "/api/v2/symbols"
    let rows = JSONText.list(states(isSpot: true)) { isSymbols ? symbol($0) : figures($0) }
    return SimulatedResponse(
      isSymbols
        ? #"{"code":"200000","data":[\#(rows)]}"#
        : #"{"code":"200000","data":{"time":\#(ms: now),"ticker":[\#(rows)]}}"#)
  }

  /// The figures of one market.
  private func statistics(_ request: SimulatedRequest) -> SimulatedResponse {
    guard restWeight.take(15, at: now) else { return SimulatedResponse(status: 429, #"{"code":"429000"}"#) }
    guard let index = request["symbol"].flatMap({ listed($0) }) else {
      return SimulatedResponse(#"{"code":"200000","data":{"time":\#(ms: now),"symbol":null,"last":null,"vol":null}}"#)
    }
    return SimulatedResponse(#"{"code":"200000","data":\#(figures(state(index)))}"#)
  }

  /// What the assets are called: `name` is the code again.
  private func currencies(_ fault: NameFault?) -> SimulatedResponse {
    NameService.answer(market, fault) { code, name in
      #"""
      {"currency":\#(json: code),"name":\#(json: code),"fullName":\#(name),"precision":8,"confirms":null,\#
      "contractAddress":null,"isMarginEnabled":true,"isDebitEnabled":true,"chains":[{"chainName":\#(json: code),\#
      "chainId":"btc","confirms":3}]}
      """#
    } body: {
      #"{"code":"200000","data":[\#($0)]}"#
    }
  }

  private func figures(_ state: InstrumentMarket) -> JSONText {
    let i = spell(state)
    return #"""
      {"symbol":"\#(i.name)","symbolName":"\#(i.name)","last":\#(i.last),"vol":\#(i.volume),\#
      "volValue":\#(Spelling.quoted.of(state).quoteVolume)}
      """#
  }

  private func symbol(_ state: InstrumentMarket) -> JSONText {
    let (i, exact) = (spell(state), Spelling.quoted.of(state))
    return #"""
      {"symbol":"\#(i.name)","name":"\#(i.name)","baseCurrency":"\#(i.base)","quoteCurrency":"\#(i.quote)",\#
      "feeCurrency":"\#(i.quote)","market":"USDS","baseMinSize":\#(i.minimum),"quoteMinSize":"0.1",\#
      "baseMaxSize":"10000000000","quoteMaxSize":"99999999","baseIncrement":\#(exact.lot),"quoteIncrement":"0.000001",\#
      "priceIncrement":\#(exact.tick),"priceLimitRate":"0.1","minFunds":"0.1","isMarginEnabled":true,\#
      "enableTrading":true,"st":false}
      """#
  }

  // MARK: - Candles

  /// The close before the high, the newest first, none where nothing was traded; of a wide range the newest part.
  private func candles(_ request: SimulatedRequest, _ fault: CandleFault?) -> SimulatedResponse {
    func refuse(_ message: String) -> SimulatedResponse {
      SimulatedResponse(#"{"code":"400100","msg":"\#(message)"}"#)
    }
    guard let index = request["symbol"].flatMap({ index(of: $0) }) else {
      return refuse("This pair is not provided at present")
    }
    let names = ["1min", "5min", "15min", "1hour", "4hour", "1day"]
    guard let interval = CandleInterval.named(request["type"], names) else {
      return refuse("Incorrect candlestick type")
    }
    var window = CandleWindow(limit: 100, isNewestFirst: true, isFilled: false)
    let start = request.seconds("startAt")
    // Each bound is 0 unless it is given.
    if let start, let end = request.seconds("endAt"), end.rawValue > 0 {
      window = CandleWindow(from: start, to: end - 1, limit: 1_500, isNewestFirst: true, isFilled: false)
    }
    /// Twenty digits after the point are more than 64 bits hold: here of every other market.
    func long(_ number: Spelled) -> JSONText {
      let bare = Spelled(value: number.value, scale: number.scale, spelling: .bare)
      let isLong = index % 2 == 1 && bare.scale > 0
      return #""\#(bare)\#(isLong ? String(repeating: "0", count: 20 - Int(bare.scale)) : "")""#
    }
    let list = candles(index, interval, window, fault) { bar in
      #"""
      ["\#(bar.seconds)",\#(bar.open),\#(bar.close),\#(bar.high),\#(bar.low),\#(long(bar.volume)),\#
      \#(long(bar.turnover))]
      """#
    }
    return SimulatedResponse(#"{"code":"200000","data":[\#(list)]}"#)
  }
}
