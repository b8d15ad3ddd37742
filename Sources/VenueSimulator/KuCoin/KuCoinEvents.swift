import Bytes
import MarketData

/// What KuCoin sends and answers, as JSON.
enum KuCoinEvents {
  private static func head(_ topic: StaticString, to out: inout ByteBuffer) {
    out.append(#"{"T":""#)
    out.append(topic)
    out.append("\"")
  }

  private static func time(_ now: Timestamp, to out: inout ByteBuffer) {
    out.append(#", "P":"#)
    out.append(integer: now.rawValue * 1_000 + 177)
    out.append(#", "d":{"#)
  }

  /// A message of `obu`: a whole book of some depth, or what changed.
  static func appendBook(
    _ instrument: SimulatedInstrument, _ depth: String, _ type: StaticString, _ numbers: ClosedRange<Int64>,
    _ bids: [PriceLevel], _ asks: [PriceLevel], _ now: Timestamp, to out: inout ByteBuffer
  ) {
    head("obu.SPOT", to: &out)
    out.append(#", "dp":""#)
    out.append(depth)
    out.append(#"", "t":""#)
    out.append(type)
    out.append("\"")
    time(now, to: &out)
    out.append(#""a":"#)
    out.append(shortestPairs: asks, instrument)
    out.append(#","b":"#)
    out.append(shortestPairs: bids, instrument)
    out.append(#","C":"#)
    out.append(integer: numbers.upperBound)
    out.append(#","s":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","M":"#)
    out.append(integer: now.rawValue / 1_000 * 1_000_000)
    out.append(#","O":"#)
    out.append(integer: numbers.lowerBound)
    out.append("}}")
  }

  static func appendTrade(
    _ trade: SimulatedTrade, _ instrument: SimulatedInstrument, _ now: Timestamp, to out: inout ByteBuffer
  ) {
    head("trade.SPOT", to: &out)
    time(now, to: &out)
    out.append(#""E":"#)
    out.append(integer: trade.id)
    out.append(#","M":"#)
    out.append(integer: trade.time.rawValue * 1_000)
    out.append(trade.side == .buy ? #","S":"buy","p":"# : #","S":"sell","p":"#)
    out.append(shortest: trade.price, scale: instrument.priceScale)
    out.append(#","q":"#)
    out.append(shortest: trade.size, scale: instrument.sizeScale)
    out.append(#","s":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","ti":""#)
    out.append(integer: trade.id)
    out.append(#""}}"#)
  }

  static func appendTicker(_ state: InstrumentMarket, _ now: Timestamp, to out: inout ByteBuffer) {
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    let last = state.recentTrades.last
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(shortest: value, scale: scale)
    }
    head("ticker.SPOT", to: &out)
    time(now, to: &out)
    field(#""A":"#, state.book.bestAsk?.size ?? 0, size)
    field(#","B":"#, state.book.bestBid?.size ?? 0, size)
    out.append(#","E":"#)
    out.append(integer: state.updateID)
    out.append(#","M":"#)
    out.append(integer: now.rawValue / 1_000 * 1_000_000)
    out.append(last?.side == .sell ? #","S":"SELL""# : #","S":"BUY""#)
    field(#","a":"#, state.book.bestAsk?.price ?? 0, price)
    field(#","b":"#, state.book.bestBid?.price ?? 0, price)
    field(#","l":"#, last?.price ?? 0, price)
    field(#","q":"#, last?.size ?? 0, size)
    out.append(#","s":""#)
    out.append(state.instrument.venueSymbol)
    out.append(#""}}"#)
  }

  // MARK: - REST

  static func symbols(_ market: SimulatedMarket) -> String {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"code":"200000","data":["#)
    out.append(separated: market.instruments) { state, out in
      append(state.instrument, to: &out)
    }
    out.append("]}")
    return out.description
  }

  static func dayFigures(_ market: SimulatedMarket, _ now: Timestamp) -> String {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append(#"{"code":"200000","data":{"time":"#)
    out.append(integer: now.rawValue / 1_000)
    out.append(#","ticker":["#)
    out.append(separated: market.instruments) { state, out in
      out.append(#"{"symbol":""#)
      out.append(state.instrument.venueSymbol)
      out.append(#"","symbolName":""#)
      out.append(state.instrument.venueSymbol)
      out.append(#"","last":"#)
      out.append(shortest: state.day.last, scale: state.instrument.priceScale)
      out.append(#","vol":"#)
      out.append(shortest: state.day.volume, scale: state.instrument.sizeScale)
      out.append(#","volValue":"#)
      out.append(quoteVolumeOf: state)
      out.append("}")
    }
    out.append("]}}")
    return out.description
  }

  private static func append(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"symbol":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","name":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","baseCurrency":""#)
    out.append(instrument.base)
    out.append(#"","quoteCurrency":""#)
    out.append(instrument.quote)
    out.append(#"","feeCurrency":""#)
    out.append(instrument.quote)
    out.append(#"","market":"USDS","baseMinSize":"#)
    out.append(shortest: instrument.minimumSize, scale: instrument.sizeScale)
    out.append(#","quoteMinSize":"0.1","baseMaxSize":"10000000000","quoteMaxSize":"99999999","baseIncrement":"#)
    out.append(quoted: instrument.lot, scale: instrument.sizeScale)
    out.append(#","quoteIncrement":"0.000001","priceIncrement":"#)
    out.append(quoted: instrument.tick, scale: instrument.priceScale)
    out.append(#","priceLimitRate":"0.1","minFunds":"0.1","isMarginEnabled":true,"enableTrading":true,"st":false}"#)
  }
}
