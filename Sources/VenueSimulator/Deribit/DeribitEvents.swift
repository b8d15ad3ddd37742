import Bytes
import MarketData

/// What Deribit sends and answers, as JSON.
extension DeribitProtocol {
  func message(_ channel: String, _ data: JSONText) -> JSONText {
    #"{"jsonrpc":"2.0","method":"subscription","params":{"channel":\#(json: channel),"data":\#(data)}}"#
  }

  /// A whole book, or what changed since the number `previous`.
  func book(_ index: Int, _ number: Int64, previous: Int64?, _ sides: BookSides) -> JSONText {
    let i = spell(index)
    func levels(_ levels: [PriceLevel]) -> JSONText {
      .list(levels) { level in
        let action: StaticString = previous == nil ? "new" : level.size > 0 ? "change" : "delete"
        return #"["\#(action)",\#(i.price(level.price)),\#(i.size(level.size))]"#
      }
    }
    let end: JSONText = previous.map { #","prev_change_id":\#($0)"# } ?? ""
    return message(
      "book.\(i.name).100ms",
      #"""
      {"timestamp":\#(ms: now),"type":"\#(previous == nil ? "snapshot" : "change")","change_id":\#(number),\#
      "instrument_name":"\#(i.name)","bids":[\#(levels(sides.bids))],"asks":[\#(levels(sides.asks))]\#(end)}
      """#)
  }

  func quote(_ index: Int) -> JSONText {
    let i = spell(index)
    return message(
      "quote.\(i.name)", #"{"timestamp":\#(ms: now),"instrument_name":"\#(i.name)",\#(best(i))}"#)
  }

  private func best(_ i: Speller) -> JSONText {
    #"""
    "best_ask_price":\#(i.ask),"best_bid_price":\#(i.bid),"best_ask_amount":\#(i.askSize),\#
    "best_bid_amount":\#(i.bidSize)
    """#
  }

  func trades(_ channel: String, _ trades: [SimulatedTrade], _ index: Int) -> JSONText {
    let i = spell(index)
    let rows = JSONText.list(trades) { trade in
      let mark: JSONText = SimulatedDerivative.isLiquidation(trade) ? #""liquidation":"T","# : ""
      return #"""
        {"timestamp":\#(ms: trade.time),"price":\#(i.price(trade.price)),"amount":\#(i.size(trade.size)),\#
        "direction":"\#(trade.side == .buy ? "buy" : "sell")","index_price":\#(i.price(trade.price)),\#
        "instrument_name":"\#(i.name)","trade_seq":\#(trade.id - 400_000_000),"tick_direction":2,\#
        \#(mark)"trade_id":"\#(trade.id)"}
        """#
    }
    return message(channel, "[\(rows)]")
  }

  private func notional(_ state: InstrumentMarket) -> Spelled {
    let scale = state.instrument.priceScale + state.instrument.sizeScale
    return spell(state).number(Int64(clamping: state.day.turnover / Int128(DecimalText.power(scale))), 0)
  }

  func ticker(_ channel: String, _ index: Int) -> JSONText {
    let (i, notional) = (spell(index), notional(state(index)))
    let d = i.derivative(now: now)
    // A dated contract has no funding.
    let funding: JSONText =
      i.instrument.kind == .perpetual ? #","current_funding":\#(i.rate(d)),"funding_8h":1.742e-5"# : ""
    // The change in percent with four digits.
    return message(
      channel,
      #"""
      {"timestamp":\#(ms: now),"state":"open","stats":{"high":\#(i.high),"low":\#(i.low),\#
      "price_change":\#(i.percent(4)),"volume":\#(i.volume),"volume_usd":\#(notional),"volume_notional":\#(notional)},\#
      "instrument_name":"\#(i.name)","last_price":\#(i.last),"mark_price":\#(i.mark(d)),\#(best(i)),\#
      "index_price":\#(i.index(d)),"open_interest":\#(i.number(d.openInterestBase))\#(funding)}
      """#)
  }

  // MARK: - REST

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    if let candles = candles(request) { return candles }
    if request.path == "/api/v2/public/get_currencies" { return currencies }
    let isSummary = request.path == "/api/v2/public/get_book_summary_by_currency"
    guard isSummary || request.path == "/api/v2/public/get_instruments" else {
      return SimulatedResponse(status: 404, #"{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}"#)
    }
    // Lists of instruments are of all currencies unless one is named; summaries are of one.
    guard let currency = request["currency"] ?? (isSummary ? nil : "any"), !currency.isEmpty else {
      return SimulatedResponse(status: 400, #"{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params"}}"#)
    }
    let listed = market.instruments.filter {
      (currency == "any" || $0.instrument.quote == currency) && request["kind"] ?? "future" == "future"
    }
    let rows = JSONText.list(listed) { isSummary ? summary($0) : instrument($0) }
    return SimulatedResponse(
      #"{"jsonrpc":"2.0","result":[\#(rows)],"usIn":0,"usOut":0,"usDiff":0,"testnet":false}"#)
  }

  /// What the assets are called.
  private var currencies: SimulatedResponse {
    let fault = faults.takeNameFault()
    guard fault != .limited else {
      return SimulatedResponse(
        status: 429, #"{"jsonrpc":"2.0","error":{"code":10028,"message":"too_many_requests"}}"#)
    }
    return NameService.answer(market, fault) { code, name in
      #"""
      {"coin_type":"BITCOIN","currency":\#(json: code),"currency_long":\#(name),"fee_precision":4,\#
      "min_confirmations":1,"min_withdrawal_fee":0.0001,"withdrawal_fee":0.0001,\#
      "withdrawal_priorities":[{"name":"very_low","value":0.15}]}
      """#
    } body: {
      #"{"jsonrpc":"2.0","result":[\#($0)],"usIn":0,"usOut":0,"usDiff":0,"testnet":false}"#
    }
  }

  private func summary(_ state: InstrumentMarket) -> JSONText {
    let (i, notional) = (spell(state), notional(state))
    return #"""
      {"instrument_name":"\#(i.name)","volume":\#(i.volume),"volume_usd":\#(notional),"volume_notional":\#(notional),\#
      "last":\#(i.last)}
      """#
  }

  private func instrument(_ state: InstrumentMarket) -> JSONText {
    let (i, instrument, quote) = (spell(state), state.instrument, state.instrument.quote)
    // A dated future expires at 08:00 UTC; the simulated ones on 25 December 2026.
    let end: JSONText =
      instrument.kind == .perpetual
      ? #""settlement_period":"perpetual","expiration_timestamp":32503708800000"#
      : #""settlement_period":"month","expiration_timestamp":1798185600000"#
    return #"""
      {"instrument_name":"\#(i.name)","kind":"future","instrument_type":"linear","future_type":"linear",\#
      "tick_size_steps":[],"base_currency":"\#(instrument.base)","quote_currency":"\#(quote)",\#
      "counter_currency":"\#(quote)","settlement_currency":"\#(quote)",\#(end),"tick_size":\#(i.tick),\#
      "contract_size":\#(i.lot),"min_trade_amount":\#(i.lot),"is_active":true}
      """#
  }

  // MARK: - Candles

  /// Columns, the oldest first, at most 5,001 bars, cut without a word. Days begin at 08:00 UTC.
  private func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    guard request.path == "/api/v2/public/get_tradingview_chart_data" else { return nil }
    func refuse(_ status: Int, _ code: Int, _ message: String) -> SimulatedResponse {
      SimulatedResponse(
        status: status, #"{"jsonrpc":"2.0","error":{"code":\#(code),"message":"\#(message)"},"testnet":false}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: now) else { return refuse(429, 10_028, "too_many_requests") }
    guard let start = request.milliseconds("start_timestamp"),
      let end = request.milliseconds("end_timestamp"),
      var interval = CandleInterval.named(request["resolution"], ["1", "5", "15", "60", nil, "1D"])
    else { return refuse(400, -32_602, "Invalid params") }
    guard let index = request["instrument_name"].flatMap({ index(of: $0) }) else {
      return refuse(400, 13_020, "instrument_not_found")
    }
    if request["resolution"] == "1D" { interval.offset = 8 * Microseconds.hour }
    let window = CandleWindow(from: start, to: end, limit: 5_001)
    let rows = CandleRows(state(index), interval, window, now: now, fault: fault)
    // The first bar has been missing at times: here always, of every other market.
    let candles = Array(rows.candles.dropFirst(index % 2))
    let i = spell(index)
    func prices(_ field: KeyPath<SimulatedDay.Minute, Int64>) -> JSONText {
      .list(candles) { "\(i.price($0.bar[keyPath: field]))" }
    }
    let volumes = JSONText.list(rows.isRagged ? candles.dropLast() : candles) { "\(i.size($0.bar.volume))" }
    return SimulatedResponse(
      #"""
      {"jsonrpc":"2.0","result":{"status":"\#(candles.isEmpty ? "no_data" : "ok")","volume":[\#(volumes)],\#
      "ticks":[\#(JSONText.list(candles) { "\($0.start.rawValue / Microseconds.millisecond)" })],\#
      "open":[\#(prices(\.open))],"low":[\#(prices(\.low))],"high":[\#(prices(\.high))],\#
      "cost":[\#(JSONText.list(candles) { "\(i.number(i.instrument.quoteUnits($0.bar.turnover)))" })],\#
      "close":[\#(prices(\.close))]},"usIn":\#(rows.clock.rawValue - 900),"usOut":\#(rows.clock.rawValue),\#
      "usDiff":900,"testnet":false}
      """#)
  }
}
