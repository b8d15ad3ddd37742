import MarketData

/// The data of Bitfinex, which are arrays of bare numbers, and its REST answers: `conf`, the figures of all pairs,
/// candles.
extension BitfinexProtocol {
  func book(_ index: Int, _ length: Int) -> JSONText {
    let levels = state(index).book.top(length).labelled(Int64(1), -1)
    return "[\(JSONText.list(levels) { level($0.level, $0.side, index) })]"
  }

  /// `[price,orders,amount]`; a removal has no orders, and an amount of 1 that only says the side.
  func level(_ level: PriceLevel, _ sign: Int64, _ index: Int) -> JSONText {
    let i = spell(index)
    guard level.size > 0 else { return "[\(i.price(level.price)),0,\(sign)]" }
    return "[\(i.price(level.price)),\(1 + level.size % 5),\(i.size(level.size * sign))]"
  }

  func trade(_ trade: SimulatedTrade, _ index: Int) -> JSONText {
    let i = spell(index)
    let amount = trade.side == .buy ? trade.size : -trade.size
    return "[\(trade.id),\(ms: trade.time),\(i.size(amount)),\(i.price(trade.price))]"
  }

  /// Fields have been added behind these.
  func ticker(_ index: Int) -> JSONText { "[\(figures(state(index))),null]" }

  private func figures(_ state: InstrumentMarket) -> JSONText {
    let (book, i) = (state.book, spell(state))
    func sum(_ side: SimulatedSide) -> Spelled { i.size(book.top(side, 25).reduce(0) { $0 + $1.size }) }
    return #"""
      \#(i.bid),\#(sum(.bid)),\#(i.ask),\#(sum(.ask)),\#(i.change),\#(i.rise(4)),\#(i.last),\#(i.volume),\#(i.high),\#
      \#(i.low)
      """#
  }

  // MARK: - REST

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    if let candles = candles(request) { return candles }
    if request.path == "/v2/tickers" { return allTickers }
    if request.path.hasPrefix("/v2/conf/pub:map:currency:label") { return labels(request) }
    let prefix = "/v2/conf/"
    guard request.path.hasPrefix(prefix) else { return refuse("path", status: 404) }
    // An array with the answer to each.
    let answers = JSONText.list(request.path.dropFirst(prefix.count).split(separator: ","), configuration)
    return SimulatedResponse("[\(answers)]")
  }

  /// What the assets are called, by the venue's own codes, and behind it those codes.
  private func labels(_ request: SimulatedRequest) -> SimulatedResponse {
    let fault = faults.takeNameFault()
    if fault == .limited { return SimulatedResponse(status: 429, #"{"error":"ERR_RATE_LIMIT"}"#) }
    let others = request.path.split(separator: ",").dropFirst()
    return NameService.answer(market, fault) { code, name in
      "[\(json: code == "USDT" ? "UST" : code),\(name)]"
    } body: { rows in
      others.isEmpty ? "[[\(rows)]]" : "[[\(rows)],\(JSONText.list(others, configuration))]"
    }
  }

  private func refuse(_ subject: String, status: Int = 500) -> SimulatedResponse {
    SimulatedResponse(status: status, #"["error",10020,"\#(subject): invalid"]"#)
  }

  private func configuration(_ name: Substring) -> JSONText {
    switch name {
    case "pub:list:pair:exchange": return "[\(names: listed.map { String($0.instrument.venueSymbol.dropFirst()) })]"
    case "pub:list:currency":
      var names: [String] = []
      for name in listed.flatMap({ [$0.instrument.base, $0.instrument.quote] }).map({ $0 == "USDT" ? "UST" : $0 }) {
        if !names.contains(name) { names.append(name) }
      }
      return "[\(names: names)]"
    case "pub:map:currency:sym": return #"[["UST","USDt"],["ALG","ALGO"]]"#
    case "pub:info:pair":
      let rows = JSONText.list(listed.map(spell)) { i in
        #"""
        [\#(json: String(i.name.dropFirst())),[null,null,null,"\#(i.minimum)","100000.0",null,null,null,null,null,\#
        null,null]]
        """#
      }
      return "[\(rows)]"
    default: return "[]"
    }
  }

  /// Of all pairs: as a ticker in the stream, behind the name.
  private var allTickers: SimulatedResponse {
    let rows = JSONText.list(listed) { "[\(json: $0.instrument.venueSymbol),\(figures($0))]" }
    return SimulatedResponse(
      #"""
      [\#(rows)\#(listed.isEmpty ? "" : ",")["fUSD",0.0003,0.0002,30,3939629.6,0.00019,2,307776.1,-0.00005,-0.2344,\#
      0.00019,122156333.4,0.0002,6.8e-7]]
      """#)
  }

  // MARK: - Candles

  private static let candleLimit = 10_000

  /// The close before the high, the newest first unless sorted, none where nothing was traded.
  private func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    let parts = request.path.replacing("%3A", with: ":").split(separator: "/")
    guard parts.count == 4, parts[0] == "v2", parts[1] == "candles", ["hist", "last"].contains(parts[3]) else {
      return nil
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: now) else {
      return SimulatedResponse(status: 429, #"{"error":"ERR_RATE_LIMIT"}"#)
    }
    let key = parts[2].split(separator: ":", maxSplits: 2).map(String.init)
    guard key.count == 3, key[0] == "trade",
      let interval = CandleInterval.named(key[1], ["1m", "5m", "15m", "1h", nil, "1D"])
    else { return refuse("time_interval") }
    let limit = request["limit"].map { Int($0) ?? 0 } ?? 100
    guard (1...Self.candleLimit).contains(limit) else { return refuse("limit") }
    // An unknown name has been answered like one that was never traded.
    guard let index = index(of: key[2]) else { return SimulatedResponse("[]") }
    let isLast = parts[3] == "last"
    let isSorted = request["sort"] == "1"
    var window = CandleWindow(
      limit: isLast ? 1 : limit, keepsOldest: isSorted, isNewestFirst: !isSorted, isFilled: false)
    if let start = request.milliseconds("start") { window.from = start }
    if let end = request.milliseconds("end") { window.to = end }
    let list = candles(index, interval, window, fault) { bar in
      "[\(bar.milliseconds),\(bar.open),\(bar.close),\(bar.high),\(bar.low),\(bar.volume)]"
    }
    return SimulatedResponse(isLast ? list : "[\(list)]")
  }
}
