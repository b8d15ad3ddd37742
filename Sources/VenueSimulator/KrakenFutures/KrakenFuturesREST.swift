import MarketData

/// The REST answers of Kraken Futures.
extension KrakenFuturesProtocol {
  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    switch request.path {
    case "/derivatives/api/v3/instruments":
      let rows = JSONText.list(market.instruments) { instrument($0) }
      // Indices and inverse contracts are in the list, too.
      return SimulatedResponse(
        #"""
        {"result":"success","instruments":[\#(rows),{"symbol":"PI_XBTUSD","type":"futures_inverse",\#
        "underlying":"rr_xbtusd","tickSize":0.5,"contractSize":1,"tradeable":true,"contractValueTradePrecision":0,\#
        "base":"BTC","quote":"USD"},{"symbol":"in_xbtusd","type":"spot index","tradeable":false}],\#
        "serverTime":"\#(rfc3339: now)"}
        """#)
    case "/derivatives/api/v3/tickers":
      let rows = JSONText.list(market.instruments) { state in
        let i = spell(state)
        return #"""
          {"symbol":"\#(i.name)","last":\#(i.last),"bid":\#(i.bid),"ask":\#(i.ask),"vol24h":\#(i.volume),\#
          "volumeQuote":\#(i.quoteVolume),"open24h":\#(i.open),"high24h":\#(i.high),"low24h":\#(i.low)}
          """#
      }
      return SimulatedResponse(#"{"result":"success","tickers":[\#(rows)],"serverTime":"\#(rfc3339: now)"}"#)
    default:
      return candles(request)
        ?? SimulatedResponse(status: 404, #"{"result":"error","error":"notFound","serverTime":"\#(rfc3339: now)"}"#)
    }
  }

  /// Older rows have no `base` and no `quote`: here those of every other market.
  private func instrument(_ state: InstrumentMarket) -> JSONText {
    let (i, instrument) = (spell(state), state.instrument)
    var (digits, lot) = (Int(instrument.sizeScale), instrument.lot)
    while lot % 10 == 0 { (digits, lot) = (digits - 1, lot / 10) }
    let isOdd = market.instruments.firstIndex { $0 === state }.map { $0 % 2 == 1 } ?? false
    let assets: JSONText =
      isOdd
      ? "" : #","base":"\#(i.base)","quote":"\#(i.quote)","pair":"\#(i.base):\#(i.quote)""#
    return #"""
      {"symbol":"\#(i.name)","type":"flexible_futures","tickSize":\#(i.tick),"contractSize":1,"tradeable":true,\#
      "impactMidSize":1.5,"maxPositionSize":16000.0,"marginLevels":[{"numNonContractUnits":0.0,"initialMargin":0.02,\#
      "maintenanceMargin":0.01}],"contractValueTradePrecision":\#(digits),"postOnly":false\#(assets)}
      """#
  }

  // MARK: - Candles

  /// `/api/charts/v1/trade/PF_XBTUSD/1m?from=…&to=…`: objects of strings, the oldest first; at most 2,000 of them.
  private func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    let parts = request.path.split(separator: "/").map(String.init)
    guard parts.count == 6, parts[..<4] == ["api", "charts", "v1", "trade"] else { return nil }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: now) else {
      return SimulatedResponse(status: 429, #"{"errors":[{"message":"Too many requests"}]}"#)
    }
    guard let index = index(of: parts[4]), let interval = CandleInterval.named(parts[5], Self.resolutions) else {
      return SimulatedResponse(status: 404, #"{"errors":[{"message":"Not found"}]}"#)
    }
    var window = CandleWindow(limit: 2_000, keepsOldest: true, isFilled: index % 2 == 0)
    if let from = request.seconds("from") { window.from = from }
    if let to = request.seconds("to") { window.to = to }
    let rows = candles(index, interval, window, fault, .shortest) { bar in
      #"""
      {"time":\#(bar.milliseconds),"open":\#(bar.open),"high":\#(bar.high),"low":\#(bar.low),"close":\#(bar.close),\#
      "volume":\#(bar.volume)}
      """#
    }
    return SimulatedResponse(#"{"candles":[\#(rows)],"more_candles":false}"#)
  }

  private static let resolutions = ["1m", "5m", "15m", "1h", "4h", "1d"]
}
