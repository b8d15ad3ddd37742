import MarketData

/// Kraken's REST answers, which still have the names of the v1 protocol: `XBT` for BTC, `XDG` for DOGE.
extension KrakenProtocol {
  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    switch request.path {
    case "/0/public/AssetPairs": return assetPairs(request["pair"])
    case "/0/public/Ticker": return tickers
    case "/0/public/OHLC": return candles(request)
    case "/0/public/Trades": return pastTrades(request)
    case "/0/public/SystemStatus":
      return SimulatedResponse(#"{"error":[],"result":{"status":"online","timestamp":"\#(rfc3339: now)"}}"#)
    case "/0/public/Time": return SimulatedResponse(#"{"error":[],"result":{"unixtime":\#(seconds: now)}}"#)
    default: return SimulatedResponse(status: 404, #"{"error":["EGeneral:Unknown method"]}"#)
    }
  }

  private func refuse(_ reason: String) -> SimulatedResponse { SimulatedResponse(#"{"error":["\#(reason)"]}"#) }

  // MARK: - Names

  private static func oldName(_ asset: String) -> String { ["BTC": "XBT", "DOGE": "XDG"][asset] ?? asset }

  /// Assets from before 2014 have four-letter names: `XXBT`, `ZUSD`.
  private static func longName(_ asset: String) -> String {
    if asset == "USD" { return "ZUSD" }
    return ["BTC", "ETH", "ZEC", "XRP", "LTC", "DOGE"].contains(asset) ? "X" + oldName(asset) : asset
  }

  private static func key(_ instrument: SimulatedInstrument) -> String {
    // DOGE was listed against dollars only when pairs had short keys already.
    if instrument.base == "DOGE" || longName(instrument.base) == instrument.base { return altname(instrument) }
    return longName(instrument.base) + "ZUSD"
  }

  private static func altname(_ instrument: SimulatedInstrument) -> String {
    oldName(instrument.base) + instrument.quote
  }

  /// By any of its names: `XXBTZUSD`, `XBTUSD`, `BTC/USD`, `XBT/USD`.
  private func index(ofPair name: String) -> Int? {
    indices.first { index in
      let instrument = state(index).instrument
      let names = [Self.key(instrument), Self.altname(instrument), instrument.venueSymbol]
      return names.contains(name) || Self.oldName(instrument.base) + "/USD" == name
    }
  }

  // MARK: - Lists

  /// `v` and `p` are volume and its average price: of today, and of the last 24 h. Of all pairs, as no client asks for
  /// single ones.
  private var tickers: SimulatedResponse {
    let rows = JSONText.list(market.instruments) { state in
      let (i, day) = (Spelling.quoted.of(state), state.day)
      return #"""
        \#(json: Self.key(state.instrument)):{"c":[\#(i.last),"0.1"],"v":[\#(i.size(day.volume / 2)),\#(i.volume)],\#
        "p":[\#(i.vwap),\#(i.vwap)],"o":\#(i.open)}
        """#
    }
    return SimulatedResponse(#"{"error":[],"result":{\#(rows)}}"#)
  }

  private func assetPairs(_ names: String?) -> SimulatedResponse {
    var chosen = Array(indices)
    if let names {
      chosen = []
      for name in names.split(separator: ",") {
        guard let index = index(ofPair: String(name)) else { return refuse("EQuery:Unknown asset pair") }
        chosen.append(index)
      }
    }
    let rows = JSONText.list(chosen) { index in
      let i = spell(index)
      let (base, pair) = (i.instrument.base, i.instrument)
      return #"""
        \#(json: Self.key(pair)):{"altname":"\#(Self.altname(pair))","wsname":"\#(Self.oldName(base))\/USD",\#
        "aclass_base":"currency","base":"\#(Self.longName(base))","aclass_quote":"currency","quote":"ZUSD",\#
        "lot":"unit","cost_decimals":5,"pair_decimals":\#(pair.priceScale),"lot_decimals":\#(pair.sizeScale),\#
        "lot_multiplier":1,"leverage_buy":[],"leverage_sell":[],"fees":[[0,0.4]],"fees_maker":[[0,0.25]],\#
        "fee_volume_currency":"ZUSD","margin_call":80,"margin_stop":40,"ordermin":"\#(i.minimum)","costmin":"0.5",\#
        "tick_size":"\#(i.tick)","status":"online"}
        """#
    }
    return SimulatedResponse(#"{"error":[],"result":{\#(rows)}}"#)
  }

  // MARK: - Trades

  /// Up to 1,000 trades after `since`, in ns, the oldest first; without it the newest.
  private func pastTrades(_ request: SimulatedRequest) -> SimulatedResponse {
    let fault = faults.takeTradeFault()
    guard fault != .limited, candleBudget.take(at: now) else { return refuse("EGeneral:Too many requests") }
    guard let name = request["pair"], let index = index(ofPair: name) else {
      return refuse("EQuery:Unknown asset pair")
    }
    let limit = Int(min(max(request.integer("count") ?? 1_000, 1), 1_000))
    let since = request.integer("since")
    let rows = TradeRows(state(index), limit: limit, keepsOldest: since != nil, fault: fault) { trade in
      since.map { trade.time.rawValue > $0 / 1_000 } ?? true
    }
    let i = Spelling.quoted.of(state(index))
    let list = rows.text(i) { trade, price in
      let fraction = String(String(1_000_000 + trade.time.rawValue % 1_000_000).dropFirst())
      return #"""
        [\#(price),\#(i.size(trade.size)),\#(seconds: trade.time).\#(fraction),"\#(trade.side == .buy ? "b" : "s")",\#
        "\#(trade.id & 3 == 0 ? "l" : "m")","",\#(trade.id)]
        """#
    }
    let key = name.contains("/") ? name : Self.key(state(index).instrument)
    let last = rows.trades.last.map { "\($0.time.rawValue)000" } ?? request["since"] ?? "0"
    return SimulatedResponse(#"{"error":[],"result":{\#(json: key):[\#(list)],"last":\#(json: last)}}"#)
  }

  // MARK: - Candles

  /// The newest 720 closed bars and the one under way, whatever is asked for.
  private func candles(_ request: SimulatedRequest) -> SimulatedResponse {
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: now) else { return refuse("EGeneral:Too many requests") }
    guard let name = request["pair"], let index = index(ofPair: name) else {
      return refuse("EQuery:Unknown asset pair")
    }
    guard let interval = CandleInterval.named(request["interval"] ?? "1", ["1", "5", "15", "60", "240", "1440"]) else {
      return refuse("EGeneral:Invalid arguments:interval")
    }
    var window = CandleWindow(limit: 721, depth: 720)
    // Whether a bar that opens at `since` is among them is disputed: here of every other market.
    if let since = request.seconds("since") { window.from = since + Int64(index % 2) }
    let rows = CandleRows(state(index), interval, window, now: now, fault: fault)
    let list = JSONText.rows(rows, .quoted) { bar in
      let vwap: JSONText = bar.trades > 0 ? "\(bar.vwap)" : #""0.0""#
      return "[\(bar.seconds),\(bar.prices),\(vwap),\(bar.volume),\(bar.trades)]"
    }
    let key = name.contains("/") ? name : Self.key(state(index).instrument)
    let closed = rows.candles.last { $0.isClosed }.map { $0.start.rawValue / Microseconds.second }
    let last = closed ?? request.integer("since") ?? 0
    return SimulatedResponse(#"{"error":[],"result":{\#(json: key):[\#(list)],"last":\#(last)}}"#)
  }
}
