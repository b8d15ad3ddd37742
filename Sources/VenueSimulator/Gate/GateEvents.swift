import Bytes
import MarketData

/// What Gate sends and answers, as JSON.
enum GateEvents {
  static func head(_ channel: String, _ now: Timestamp, to out: inout ByteBuffer) {
    out.append(#"{"time":"#)
    out.append(integer: now.rawValue / Microseconds.second)
    out.append(#","time_ms":"#)
    out.append(integer: now.rawValue / 1_000)
    out.append(#","channel":"#)
    out.append(json: channel)
  }

  /// Changes of the whole book since `first`.
  static func appendUpdate(
    _ state: InstrumentMarket, first: Int64, bids: [PriceLevel], asks: [PriceLevel], _ now: Timestamp,
    to out: inout ByteBuffer
  ) {
    head("spot.order_book_update", now, to: &out)
    out.append(#","event":"update","result":{"t":"#)
    out.append(integer: now.rawValue / 1_000)
    out.append(#","e":"depthUpdate","E":"#)
    out.append(integer: now.rawValue / Microseconds.second)
    out.append(#","s":""#)
    out.append(state.instrument.venueSymbol)
    out.append(#"","U":"#)
    out.append(integer: first)
    out.append(#","u":"#)
    out.append(integer: state.updateID)
    out.append(#","b":"#)
    out.append(shortestPairs: bids, state.instrument)
    out.append(#","a":"#)
    out.append(shortestPairs: asks, state.instrument)
    out.append("}}")
  }

  /// The whole window, or what changed since `first`: without sides where nothing did.
  /// - Parameter last: the number that the window stands at.
  static func appendStream(
    _ state: InstrumentMarket, _ depth: Int, last: Int64,
    _ change: (first: Int64, bids: [PriceLevel], asks: [PriceLevel])?, _ now: Timestamp, to out: inout ByteBuffer
  ) {
    out.append(#"{"channel":"spot.obu","result":{"t":"#)
    out.append(integer: now.rawValue / 1_000)
    if change == nil { out.append(#","full":true"#) }
    out.append(#","s":"ob."#)
    out.append(state.instrument.venueSymbol)
    out.append(".")
    out.append(integer: Int64(depth))
    if let change {
      out.append(#"","U":"#)
      out.append(integer: change.first)
      out.append(#","u":"#)
    } else {
      out.append(#"","u":"#)
    }
    out.append(integer: last)
    let bids = change?.bids ?? state.book.top(.bid, depth)
    let asks = change?.asks ?? state.book.top(.ask, depth)
    if change == nil || !bids.isEmpty || !asks.isEmpty {
      out.append(#","b":"#)
      out.append(shortestPairs: bids, state.instrument)
      out.append(#","a":"#)
      out.append(shortestPairs: asks, state.instrument)
    }
    out.append(#"},"time_ms":"#)
    out.append(integer: now.rawValue / 1_000)
    out.append(#","event":"update"}"#)
  }

  static func appendTrade(
    _ trade: SimulatedTrade, _ instrument: SimulatedInstrument, _ now: Timestamp, to out: inout ByteBuffer
  ) {
    head("spot.trades", now, to: &out)
    out.append(#","event":"update","result":{"id":"#)
    out.append(integer: trade.id)
    out.append(#","create_time":"#)
    out.append(integer: trade.time.rawValue / Microseconds.second)
    out.append(#","create_time_ms":"#)
    out.append(quoted: trade.time.rawValue, scale: 3)
    out.append(trade.side == .buy ? #","side":"buy","currency_pair":""# : #","side":"sell","currency_pair":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","amount":"#)
    out.append(quoted: trade.size * Int64(DecimalText.power(10 - instrument.sizeScale)), scale: 10)
    out.append(#","price":"#)
    out.append(quoted: trade.price * Int64(DecimalText.power(10 - instrument.priceScale)), scale: 10)
    out.append(#","range":""#)
    out.append(integer: trade.id)
    out.append("-")
    out.append(integer: trade.id)
    out.append(#""}}"#)
  }

  static func appendQuote(_ state: InstrumentMarket, _ now: Timestamp, to out: inout ByteBuffer) {
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    head("spot.book_ticker", now, to: &out)
    out.append(#","event":"update","result":{"t":"#)
    out.append(integer: now.rawValue / 1_000)
    out.append(#","u":"#)
    out.append(integer: state.updateID)
    out.append(#","s":""#)
    out.append(state.instrument.venueSymbol)
    out.append(#"","b":"#)
    out.append(shortest: state.book.bestBid?.price ?? 0, scale: price)
    out.append(#","B":"#)
    out.append(shortest: state.book.bestBid?.size ?? 0, scale: size)
    out.append(#","a":"#)
    out.append(shortest: state.book.bestAsk?.price ?? 0, scale: price)
    out.append(#","A":"#)
    out.append(shortest: state.book.bestAsk?.size ?? 0, scale: size)
    out.append("}}")
  }

  static func appendTicker(_ state: InstrumentMarket, _ now: Timestamp, to out: inout ByteBuffer) {
    head("spot.tickers", now, to: &out)
    out.append(#","event":"update","result":"#)
    appendFigures(state, to: &out)
    out.append("}")
  }

  static func appendFigures(_ state: InstrumentMarket, to out: inout ByteBuffer) {
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      out.append(shortest: value, scale: scale)
    }
    out.append(#"{"currency_pair":""#)
    out.append(state.instrument.venueSymbol)
    field(#"","last":"#, state.day.last, price)
    field(#","lowest_ask":"#, state.book.bestAsk?.price ?? 0, price)
    field(#","highest_bid":"#, state.book.bestBid?.price ?? 0, price)
    field(#","change_percentage":"#, state.day.rise(in: 1_000_000), 4)
    field(#","base_volume":"#, state.day.volume, size)
    out.append(#","quote_volume":"#)
    out.append(quoteVolumeOf: state)
    field(#","high_24h":"#, state.day.high, price)
    field(#","low_24h":"#, state.day.low, price)
    out.append("}")
  }

  // MARK: - REST

  static func orderBook(
    _ truth: SimulatedTruth, _ instrument: SimulatedInstrument, _ limit: Int, hasID: Bool, _ now: Timestamp
  ) -> String {
    var out = ByteBuffer(capacity: 64 << 10)
    out.append("{")
    if hasID {
      out.append(#""id":"#)
      out.append(integer: truth.updateID)
      out.append(",")
    }
    out.append(#""current":"#)
    out.append(integer: now.rawValue / 1_000)
    out.append(#","update":"#)
    out.append(integer: now.rawValue / 1_000)
    out.append(#","asks":"#)
    out.append(shortestPairs: truth.book.top(.ask, limit), instrument)
    out.append(#","bids":"#)
    out.append(shortestPairs: truth.book.top(.bid, limit), instrument)
    out.append("}")
    return out.description
  }

  static func dayFigures(_ market: SimulatedMarket) -> String {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append("[")
    out.append(separated: market.instruments) { state, out in
      appendFigures(state, to: &out)
    }
    out.append("]")
    return out.description
  }

  static func currencyPairs(_ market: SimulatedMarket) -> String {
    var out = ByteBuffer(capacity: 4 << 10)
    out.append("[")
    out.append(separated: market.instruments) { state, out in
      let instrument = state.instrument
      out.append(#"{"id":""#)
      out.append(instrument.venueSymbol)
      out.append(#"","base":""#)
      out.append(instrument.base)
      out.append(#"","base_name":""#)
      out.append(instrument.base)
      out.append(#"","quote":""#)
      out.append(instrument.quote)
      out.append(#"","quote_name":"Tether","fee":"0.2","min_base_amount":"#)
      out.append(shortest: instrument.minimumSize, scale: instrument.sizeScale)
      out.append(#","min_quote_amount":"3","amount_precision":"#)
      out.append(integer: Int64(instrument.sizeScale))
      out.append(#","precision":"#)
      out.append(integer: Int64(instrument.priceScale))
      out.append(#","trade_status":"tradable","sell_start":0,"buy_start":0,"type":"normal","st_tag":false}"#)
    }
    out.append("]")
    return out.description
  }
}
