import Bytes
import MarketData

/// The texts of OKX's channels: numbers are strings without zeros at their end.
extension OKXProtocol {
  private func levels(_ levels: [PriceLevel], _ i: Speller) -> JSONText {
    i.pairs(levels) { $0.size > 0 ? #","0","3""# : #","0","0""# }
  }

  private func argument(_ channel: OKXChannel, _ i: Speller) -> JSONText {
    #""arg":{"channel":"\#(channel.rawValue)","instId":"\#(i.name)"}"#
  }

  func book(_ index: Int, _ action: StaticString, _ sides: BookSides, number: Int64, previous: Int64) -> JSONText {
    let i = spell(index)
    return #"""
      {\#(argument(.books, i)),"action":"\#(action)","data":[{"asks":\#(levels(sides.asks, i)),\#
      "bids":\#(levels(sides.bids, i)),"ts":"\#(ms: now)","checksum":0,"seqId":\#(number),"prevSeqId":\#(previous)}]}
      """#
  }

  func quote(_ index: Int) -> JSONText {
    let (state, i) = (state(index), spell(index))
    return #"""
      {\#(argument(.bestOffer, i)),"data":[{"asks":\#(levels(state.book.top(.ask, 1), i)),\#
      "bids":\#(levels(state.book.top(.bid, 1), i)),"ts":"\#(ms: now)","seqId":\#(state.sequence)}]}
      """#
  }

  func trade(_ trade: SimulatedTrade, _ index: Int) -> JSONText {
    let i = spell(index)
    return #"""
      {\#(argument(.trades, i)),"data":[{"instId":"\#(i.name)","tradeId":"\#(trade.id)","px":\#(i.price(trade.price)),\#
      "sz":\#(i.size(trade.size)),"side":"\#(trade.side == .buy ? "buy" : "sell")","ts":"\#(ms: trade.time)",\#
      "count":"1","source":"0","seqId":\#(state(index).sequence)}]}
      """#
  }

  /// What was traded in 24 h: on spot in the quote currency, of contracts in base units.
  private func volume(_ state: InstrumentMarket) -> Decimal64 {
    state.instrument.isSpot ? state.quoteVolume : state.instrument.baseUnits(state.day.volume)
  }

  func ticker(_ index: Int) -> JSONText {
    let (state, i) = (state(index), spell(index))
    return #"""
      {\#(argument(.tickers, i)),"data":[{"instType":"\#(i.instrument.isSpot ? "SPOT" : "SWAP")",\#
      "instId":"\#(i.name)","last":\#(i.last),"lastSz":\#(i.size(state.recentTrades.last?.size ?? 0)),\#
      "askPx":\#(i.ask),"askSz":\#(i.askSize),"bidPx":\#(i.bid),"bidSz":\#(i.bidSize),"open24h":\#(i.open),\#
      "high24h":\#(i.high),"low24h":\#(i.low),"vol24h":\#(i.volume),"volCcy24h":\#(i.number(volume(state))),\#
      "sodUtc0":"0","sodUtc8":"0","ts":"\#(ms: now)"}]}
      """#
  }

  // MARK: - REST

  static func type(_ instrument: SimulatedInstrument) -> String {
    switch instrument.kind {
    case .spot: "SPOT"
    case .perpetual: "SWAP"
    case .future: "FUTURES"
    }
  }

  /// Positions of a contract that were closed, in the subscription of all contracts of its kind.
  func liquidations(_ list: [SimulatedTrade], _ index: Int) -> JSONText {
    let i = spell(index)
    let type = Self.type(i.instrument)
    let details = JSONText.list(list) { trade in
      let price = max(i.instrument.tick, trade.price + (trade.side == .buy ? 1 : -1) * (trade.price / 25))
      return #"""
        {"bkLoss":"0","bkPx":\#(i.price(price)),"ccy":"","posSide":"\#(trade.side == .buy ? "short" : "long")",\#
        "side":"\#(trade.side == .buy ? "buy" : "sell")","sz":\#(i.size(trade.size)),"ts":"\#(ms: trade.time)"}
        """#
    }
    return #"""
      {"arg":{"channel":"liquidation-orders","instType":"\#(type)"},"data":[{"instId":"\#(i.name)",\#
      "instType":"\#(type)","details":[\#(details)]}]}
      """#
  }

  /// Mark, index, funding and open interest of one contract; nil for another request.
  private func contract(_ request: SimulatedRequest) -> SimulatedResponse? {
    let paths = ["public/mark-price", "market/index-tickers", "public/funding-rate", "public/open-interest"]
    guard let path = paths.first(where: { request.path == "/api/v5/\($0)" }) else { return nil }
    let name = request["instId"] ?? ""
    let found = market.instruments.first {
      !$0.instrument.isSpot
        && (path == paths[1] ? $0.instrument.venueSymbol.hasPrefix(name + "-") : $0.instrument.venueSymbol == name)
    }
    guard let found else {
      return SimulatedResponse(#"{"code":"51001","msg":"Instrument ID doesn't exist.","data":[]}"#)
    }
    let i = spell(found)
    let d = i.derivative(now: now)
    let members: JSONText =
      switch path {
      case paths[0]: #""markPx":\#(i.mark(d))"#
      case paths[1]: #""idxPx":\#(i.index(d))"#
      case paths[2]:
        #"""
        "fundingRate":\#(i.rate(d)),"fundingTime":"\#(ms: d.settlement)","nextFundingRate":"",\#
        "nextFundingTime":"\#(ms: d.settlement + SimulatedDerivative.interval)"
        """#
      default: #""oi":\#(i.size(d.openInterest)),"oiCcy":\#(i.number(d.openInterestBase))"#
      }
    return SimulatedResponse(
      #"{"code":"0","msg":"","data":[{"instId":\#(json: name),\#(members),"ts":"\#(ms: now)"}]}"#)
  }

  /// The last 100, newest first: `fundingRate` was the forecast, `realizedRate` is what was paid.
  private func settlements(_ request: SimulatedRequest) -> SimulatedResponse {
    let found = market.instruments.first {
      $0.instrument.kind == .perpetual && $0.instrument.venueSymbol == request["instId"]
    }
    guard let found else {
      return SimulatedResponse(#"{"code":"51001","msg":"Instrument ID doesn't exist.","data":[]}"#)
    }
    let i = spell(found)
    let rows = JSONText.list(i.settlements(100, now: now)) { settlement in
      #"""
      {"instType":"SWAP","instId":"\#(i.name)","fundingRate":\#(i.rate(settlement.rate + 1)),\#
      "realizedRate":\#(i.rate(settlement.rate)),"fundingTime":"\#(ms: settlement.time)","method":"current_period"}
      """#
    }
    return SimulatedResponse(#"{"code":"0","msg":"","data":[\#(rows)]}"#)
  }

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    if request.path == "/api/v5/public/funding-rate-history" { return settlements(request) }
    if let candles = candles(request) { return candles }
    if request.path == "/api/v5/market/history-trades" { return pastTrades(request) }
    if let contract = contract(request) { return contract }
    guard request.path == "/api/v5/public/instruments" || request.path == "/api/v5/market/tickers" else {
      return SimulatedResponse(status: 404, #"{"code":"404","msg":"Not Found","data":[]}"#)
    }
    guard let type = request["instType"], ["SPOT", "SWAP", "FUTURES"].contains(type) else {
      return SimulatedResponse(status: 400, #"{"code":"50014","msg":"Parameter instType can not be empty.","data":[]}"#)
    }
    let isTickers = request.path == "/api/v5/market/tickers"
    let rows = JSONText.list(market.instruments.filter { Self.type($0.instrument) == type }) { state in
      isTickers ? figures(state, type) : instrument(state, type)
    }
    return SimulatedResponse(#"{"code":"0","msg":"","data":[\#(rows)]}"#)
  }

  private func figures(_ state: InstrumentMarket, _ type: String) -> JSONText {
    let i = Spelling.quoted.of(state)
    return #"""
      {"instType":"\#(type)","instId":"\#(i.name)","last":\#(i.last),"vol24h":\#(i.volume),\#
      "volCcy24h":\#(i.number(volume(state))),"ts":"\#(ms: now)"}
      """#
  }

  private func instrument(_ state: InstrumentMarket, _ type: String) -> JSONText {
    let i = spell(state)
    let (base, quote) = (i.base, i.quote)
    let assets: JSONText =
      i.instrument.isSpot
      ? #""baseCcy":"\#(base)","quoteCcy":"\#(quote)","ctVal":"","ctMult":"","ctType":"","ctValCcy":"","settleCcy":"""#
      : #"""
      "baseCcy":"","quoteCcy":"","ctVal":\#(i.number(i.instrument.contractSize)),"ctMult":"1","ctType":"linear",\#
      "ctValCcy":"\#(base)","settleCcy":"\#(quote)","instFamily":"\#(base)-\#(quote)","uly":"\#(base)-\#(quote)"
      """#
    return #"""
      {"instType":"\#(type)","instId":"\#(i.name)",\#(assets),"tickSz":\#(i.tick),"lotSz":\#(i.lot),"minSz":\#(i.lot),\#
      "state":"live","instIdCode":10458}
      """#
  }

  // MARK: - Trades

  /// The newest first: with `type` 1 those before the number `after`, 100 at most.
  private func pastTrades(_ request: SimulatedRequest) -> SimulatedResponse {
    let fault = faults.takeTradeFault()
    guard fault != .limited, historyBudget.take(at: now) else {
      return SimulatedResponse(status: 429, #"{"code":"50011","msg":"Too Many Requests","data":[]}"#)
    }
    guard let index = request["instId"].flatMap({ index(of: $0) }), request["type"] ?? "1" == "1" else {
      return SimulatedResponse(#"{"code":"51001","msg":"Instrument ID doesn't exist.","data":[]}"#)
    }
    let limit = Int(min(max(request.integer("limit") ?? 100, 1), 100))
    let (after, before) = (request.integer("after") ?? .max, request.integer("before") ?? 0)
    let rows = TradeRows(state(index), limit: limit, isNewestFirst: true, fault: fault) {
      $0.id < after && $0.id > before
    }
    let i = spell(index)
    let list = rows.text(i) { trade, price in
      #"""
      {"instId":"\#(i.name)","side":"\#(trade.side == .buy ? "buy" : "sell")","sz":\#(i.size(trade.size)),\#
      "px":\#(price),"source":"0","tradeId":"\#(trade.id)","ts":"\#(ms: trade.time)"}
      """#
    }
    return SimulatedResponse(#"{"code":"0","msg":"","data":[\#(list)]}"#)
  }

  // MARK: - Candles

  /// `before` and `after` exclude their own bars, the newest come first, and of a range the newest are left. Plain days
  /// begin at 16:00 UTC; sizes of contracts are in contracts, with base units behind them.
  private func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    let isHistory = request.path == "/api/v5/market/history-candles"
    guard isHistory || request.path == "/api/v5/market/candles" else { return nil }
    func refuse(_ status: Int, _ code: String, _ message: String) -> SimulatedResponse {
      SimulatedResponse(status: status, #"{"code":"\#(code)","msg":"\#(message)","data":[]}"#)
    }
    let fault = faults.takeCandleFault()
    let isWithin = isHistory ? historyBudget.take(at: now) : candleBudget.take(at: now)
    guard fault != .limited, isWithin else { return refuse(429, "50011", "Too Many Requests") }
    guard let name = request["instId"] else { return refuse(400, "50014", "Parameter instId can not be empty.") }
    guard let index = index(of: name) else {
      return refuse(200, "51001", "Instrument ID, Instrument ID code, or Spread ID doesn't exist.")
    }
    let bar = request["bar"] ?? "1m"
    let names = ["1m", "5m", "15m", "1H", "4H", "1Dutc"]
    guard let interval = bar == "1D" ? .hongKongDay : CandleInterval.named(bar, names) else {
      return refuse(200, "51000", "Parameter bar error")
    }
    var window = CandleWindow(limit: Int(min(max(request.integer("limit") ?? 100, 1), 300)), isNewestFirst: true)
    if let after = request.milliseconds("after") { window.to = after - 1 }
    if let before = request.milliseconds("before") { window.from = before + 1 }
    if !isHistory { window.depth = 1_440 }
    let i = spell(index)
    let list = candles(index, interval, window, fault) { bar in
      let middle = i.instrument.isSpot ? bar.turnover : i.number(i.instrument.baseUnits(bar.candle.bar.volume))
      return #"""
        ["\#(bar.milliseconds)",\#(bar.prices),\#(bar.volume),\#(middle),\#(bar.turnover),"\#(bar.isClosed ? 1 : 0)"]
        """#
    }
    return SimulatedResponse(#"{"code":"0","msg":"","data":[\#(list)]}"#)
  }
}
