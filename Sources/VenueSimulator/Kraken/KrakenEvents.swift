import Bytes
import MarketData

/// The texts of Kraken's channels.
extension KrakenProtocol {
  func appendBookSnapshot(_ index: Int, _ depth: Int, to out: inout ByteBuffer) {
    let book = market.instruments[index].book
    appendBook("snapshot", book.top(.bid, depth), book.top(.ask, depth), index, to: &out)
  }

  func appendBook(
    _ type: StaticString, _ bids: [PriceLevel], _ asks: [PriceLevel], _ index: Int, to out: inout ByteBuffer
  ) {
    out.append(#"{"channel":"book","type":""#)
    out.append(type)
    out.append(#"","data":[{"symbol":""#)
    out.append(market.instruments[index].instrument.venueSymbol)
    out.append(#"","bids":["#)
    appendLevels(bids, index, to: &out)
    out.append(#"],"asks":["#)
    appendLevels(asks, index, to: &out)
    out.append(#"],"checksum":"#)
    out.append(integer: UInt64(checksums[index]))
    out.append(#","timestamp":""#)
    out.append(rfc3339: faults.now)
    out.append(#""}]}"#)
  }

  private func appendLevels(_ levels: [PriceLevel], _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    for (position, level) in levels.enumerated() {
      if position > 0 { out.append(",") }
      out.append(#"{"price":"#)
      out.append(decimal: level.price, scale: instrument.priceScale)
      out.append(#","qty":"#)
      out.append(decimal: level.size, scale: instrument.sizeScale)
      out.append("}")
    }
  }

  func appendTrades(_ list: [SimulatedTrade], _ type: StaticString, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"channel":"trade","type":""#)
    out.append(type)
    out.append(#"","data":["#)
    for (position, trade) in list.enumerated() {
      if position > 0 { out.append(",") }
      out.append(#"{"symbol":""#)
      out.append(instrument.venueSymbol)
      out.append(trade.side == .buy ? #"","side":"buy","price":"# : #"","side":"sell","price":"#)
      out.append(decimal: trade.price, scale: instrument.priceScale)
      out.append(#","qty":"#)
      out.append(decimal: trade.size, scale: instrument.sizeScale)
      out.append(trade.id & 3 == 0 ? #","ord_type":"limit","trade_id":"# : #","ord_type":"market","trade_id":"#)
      out.append(integer: trade.id)
      out.append(#","timestamp":""#)
      out.append(rfc3339: trade.time)
      out.append(#""}"#)
    }
    out.append("]}")
  }

  func appendTicker(_ index: Int, _ type: StaticString, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    let day = state.day
    let (bid, ask) = (state.book.bestBid, state.book.bestAsk)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(decimal: value, scale: scale)
    }
    out.append(#"{"channel":"ticker","type":""#)
    out.append(type)
    out.append(#"","data":[{"symbol":""#)
    out.append(state.instrument.venueSymbol)
    field(#"","bid":"#, bid?.price ?? 0, price)
    field(#","bid_qty":"#, bid?.size ?? 0, size)
    field(#","ask":"#, ask?.price ?? 0, price)
    field(#","ask_qty":"#, ask?.size ?? 0, size)
    field(#","last":"#, day.last, price)
    field(#","volume":"#, day.volume, size)
    field(#","vwap":"#, day.vwap, price)
    field(#","low":"#, day.low, price)
    field(#","high":"#, day.high, price)
    field(#","change":"#, day.last - day.open, price)
    field(#","change_pct":"#, day.rise(in: 10_000), 2)
    field(#","trades":"#, day.trades, 0)
    out.append(#","timestamp":""#)
    out.append(rfc3339: faults.now)
    out.append(#""}]}"#)
  }

  func appendInstruments(to out: inout ByteBuffer) {
    out.append(#"{"channel":"instrument","type":"snapshot","data":{"assets":["#)
    for name in market.instruments.map(\.instrument.base) + ["USD"] {
      out.append(#"{"id":""#)
      out.append(name)
      out.append(
        #"","status":"enabled","precision":10,"precision_display":5,"borrowable":false,"collateral_value":1.00,"margin_rate":0.02},"#
      )
    }
    out.truncate(to: out.count - 1)
    out.append(#"],"pairs":["#)
    for (index, state) in market.instruments.enumerated() {
      let instrument = state.instrument
      if index > 0 { out.append(",") }
      out.append(#"{"symbol":""#)
      out.append(instrument.venueSymbol)
      out.append(#"","base":""#)
      out.append(instrument.base)
      out.append(#"","quote":"USD","status":"online","qty_precision":"#)
      out.append(integer: Int64(instrument.sizeScale))
      out.append(#","qty_increment":"#)
      out.append(decimal: instrument.lot, scale: instrument.sizeScale)
      out.append(#","price_precision":"#)
      out.append(integer: Int64(instrument.priceScale))
      out.append(
        #","cost_precision":5,"marginable":true,"has_index":true,"cost_min":0.50,"margin_initial":0.20,"position_limit_long":250,"position_limit_short":200,"tick_size":"#
      )
      out.append(decimal: instrument.tick, scale: instrument.priceScale)
      out.append(#","price_increment":"#)
      out.append(decimal: instrument.tick, scale: instrument.priceScale)
      out.append(#","qty_min":"#)
      out.append(decimal: instrument.minimumSize, scale: instrument.sizeScale)
      out.append("}")
    }
    out.append("]}}")
  }
}
