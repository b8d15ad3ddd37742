import Bytes
import MarketData

/// The lists of markets: the channel `instrument`, and those that clients load by REST before they connect.
enum KrakenLists {
  /// An asset with the most digits of its amounts.
  private static func assets(of instruments: [Instrument]) -> [(name: String, digits: UInt8)] {
    var digits: [String: UInt8] = [:]
    for instrument in instruments {
      digits[instrument.base] = max(digits[instrument.base] ?? 0, instrument.sizeScale)
      digits[instrument.quote] = max(digits[instrument.quote] ?? 0, instrument.priceScale)
    }
    return digits.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private static func increment(_ known: Decimal64?, _ scale: UInt8) -> Decimal64 {
    known ?? Decimal64(mantissa: 1, scale: scale)
  }

  static func appendInstruments(_ instruments: [Instrument], to out: inout ByteBuffer) {
    out.append("{\"channel\":\"instrument\",\"type\":\"snapshot\",\"data\":{\"assets\":[")
    var isFirst = true
    for asset in assets(of: instruments) {
      out.append(isFirst ? "{\"id\":" : ",{\"id\":")
      isFirst = false
      out.append(json: asset.name)
      out.append(",\"status\":\"enabled\"")
      out.append("precision", integer: Int64(asset.digits))
      out.append("precision_display", integer: Int64(asset.digits))
      out.append(",\"borrowable\":false}")
    }
    out.append("],\"pairs\":[")
    isFirst = true
    for instrument in instruments {
      out.append(isFirst ? "{\"symbol\":" : ",{\"symbol\":")
      isFirst = false
      out.append(json: KrakenChannel.name(of: instrument))
      out.append("base", text: instrument.base)
      out.append("quote", text: instrument.quote)
      out.append(",\"status\":\"online\"")
      out.append("qty_precision", integer: Int64(instrument.sizeScale))
      out.append("qty_increment", increment(instrument.sizeIncrement, instrument.sizeScale))
      out.append("price_precision", integer: Int64(instrument.priceScale))
      out.append("cost_precision", integer: Int64(instrument.priceScale))
      out.append("price_increment", increment(instrument.priceIncrement, instrument.priceScale))
      out.append("tick_size", increment(instrument.priceIncrement, instrument.priceScale))
      out.append(",\"marginable\":false,\"has_index\":false}")
    }
    out.append("]}}")
  }

  /// `{"error":[],"result":…}`
  static func appendResult(to out: inout ByteBuffer, _ result: (inout ByteBuffer) -> Void) {
    out.append("{\"error\":[],\"result\":")
    result(&out)
    out.append(UInt8(ascii: "}"))
  }

  static func appendError(_ words: String, to out: inout ByteBuffer) {
    out.append("{\"error\":[")
    out.append(json: words)
    out.append("]}")
  }

  /// `{"XBTUSD":{"altname":…},…}`
  /// - Parameter pairs: each instrument with the name that it has in the answer.
  static func appendPairs(_ pairs: [(name: String, instrument: Instrument)], to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "{"))
    var isFirst = true
    for pair in pairs {
      if !isFirst { out.append(UInt8(ascii: ",")) }
      isFirst = false
      let instrument = pair.instrument
      out.append(json: pair.name)
      out.append(":{\"altname\":")
      out.append(json: instrument.base + instrument.quote)
      out.append("wsname", text: KrakenChannel.name(of: instrument))
      out.append("aclass_base", text: "currency")
      out.append("base", text: instrument.base)
      out.append("aclass_quote", text: "currency")
      out.append("quote", text: instrument.quote)
      out.append("pair_decimals", integer: Int64(instrument.priceScale))
      out.append("cost_decimals", integer: Int64(instrument.priceScale))
      out.append("lot_decimals", integer: Int64(instrument.sizeScale))
      out.append(",\"lot_multiplier\":1,\"leverage_buy\":[],\"leverage_sell\":[],\"fees\":[],\"fees_maker\":[]")
      out.append(",\"tick_size\":\"")
      out.append(increment(instrument.priceIncrement, instrument.priceScale))
      out.append("\",\"status\":\"online\"}")
    }
    out.append(UInt8(ascii: "}"))
  }

  /// `{"BTC":{"aclass":"currency",…},…}`
  static func appendAssets(of instruments: [Instrument], to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "{"))
    var isFirst = true
    for asset in assets(of: instruments) {
      if !isFirst { out.append(UInt8(ascii: ",")) }
      isFirst = false
      out.append(json: asset.name)
      out.append(":{\"aclass\":\"currency\",\"altname\":")
      out.append(json: asset.name)
      out.append("decimals", integer: Int64(asset.digits))
      out.append("display_decimals", integer: Int64(asset.digits))
      out.append(",\"status\":\"enabled\"}")
    }
    out.append(UInt8(ascii: "}"))
  }
}
