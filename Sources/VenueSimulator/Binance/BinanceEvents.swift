import Bytes
import MarketData

/// The events of Binance's streams as JSON. Futures add the time of the matching engine (`T`) and, for books, the number before
/// (`pu`), and print each market with digits of its own.
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
    if instrument.kind != .spot {
      out.append(#","T":"#)
      append(time - 3_000, isMicroseconds, to: &out)
    }
    out.append(#","s":""#)
    out.append(instrument.venueSymbol)
    out.append("\"")
  }

  /// A number of a book as the venue has it: futures count for a whole matching engine, so that a market's own numbers jump.
  static func number(_ id: Int64, _ instrument: SimulatedInstrument) -> Int64 {
    instrument.kind == .spot ? id : id * 3
  }

  /// The first number of an update that follows `id`.
  private static func first(_ id: Int64, _ instrument: SimulatedInstrument) -> Int64 {
    instrument.kind == .spot ? id : id * 3 - 1
  }

  private static func field(_ name: StaticString, _ value: Int64, _ scale: UInt8, to out: inout ByteBuffer) {
    out.append(name)
    out.append(quoted: value, scale: scale)
  }

  /// `m` is true if the buyer was the maker: the taker sold.
  static func trade(
    _ trade: SimulatedTrade, _ instrument: SimulatedInstrument, _ isMicroseconds: Bool, to out: inout ByteBuffer
  ) {
    // Futures have the time of the trade in front.
    head(
      "trade", instrument.kind == .spot ? trade.time + 850 : trade.time + 3_000, instrument, isMicroseconds, to: &out)
    out.append(#","t":"#)
    out.append(integer: trade.id)
    field(#","p":"#, trade.price, instrument.priceScale, to: &out)
    field(#","q":"#, trade.size, instrument.sizeScale, to: &out)
    if instrument.kind != .spot { out.append(#","X":"MARKET""#) }
    end(trade, instrument, isMicroseconds, to: &out)
  }

  /// Every trade is its own aggregate.
  static func aggregateTrade(
    _ trade: SimulatedTrade, _ instrument: SimulatedInstrument, _ isMicroseconds: Bool, to out: inout ByteBuffer
  ) {
    head("aggTrade", trade.time + (instrument.kind == .spot ? 850 : 3_000), instrument, isMicroseconds, to: &out)
    out.append(#","a":"#)
    out.append(integer: trade.id - 100_000_000)
    field(#","p":"#, trade.price, instrument.priceScale, to: &out)
    field(#","q":"#, trade.size, instrument.sizeScale, to: &out)
    out.append(#","f":"#)
    out.append(integer: trade.id)
    out.append(#","l":"#)
    out.append(integer: trade.id)
    end(trade, instrument, isMicroseconds, to: &out)
  }

  private static func end(
    _ trade: SimulatedTrade, _ instrument: SimulatedInstrument, _ isMicroseconds: Bool, to out: inout ByteBuffer
  ) {
    guard instrument.kind == .spot else {
      out.append(trade.side == .sell ? #","m":true,"st":1}"# : #","m":false,"st":1}"#)
      return
    }
    out.append(#","T":"#)
    append(trade.time, isMicroseconds, to: &out)
    out.append(trade.side == .sell ? #","m":true,"M":true}"# : #","m":false,"M":true}"#)
  }

  /// On spot without event type and time.
  static func bookTicker(_ state: InstrumentMarket, _ now: Timestamp, to out: inout ByteBuffer) {
    let instrument = state.instrument
    let (bid, ask) = (state.book.bestBid, state.book.bestAsk)
    out.append(instrument.kind == .spot ? #"{"u":"# : #"{"e":"bookTicker","u":"#)
    out.append(integer: number(state.updateID, instrument))
    out.append(#","s":""#)
    out.append(instrument.venueSymbol)
    out.append("\"")
    field(#","b":"#, bid?.price ?? 0, instrument.priceScale, to: &out)
    field(#","B":"#, bid?.size ?? 0, instrument.sizeScale, to: &out)
    field(#","a":"#, ask?.price ?? 0, instrument.priceScale, to: &out)
    field(#","A":"#, ask?.size ?? 0, instrument.sizeScale, to: &out)
    if instrument.kind != .spot {
      out.append(#","T":"#)
      out.append(integer: now.rawValue / 1_000)
      out.append(#","E":"#)
      out.append(integer: now.rawValue / 1_000)
    }
    out.append("}")
  }

  static func depthUpdate(
    _ levels: LevelBatch, _ first: Int64, _ state: InstrumentMarket, _ now: Timestamp, _ isMicroseconds: Bool,
    to out: inout ByteBuffer
  ) {
    head("depthUpdate", now, state.instrument, isMicroseconds, to: &out)
    out.append(#","U":"#)
    out.append(integer: Self.first(first, state.instrument))
    out.append(#","u":"#)
    out.append(integer: number(state.updateID, state.instrument))
    if state.instrument.kind != .spot {
      out.append(#","pu":"#)
      out.append(integer: number(first - 1, state.instrument))
    }
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
    out.append(integer: number(updateID, instrument))
    out.append(#","bids":"#)
    out.append(pairs: book.bids.suffix(depth).reversed(), instrument)
    out.append(#","asks":"#)
    out.append(pairs: book.asks.suffix(depth).reversed(), instrument)
    out.append("}")
  }

  static func ticker(_ state: InstrumentMarket, _ now: Timestamp, _ isMicroseconds: Bool, to out: inout ByteBuffer) {
    let day = state.day
    let (bid, ask) = (state.book.bestBid, state.book.bestAsk)
    let last = state.recentTrades.last
    head("24hrTicker", now, state.instrument, isMicroseconds, to: &out)
    field(#","p":"#, day.last - day.open, state.instrument.priceScale, to: &out)
    field(#","P":"#, day.rise(in: 100_000), 3, to: &out)
    field(#","w":"#, day.vwap, state.instrument.priceScale, to: &out)
    field(#","x":"#, day.open, state.instrument.priceScale, to: &out)
    field(#","c":"#, day.last, state.instrument.priceScale, to: &out)
    field(#","Q":"#, last?.size ?? 0, state.instrument.sizeScale, to: &out)
    field(#","b":"#, bid?.price ?? 0, state.instrument.priceScale, to: &out)
    field(#","B":"#, bid?.size ?? 0, state.instrument.sizeScale, to: &out)
    field(#","a":"#, ask?.price ?? 0, state.instrument.priceScale, to: &out)
    field(#","A":"#, ask?.size ?? 0, state.instrument.sizeScale, to: &out)
    field(#","o":"#, day.open, state.instrument.priceScale, to: &out)
    field(#","h":"#, day.high, state.instrument.priceScale, to: &out)
    field(#","l":"#, day.low, state.instrument.priceScale, to: &out)
    field(#","v":"#, day.volume, state.instrument.sizeScale, to: &out)
    out.append(#","q":"#)
    out.append(quoteVolumeOf: state)
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
    field(#","c":"#, day.last, state.instrument.priceScale, to: &out)
    field(#","o":"#, day.open, state.instrument.priceScale, to: &out)
    field(#","h":"#, day.high, state.instrument.priceScale, to: &out)
    field(#","l":"#, day.low, state.instrument.priceScale, to: &out)
    field(#","v":"#, day.volume, state.instrument.sizeScale, to: &out)
    out.append(#","q":"#)
    out.append(quoteVolumeOf: state)
    out.append("}")
  }
}
