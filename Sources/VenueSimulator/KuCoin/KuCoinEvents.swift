import Bytes
import MarketData

/// What KuCoin sends and answers, as JSON.
extension KuCoinProtocol {
  /// `Spelled` in quotes with all its digits.
  private func exact(_ value: Int64, _ scale: UInt8) -> Spelled {
    Spelled(value: value, scale: scale, spelling: .quoted)
  }

  private func message(_ topic: StaticString, _ more: JSONText, _ data: JSONText) -> JSONText {
    #"{"T":"\#(topic)"\#(more), "P":\#(now.rawValue * 1_000 + 177), "d":{\#(data)}}"#
  }

  /// Whole milliseconds, in ns.
  private var milliseconds: Int64 { now.rawValue / 1_000 * 1_000_000 }

  /// A message of `obu`: a whole book of some depth, or what changed.
  func book(
    _ index: Int, _ depth: String, _ type: StaticString, _ numbers: ClosedRange<Int64>, _ bids: [PriceLevel],
    _ asks: [PriceLevel]
  ) -> JSONText {
    let i = spell(index)
    return message(
      "obu.SPOT", #", "dp":"\#(depth)", "t":"\#(type)""#,
      #"""
      "a":\#(i.pairs(asks)),"b":\#(i.pairs(bids)),"C":\#(numbers.upperBound),"s":"\#(i.name)","M":\#(milliseconds),\#
      "O":\#(numbers.lowerBound)
      """#)
  }

  func whole(_ index: Int, _ name: String, _ depth: Int) -> JSONText {
    let state = state(index)
    return book(
      index, name, "snapshot", state.updateID...state.updateID, state.book.top(.bid, depth), state.book.top(.ask, depth)
    )
  }

  func trade(_ trade: SimulatedTrade, _ index: Int) -> JSONText {
    let i = spell(index)
    return message(
      "trade.SPOT", "",
      #"""
      "E":\#(trade.id),"M":\#(trade.time.rawValue * 1_000),"S":"\#(trade.side == .buy ? "buy" : "sell")",\#
      "p":\#(i.price(trade.price)),"q":\#(i.size(trade.size)),"s":"\#(i.name)","ti":"\#(trade.id)"
      """#)
  }

  func ticker(_ index: Int) -> JSONText {
    let (state, i) = (state(index), spell(index))
    let (bid, ask, last) = (state.book.bestBid, state.book.bestAsk, state.recentTrades.last)
    return message(
      "ticker.SPOT", "",
      #"""
      "A":\#(i.size(ask)),"B":\#(i.size(bid)),"E":\#(state.updateID),"M":\#(milliseconds),\#
      "S":"\#(last?.side == .sell ? "SELL" : "BUY")","a":\#(i.price(ask)),"b":\#(i.price(bid)),\#
      "l":\#(i.price(last?.price ?? 0)),"q":\#(i.size(last?.size ?? 0)),"s":"\#(i.name)"
      """#)
  }

  // MARK: - REST

  /// The weight of requests in half a minute, at 4 each, candles at 3.
  private static let restLimit = 2_000

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    let isCandles = request.path == "/api/v1/market/candles"
    let isNames = request.path == "/api/v3/currencies"
    guard isCandles || isNames || ["/api/v2/symbols", "/api/v1/market/allTickers"].contains(request.path) else {
      return SimulatedResponse(status: 404, #"{"code":"404000","msg":"Url Not Found"}"#)
    }
    let window = now.rawValue / (30 * Microseconds.second)
    if window != restWindow { (restWindow, restWeight) = (window, 0) }
    restWeight += isCandles ? 3 : 4
    let isOver = restWeight > Self.restLimit
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
    let rows = JSONText.list(market.instruments) { isSymbols ? symbol($0.instrument) : figures($0) }
    return SimulatedResponse(
      isSymbols
        ? #"{"code":"200000","data":[\#(rows)]}"#
        : #"{"code":"200000","data":{"time":\#(ms: now),"ticker":[\#(rows)]}}"#)
  }

  /// What the assets are called: `name` is the code again.
  private func currencies(_ fault: NameFault?) -> SimulatedResponse {
    NameDesk.answer(market, fault) { code, name in
      #"""
      {"currency":\#(json: code),"name":\#(json: code),"fullName":\#(name),"precision":8,"confirms":null,\#
      "contractAddress":null,"isMarginEnabled":true,"isDebitEnabled":true,\#
      "chains":[{"chainName":\#(json: code),"chainId":"btc","confirms":3}]}
      """#
    } body: {
      #"{"code":"200000","data":[\#($0)]}"#
    }
  }

  private func figures(_ state: InstrumentMarket) -> JSONText {
    let i = spell(state)
    return #"""
      {"symbol":"\#(i.name)","symbolName":"\#(i.name)","last":\#(i.price(state.day.last)),\#
      "vol":\#(i.size(state.day.volume)),"volValue":\#(exact(state.quoteVolume.mantissa, state.quoteVolume.scale))}
      """#
  }

  private func symbol(_ instrument: SimulatedInstrument) -> JSONText {
    let i = Self.spelling.of(instrument)
    let (base, quote) = (instrument.base, instrument.quote)
    return #"""
      {"symbol":"\#(i.name)","name":"\#(i.name)","baseCurrency":"\#(base)","quoteCurrency":"\#(quote)",\#
      "feeCurrency":"\#(quote)","market":"USDS","baseMinSize":\#(i.minimum),"quoteMinSize":"0.1",\#
      "baseMaxSize":"10000000000","quoteMaxSize":"99999999",\#
      "baseIncrement":\#(exact(instrument.lot, instrument.sizeScale)),\#
      "quoteIncrement":"0.000001","priceIncrement":\#(exact(instrument.tick, instrument.priceScale)),\#
      "priceLimitRate":"0.1","minFunds":"0.1","isMarginEnabled":true,"enableTrading":true,"st":false}
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
    let start = request.time("startAt", unit: Microseconds.second)
    // Each bound is 0 unless it is given.
    if let start, let end = request.time("endAt", unit: Microseconds.second), end.rawValue > 0 {
      window = CandleWindow(from: start, to: end - 1, limit: 1_500, isNewestFirst: true, isFilled: false)
    }
    let i = spell(index)
    /// Twenty digits after the point are more than 64 bits hold: here of every other market.
    func long(_ value: Decimal64) -> JSONText {
      guard index % 2 == 1, value.scale > 0 else { return "\(exact(value.mantissa, value.scale))" }
      let zeros = String(repeating: "0", count: 20 - Int(value.scale))
      return #""\#(Spelled(value: value.mantissa, scale: value.scale, spelling: .bare))\#(zeros)""#
    }
    let list = JSONText.rows(CandleRows(state(index), interval, window, now: now, fault: fault)) { candle in
      let bar = candle.bar
      let volume = Decimal64(mantissa: bar.volume, scale: i.instrument.sizeScale)
      return #"""
        ["\#(candle.seconds)",\#(i.price(bar.open)),\#(i.price(bar.close)),\#(i.price(bar.high)),\#(i.price(bar.low)),\#
        \#(long(volume)),\#(long(i.instrument.quoteUnits(bar.turnover)))]
        """#
    }
    return SimulatedResponse(#"{"code":"200000","data":[\#(list)]}"#)
  }
}
