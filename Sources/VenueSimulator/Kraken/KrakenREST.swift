import Bytes
import MarketData

/// Kraken's REST list of pairs, which still has the names of the v1 protocol: `XBT` for BTC, `XDG` for DOGE.
enum KrakenREST {
  private static func oldName(_ asset: String) -> String {
    switch asset {
    case "BTC": "XBT"
    case "DOGE": "XDG"
    default: asset
    }
  }

  /// Assets from before 2014 have four-letter names: `XXBT`, `ZUSD`.
  private static func longName(_ asset: String) -> String {
    let old = ["BTC", "ETH", "ZEC", "XRP", "LTC", "DOGE"]
    if asset == "USD" { return "ZUSD" }
    return old.contains(asset) ? "X" + oldName(asset) : asset
  }

  static func key(_ instrument: SimulatedInstrument) -> String {
    // DOGE was listed against dollars only when pairs had short keys already.
    if instrument.base == "DOGE" || longName(instrument.base) == instrument.base { return altname(instrument) }
    return longName(instrument.base) + "ZUSD"
  }

  private static func altname(_ instrument: SimulatedInstrument) -> String {
    oldName(instrument.base) + instrument.quote
  }

  /// By any of its names: `XXBTZUSD`, `XBTUSD`, `BTC/USD`, `XBT/USD`.
  static func index(of name: String, in market: SimulatedMarket) -> Int? {
    market.instruments.firstIndex { state in
      let instrument = state.instrument
      return [key(instrument), altname(instrument), instrument.venueSymbol, oldName(instrument.base) + "/USD"]
        .contains(name)
    }
  }

  /// `v` and `p` are volume and its average price: of today, and of the last 24 h. Of all pairs, as no client asks for single ones.
  static func tickers(_ market: SimulatedMarket) -> SimulatedResponse {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"error":[],"result":{"#)
    for (index, state) in market.instruments.enumerated() {
      if index > 0 { out.append(",") }
      let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
      out.append(json: key(state.instrument))
      out.append(#":{"c":["#)
      out.append(quoted: state.day.last, scale: price)
      out.append(#","0.1"],"v":["#)
      out.append(quoted: state.day.volume / 2, scale: size)
      out.append(",")
      out.append(quoted: state.day.volume, scale: size)
      out.append(#"],"p":["#)
      out.append(quoted: state.day.vwap, scale: price)
      out.append(",")
      out.append(quoted: state.day.vwap, scale: price)
      out.append(#"],"o":"#)
      out.append(quoted: state.day.open, scale: price)
      out.append("}")
    }
    out.append("}}")
    return SimulatedResponse(body: out.description)
  }

  static func assetPairs(_ market: SimulatedMarket, pairs: String?) -> SimulatedResponse {
    var chosen = market.instruments.map(\.instrument)
    if let pairs {
      chosen = []
      for name in pairs.split(separator: ",") {
        guard let index = index(of: String(name), in: market) else {
          return SimulatedResponse(body: #"{"error":["EQuery:Unknown asset pair"]}"#)
        }
        chosen.append(market.instruments[index].instrument)
      }
    }
    var out = ByteBuffer(capacity: 8 << 10)
    out.append(#"{"error":[],"result":{"#)
    for (index, instrument) in chosen.enumerated() {
      if index > 0 { out.append(",") }
      out.append(json: key(instrument))
      out.append(#":{"altname":""#)
      out.append(altname(instrument))
      out.append(#"","wsname":""#)
      out.append(oldName(instrument.base))
      out.append(#"\/USD","aclass_base":"currency","base":""#)
      out.append(longName(instrument.base))
      out.append(#"","aclass_quote":"currency","quote":"ZUSD","lot":"unit","cost_decimals":5,"pair_decimals":"#)
      out.append(integer: Int64(instrument.priceScale))
      out.append(#","lot_decimals":"#)
      out.append(integer: Int64(instrument.sizeScale))
      out.append(#","lot_multiplier":1,"leverage_buy":[],"leverage_sell":[],"fees":[[0,0.4]],"fees_maker":[[0,0.25]],"#)
      out.append(#""fee_volume_currency":"ZUSD","margin_call":80,"margin_stop":40,"ordermin":""#)
      out.append(decimal: instrument.minimumSize, scale: instrument.sizeScale)
      out.append(#"","costmin":"0.5","tick_size":""#)
      out.append(decimal: instrument.tick, scale: instrument.priceScale)
      out.append(#"","status":"online"}"#)
    }
    out.append("}}")
    return SimulatedResponse(body: out.description)
  }
}
