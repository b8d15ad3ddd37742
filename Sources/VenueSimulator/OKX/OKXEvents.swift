import Bytes
import MarketData

/// The texts of OKX's channels: numbers are strings without zeros at their end.
extension OKXProtocol {
  func number(_ value: Int64, _ scale: UInt8, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "\""))
    out.append(Decimal64(mantissa: value, scale: scale).withoutTrailingZeros)
    out.append(UInt8(ascii: "\""))
  }

  func levels(_ levels: [PriceLevel], _ instrument: SimulatedInstrument, to out: inout ByteBuffer) {
    out.append("[")
    for (position, level) in levels.enumerated() {
      out.append(position > 0 ? ",[" : "[")
      number(level.price, instrument.priceScale, to: &out)
      out.append(",")
      number(level.size, instrument.sizeScale, to: &out)
      out.append(level.size > 0 ? #","0","3"]"# : #","0","0"]"#)
    }
    out.append("]")
  }

  private func head(_ channel: StaticString, _ index: Int, to out: inout ByteBuffer) {
    out.append(#"{"arg":{"channel":""#)
    out.append(channel)
    out.append(#"","instId":""#)
    out.append(market.instruments[index].instrument.venueSymbol)
    out.append(#""},"#)
  }

  func append(
    _ index: Int, _ action: StaticString, _ bids: [PriceLevel], _ asks: [PriceLevel], previous: Int64,
    to out: inout ByteBuffer
  ) {
    let instrument = market.instruments[index].instrument
    head("books", index, to: &out)
    out.append(#""action":""#)
    out.append(action)
    out.append(#"","data":[{"asks":"#)
    levels(asks, instrument, to: &out)
    out.append(#","bids":"#)
    levels(bids, instrument, to: &out)
    out.append(#","ts":""#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#"","checksum":0,"seqId":"#)
    out.append(integer: books[index].number)
    out.append(#","prevSeqId":"#)
    out.append(integer: previous)
    out.append("}]}")
  }

  func appendQuote(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    head("bbo-tbt", index, to: &out)
    out.append(#""data":[{"asks":"#)
    levels(state.book.top(.ask, 1), state.instrument, to: &out)
    out.append(#","bids":"#)
    levels(state.book.top(.bid, 1), state.instrument, to: &out)
    out.append(#","ts":""#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#"","seqId":"#)
    out.append(integer: state.sequence)
    out.append("}]}")
  }

  func appendTrade(_ trade: SimulatedTrade, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    head("trades", index, to: &out)
    out.append(#""data":[{"instId":""#)
    out.append(instrument.venueSymbol)
    out.append(#"","tradeId":""#)
    out.append(integer: trade.id)
    out.append(#"","px":"#)
    number(trade.price, instrument.priceScale, to: &out)
    out.append(#","sz":"#)
    number(trade.size, instrument.sizeScale, to: &out)
    out.append(trade.side == .buy ? #","side":"buy","ts":""# : #","side":"sell","ts":""#)
    out.append(integer: trade.time.rawValue / 1_000)
    out.append(#"","count":"1","source":"0","seqId":"#)
    out.append(integer: market.instruments[index].sequence)
    out.append("}]}")
  }

  func appendTicker(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    let instrument = state.instrument
    let (price, size) = (instrument.priceScale, instrument.sizeScale)
    func field(_ name: StaticString, _ value: Int64, _ scale: UInt8) {
      out.append(name)
      number(value, scale, to: &out)
    }
    head("tickers", index, to: &out)
    out.append(
      instrument.kind == .spot ? #""data":[{"instType":"SPOT","instId":""# : #""data":[{"instType":"SWAP","instId":""#)
    out.append(instrument.venueSymbol)
    field(#"","last":"#, state.day.last, price)
    field(#","lastSz":"#, state.recentTrades.last?.size ?? 0, size)
    field(#","askPx":"#, state.book.bestAsk?.price ?? 0, price)
    field(#","askSz":"#, state.book.bestAsk?.size ?? 0, size)
    field(#","bidPx":"#, state.book.bestBid?.price ?? 0, price)
    field(#","bidSz":"#, state.book.bestBid?.size ?? 0, size)
    field(#","open24h":"#, state.day.open, price)
    field(#","high24h":"#, state.day.high, price)
    field(#","low24h":"#, state.day.low, price)
    field(#","vol24h":"#, state.day.volume, size)
    if instrument.kind == .spot {
      field(#","volCcy24h":"#, state.quoteVolume.mantissa, state.quoteVolume.scale)
    } else {
      let contract = instrument.contractSize
      field(#","volCcy24h":"#, state.day.volume * contract.mantissa, size + contract.scale)
    }
    out.append(#","sodUtc0":"0","sodUtc8":"0","ts":""#)
    out.append(integer: faults.now.rawValue / 1_000)
    out.append(#""}]}"#)
  }
}

extension Decimal64 {
  /// 0.0100 is 0.01, as OKX prints numbers.
  fileprivate var withoutTrailingZeros: Decimal64 {
    var result = self
    while result.scale > 0, result.mantissa % 10 == 0 {
      result.mantissa /= 10
      result.scale -= 1
    }
    return result
  }
}
