import Bytes
import MarketData

/// The texts of Hyperliquid's channels.
extension HyperliquidProtocol {
  /// Without zeros at the end, but with one digit after the point at least: `84143.0`, `0.00036`.
  func number(_ value: Int64, _ scale: UInt8, to out: inout ByteBuffer) {
    var (value, scale) = (value, scale)
    while scale > 1, value % 10 == 0 {
      value /= 10
      scale -= 1
    }
    if scale == 0 { (value, scale) = (value * 10, 1) }
    out.append(quoted: value, scale: scale)
  }

  func append(_ level: PriceLevel, _ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"px":"#)
    number(level.price, instrument.priceScale, to: &out)
    out.append(#","sz":"#)
    number(level.size, instrument.sizeScale, to: &out)
    out.append(#","n":3}"#)
  }

  private func head(_ channel: StaticString, _ index: Int, to out: inout ByteBuffer) {
    out.append(#"{"channel":""#)
    out.append(channel)
    out.append(#"","data":{"coin":"#)
    out.append(json: name(index))
  }

  private func appendTime(to out: inout ByteBuffer) {
    out.append(#","time":"#)
    out.append(integer: faults.now.rawValue / 1_000)
  }

  func appendBook(_ subscription: HyperliquidSubscription, to out: inout ByteBuffer) {
    out.append(#"{"channel":"l2Book","data":"#)
    appendBookData(subscription, to: &out)
    out.append("}")
  }

  func appendBookData(_ subscription: HyperliquidSubscription, to out: inout ByteBuffer) {
    let state = market.instruments[subscription.instrument]
    let depth = subscription.isFast ? Self.fastDepth : Self.depth
    func side(_ side: BookSide) {
      for (rank, level) in state.book.top(side, depth).enumerated() {
        if rank > 0 { out.append(",") }
        append(level, state.instrument, to: &out)
      }
    }
    out.append(#"{"coin":"#)
    out.append(json: state.instrument.venueSymbol)
    appendTime(to: &out)
    out.append(#","levels":[["#)
    side(.bid)
    out.append("],[")
    side(.ask)
    out.append(subscription.isFast ? #"]],"fast":true}"# : "]]}")
  }

  func appendQuote(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    head("bbo", index, to: &out)
    appendTime(to: &out)
    out.append(#","bbo":["#)
    if let bid = state.book.bestBid { append(bid, state.instrument, to: &out) } else { out.append("null") }
    out.append(",")
    if let ask = state.book.bestAsk { append(ask, state.instrument, to: &out) } else { out.append("null") }
    out.append("]}}")
  }

  func appendTrades(_ index: Int, _ list: [SimulatedTrade], to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"channel":"trades","data":["#)
    for (position, trade) in list.enumerated() {
      if position > 0 { out.append(",") }
      out.append(#"{"coin":"#)
      out.append(json: instrument.venueSymbol)
      out.append(trade.side == .buy ? #","side":"B","px":"# : #","side":"A","px":"#)
      number(trade.price, instrument.priceScale, to: &out)
      out.append(#","sz":"#)
      number(trade.size, instrument.sizeScale, to: &out)
      out.append(#","time":"#)
      out.append(integer: trade.time.rawValue / 1_000)
      out.append(#","hash":"0x0000000000000000000000000000000000000000000000000000000000000000","tid":"#)
      out.append(integer: trade.id)
      out.append(#","users":["0x9aa5","0x8269"]}"#)
    }
    out.append("]}")
  }

  func appendContext(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    head(state.instrument.kind == .spot ? "activeSpotAssetCtx" : "activeAssetCtx", index, to: &out)
    out.append(#","ctx":{"#)
    appendFigures(state, to: &out)
    out.append("}}}")
  }

  /// The day's figures, without braces.
  func appendFigures(_ state: InstrumentMarket, to out: inout ByteBuffer) {
    let price = state.instrument.priceScale
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      number(value, scale, to: &out)
    }
    field(#""prevDayPx":"#, state.day.open, price)
    out.append(#","dayNtlVlm":"#)
    out.append(quoteVolumeOf: state)
    field(#","markPx":"#, state.day.last, price)
    out.append(#","midPx":"#)
    appendMiddle(state, to: &out)
    field(#","dayBaseVlm":"#, state.day.volume, state.instrument.sizeScale)
  }

  func appendMiddle(_ state: InstrumentMarket, to out: inout ByteBuffer) {
    let middle = ((state.book.bestBid?.price ?? 0) + (state.book.bestAsk?.price ?? 0)) * 5
    number(middle, state.instrument.priceScale + 1, to: &out)
  }
}
