import Bytes
import MarketData

/// Advanced Trade's list of products, and its candles.
extension CoinbaseAdvancedProtocol {
  static let productsPath = "/api/v3/brokerage/market/products"

  func answer(_ request: SimulatedRequest) -> SimulatedResponse {
    if let candles = candles(request) { return candles }
    guard request.path == Self.productsPath else {
      return SimulatedResponse(
        status: 404, #"{"error":"NOT_FOUND","error_details":"not found","message":"not found"}"#)
    }
    let type = request["product_type"]
    var products: [JSONText] = []
    if type != "FUTURE" {
      for state in market.instruments {
        products.append(product(state, isAlias: false))
        products.append(product(state, isAlias: true))
      }
    }
    if type != "SPOT" {
      products.append(
        #"""
        {"product_id":"BIP-20DEC30-CDE","base_increment":"1","quote_increment":"0.01","price_increment":"5",\#
        "status":"","product_type":"FUTURE","base_currency_id":"","quote_currency_id":"USD","alias":"","alias_to":[],\#
        "display_name":"BTC PERP"}
        """#)
    }
    return SimulatedResponse(
      #"{"products":[\#(JSONText.list(products) { $0 })],"num_products":\#(products.count)}"#)
  }

  private func product(_ state: InstrumentMarket, isAlias: Bool) -> JSONText {
    let (i, base) = (spell(state), state.instrument.base)
    let quote = isAlias ? "USDC" : state.instrument.quote
    let aliases = isAlias ? [] : [Self.alias(state.instrument)]
    return #"""
      {"product_id":"\#(base)-\#(quote)","price":\#(i.last),"volume_24h":\#(i.volume),\#
      "approximate_quote_24h_volume":\#(i.quoteVolume),"base_increment":\#(i.lot),"quote_increment":\#(i.tick),\#
      "base_name":"\#(base)","is_disabled":false,"new":false,"status":"online","cancel_only":false,"limit_only":false,\#
      "post_only":false,"trading_disabled":false,"view_only":false,"product_type":"SPOT",\#
      "quote_currency_id":"\#(quote)","base_currency_id":"\#(base)","mid_market_price":"",\#
      "alias":"\#(isAlias ? i.name : "")","alias_to":[\#(names: aliases)],"price_increment":\#(i.tick)}
      """#
  }

  // MARK: - Candles

  private static let spanLimit: Int64 = 350

  /// Objects of strings, the newest first, with both bounds in seconds.
  private func candles(_ request: SimulatedRequest) -> SimulatedResponse? {
    guard let name = request.part(after: Self.productsPath + "/", before: "/candles") else { return nil }
    func refuse(_ status: Int, _ error: String, _ message: String) -> SimulatedResponse {
      SimulatedResponse(
        status: status,
        #"{"error":"\#(error)","error_details":\#(json: message),"message":\#(json: message)}"#)
    }
    let fault = faults.takeCandleFault()
    guard fault != .limited, candleBudget.take(at: now) else {
      return refuse(429, "RATE_LIMIT_EXCEEDED", "too many requests")
    }
    guard let index = instrument(named: name) else {
      return refuse(404, "NOT_FOUND", "Product \(name) not supported")
    }
    let names = ["ONE_MINUTE", "FIVE_MINUTE", "FIFTEEN_MINUTE", "ONE_HOUR", "FOUR_HOUR", "ONE_DAY"]
    guard let interval = CandleInterval.named(request["granularity"], names) else {
      return refuse(400, "INVALID_ARGUMENT", "\"\(request["granularity"] ?? "")\" is not a valid value")
    }
    guard let start = request.seconds("start"),
      let end = request.seconds("end")
    else { return refuse(400, "INVALID_ARGUMENT", "start and end are required") }
    let limit = request.integer("limit") ?? Self.spanLimit
    guard (end - start) / interval.length <= Self.spanLimit, (1...Self.spanLimit).contains(limit) else {
      let reason = "start and end argument is invalid - number of candles requested should be less than 350"
      return refuse(400, "INVALID_ARGUMENT", reason)
    }
    let window = CandleWindow(from: start, to: end - 1, limit: Int(limit), isNewestFirst: true, isFilled: false)
    let list = candles(index, interval, window, fault, .shortest) { bar in
      #"""
      {"start":"\#(bar.seconds)","low":\#(bar.low),"high":\#(bar.high),"open":\#(bar.open),"close":\#(bar.close),\#
      "volume":\#(bar.volume)}
      """#
    }
    return SimulatedResponse(#"{"candles":[\#(list)]}"#)
  }
}
