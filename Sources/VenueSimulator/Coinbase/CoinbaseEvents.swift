import Bytes
import MarketData

/// The texts of Coinbase's channels.
extension CoinbaseProtocol {
  func appendSnapshot(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    out.append(#"{"type":"snapshot","product_id":""#)
    out.append(state.instrument.venueSymbol)
    out.append(#"","asks":"#)
    out.append(pairs: state.book.asks.reversed(), state.instrument)
    out.append(#","bids":"#)
    out.append(pairs: state.book.bids.reversed(), state.instrument)
    out.append("}")
  }

  func appendUpdate(_ index: Int, _ now: Timestamp, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"type":"l2update","product_id":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","changes":["#)
    var isFirst = true
    func change(_ side: StaticString, _ level: PriceLevel) {
      if !isFirst { out.append(",") }
      isFirst = false
      out.append(side)
      out.append(quoted: level.price, scale: instrument.priceScale)
      out.append(",")
      out.append(quoted: level.size, scale: instrument.sizeScale)
      out.append("]")
    }
    for level in batches[index].sortedBids { change(#"["buy","#, level) }
    for level in batches[index].sortedAsks { change(#"["sell","#, level) }
    out.append(#"],"time":""#)
    out.append(rfc3339: now)
    out.append(#""}"#)
  }

  func appendMatch(
    _ type: StaticString, _ trade: SimulatedTrade, _ sequence: Int64, _ index: Int, to out: inout ByteBuffer
  ) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"type":""#)
    out.append(type)
    out.append(#"","trade_id":"#)
    out.append(integer: trade.id)
    out.append(#","maker_order_id":""#)
    out.append(orderID: UInt64(bitPattern: trade.id &* 2))
    out.append(#"","taker_order_id":""#)
    out.append(orderID: UInt64(bitPattern: trade.id &* 2 &+ 1))
    out.append(trade.side == .buy ? #"","side":"sell","size":"# : #"","side":"buy","size":"#)
    out.append(quoted: trade.size, scale: instrument.sizeScale)
    out.append(#","price":"#)
    out.append(quoted: trade.price, scale: instrument.priceScale)
    out.append(#","product_id":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","sequence":"#)
    out.append(integer: sequence)
    out.append(#","time":""#)
    out.append(rfc3339: trade.time)
    out.append(#""}"#)
  }

  func appendHeartbeat(_ index: Int, _ now: Timestamp, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    out.append(#"{"type":"heartbeat","sequence":"#)
    out.append(integer: state.sequence)
    out.append(#","last_trade_id":"#)
    out.append(integer: state.tradeID)
    out.append(#","product_id":""#)
    out.append(state.instrument.venueSymbol)
    out.append(#"","time":""#)
    out.append(rfc3339: now)
    out.append(#""}"#)
  }

  func appendTicker(_ index: Int, _ trade: SimulatedTrade, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    let (bid, ask) = (state.book.bestBid, state.book.bestAsk)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(quoted: value, scale: scale)
    }
    out.append(#"{"type":"ticker","sequence":"#)
    out.append(integer: state.sequence)
    out.append(#","product_id":""#)
    out.append(state.instrument.venueSymbol)
    out.append("\"")
    field(#","price":"#, trade.price, price)
    field(#","open_24h":"#, state.day.open, price)
    field(#","volume_24h":"#, state.day.volume, size)
    field(#","low_24h":"#, state.day.low, price)
    field(#","high_24h":"#, state.day.high, price)
    field(#","volume_30d":"#, state.day.volume * 30, size)
    field(#","best_bid":"#, bid?.price ?? 0, price)
    field(#","best_bid_size":"#, bid?.size ?? 0, size)
    field(#","best_ask":"#, ask?.price ?? 0, price)
    field(#","best_ask_size":"#, ask?.size ?? 0, size)
    out.append(trade.side == .buy ? #","side":"buy","time":""# : #","side":"sell","time":""#)
    out.append(rfc3339: trade.time)
    out.append(#"","trade_id":"#)
    out.append(integer: trade.id)
    field(#","last_size":"#, trade.size, size)
    out.append("}")
  }
}
