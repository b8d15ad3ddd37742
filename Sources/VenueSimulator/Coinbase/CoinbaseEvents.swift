import MarketData

/// The texts of Coinbase's channels.
extension CoinbaseProtocol {
  func snapshot(_ index: Int) -> JSONText {
    let (sides, i) = (state(index).book.sides, spell(index))
    return #"""
      {"type":"snapshot","product_id":"\#(i.name)","asks":\#(i.pairs(sides.asks)),"bids":\#(i.pairs(sides.bids))}
      """#
  }

  func update(_ index: Int, _ sides: BookSides) -> JSONText {
    let i = spell(index)
    let rows = JSONText.list(sides.labelled("buy", "sell")) {
      #"["\#($0.side)",\#(i.price($0.level.price)),\#(i.size($0.level.size))]"#
    }
    return #"{"type":"l2update","product_id":"\#(i.name)","changes":[\#(rows)],"time":"\#(rfc3339: now)"}"#
  }

  func match(_ type: StaticString, _ trade: SimulatedTrade, _ sequence: Int64, _ index: Int) -> JSONText {
    let i = spell(index)
    return #"""
      {"type":"\#(type)","trade_id":\#(trade.id),"maker_order_id":"\#(orderID: trade.id &* 2)",\#
      "taker_order_id":"\#(orderID: trade.id &* 2 &+ 1)","side":"\#(trade.side == .buy ? "sell" : "buy")",\#
      "size":\#(i.size(trade.size)),"price":\#(i.price(trade.price)),"product_id":"\#(i.name)",\#
      "sequence":\#(sequence),"time":"\#(rfc3339: trade.time)"}
      """#
  }

  func heartbeat(_ index: Int) -> JSONText {
    let state = state(index)
    return #"""
      {"type":"heartbeat","sequence":\#(state.sequence),"last_trade_id":\#(state.tradeID),\#
      "product_id":"\#(state.instrument.venueSymbol)","time":"\#(rfc3339: now)"}
      """#
  }

  func ticker(_ index: Int, _ trade: SimulatedTrade) -> JSONText {
    let (state, i) = (state(index), spell(index))
    return #"""
      {"type":"ticker","sequence":\#(state.sequence),"product_id":"\#(i.name)","price":\#(i.price(trade.price)),\#
      "open_24h":\#(i.open),"volume_24h":\#(i.volume),"low_24h":\#(i.low),"high_24h":\#(i.high),\#
      "volume_30d":\#(i.size(state.day.volume * 30)),"best_bid":\#(i.bid),"best_bid_size":\#(i.bidSize),\#
      "best_ask":\#(i.ask),"best_ask_size":\#(i.askSize),"side":"\#(trade.side == .buy ? "buy" : "sell")",\#
      "time":"\#(rfc3339: trade.time)","trade_id":\#(trade.id),"last_size":\#(i.size(trade.size))}
      """#
  }
}
