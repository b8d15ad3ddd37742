import Bytes
import MarketData

/// The events of Binance's streams of one instrument as JSON. Futures add the time of the matching engine (`T`) and,
/// for books, the number before (`pu`), and print each market with digits of its own.
struct BinanceEvents {
  let state: InstrumentMarket
  let now: Timestamp
  let isMicroseconds: Bool

  private var i: Speller { Spelling.quoted.of(state) }
  private var isSpot: Bool { state.instrument.isSpot }
  private func time(_ time: Timestamp) -> Int64 { isMicroseconds ? time.rawValue : time.rawValue / 1_000 }

  private func head(_ event: StaticString, _ time: Timestamp) -> JSONText {
    let engine: JSONText = isSpot ? "" : #","T":\#(self.time(time - 3_000))"#
    return #"{"e":"\#(event)","E":\#(self.time(time))\#(engine),"s":"\#(i.name)""#
  }

  /// A number of a book as the venue has it: futures count for a whole matching engine, so that a market's own numbers
  /// jump.
  private func number(_ id: Int64) -> Int64 { isSpot ? id : id * 3 }

  /// `m` is true if the buyer was the maker: the taker sold.
  func trade(_ trade: SimulatedTrade) -> JSONText {
    let type: JSONText = isSpot ? "" : #","X":"MARKET""#
    // Futures have the time of the trade in front.
    return #"""
      \#(head("trade", trade.time + (isSpot ? 850 : 3_000))),"t":\#(trade.id),"p":\#(i.price(trade.price)),\#
      "q":\#(i.size(trade.size))\#(type)\#(end(trade))
      """#
  }

  /// Every trade is its own aggregate.
  func aggregateTrade(_ trade: SimulatedTrade) -> JSONText {
    #"""
    \#(head("aggTrade", trade.time + (isSpot ? 850 : 3_000))),"a":\#(trade.id - 100_000_000),\#
    "p":\#(i.price(trade.price)),"q":\#(i.size(trade.size)),"f":\#(trade.id),"l":\#(trade.id)\#(end(trade))
    """#
  }

  private func end(_ trade: SimulatedTrade) -> JSONText {
    let isSell = trade.side == .sell ? "true" : "false"
    return isSpot ? #","T":\#(time(trade.time)),"m":\#(isSell),"M":true}"# : #","m":\#(isSell),"st":1}"#
  }

  /// On spot without event type and time.
  func bookTicker(_ time: Timestamp) -> JSONText {
    let head: JSONText = isSpot ? "{" : #"{"e":"bookTicker","#
    let times: JSONText = isSpot ? "" : #","T":\#(ms: time),"E":\#(ms: time)"#
    return #"""
      \#(head)"u":\#(number(state.updateID)),"s":"\#(i.name)","b":\#(i.bid),"B":\#(i.bidSize),"a":\#(i.ask),\#
      "A":\#(i.askSize)\#(times)}
      """#
  }

  func depthUpdate(_ sides: BookSides, _ first: Int64) -> JSONText {
    let previous: JSONText = isSpot ? "" : #","pu":\#(number(first - 1))"#
    return #"""
      \#(head("depthUpdate", now)),"U":\#(isSpot ? first : first * 3 - 1),"u":\#(number(state.updateID))\#(previous),\#
      "b":\#(i.pairs(sides.bids)),"a":\#(i.pairs(sides.asks))}
      """#
  }

  /// The best `depth` levels a side: partial depth, and the REST snapshot.
  func book(_ book: SimulatedBook, _ updateID: Int64, _ depth: Int) -> JSONText {
    #"""
    {"lastUpdateId":\#(number(updateID)),"bids":\#(i.pairs(book.top(.bid, depth))),\#
    "asks":\#(i.pairs(book.top(.ask, depth)))}
    """#
  }

  func ticker() -> JSONText {
    let trades = state.day.trades
    return #"""
      \#(head("24hrTicker", now)),"p":\#(i.change),"P":\#(i.percent(3)),"w":\#(i.vwap),"x":\#(i.open),"c":\#(i.last),\#
      "Q":\#(i.size(state.recentTrades.last?.size ?? 0)),"b":\#(i.bid),"B":\#(i.bidSize),"a":\#(i.ask),\#
      "A":\#(i.askSize),"o":\#(i.open),"h":\#(i.high),"l":\#(i.low),"v":\#(i.volume),"q":\#(i.quoteVolume),\#
      "O":\#(time(now - Microseconds.day)),"C":\#(time(now)),"F":\#(state.tradeID - trades + 1),"L":\#(state.tradeID),\#
      "n":\#(trades)}
      """#
  }

  func miniTicker() -> JSONText {
    #"""
    \#(head("24hrMiniTicker", now)),"c":\#(i.last),"o":\#(i.open),"h":\#(i.high),"l":\#(i.low),"v":\#(i.volume),\#
    "q":\#(i.quoteVolume)}
    """#
  }
}
