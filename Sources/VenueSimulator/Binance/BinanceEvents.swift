import Bytes
import MarketData

/// The events of Binance's spot streams as JSON.
enum BinanceEvents {
  private static func append(_ time: Timestamp, _ isMicroseconds: Bool, to out: inout ByteBuffer) {
    out.append(integer: isMicroseconds ? time.rawValue : time.rawValue / 1_000)
  }

  private static func head(
    _ event: StaticString, _ time: Timestamp, _ instrument: SimulatedInstrument, _ isMicroseconds: Bool,
    to out: inout ByteBuffer
  ) {
    out.append(#"{"e":""#)
    out.append(event)
    out.append(#"","E":"#)
    append(time, isMicroseconds, to: &out)
    out.append(#","s":""#)
    out.append(instrument.venueSymbol)
    out.append("\"")
  }

  private static func field(_ name: StaticString, _ value: Int64, to out: inout ByteBuffer, scale: UInt8 = 8) {
    out.append(name)
    out.append(quoted: value, scale: scale)
  }

  /// `m` is true if the buyer was the maker: the taker sold.
  static func trade(
    _ trade: SimulatedTrade, _ instrument: SimulatedInstrument, _ isMicroseconds: Bool, to out: inout ByteBuffer
  ) {
    head("trade", trade.time + 850, instrument, isMicroseconds, to: &out)
    out.append(#","t":"#)
    out.append(integer: trade.id)
    tail(trade, isMicroseconds, to: &out)
  }

  /// Every trade is its own aggregate.
  static func aggregateTrade(
    _ trade: SimulatedTrade, _ instrument: SimulatedInstrument, _ isMicroseconds: Bool, to out: inout ByteBuffer
  ) {
    head("aggTrade", trade.time + 850, instrument, isMicroseconds, to: &out)
    out.append(#","a":"#)
    out.append(integer: trade.id - 100_000_000)
    field(#","p":"#, trade.price, to: &out)
    field(#","q":"#, trade.size, to: &out)
    out.append(#","f":"#)
    out.append(integer: trade.id)
    out.append(#","l":"#)
    out.append(integer: trade.id)
    end(trade, isMicroseconds, to: &out)
  }

  private static func tail(_ trade: SimulatedTrade, _ isMicroseconds: Bool, to out: inout ByteBuffer) {
    field(#","p":"#, trade.price, to: &out)
    field(#","q":"#, trade.size, to: &out)
    end(trade, isMicroseconds, to: &out)
  }

  private static func end(_ trade: SimulatedTrade, _ isMicroseconds: Bool, to out: inout ByteBuffer) {
    out.append(#","T":"#)
    append(trade.time, isMicroseconds, to: &out)
    out.append(trade.side == .sell ? #","m":true,"M":true}"# : #","m":false,"M":true}"#)
  }

  /// Without event type and time.
  static func bookTicker(_ state: InstrumentMarket, to out: inout ByteBuffer) {
    let (bid, ask) = (state.book.bestBid, state.book.bestAsk)
    out.append(#"{"u":"#)
    out.append(integer: state.updateID)
    out.append(#","s":""#)
    out.append(state.instrument.venueSymbol)
    out.append("\"")
    field(#","b":"#, bid?.price ?? 0, to: &out)
    field(#","B":"#, bid?.size ?? 0, to: &out)
    field(#","a":"#, ask?.price ?? 0, to: &out)
    field(#","A":"#, ask?.size ?? 0, to: &out)
    out.append("}")
  }

  static func depthUpdate(
    _ levels: LevelBatch, _ first: Int64, _ state: InstrumentMarket, _ now: Timestamp, _ isMicroseconds: Bool,
    to out: inout ByteBuffer
  ) {
    head("depthUpdate", now, state.instrument, isMicroseconds, to: &out)
    out.append(#","U":"#)
    out.append(integer: first)
    out.append(#","u":"#)
    out.append(integer: state.updateID)
    out.append(#","b":"#)
    out.append(pairs: levels.sortedBids, state.instrument)
    out.append(#","a":"#)
    out.append(pairs: levels.sortedAsks, state.instrument)
    out.append("}")
  }

  /// The best `depth` levels a side: partial depth, and the REST snapshot.
  static func book(
    _ book: SimulatedBook, _ updateID: Int64, _ instrument: SimulatedInstrument, _ depth: Int, to out: inout ByteBuffer
  ) {
    out.append(#"{"lastUpdateId":"#)
    out.append(integer: updateID)
    out.append(#","bids":"#)
    out.append(pairs: book.bids.suffix(depth).reversed(), instrument)
    out.append(#","asks":"#)
    out.append(pairs: book.asks.suffix(depth).reversed(), instrument)
    out.append("}")
  }

  /// Turnover with eight digits.
  static func turnover(_ value: Int128, _ instrument: SimulatedInstrument) -> Int64 {
    Int64(clamping: value / Int128(DecimalText.power(instrument.priceScale + instrument.sizeScale - 8)))
  }

  static func ticker(_ state: InstrumentMarket, _ now: Timestamp, _ isMicroseconds: Bool, to out: inout ByteBuffer) {
    let day = state.day
    let (bid, ask) = (state.book.bestBid, state.book.bestAsk)
    let last = state.recentTrades.last
    head("24hrTicker", now, state.instrument, isMicroseconds, to: &out)
    field(#","p":"#, day.last - day.open, to: &out)
    field(#","P":"#, Int64(Int128(day.last - day.open) * 100_000 / Int128(day.open)), to: &out, scale: 3)
    field(#","w":"#, day.vwap, to: &out)
    field(#","x":"#, day.open, to: &out)
    field(#","c":"#, day.last, to: &out)
    field(#","Q":"#, last?.size ?? 0, to: &out)
    field(#","b":"#, bid?.price ?? 0, to: &out)
    field(#","B":"#, bid?.size ?? 0, to: &out)
    field(#","a":"#, ask?.price ?? 0, to: &out)
    field(#","A":"#, ask?.size ?? 0, to: &out)
    field(#","o":"#, day.open, to: &out)
    field(#","h":"#, day.high, to: &out)
    field(#","l":"#, day.low, to: &out)
    field(#","v":"#, day.volume, to: &out)
    field(#","q":"#, turnover(day.turnover, state.instrument), to: &out)
    out.append(#","O":"#)
    append(now - Microseconds.day, isMicroseconds, to: &out)
    out.append(#","C":"#)
    append(now, isMicroseconds, to: &out)
    out.append(#","F":"#)
    out.append(integer: state.tradeID - day.trades + 1)
    out.append(#","L":"#)
    out.append(integer: state.tradeID)
    out.append(#","n":"#)
    out.append(integer: day.trades)
    out.append("}")
  }

  static func miniTicker(
    _ state: InstrumentMarket, _ now: Timestamp, _ isMicroseconds: Bool, to out: inout ByteBuffer
  ) {
    let day = state.day
    head("24hrMiniTicker", now, state.instrument, isMicroseconds, to: &out)
    field(#","c":"#, day.last, to: &out)
    field(#","o":"#, day.open, to: &out)
    field(#","h":"#, day.high, to: &out)
    field(#","l":"#, day.low, to: &out)
    field(#","v":"#, day.volume, to: &out)
    field(#","q":"#, turnover(day.turnover, state.instrument), to: &out)
    out.append("}")
  }
}
