import Bytes
import MarketData

/// The texts of Bitfinex: events, which are objects, and data, which are arrays of bare numbers.
extension BitfinexProtocol {
  // MARK: - Events

  func inform(_ code: Int64, _ message: String, _ session: SimulatedSession) {
    session.send { out in
      out.append(#"{"event":"info","code":"#)
      out.append(integer: code)
      out.append(#","msg":"#)
      out.append(json: message)
      out.append("}")
    }
  }

  func fail(_ message: String, _ code: Int64, _ request: BitfinexRequest, _ session: BitfinexSession) {
    session.send { out in
      out.append("{")
      if request.event == "subscribe" {
        out.append(#""channel":"#)
        out.append(json: request.channel)
        out.append(#","symbol":"#)
        out.append(json: request.symbol)
        if request.channel == "book" {
          out.append(#","prec":"#)
          out.append(json: request.precision)
          out.append(#","len":"#)
          out.append(json: request.length)
        }
        out.append(",")
      }
      out.append(#""event":"error","msg":"#)
      out.append(json: message)
      out.append(#","code":"#)
      out.append(integer: code)
      if request.event == "subscribe" {
        out.append(#","pair":"#)
        out.append(json: String(request.symbol.dropFirst()))
      }
      out.append("}")
    }
  }

  func acknowledge(
    _ channel: BitfinexSession.Channel, _ request: BitfinexRequest, _ session: BitfinexSession
  ) {
    session.send { out in
      out.append(#"{"event":"subscribed","channel":"#)
      out.append(json: request.channel)
      out.append(#","chanId":"#)
      out.append(integer: channel.number)
      out.append(#","symbol":"#)
      out.append(json: request.symbol)
      if request.channel == "book" {
        out.append(#","prec":"P0","freq":"F0","len":"#)
        out.append(json: request.length)
      }
      out.append(#","pair":"#)
      out.append(json: String(request.symbol.dropFirst()))
      out.append("}")
    }
  }

  // MARK: - Data

  func appendBook(_ index: Int, _ length: Int, to out: inout ByteBuffer) {
    let book = market.instruments[index].book
    out.append("[")
    let bids = book.top(.bid, length)
    for (position, level) in bids.enumerated() {
      if position > 0 { out.append(",") }
      append(level, sign: 1, index, to: &out)
    }
    for (position, level) in book.top(.ask, length).enumerated() {
      if position > 0 || !bids.isEmpty { out.append(",") }
      append(level, sign: -1, index, to: &out)
    }
    out.append("]")
  }

  /// `[price,orders,amount]`; a removal has no orders, and an amount of 1 that only says the side.
  func append(_ level: PriceLevel, sign: Int64, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append("[")
    out.append(script: level.price, scale: instrument.priceScale)
    out.append(",")
    out.append(integer: level.size == 0 ? 0 : 1 + level.size % 5)
    out.append(",")
    if level.size == 0 {
      out.append(integer: sign)
    } else {
      out.append(script: level.size * sign, scale: instrument.sizeScale)
    }
    out.append("]")
  }

  func append(_ trade: SimulatedTrade, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append("[")
    out.append(integer: trade.id)
    out.append(",")
    out.append(integer: trade.time.rawValue / 1_000)
    out.append(",")
    out.append(script: trade.side == .buy ? trade.size : -trade.size, scale: instrument.sizeScale)
    out.append(",")
    out.append(script: trade.price, scale: instrument.priceScale)
    out.append("]")
  }

  func appendTicker(_ index: Int, to out: inout ByteBuffer) {
    out.append("[")
    appendFigures(index, to: &out)
    // Fields have been added behind these.
    out.append(",null]")
  }

  func appendFigures(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    let day = state.day
    func sum(_ side: BookSide) -> Int64 { state.book.top(side, 25).reduce(0) { $0 + $1.size } }
    out.append(script: state.book.bestBid?.price ?? 0, scale: price)
    out.append(",")
    out.append(script: sum(.bid), scale: size)
    out.append(",")
    out.append(script: state.book.bestAsk?.price ?? 0, scale: price)
    out.append(",")
    out.append(script: sum(.ask), scale: size)
    out.append(",")
    out.append(script: day.last - day.open, scale: price)
    out.append(",")
    out.append(script: day.rise(in: 10_000), scale: 4)
    out.append(",")
    out.append(script: day.last, scale: price)
    out.append(",")
    out.append(script: day.volume, scale: size)
    out.append(",")
    out.append(script: day.high, scale: price)
    out.append(",")
    out.append(script: day.low, scale: price)
  }
}
