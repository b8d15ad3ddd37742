import Bytes
import MarketData

/// What Crypto.com sends, as JSON.
extension CryptoComProtocol {
  /// - Parameters:
  ///   - id: of the request that this is the first answer to; -1 for what comes by itself.
  ///   - subscription: `book.BTCUSD-PERP.50`.
  private func message(
    _ index: Int, _ subscription: String, _ channel: StaticString, id: Int64 = -1, _ data: JSONText
  ) -> JSONText {
    #"""
    {"id":\#(id),"method":"subscribe","code":0,"result":{"instrument_name":"\#(spell(index).name)",\#
    "subscription":\#(json: subscription),"channel":"\#(channel)",\#(data)}}
    """#
  }

  /// `["2749.62","0.2008","2"]`, and `["2749.62","0","0"]` for a level that is gone.
  private func levels(_ levels: [PriceLevel], _ i: Speller) -> JSONText {
    .list(levels) { level in
      level.size == 0
        ? #"[\#(i.price(level.price)),"0","0"]"# : #"[\#(i.price(level.price)),\#(i.size(level.size)),"2"]"#
    }
  }

  private func sides(_ sides: BookSides, _ i: Speller) -> JSONText {
    #""asks":[\#(levels(sides.asks, i))],"bids":[\#(levels(sides.bids, i))]"#
  }

  /// A check value whose recipe nobody knows.
  private func check(_ number: Int64) -> Int32 { Int32(truncatingIfNeeded: number &* 2_654_435_761) }

  func whole(_ index: Int, _ number: Int64) -> JSONText {
    let i = spell(index)
    return message(
      index, "book.\(i.name).\(Self.depth)", "book",
      #"""
      "depth":\#(Self.depth),"data":[{\#(sides(i.state.book.top(Self.depth), i)),"t":\#(ms: now),"tt":\#(ms: now - 5_000),\#
      "u":\#(number),"cs":\#(check(number))}]
      """#)
  }

  /// - Parameter age: of what it tells, µs.
  func change(_ index: Int, _ number: Int64, after previous: Int64, _ changed: BookSides, age: Int64) -> JSONText {
    let i = spell(index)
    return message(
      index, "book.\(i.name).\(Self.depth)", "book.update",
      #"""
      "depth":\#(Self.depth),"data":[{"update":{\#(sides(changed, i))},"t":\#(ms: now),"tt":\#(ms: now - age),\#
      "u":\#(number),"pu":\#(previous),"cs":\#(check(number))}]
      """#)
  }

  /// Trades in the order of execution; the newest comes first in the message.
  func trades(_ trades: [SimulatedTrade], _ index: Int, id: Int64 = -1) -> JSONText {
    let i = spell(index)
    let rows = JSONText.list(trades.reversed()) { trade in
      #"""
      {"d":"\#(4_611_686_018_000_000_000 + trade.id)","t":\#(ms: trade.time),"p":\#(i.price(trade.price)),\#
      "q":\#(i.size(trade.size)),"s":"\#(trade.side == .buy ? "BUY" : "SELL")","i":"\#(i.name)"}
      """#
    }
    return message(index, "trade.\(i.name)", "trade", id: id, #""data":[\#(rows)]"#)
  }

  func ticker(_ index: Int, id: Int64 = -1) -> JSONText {
    message(
      index, "ticker.\(spell(index).name)", "ticker", id: id, #""data":[\#(figures(state(index), isWhole: true))]"#)
  }

  /// Figures of 24 h. The stream has the sizes of the best offers, REST has not.
  private func figures(_ state: InstrumentMarket, isWhole: Bool) -> JSONText {
    let i = spell(state)
    let sizes: JSONText = isWhole ? #""bs":\#(i.bidSize),"ks":\#(i.askSize),"# : ""
    return #"""
      {"h":\#(i.high),"l":\#(i.low),"a":\#(i.last),"c":\#(i.rise(4)),"b":\#(i.bid),"k":\#(i.ask),\#(sizes)\#
      "i":"\#(i.name)","v":\#(i.volume),"vv":\#(i.quoteVolume),"oi":"55851","t":\#(ms: now)}
      """#
  }

  // MARK: - REST

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    func body(_ method: StaticString, _ rows: JSONText) -> SimulatedResponse {
      SimulatedResponse(#"{"id":-1,"method":"public/\#(method)","code":0,"result":{"data":[\#(rows)]}}"#)
    }
    switch request.path {
    case "/exchange/v1/public/get-instruments":
      return body("get-instruments", .list(market.instruments) { instrument($0) })
    case "/exchange/v1/public/get-tickers":
      return body("get-tickers", .list(market.instruments) { figures($0, isWhole: false) })
    case "/exchange/v1/public/get-candlestick": return candles(request)
    default: return SimulatedResponse(status: 404, #"{"code":40401,"message":"NOT_FOUND"}"#)
    }
  }

  private func instrument(_ state: InstrumentMarket) -> JSONText {
    let (i, instrument) = (spell(state), state.instrument)
    let kind: StaticString =
      switch instrument.kind {
      case .spot: "CCY_PAIR"
      case .perpetual: "PERPETUAL_SWAP"
      case .future: "FUTURE"
      }
    let expiry: JSONText = kind.utf8CodeUnitCount == 6 ? "1798185600000" : "0"
    return #"""
      {"symbol":"\#(i.name)","inst_type":"\#(kind)","display_name":"\#(i.base)/\#(i.quote)","base_ccy":"\#(i.base)",\#
      "quote_ccy":"\#(i.quote)","quote_decimals":\#(instrument.priceScale),\#
      "quantity_decimals":\#(instrument.sizeScale),"price_tick_size":\#(i.tick),"qty_tick_size":\#(i.lot),\#
      "max_leverage":"50","tradable":true,"expiry_timestamp_ms":\#(expiry),"contract_size":"1"}
      """#
  }

  // MARK: - Candles

  /// Objects of strings, the oldest first, 300 of the newest in the window at most. Whether the start is included is
  /// not known: here of every other market.
  private func candles(_ request: SimulatedRequest) -> SimulatedResponse {
    func refuse(_ code: Int, _ message: StaticString, status: Int = 400) -> SimulatedResponse {
      SimulatedResponse(status: status, #"{"code":\#(code),"method":"public/get-candlestick","message":"\#(message)"}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: now) else { return refuse(42_901, "TOO_MANY_REQUESTS", status: 429) }
    guard let index = request["instrument_name"].flatMap({ index(of: $0) }) else {
      return refuse(40_004, "Invalid instrument_name")
    }
    let names = ["1m", "5m", "15m", "1h", "4h", "1D"]
    guard let interval = CandleInterval.named(request["timeframe"], names) else {
      return refuse(40_004, "Invalid timeframe")
    }
    var window = CandleWindow(limit: Int(min(max(request.integer("count") ?? 25, 1), 300)), isFilled: index % 2 == 0)
    if let start = request.milliseconds("start_ts") { window.from = start + Int64(index % 2) }
    if let end = request.milliseconds("end_ts") { window.to = end }
    let rows = candles(index, interval, window, fault) { bar in
      #"""
      {"o":\#(bar.open),"h":\#(bar.high),"l":\#(bar.low),"c":\#(bar.close),"v":\#(bar.volume),"t":\#(bar.milliseconds)}
      """#
    }
    return SimulatedResponse(
      #"""
      {"id":-1,"method":"public/get-candlestick","code":0,"result":{"interval":"\#(request["timeframe"] ?? "")",\#
      "data":[\#(rows)],"instrument_name":"\#(spell(index).name)"}}
      """#)
  }
}
