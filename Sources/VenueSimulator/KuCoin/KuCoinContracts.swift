import Bytes
import MarketData

/// KuCoin's REST answers about contracts.
extension KuCoinProtocol {
  /// Nil for a request that is about something else.
  func contractsAnswer(_ request: SimulatedRequest) -> SimulatedResponse? {
    let name = request.part(after: "/api/v1/contracts/")
    let isCandles = request.path == "/api/v1/kline/query"
    guard isCandles || name != nil else { return nil }
    let fault = isCandles ? faults.takeCandleFault() : nil
    guard fault != .limited, restWeight.take(3, at: now) else {
      return SimulatedResponse(
        status: 429, fields: [("gw-ratelimit-remaining", "0"), ("gw-ratelimit-reset", "1489")],
        #"{"code":"429000","msg":"Too many requests in a short period of time, please retry later"}"#)
    }
    if isCandles { return contractCandles(request, fault) }
    if name == "active" {
      let rows = JSONText.list(states(isSpot: false)) { contract($0) }
      return SimulatedResponse(#"{"code":"200000","data":[\#(rows)]}"#)
    }
    guard let index = name.flatMap({ listed($0) }), !state(index).instrument.isSpot else {
      return SimulatedResponse(status: 404, #"{"code":"404000","msg":"The contract does not exist"}"#)
    }
    return SimulatedResponse(#"{"code":"200000","data":\#(contract(state(index)))}"#)
  }

  private func contract(_ state: InstrumentMarket) -> JSONText {
    let (i, contract) = (Spelling.script.of(state), state.instrument.contractSize)
    let (base, volume) = (state.instrument.venueSymbol.dropLast(5), state.instrument.baseUnits(state.day.volume))
    return #"""
      {"symbol":"\#(i.name)","rootSymbol":"USDT","type":"FFWCSX","firstOpenDate":1585555200000,"expireDate":null,\#
      "baseCurrency":"\#(String(base))","quoteCurrency":"\#(i.quote)","settleCurrency":"\#(i.quote)","lotSize":\#(i.lot),\#
      "tickSize":\#(i.tick),"multiplier":\#(i.number(contract)),"isInverse":false,"status":"Open",\#
      "lastTradePrice":\#(i.last),"volumeOf24h":\#(i.number(volume)),"turnoverOf24h":\#(i.quoteVolume)}
      """#
  }

  /// Numbers, the oldest first, without those in which nothing was traded; 500 of the oldest in the window at most.
  private func contractCandles(_ request: SimulatedRequest, _ fault: CandleFault?) -> SimulatedResponse {
    guard let index = request["symbol"].flatMap({ index(of: $0) }), !state(index).instrument.isSpot else {
      return SimulatedResponse(#"{"code":"404000","msg":"The contract does not exist"}"#)
    }
    guard let interval = CandleInterval.named(request["granularity"], ["1", "5", "15", "60", "240", "1440"]) else {
      return SimulatedResponse(#"{"code":"400100","msg":"granularity is invalid"}"#)
    }
    var window = CandleWindow(limit: 500, keepsOldest: true, isFilled: index % 4 == 1)
    if let from = request.milliseconds("from") { window.from = from }
    if let to = request.milliseconds("to") { window.to = to }
    let rows = candles(index, interval, window, fault, .script) { bar in
      "[\(bar.milliseconds),\(bar.prices),\(bar.volume),\(bar.turnover)]"
    }
    return SimulatedResponse(#"{"code":"200000","data":[\#(rows)]}"#)
  }
}
