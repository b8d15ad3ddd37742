import Bytes
import MarketData

/// What Kraken Futures sends, as JSON.
extension KrakenFuturesProtocol {
  /// One level of a book as it is now.
  func change(_ level: PriceLevel, _ side: StaticString, _ number: Int64, _ index: Int) -> JSONText {
    let i = spell(index)
    return #"""
      {"feed":"book","product_id":"\#(i.name)","side":"\#(side)","seq":\#(number),"price":\#(i.price(level.price)),\#
      "qty":\#(i.size(level.size)),"timestamp":\#(ms: now)}
      """#
  }

  /// A whole book. A level without orders has been seen in one: here each tenth snapshot has one at its end.
  func snapshot(_ index: Int) -> JSONText {
    let (i, state) = (spell(index), state(index))
    func levels(_ levels: [PriceLevel], _ end: Int64) -> JSONText {
      let empty = state.updateID % 10 == 0 && end > 0 ? [PriceLevel(price: end, size: 0)] : []
      return .list(levels + empty) { #"{"price":\#(i.price($0.price)),"qty":\#(i.size($0.size))}"# }
    }
    let sides = state.book.sides
    let tick = i.instrument.tick
    return #"""
      {"feed":"book_snapshot","product_id":"\#(i.name)","timestamp":\#(ms: now),"seq":\#(state.updateID),\#
      "tickSize":null,"bids":[\#(levels(sides.bids, (sides.bids.last?.price ?? 0) - tick))],\#
      "asks":[\#(levels(sides.asks, (sides.asks.last?.price ?? 0) + tick))]}
      """#
  }

  func trade(_ trade: SimulatedTrade, _ index: Int) -> JSONText {
    let i = spell(index)
    // Some are of positions that are being liquidated.
    return #"""
      {"feed":"trade","product_id":"\#(i.name)","uid":"\#(orderID: trade.id)",\#
      "side":"\#(trade.side == .buy ? "buy" : "sell")","type":"\#(trade.id % 16 == 0 ? "liquidation" : "fill")",\#
      "seq":\#(trade.id),"time":\#(ms: trade.time),"qty":\#(i.size(trade.size)),"price":\#(i.price(trade.price))}
      """#
  }

  /// The latest trades, the newest first.
  func trades(_ index: Int) -> JSONText {
    let rows = JSONText.list(state(index).recentTrades.reversed()) { trade($0, index) }
    return #"{"feed":"trade_snapshot","product_id":"\#(spell(index).name)","trades":[\#(rows)]}"#
  }

  func ticker(_ index: Int) -> JSONText {
    let i = spell(index)
    return #"""
      {"time":\#(ms: now),"product_id":"\#(i.name)","funding_rate":0.032725177043125,\#
      "relative_funding_rate":1.86711875e-5,"next_funding_rate_time":1783591200000,"leverage":"100x","premium":-0.0,\#
      "feed":"ticker","bid":\#(i.bid),"ask":\#(i.ask),"bid_size":\#(i.bidSize),"ask_size":\#(i.askSize),\#
      "volume":\#(i.volume),"dtm":0,"index":\#(i.last),"last":\#(i.last),"change":\#(i.percent(8)),\#
      "suspended":false,"tag":"\#(i.instrument.kind == .perpetual ? "perpetual" : "quarter")",\#
      "openInterest":24085.822,"markPrice":\#(i.last),"maturityTime":0,"post_only":false,\#
      "volumeQuote":\#(i.quoteVolume),"open":\#(i.open),"high":\#(i.high),"low":\#(i.low)}
      """#
  }
}
