import Bytes
import MarketData

/// The texts of Gemini's streams.
extension GeminiProtocol {
  /// With three zeros more than the digits that the increment has.
  private func padded(_ value: Int64, _ scale: UInt8, to out: inout ByteBuffer) {
    out.append("\"")
    out.append(decimal: value, scale: scale)
    out.append(scale > 0 ? "000\"" : ".000\"")
  }

  private func appendTime(_ time: Timestamp, to out: inout ByteBuffer) {
    out.append(integer: time.rawValue)
    out.append("209")
  }

  func appendBook(
    _ index: Int, _ first: Int64, _ last: Int64, _ bids: [PriceLevel], _ asks: [PriceLevel], to out: inout ByteBuffer
  ) {
    out.append(#"{"e":"depthUpdate","E":"#)
    appendTime(faults.now, to: &out)
    out.append(#","s":""#)
    out.append(market.instruments[index].instrument.venueSymbol)
    out.append(#"","U":"#)
    out.append(integer: first)
    out.append(#","u":"#)
    out.append(integer: last)
    out.append(#","b":"#)
    append(bids, index, to: &out)
    out.append(#","a":"#)
    append(asks, index, to: &out)
    out.append("}")
  }

  func append(_ levels: [PriceLevel], _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append("[")
    for (position, level) in levels.enumerated() {
      out.append(position > 0 ? ",[" : "[")
      padded(level.price, instrument.priceScale, to: &out)
      out.append(",")
      padded(level.size, instrument.sizeScale, to: &out)
      out.append("]")
    }
    out.append("]")
  }

  /// Of one sequence with everybody else's.
  static func number(of trade: SimulatedTrade) -> Int64 { trade.id &* 7 }

  func appendTrade(_ trade: SimulatedTrade, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"E":"#)
    appendTime(trade.time, to: &out)
    out.append(#","s":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","t":"#)
    out.append(integer: Self.number(of: trade))
    out.append(#","p":"#)
    padded(trade.price, instrument.priceScale, to: &out)
    out.append(#","q":"#)
    padded(trade.size, instrument.sizeScale, to: &out)
    out.append(trade.side == .sell ? #","m":true}"# : #","m":false}"#)
  }

  func appendQuote(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    func side(_ price: StaticString, _ size: StaticString, _ best: PriceLevel?) {
      out.append(price)
      if let best { padded(best.price, state.instrument.priceScale, to: &out) } else { out.append("\"\"") }
      out.append(size)
      if let best { padded(best.size, state.instrument.sizeScale, to: &out) } else { out.append("\"\"") }
    }
    out.append(#"{"u":"#)
    out.append(integer: number)
    out.append(#","E":"#)
    appendTime(faults.now, to: &out)
    out.append(#","s":""#)
    out.append(state.instrument.venueSymbol)
    out.append("\"")
    side(#","b":"#, #","B":"#, state.book.bestBid)
    side(#","a":"#, #","A":"#, state.book.bestAsk)
    if let last = state.recentTrades.last {
      side(#","c":"#, #","C":"#, PriceLevel(price: last.price, size: last.size))
    }
    out.append("}")
  }
}
