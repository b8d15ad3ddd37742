import Bytes
import MarketData

/// Bodies of the HTTP interface, from the same encoders as the stream's messages. Each appends its object to `out` and says
/// whether there was anything to show; if not, `out` is as it was.
extension Hub {
  /// `{"symbol":…,"ticker":{…},"pulse":{…},"sparkline":{…}}` for each item, separated by commas; what is unknown is left out.
  package func snapshotItems(
    _ items: [(market: Int, id: InstrumentID, symbol: String)], points: Int, now: Timestamp, into out: inout ByteBuffer
  ) {
    var isFirst = true
    for item in items {
      if isFirst { isFirst = false } else { out.append(UInt8(ascii: ",")) }
      out.append("{\"symbol\":")
      out.append(json: item.symbol)
      if let instrument = instrument(item.market, item.id) {
        let state = instrument.state
        if let ticker = state.dayTicker(now: now) {
          out.append(",\"ticker\":")
          TickerChannel.append(ticker, of: state.instrument, to: &out)
        }
        if let pulse = instrument.lastPulse {
          out.append(",\"pulse\":")
          PulseChannel.append(pulse, open: state.dayOpen(now: now), of: state.instrument, to: &out)
        }
        if state.lastPrice != nil {
          out.append(",\"sparkline\":{")
          SparklineChannel.appendSnapshot(state.sparkline(points: points, now: now), of: state.instrument, to: &out)
          out.append(UInt8(ascii: "}"))
        }
      }
      out.append(UInt8(ascii: "}"))
    }
  }

  /// `{"symbol":…,"state":"live","bids":…}`, the rest as the `data` of a book snapshot. `depth`: levels a side, 0 for all.
  package func bookBody(market: Int, id: InstrumentID, depth: Int, now: Timestamp, into out: inout ByteBuffer) -> Bool {
    guard let state = instrument(market, id)?.state, state.bookState == .live else { return false }
    begin(state, to: &out)
    out.append("\"state\":\"live\",")
    var bids: [PriceLevel] = []
    var asks: [PriceLevel] = []
    BookView.top(depth, of: state.book.bids, into: &bids)
    BookView.top(depth, of: state.book.asks, into: &asks)
    BookChannel.appendSnapshot(bids: bids, asks: asks, time: state.bookTime, of: state.instrument, to: &out)
    out.append(UInt8(ascii: "}"))
    return true
  }

  /// `{"symbol":…,"range":"24h",…}`, the rest as the `data` of a sparkline snapshot.
  package func sparklineBody(
    market: Int, id: InstrumentID, points: Int, now: Timestamp, into out: inout ByteBuffer
  ) -> Bool {
    guard let state = instrument(market, id)?.state, state.lastPrice != nil else { return false }
    begin(state, to: &out)
    SparklineChannel.appendSnapshot(state.sparkline(points: points, now: now), of: state.instrument, to: &out)
    out.append(UInt8(ascii: "}"))
    return true
  }

  /// `{"symbol":…,"ticker":{…}}`
  package func tickerBody(market: Int, id: InstrumentID, now: Timestamp, into out: inout ByteBuffer) -> Bool {
    guard let state = instrument(market, id)?.state, let ticker = state.dayTicker(now: now) else { return false }
    begin(state, to: &out)
    out.append("\"ticker\":")
    TickerChannel.append(ticker, of: state.instrument, to: &out)
    out.append(UInt8(ascii: "}"))
    return true
  }

  /// `{"symbol":…,"trades":[…]}`, the last `limit`, oldest first.
  package func tradesBody(
    market: Int, id: InstrumentID, limit: Int, now: Timestamp, into out: inout ByteBuffer
  ) -> Bool {
    guard let instrument = instrument(market, id) else { return false }
    begin(instrument.state, to: &out)
    out.append("\"trades\":")
    TradesChannel.appendList(instrument.recentTrades.last(limit), of: instrument.state.instrument, to: &out)
    out.append(UInt8(ascii: "}"))
    return true
  }

  private func instrument(_ market: Int, _ id: InstrumentID) -> HubInstrument? {
    guard markets.indices.contains(market) else { return nil }
    return markets[market].instrument(id)
  }

  private func begin(_ state: InstrumentState, to out: inout ByteBuffer) {
    out.append("{\"symbol\":")
    out.append(json: state.instrument.symbol)
    out.append(UInt8(ascii: ","))
  }
}
