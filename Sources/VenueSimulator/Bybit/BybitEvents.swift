import Bytes
import MarketData

/// The texts of Bybit's topics.
extension BybitProtocol {
  func appendWhole(_ index: Int, _ depth: Int, to out: inout ByteBuffer) {
    let book = market.instruments[index].book
    append(index, depth, "snapshot", book.top(.bid, depth), book.top(.ask, depth), to: &out)
  }

  func append(
    _ index: Int, _ depth: Int, _ type: StaticString, _ bids: [PriceLevel], _ asks: [PriceLevel],
    to out: inout ByteBuffer
  ) {
    let instrument = market.instruments[index].instrument
    let time = faults.now.rawValue / 1_000
    out.append(#"{"topic":"orderbook."#)
    out.append(integer: Int64(depth))
    out.append(".")
    out.append(instrument.venueSymbol)
    // The order of the two differs by endpoint and depth.
    if instrument.kind == .spot || depth == 1 {
      out.append(#"","ts":"#)
      out.append(integer: time)
      out.append(#","type":""#)
      out.append(type)
      out.append("\"")
    } else {
      out.append(#"","type":""#)
      out.append(type)
      out.append(#"","ts":"#)
      out.append(integer: time)
    }
    out.append(#","data":{"s":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","b":"#)
    out.append(pairs: bids, instrument)
    out.append(#","a":"#)
    out.append(pairs: asks, instrument)
    out.append(#","u":"#)
    out.append(integer: books[stream(index, depth)].number)
    out.append(#","seq":"#)
    out.append(integer: market.instruments[index].sequence)
    out.append(#"},"cts":"#)
    out.append(integer: time - 4)
    out.append("}")
  }

  func appendTrades(_ list: [SimulatedTrade], _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"topic":"publicTrade."#)
    out.append(instrument.venueSymbol)
    out.append(#"","type":"snapshot","ts":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#","data":["#)
    for (position, trade) in list.enumerated() {
      if position > 0 { out.append(",") }
      out.append(#"{"T":"#)
      out.append(integer: trade.time.rawValue / 1_000)
      out.append(#","s":""#)
      out.append(instrument.venueSymbol)
      out.append(trade.side == .buy ? #"","S":"Buy","v":"# : #"","S":"Sell","v":"#)
      out.append(quoted: trade.size, scale: instrument.sizeScale)
      out.append(#","p":"#)
      out.append(quoted: trade.price, scale: instrument.priceScale)
      if instrument.kind != .spot { out.append(#","L":"PlusTick""#) }
      out.append(#","i":""#)
      out.append(orderID: UInt64(bitPattern: trade.id))
      out.append(#"","BT":false,"seq":"#)
      out.append(integer: market.instruments[index].sequence)
      out.append("}")
    }
    out.append("]}")
  }

  /// On linear contracts only what moves, after the first.
  func appendTicker(_ index: Int, isWhole: Bool, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let instrument = state.instrument
    let (price, size) = (instrument.priceScale, instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(quoted: value, scale: scale)
    }
    out.append(#"{"topic":"tickers."#)
    out.append(instrument.venueSymbol)
    out.append(isWhole ? #"","type":"snapshot","data":{"symbol":""# : #"","type":"delta","data":{"symbol":""#)
    out.append(instrument.venueSymbol)
    out.append("\"")
    field(#","lastPrice":"#, state.day.last, price)
    field(#","price24hPcnt":"#, state.day.rise(in: 1_000_000), 6)
    if isWhole {
      field(#","prevPrice24h":"#, state.day.open, price)
      field(#","highPrice24h":"#, state.day.high, price)
      field(#","lowPrice24h":"#, state.day.low, price)
    }
    field(#","volume24h":"#, state.day.volume, size)
    out.append(#","turnover24h":"#)
    out.append(quoteVolumeOf: state)
    if instrument.kind == .spot {
      field(#","usdIndexPrice":"#, state.day.last, price)
    } else {
      field(#","bid1Price":"#, state.book.bestBid?.price ?? 0, price)
      field(#","bid1Size":"#, state.book.bestBid?.size ?? 0, size)
      field(#","ask1Price":"#, state.book.bestAsk?.price ?? 0, price)
      field(#","ask1Size":"#, state.book.bestAsk?.size ?? 0, size)
    }
    out.append(#"},"cs":"#)
    out.append(integer: state.sequence)
    out.append(#","ts":"#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append("}")
  }
}
