import MarketData

/// The texts of Kraken's channels.
extension KrakenProtocol {
  func book(_ type: StaticString, _ sides: BookSides, _ index: Int) -> JSONText {
    let i = spell(index)
    func levels(_ list: [PriceLevel]) -> JSONText {
      .list(list) { #"{"price":\#(i.price($0.price)),"qty":\#(i.size($0.size))}"# }
    }
    return #"""
      {"channel":"book","type":"\#(type)","data":[{"symbol":"\#(i.name)","bids":[\#(levels(sides.bids))],\#
      "asks":[\#(levels(sides.asks))],"checksum":\#(checksums[index]),"timestamp":"\#(rfc3339: now)"}]}
      """#
  }

  func trades(_ list: [SimulatedTrade], _ type: StaticString, _ index: Int) -> JSONText {
    let i = spell(index)
    let rows = JSONText.list(list) { trade in
      #"""
      {"symbol":"\#(i.name)","side":"\#(trade.side == .buy ? "buy" : "sell")","price":\#(i.price(trade.price)),\#
      "qty":\#(i.size(trade.size)),"ord_type":"\#(trade.id & 3 == 0 ? "limit" : "market")","trade_id":\#(trade.id),\#
      "timestamp":"\#(rfc3339: trade.time)"}
      """#
    }
    return #"{"channel":"trade","type":"\#(type)","data":[\#(rows)]}"#
  }

  func ticker(_ index: Int, _ type: StaticString) -> JSONText {
    let i = spell(index)
    return #"""
      {"channel":"ticker","type":"\#(type)","data":[{"symbol":"\#(i.name)","bid":\#(i.bid),"bid_qty":\#(i.bidSize),\#
      "ask":\#(i.ask),"ask_qty":\#(i.askSize),"last":\#(i.last),"volume":\#(i.volume),"vwap":\#(i.vwap),\#
      "low":\#(i.low),"high":\#(i.high),"change":\#(i.change),"change_pct":\#(i.percent(2)),\#
      "trades":\#(i.state.day.trades),"timestamp":"\#(rfc3339: now)"}]}
      """#
  }

  var instruments: JSONText {
    let assets = JSONText.list(market.instruments.map(\.instrument.base) + ["USD"]) { name in
      #"""
      {"id":"\#(name)","status":"enabled","precision":10,"precision_display":5,"borrowable":false,\#
      "collateral_value":1.00,"margin_rate":0.02}
      """#
    }
    let pairs = JSONText.list(indices) { index in
      let i = spell(index)
      return #"""
        {"symbol":"\#(i.name)","base":"\#(i.base)","quote":"USD","status":"online",\#
        "qty_precision":\#(i.instrument.sizeScale),"qty_increment":\#(i.lot),\#
        "price_precision":\#(i.instrument.priceScale),"cost_precision":5,"marginable":true,"has_index":true,\#
        "cost_min":0.50,"margin_initial":0.20,"position_limit_long":250,"position_limit_short":200,\#
        "tick_size":\#(i.tick),"price_increment":\#(i.tick),"qty_min":\#(i.minimum)}
        """#
    }
    return #"{"channel":"instrument","type":"snapshot","data":{"assets":[\#(assets)],"pairs":[\#(pairs)]}}"#
  }
}
