import Bytes
import MarketData

/// Gate's REST answers, two hundred in ten seconds of each path.
extension GateProtocol {
  private static let restCount = RequestCount(200, per: 10 * Microseconds.second)
  /// Levels a side of a snapshot; more are answered with an empty book.
  private static let snapshotLimit = 1_000
  private static let prefix = "/api/v4/spot/"

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    // Nothing is traded on margin here.
    if request.path == "/api/v4/margin/currency_pairs" { return SimulatedResponse("[]") }
    let name = request.part(after: Self.prefix) ?? ""
    guard ["currency_pairs", "order_book", "tickers", "candlesticks"].contains(name) else {
      return SimulatedResponse(status: 404, #"{"label":"INVALID_PARAM_VALUE","message":"not found"}"#)
    }
    let isOver = !requests[name, default: Self.restCount].take(at: now)
    let fault = name == "candlesticks" && !isOver ? faults.takeCandleFault() : nil
    var response: SimulatedResponse
    switch name {
    case _ where isOver || fault == .limited:
      response = SimulatedResponse(
        status: 429, #"{"label":"TOO_MANY_REQUESTS","message":"Request Rate limit Exceeded"}"#)
    case "order_book": response = orderBook(request)
    case "candlesticks": response = candles(request, fault)
    case "tickers": response = SimulatedResponse("[\(JSONText.list(market.instruments, figures))]")
    default: response = SimulatedResponse("[\(JSONText.list(market.instruments) { pair($0) })]")
    }
    response.fields.append(("X-Gate-RateLimit-Limit", String(Self.restCount.limit)))
    return response
  }

  private func refuse(_ message: String, _ label: String = "INVALID_PARAM_VALUE") -> SimulatedResponse {
    SimulatedResponse(status: 400, #"{"label":"\#(label)","message":"\#(message)"}"#)
  }

  private func orderBook(_ request: SimulatedRequest) -> SimulatedResponse {
    guard let index = request["currency_pair"].flatMap({ index(of: $0) }) else {
      return refuse("Invalid currency pair", "INVALID_CURRENCY_PAIR")
    }
    let limit = request["limit"].flatMap { Int($0) } ?? 10
    guard limit > 0, limit <= Self.snapshotLimit else { return SimulatedResponse(#"{"asks":[],"bids":[]}"#) }
    let truth = snapshots.take(index)?.truth ?? market.truth(index, isSnapshot: true)
    let i = spell(index)
    let id: JSONText = request["with_id"] == "true" ? #""id":\#(truth.updateID),"# : ""
    return bookAnswer(
      truth,
      #"""
      {\#(id)"current":\#(ms: now),"update":\#(ms: now),"asks":\#(i.pairs(truth.book.top(.ask, limit))),\#
      "bids":\#(i.pairs(truth.book.top(.bid, limit)))}
      """#)
  }

  private func pair(_ state: InstrumentMarket) -> JSONText {
    let (i, instrument) = (spell(state), state.instrument)
    return #"""
      {"id":"\#(i.name)","base":"\#(instrument.base)","base_name":"\#(instrument.base)",\#
      "quote":"\#(instrument.quote)","quote_name":"Tether","fee":"0.2","min_base_amount":\#(i.minimum),\#
      "min_quote_amount":"3","amount_precision":\#(instrument.sizeScale),"precision":\#(instrument.priceScale),\#
      "trade_status":"tradable","sell_start":0,"buy_start":0,"type":"normal","st_tag":false}
      """#
  }

  // MARK: - Candles

  /// Rows of an answer, and bars that there are at all.
  private static let candleLimit: Int64 = 1_000
  private static let candleDepth: Int64 = 10_000

  /// The open last but two, the oldest first, and loud about what it does not have.
  private func candles(_ request: SimulatedRequest, _ fault: CandleFault?) -> SimulatedResponse {
    let name = request["currency_pair"] ?? ""
    guard let index = index(of: name) else {
      let currency = name.prefix { $0 != "_" }.filter { $0.isLetter || $0.isNumber }
      return refuse("Invalid currency \(currency)", "INVALID_CURRENCY")
    }
    // An interval that it does not know has been answered with bars of another one.
    let interval =
      CandleInterval.named(request["interval"] ?? "30m", ["1m", "5m", "15m", "1h", "4h", "1d"]) ?? .hour
    let from = request.seconds("from")
    let to = request.seconds("to")
    let limit = request["limit"].map { Int64($0) ?? 0 }
    guard from == nil || to == nil || limit == nil else {
      return refuse("limit cannot be specified together with from and to")
    }
    guard (1...Self.candleLimit).contains(limit ?? 100) else { return refuse("limit must be in 1-1000") }
    if let from {
      guard from >= interval.opening(now) - Self.candleDepth * interval.length else {
        return refuse("Candlestick too long ago. Maximum \(Self.candleDepth) points recently are allowed")
      }
      guard limit != nil || ((to ?? now) - from) / interval.length < Self.candleLimit else {
        return refuse("Candlestick range too broad. Maximum \(Self.candleLimit) data points are allowed per request")
      }
    }
    var window = CandleWindow(
      limit: Int(limit ?? (from == nil ? 100 : Self.candleLimit)), keepsOldest: from != nil,
      // Whether there is a row where nothing was traded is not known: here of every other market.
      isFilled: index % 2 == 0, depth: Int(Self.candleDepth))
    if let from { window.from = from }
    if let to { window.to = to }
    let i = spell(index)
    let list = candles(index, interval, window, fault, .quoted) { exact in
      let bar = SpelledCandle(candle: exact.candle, i: i)
      return #"""
        ["\#(bar.seconds)",\#(exact.turnover),\#(bar.close),\#(bar.high),\#(bar.low),\#(bar.open),\#(exact.volume),\#
        "\#(bar.isClosed ? "true" : "false")"]
        """#
    }
    return SimulatedResponse("[\(list)]")
  }
}
