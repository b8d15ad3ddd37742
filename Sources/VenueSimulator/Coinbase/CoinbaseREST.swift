import Bytes
import MarketData

/// Coinbase's products, in the stream and by REST, and the REST answers beside them.
extension CoinbaseProtocol {
  var products: JSONText { .list(market.instruments, product) }

  private func product(_ state: InstrumentMarket) -> JSONText {
    let i = spell(state)
    return #"""
      {"id":"\#(i.name)","base_currency":"\#(i.base)","quote_currency":"USD","quote_increment":\#(i.tick),\#
      "base_increment":\#(i.lot),"display_name":"\#(i.name)","min_market_funds":"1","margin_enabled":false,\#
      "post_only":false,"limit_only":false,"cancel_only":false,"status":"online","status_message":"",\#
      "trading_disabled":false,"fx_stablecoin":false,"max_slippage_percentage":"0.02000000","auction_mode":false,\#
      "high_bid_limit_percentage":""}
      """#
  }

  private func refuse(_ status: Int, _ message: String) -> SimulatedResponse {
    SimulatedResponse(status: status, #"{"message":"\#(message)"}"#)
  }

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    if let candles = candles(request) { return candles }
    if request.path == "/currencies" { return currencies }
    let parts = request.path.split(separator: "/")
    guard parts.first == "products", parts.count <= 3 else { return refuse(404, "NotFound") }
    if parts.count == 1 { return SimulatedResponse("[\(products)]") }
    if request.path == "/products/stats" {
      return SimulatedResponse("{\(JSONText.list(market.instruments, statistics))}")
    }
    guard let index = index(of: parts[1]) else { return refuse(404, "NotFound") }
    if parts.count == 2 { return SimulatedResponse(product(state(index))) }
    if parts[2] == "trades" { return pastTrades(request, index) }
    guard parts[2] == "book" else { return refuse(404, "NotFound") }
    return SimulatedResponse(book(state(index), level: request["level"] ?? "1"))
  }

  /// What the assets are called, with what else is said of them.
  private var currencies: SimulatedResponse {
    let fault = faults.takeNameFault()
    guard fault != .limited, candleBudget.take(at: now) else { return refuse(429, "Public rate limit exceeded") }
    return NameService.answer(market, fault) { code, name in
      #"""
      {"id":\#(json: code),"name":\#(name),"min_size":"0.00000001","status":"online","message":"",\#
      "max_precision":"0.00000001","convertible_to":[],"details":{"type":"crypto","symbol":null,\#
      "network_confirmations":2,"sort_order":20,"push_payment_methods":["crypto"]},"default_network":"bitcoin",\#
      "supported_networks":[{"id":"bitcoin","name":"Not a name","status":"online"}]}
      """#
    } body: {
      "[\($0)]"
    }
  }

  private func statistics(_ state: InstrumentMarket) -> JSONText {
    let i = spell(state)
    return #"""
      \#(json: i.name):{"stats_30day":{"volume":\#(i.size(state.day.volume * 30))},"stats_24hour":{"open":\#(i.open),\#
      "high":\#(i.high),"low":\#(i.low),"last":\#(i.last),"volume":\#(i.volume)}}
      """#
  }

  /// Levels have a third member, the number of orders.
  private func book(_ state: InstrumentMarket, level: String) -> JSONText {
    let depth = level == "1" ? 1 : state.instrument.levels * 2
    func side(_ side: SimulatedSide) -> JSONText { spell(state).pairs(state.book.top(side, depth)) { _ in ",1" } }
    return #"""
      {"bids":\#(side(.bid)),"asks":\#(side(.ask)),"sequence":\#(state.sequence),"auction_mode":false,"auction":null,\#
      "time":"\#(rfc3339: now)"}
      """#
  }

  // MARK: - Trades

  /// The newest first: those before the cursor `after`, those behind the cursor `before`. The side is the maker's.
  private func pastTrades(_ request: SimulatedRequest, _ index: Int) -> SimulatedResponse {
    let fault = faults.takeTradeFault()
    guard fault != .limited, candleBudget.take(at: now) else { return refuse(429, "Public rate limit exceeded") }
    let limit = Int(min(max(request.integer("limit") ?? 1_000, 1), 1_000))
    let (after, before) = (request.integer("after") ?? .max, request.integer("before") ?? 0)
    let rows = TradeRows(state(index), limit: limit, isNewestFirst: true, fault: fault) {
      $0.id < after && $0.id > before
    }
    let i = spell(index)
    let list = rows.text(i) { trade, price in
      #"""
      {"trade_id":\#(trade.id),"side":"\#(trade.side == .buy ? "sell" : "buy")","size":\#(i.size(trade.size)),\#
      "price":\#(price),"time":"\#(rfc3339: trade.time)"}
      """#
    }
    return SimulatedResponse("[\(list)]")
  }

  // MARK: - Candles

  /// Rows of a request with both bounds, less one.
  private static let spanLimit: Int64 = 300

  /// Low and high before open and close, the newest first, none where nothing was traded.
  private func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    guard let name = request.part(after: "/products/", before: "/candles") else { return nil }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: now) else { return refuse(429, "Public rate limit exceeded") }
    guard let index = index(of: name) else { return refuse(404, "NotFound") }
    let names = ["60", "300", "900", "3600", nil, "86400"]
    guard let interval = CandleInterval.named(request["granularity"] ?? "60", names) else {
      return refuse(400, "Unsupported granularity")
    }
    var time = now
    var window = CandleWindow(limit: 350, isNewestFirst: true, isFilled: false)
    if let start = request["start"].flatMap(Timestamp.init(iso8601:)),
      let end = request["end"].flatMap(Timestamp.init(iso8601:))
    {
      guard (end - start) / interval.length <= Self.spanLimit else {
        let reason = "granularity too small for the requested time range."
        return refuse(400, "\(reason) Count of aggregations requested exceeds \(Self.spanLimit)")
      }
      // One row may be from before the start: here of every other market.
      window.from = start - (index % 2 == 1 ? interval.length : 0)
      window.to = end
    } else {
      // From a cache, five minutes old at most; one bound alone counts for nothing.
      time = CandleInterval.fiveMinutes.opening(now)
    }
    let list = JSONText.rows(CandleRows(state(index), interval, window, now: time, fault: fault), .script) { bar in
      "[\(bar.seconds),\(bar.low),\(bar.high),\(bar.open),\(bar.close),\(bar.volume)]"
    }
    return SimulatedResponse("[\(list)]")
  }
}

extension Timestamp {
  /// `2026-09-01T00:00:00Z`, with or without the Z and a fraction, or seconds since 1970; nil if it is neither.
  init?(iso8601 text: String) {
    if let seconds = Int64(text), (0...9_000_000_000).contains(seconds) {
      self.init(rawValue: seconds * Microseconds.second)
      return
    }
    let parts = text.split(whereSeparator: { !$0.isASCII || !$0.isNumber }).compactMap { Int64($0) }
    guard parts.count >= 6, text.utf8.count >= 19 else { return nil }
    let date = CivilDate(year: parts[0], month: parts[1], day: parts[2])
    guard (1970...2200).contains(date.year), (1...12).contains(date.month), (1...31).contains(date.day),
      (0...23).contains(parts[3]), (0...59).contains(parts[4]), (0...59).contains(parts[5])
    else { return nil }
    let seconds = date.daysSince1970 * 86_400 + parts[3] * 3_600 + parts[4] * 60 + parts[5]
    self.init(rawValue: seconds * Microseconds.second)
  }
}
