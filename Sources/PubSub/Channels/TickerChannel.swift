import Bytes
import MarketData

/// `ticker`: the 24 h figures, the same fields for every venue: the venue's values if it publishes them, otherwise the
/// gateway's.
enum TickerChannel: Channel {
  /// Tickers move so little that the rate-limited classes start at 1 s.
  static let facts = ChannelFacts(
    composites: .documents, rate: .requested(usual: 1000, fastest: 1000, allowsEvery: true),
    hears: [.ticker, .past, .channel], rank: 4, hasGroups: true,
    binary: .ticker)
  static let data = WireDescription.ChannelData(["source", "time"])

  static func makeStream(_ start: StreamStart) -> PublishedStream { TickerStream(start) }

  /// Unknown values are left out. Values that the venue left out and that follow from the others (last, change) are
  /// computed.
  /// - Parameter mark: the state of the figures, if it is to be told.
  static func append(
    _ day: DayTicker, of instrument: Instrument, mark: ChannelMark? = nil, to out: inout ByteBuffer
  ) {
    let ticker = day.ticker
    out.append(UInt8(ascii: "{"))
    let scale = instrument.priceScale
    append(ticker.last, scale: scale, named: "last", to: &out)
    append(ticker.bid, scale: scale, named: "bid", to: &out)
    append(ticker.ask, scale: scale, named: "ask", to: &out)
    append(ticker.open, scale: scale, named: "open_24h", to: &out)
    append(ticker.high, scale: scale, named: "high_24h", to: &out)
    append(ticker.low, scale: scale, named: "low_24h", to: &out)
    append(ticker.volume, named: "volume_24h", to: &out)
    append(ticker.quoteVolume, named: "quote_volume_24h", to: &out)
    append(ticker.vwap, named: "vwap_24h", to: &out)
    if let change = ticker.change {
      append(change, named: "change_24h", to: &out)
    } else if let last = ticker.last, let open = ticker.open {
      append(last &- open, scale: scale, named: "change_24h", to: &out)
    }
    append(changePercent(of: ticker), scale: 2, named: "change_pct_24h", to: &out)
    if let trades = ticker.trades {
      out.append("\"trades_24h\":")
      out.append(integer: trades)
      out.append(UInt8(ascii: ","))
    }
    out.append("\"source\":\"")
    out.append(day.source.rawValue)
    out.append("\",")
    if !day.own.isEmpty { append(day.own, to: &out) }
    if let coveredFrom = day.coveredFrom {
      out.append("\"covered_from\":")
      out.append(integer: coveredFrom.microseconds)
      out.append(UInt8(ascii: ","))
    }
    out.append("\"time\":")
    out.append(integer: ticker.time.microseconds)
    mark?.append(to: &out)
    out.append(UInt8(ascii: "}"))
  }

  /// `"own":["open_24h"],`
  private static func append(_ own: DayTicker.Figures, to out: inout ByteBuffer) {
    out.append("\"own\":[")
    var isFirst = true
    for (figure, name) in names where own.contains(figure) {
      out.append(isFirst ? "\"" : ",\"")
      isFirst = false
      out.append(name)
      out.append(UInt8(ascii: "\""))
    }
    out.append("],")
  }

  private static let names: [(DayTicker.Figures, StaticString)] = [
    (.open, "open_24h"), (.high, "high_24h"), (.low, "low_24h"), (.volume, "volume_24h"),
    (.quoteVolume, "quote_volume_24h"), (.vwap, "vwap_24h"), (.change, "change_24h"), (.change, "change_pct_24h"),
    (.trades, "trades_24h"),
  ]

  /// In percent with two digits, rounded half to even; the venue's figure if there is one, otherwise the gateway's.
  static func changePercent(of ticker: Ticker) -> Int64? {
    if let percent = ticker.changePercent {
      return Ratio.rescaled(percent.mantissa, from: percent.scale, to: 2)
    }
    guard let last = ticker.last, let open = ticker.open else { return nil }
    return Ratio.percent(last &- open, of: open, digits: 2)?.mantissa
  }

  private static func append(_ value: Int64?, scale: UInt8, named name: StaticString, to out: inout ByteBuffer) {
    guard let value else { return }
    out.append(UInt8(ascii: "\""))
    out.append(name)
    out.append("\":\"")
    out.append(decimal: value, scale: scale)
    out.append("\",")
  }

  private static func append(_ value: Decimal64?, named name: StaticString, to out: inout ByteBuffer) {
    guard let value else { return }
    append(value.mantissa, scale: value.scale, named: name, to: &out)
  }
}

/// A stream of tickers.
final class TickerStream: MarketStream {
  /// The revision of the instrument's figures in the last message.
  private var figures: UInt64 = 0

  override func show(_ instrument: PublishedInstrument) { isShown = instrument.state.hasTicker }

  override func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    switch change {
    case .ticker, .past: publisher.changed(self, now: now, into: &out)
    case .channel(_, .ticker, _), .channel(_, .trades, _):
      if isShown { publisher.flush(self, now: now, into: &out) }
    default: break
    }
  }

  override func publishChanges(
    of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    let state = instrument.state
    guard let day = state.knownDay(now: now) else { return }
    figures = state.revision.number(of: .figures)
    publisher.update(self, events: 0, now: now, into: &out) {
      append(day, of: state, now: now, to: &$0)
    }
  }

  /// A ticker shows the newest trade, which the market reports once a second at most.
  override func prepareSnapshot(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    guard isShown, let state = instrument(in: publisher)?.state, figures != state.revision.number(of: .figures) else {
      return
    }
    publisher.flush(self, now: now, into: &out)
  }

  override func appendSnapshot(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    let state = instrument.state
    guard let day = state.knownDay(now: now) else { return false }
    figures = state.revision.number(of: .figures)
    append(day, of: state, now: now, to: &out)
    return true
  }

  private func append(_ day: DayTicker, of state: InstrumentState, now: Timestamp, to out: inout ByteBuffer) {
    let mark = state.silenceMark(.ticker, .trades)
    if isBinary { return TickerChannel.appendBinary(day, mark: mark, now: now, to: &out) }
    TickerChannel.append(day, of: state.instrument, mark: mark, to: &out)
  }
}
