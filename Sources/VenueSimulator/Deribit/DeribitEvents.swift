import Bytes
import MarketData

/// What Deribit sends and answers, as JSON.
enum DeribitEvents {
  static func list(_ names: [String], to out: inout ByteBuffer) {
    out.append("[")
    for (index, name) in names.enumerated() {
      if index > 0 { out.append(",") }
      out.append(json: name)
    }
    out.append("]")
  }

  static func head(_ channel: String, to out: inout ByteBuffer) {
    out.append(#"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"#)
    out.append(json: channel)
    out.append(#","data":"#)
  }

  private static func milliseconds(_ time: Timestamp, to out: inout ByteBuffer) {
    out.append(integer: time.rawValue / 1_000)
  }

  private static func field(_ name: StaticString, _ value: Int64, _ scale: UInt8, to out: inout ByteBuffer) {
    out.append(name)
    out.append(float: value, scale: scale)
  }

  /// A whole book, or what changed since the number `previous`.
  static func appendBook(
    _ instrument: SimulatedInstrument, _ number: Int64, previous: Int64?, _ bids: [PriceLevel], _ asks: [PriceLevel],
    _ now: Timestamp, to out: inout ByteBuffer
  ) {
    let isSnapshot = previous == nil
    func levels(_ levels: [PriceLevel]) {
      for (position, level) in levels.enumerated() {
        if position > 0 { out.append(",") }
        out.append(isSnapshot ? #"["new","# : level.size > 0 ? #"["change","# : #"["delete","#)
        out.append(float: level.price, scale: instrument.priceScale)
        out.append(",")
        out.append(float: level.size, scale: instrument.sizeScale)
        out.append("]")
      }
    }
    head("book.\(instrument.venueSymbol).100ms", to: &out)
    out.append(#"{"timestamp":"#)
    milliseconds(now, to: &out)
    out.append(isSnapshot ? #","type":"snapshot","change_id":"# : #","type":"change","change_id":"#)
    out.append(integer: number)
    out.append(#","instrument_name":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","bids":["#)
    levels(bids)
    out.append(#"],"asks":["#)
    levels(asks)
    if let previous {
      out.append(#"],"prev_change_id":"#)
      out.append(integer: previous)
      out.append("}}}")
    } else {
      out.append("]}}}")
    }
  }

  static func appendQuote(_ state: InstrumentMarket, _ now: Timestamp, to out: inout ByteBuffer) {
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    head("quote.\(state.instrument.venueSymbol)", to: &out)
    out.append(#"{"timestamp":"#)
    milliseconds(now, to: &out)
    out.append(#","instrument_name":""#)
    out.append(state.instrument.venueSymbol)
    field(#"","best_ask_price":"#, state.book.bestAsk?.price ?? 0, price, to: &out)
    field(#","best_bid_price":"#, state.book.bestBid?.price ?? 0, price, to: &out)
    field(#","best_ask_amount":"#, state.book.bestAsk?.size ?? 0, size, to: &out)
    field(#","best_bid_amount":"#, state.book.bestBid?.size ?? 0, size, to: &out)
    out.append("}}}")
  }

  static func appendTrades(
    _ channel: String, _ trades: [SimulatedTrade], _ instrument: SimulatedInstrument, to out: inout ByteBuffer
  ) {
    head(channel, to: &out)
    out.append("[")
    for (position, trade) in trades.enumerated() {
      if position > 0 { out.append(",") }
      out.append(#"{"timestamp":"#)
      milliseconds(trade.time, to: &out)
      field(#","price":"#, trade.price, instrument.priceScale, to: &out)
      field(#","amount":"#, trade.size, instrument.sizeScale, to: &out)
      out.append(trade.side == .buy ? #","direction":"buy","# : #","direction":"sell","#)
      field(#""index_price":"#, trade.price, instrument.priceScale, to: &out)
      out.append(#","instrument_name":""#)
      out.append(instrument.venueSymbol)
      out.append(#"","trade_seq":"#)
      out.append(integer: trade.id - 400_000_000)
      out.append(#","tick_direction":2,"trade_id":""#)
      out.append(integer: trade.id)
      out.append(#""}"#)
    }
    out.append("]}}")
  }

  static func appendTicker(
    _ channel: String, _ state: InstrumentMarket, _ now: Timestamp, to out: inout ByteBuffer
  ) {
    let day = state.day
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    head(channel, to: &out)
    out.append(#"{"timestamp":"#)
    milliseconds(now, to: &out)
    out.append(#","state":"open","stats":{"#)
    field(#""high":"#, day.high, price, to: &out)
    field(#","low":"#, day.low, price, to: &out)
    // Percent with four digits.
    field(#","price_change":"#, day.rise(in: 1_000_000), 4, to: &out)
    field(#","volume":"#, day.volume, size, to: &out)
    let notional = Int64(clamping: day.turnover / Int128(DecimalText.power(price + size)))
    field(#","volume_usd":"#, notional, 0, to: &out)
    field(#","volume_notional":"#, notional, 0, to: &out)
    out.append(#"},"instrument_name":""#)
    out.append(state.instrument.venueSymbol)
    field(#"","last_price":"#, day.last, price, to: &out)
    field(#","mark_price":"#, day.last, price, to: &out)
    field(#","best_ask_price":"#, state.book.bestAsk?.price ?? 0, price, to: &out)
    field(#","best_bid_price":"#, state.book.bestBid?.price ?? 0, price, to: &out)
    field(#","best_ask_amount":"#, state.book.bestAsk?.size ?? 0, size, to: &out)
    field(#","best_bid_amount":"#, state.book.bestBid?.size ?? 0, size, to: &out)
    out.append(#","current_funding":0.0,"funding_8h":1.742e-5}}}"#)
  }

  // MARK: - REST

  static func appendSummary(_ state: InstrumentMarket, to out: inout ByteBuffer) {
    let (price, size) = (state.instrument.priceScale, state.instrument.sizeScale)
    let notional = Int64(clamping: state.day.turnover / Int128(DecimalText.power(price + size)))
    out.append(#"{"instrument_name":""#)
    out.append(state.instrument.venueSymbol)
    field(#"","volume":"#, state.day.volume, size, to: &out)
    field(#","volume_usd":"#, notional, 0, to: &out)
    field(#","volume_notional":"#, notional, 0, to: &out)
    field(#","last":"#, state.day.last, price, to: &out)
    out.append("}")
  }

  static func append(_ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append(#"{"instrument_name":""#)
    out.append(instrument.venueSymbol)
    out.append(
      #"","kind":"future","instrument_type":"linear","future_type":"linear","tick_size_steps":[],"base_currency":""#)
    out.append(instrument.base)
    out.append(#"","quote_currency":""#)
    out.append(instrument.quote)
    out.append(#"","counter_currency":""#)
    out.append(instrument.quote)
    out.append(#"","settlement_currency":""#)
    out.append(instrument.quote)
    // A dated future expires at 08:00 UTC; the simulated ones on 25 December 2026.
    out.append(
      instrument.kind == .perpetual
        ? #"","settlement_period":"perpetual","expiration_timestamp":32503708800000"#
        : #"","settlement_period":"month","expiration_timestamp":1798185600000"#)
    field(#","tick_size":"#, instrument.tick, instrument.priceScale, to: &out)
    field(#","contract_size":"#, instrument.lot, instrument.sizeScale, to: &out)
    field(#","min_trade_amount":"#, instrument.lot, instrument.sizeScale, to: &out)
    out.append(#","is_active":true}"#)
  }
}
