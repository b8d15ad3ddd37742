import Bytes
import MarketData

/// Advanced Trade's list of products.
extension CoinbaseAdvancedProtocol {
  func answer(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    if let candles = candles(SimulatedRequest(path: path, query: query)) { return candles }
    guard path == Self.productsPath else {
      return SimulatedResponse(
        status: 404, body: #"{"error":"NOT_FOUND","error_details":"not found","message":"not found"}"#)
    }
    let type = query.first { $0.name == "product_type" }?.value
    var out = ByteBuffer(capacity: 4 << 10)
    var count: Int64 = 0
    out.append(#"{"products":["#)
    if type != "FUTURE" {
      for state in market.instruments {
        append(productOf: state, isAlias: false, isFirst: count == 0, to: &out)
        append(productOf: state, isAlias: true, isFirst: false, to: &out)
        count += 2
      }
    }
    if type != "SPOT" {
      if count > 0 { out.append(",") }
      out.append(
        #"{"product_id":"BIP-20DEC30-CDE","base_increment":"1","quote_increment":"0.01","price_increment":"5","status":"","product_type":"FUTURE","base_currency_id":"","quote_currency_id":"USD","alias":"","alias_to":[],"display_name":"BTC PERP"}"#
      )
      count += 1
    }
    out.append(#"],"num_products":"#)
    out.append(integer: count)
    out.append("}")
    return SimulatedResponse(body: out.description)
  }

  func append(productOf state: InstrumentMarket, isAlias: Bool, isFirst: Bool, to out: inout ByteBuffer) {
    let instrument = state.instrument
    let quote = isAlias ? "USDC" : instrument.quote
    out.append(isFirst ? #"{"product_id":""# : #",{"product_id":""#)
    out.append("\(instrument.base)-\(quote)")
    out.append(#"","price":"#)
    out.append(quoted: state.day.last, scale: instrument.priceScale)
    out.append(#","volume_24h":"#)
    out.append(quoted: state.day.volume, scale: instrument.sizeScale)
    out.append(#","approximate_quote_24h_volume":"#)
    out.append(quoteVolumeOf: state)
    out.append(#","base_increment":"#)
    out.append(quoted: instrument.lot, scale: instrument.sizeScale)
    out.append(#","quote_increment":"#)
    out.append(quoted: instrument.tick, scale: instrument.priceScale)
    out.append(#","base_name":""#)
    out.append(instrument.base)
    out.append(
      #"","is_disabled":false,"new":false,"status":"online","cancel_only":false,"limit_only":false,"post_only":false,"trading_disabled":false,"view_only":false,"product_type":"SPOT","quote_currency_id":""#
    )
    out.append(quote)
    out.append(#"","base_currency_id":""#)
    out.append(instrument.base)
    out.append(#"","mid_market_price":"","alias":""#)
    if isAlias { out.append(instrument.venueSymbol) }
    out.append(#"","alias_to":["#)
    if !isAlias { out.append("\"\(Self.alias(instrument))\"") }
    out.append(#"],"price_increment":"#)
    out.append(quoted: instrument.tick, scale: instrument.priceScale)
    out.append("}")
  }
}
