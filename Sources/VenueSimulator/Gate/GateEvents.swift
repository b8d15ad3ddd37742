import Bytes
import MarketData

/// What Gate sends, as JSON.
extension GateProtocol {
  func head(_ channel: String) -> JSONText {
    #""time":\#(seconds: now),"time_ms":\#(ms: now),"channel":\#(json: channel)"#
  }

  /// Changes of the whole book since `first`.
  func update(_ index: Int, first: Int64, _ sides: BookSides) -> JSONText {
    let i = spell(index)
    return #"""
      {\#(head("spot.order_book_update")),"event":"update","result":{"t":\#(ms: now),"e":"depthUpdate",\#
      "E":\#(seconds: now),"s":"\#(i.name)","U":\#(first),"u":\#(state(index).updateID),"b":\#(i.pairs(sides.bids)),\#
      "a":\#(i.pairs(sides.asks))}}
      """#
  }

  /// The whole window, or what changed since `first`: without sides where nothing did.
  /// - Parameter last: the number that the window stands at.
  func window(
    _ index: Int, _ depth: Int, last: Int64, _ change: (first: Int64, sides: BookSides)?
  ) -> JSONText {
    let i = spell(index)
    let sides = change?.sides ?? state(index).book.top(depth)
    let isQuiet = change != nil && sides.isEmpty
    let levels: JSONText = isQuiet ? "" : #","b":\#(i.pairs(sides.bids)),"a":\#(i.pairs(sides.asks))"#
    let first: JSONText = change.map { #""U":\#($0.first),"# } ?? ""
    return #"""
      {"channel":"spot.obu","result":{"t":\#(ms: now)\#(change == nil ? #","full":true"# : ""),\#
      "s":"ob.\#(i.name).\#(depth)",\#(first)"u":\#(last)\#(levels)},"time_ms":\#(ms: now),"event":"update"}
      """#
  }

  func trade(_ trade: SimulatedTrade, _ index: Int) -> JSONText {
    let instrument = state(index).instrument
    func padded(_ value: Int64, _ scale: UInt8) -> Spelled {
      Spelled(value: value * Int64(DecimalText.power(10 - scale)), scale: 10, spelling: .quoted)
    }
    return #"""
      {\#(head("spot.trades")),"event":"update","result":{"id":\#(trade.id),"create_time":\#(seconds: trade.time),\#
      "create_time_ms":\#(Spelled(value: trade.time.rawValue, scale: 3, spelling: .quoted)),\#
      "side":"\#(trade.side == .buy ? "buy" : "sell")","currency_pair":"\#(instrument.venueSymbol)",\#
      "amount":\#(padded(trade.size, instrument.sizeScale)),"price":\#(padded(trade.price, instrument.priceScale)),\#
      "range":"\#(trade.id)-\#(trade.id)"}}
      """#
  }

  func quote(_ index: Int) -> JSONText {
    let (state, i) = (state(index), spell(index))
    return #"""
      {\#(head("spot.book_ticker")),"event":"update","result":{"t":\#(ms: now),"u":\#(state.updateID),\#
      "s":"\#(i.name)","b":\#(i.bid),"B":\#(i.bidSize),"a":\#(i.ask),"A":\#(i.askSize)}}
      """#
  }

  func ticker(_ index: Int) -> JSONText {
    #"{\#(head("spot.tickers")),"event":"update","result":\#(figures(state(index)))}"#
  }

  func figures(_ state: InstrumentMarket) -> JSONText {
    let i = spell(state)
    return #"""
      {"currency_pair":"\#(i.name)","last":\#(i.last),"lowest_ask":\#(i.ask),"highest_bid":\#(i.bid),\#
      "change_percentage":\#(i.percent(4)),"base_volume":\#(i.volume),\#
      "quote_volume":\#(Spelling.quoted.of(state).quoteVolume),"high_24h":\#(i.high),"low_24h":\#(i.low)}
      """#
  }
}
