import Bytes
import MarketData
import PubSub

/// What the messages of a stream have in common.
struct BinanceEnvelope: Sendable {
  /// `BTCUSDT`
  let symbol: String
  /// The name of the stream, on a combined connection.
  let stream: String?
  let unit: BinanceForm.Unit

  /// Appends one message; `body` writes its object.
  func append(to out: inout DialectMessages, _ body: (inout ByteBuffer) -> Void) {
    out.text { out in
      guard let stream else { return body(&out) }
      out.append("{\"stream\":")
      out.append(json: stream)
      out.append(",\"data\":")
      body(&out)
      out.append(UInt8(ascii: "}"))
    }
  }

  /// `{"e":"trade","E":…,"s":"BTCUSDT"`
  func begin(_ event: StaticString, _ now: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"e\":\"")
    out.append(event)
    out.append(UInt8(ascii: "\""))
    append("E", now, to: &out)
    out.append("s", text: symbol)
  }

  func append(_ name: StaticString, _ time: Timestamp, to out: inout ByteBuffer) {
    switch unit {
    case .milliseconds: out.append(name, integer: time.microseconds / Microseconds.millisecond)
    case .microseconds: out.append(name, integer: time.microseconds)
    }
  }
}

extension ByteBuffer {
  /// Appends `,"name":"value"`, as Binance has its numbers.
  mutating func append(_ name: StaticString, quoted value: Int64, scale: UInt8) {
    appendName(name)
    append(UInt8(ascii: "\""))
    append(decimal: value, scale: scale)
    append(UInt8(ascii: "\""))
  }

  mutating func append(_ name: StaticString, quoted value: Decimal64) {
    append(name, quoted: value.mantissa, scale: value.scale)
  }

  /// Appends `["0.0024","10"],…`.
  mutating func append(levels: some Sequence<PriceLevel>, of instrument: Instrument) {
    var isFirst = true
    for level in levels {
      append(isFirst ? "[\"" : ",[\"")
      isFirst = false
      append(decimal: level.price, scale: instrument.priceScale)
      append("\",\"")
      append(decimal: level.size, scale: instrument.sizeScale)
      append("\"]")
    }
  }
}

extension InstrumentState {
  /// The update number of the book, for all streams and answers of this run. It grows with every change.
  var updateID: UInt64 { revision.number(of: .book) }
}

/// `depth`: the changed levels of each interval, numbered from `U` to `u`.
///
/// A client reads a book by REST and drops events up to its number. `U` is always the `u` before plus one. When the
/// book was out of sync a number is left out, so every client reads its book again.
final class BinanceDepthWriter: DialectWriter {
  private let envelope: BinanceEnvelope
  private var view = BookView()
  private var changed = ChangedLevels()
  /// The number of the last event, or of the state that was there when the stream began.
  private var last: UInt64 = 0

  init(_ envelope: BinanceEnvelope) { self.envelope = envelope }

  func begin(_ view: DialectView) -> Bool {
    guard view.state.bookState == .live else { return false }
    self.view.removePending()
    last = view.state.updateID
    return true
  }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    switch change {
    case .bookDelta(_, let bids, let asks, _):
      self.view.note(bids: changes.bids[bids], asks: changes.asks[asks])
      return .endOfBatch
    // Too much for one event, like a whole book: the stream begins again behind a gap.
    case .bookSnapshot: return .whenBack
    case .bookState(_, let state): return state == .live ? .endOfBatch : .whenBack
    default: return .never
    }
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    let state = view.state
    guard state.bookState == .live else { return }
    guard !self.view.isOverflowing else {
      _ = begin(view)
      return
    }
    changed.resolve(&self.view, bids: state.book.bids, asks: state.book.asks)
    guard !changed.isEmpty else { return }
    let first = last + 1
    last = state.updateID
    envelope.append(to: &out) { out in
      envelope.begin("depthUpdate", now, to: &out)
      out.append("U", integer: Int64(first))
      out.append("u", integer: Int64(last))
      out.append(",\"b\":[")
      out.append(levels: changed.bids, of: state.instrument)
      out.append("],\"a\":[")
      out.append(levels: changed.asks, of: state.instrument)
      out.append("]}")
    }
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    view.state.bookState == .live
  }
}

/// `depth5`, `depth10`, `depth20`: the best levels, whole.
final class BinanceTopWriter: DialectWriter {
  private let envelope: BinanceEnvelope
  private let depth: Int
  private var sent = BookView()
  private var changed = ChangedLevels()

  init(_ envelope: BinanceEnvelope, depth: Int) { (self.envelope, self.depth) = (envelope, depth) }

  func begin(_ view: DialectView) -> Bool { view.state.bookState == .live }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    if case .bookState(_, let state) = change, state != .live { return .whenBack }
    return .endOfBatch
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    let state = view.state
    guard state.bookState == .live else { return }
    changed.advance(&sent, bids: state.book.bids, asks: state.book.asks, depth: depth)
    if !changed.isEmpty { append(view, to: &out) }
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    guard view.state.bookState == .live else { return false }
    changed.advance(&sent, bids: view.state.book.bids, asks: view.state.book.asks, depth: depth)
    append(view, to: &out)
    return true
  }

  private func append(_ view: DialectView, to out: inout DialectMessages) {
    envelope.append(to: &out) { out in
      out.append("{\"lastUpdateId\":")
      out.append(integer: view.state.updateID)
      out.append(",\"bids\":[")
      out.append(levels: sent.bids, of: view.instrument)
      out.append("],\"asks\":[")
      out.append(levels: sent.asks, of: view.instrument)
      out.append("]}")
    }
  }
}

/// `trade` and `aggTrade`. Which trades were one order's is not known, so an aggregate is one trade.
final class BinanceTradeWriter: DialectWriter {
  private let envelope: BinanceEnvelope
  private let isAggregate: Bool
  /// Trades since the last message.
  private var pending: [Trade] = []

  init(_ envelope: BinanceEnvelope, isAggregate: Bool) {
    (self.envelope, self.isAggregate) = (envelope, isAggregate)
  }

  func begin(_ view: DialectView) -> Bool { true }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    guard case .trades(_, let range) = change else { return .never }
    pending.append(contentsOf: changes.trades[range])
    return .soon
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    for trade in pending {
      envelope.append(to: &out) { out in
        let (price, size) = (view.instrument.priceScale, view.instrument.sizeScale)
        let id = trade.id.wholeNumber
        envelope.begin(isAggregate ? "aggTrade" : "trade", now, to: &out)
        out.append(isAggregate ? "a" : "t", integer: id)
        out.append("p", quoted: trade.price, scale: price)
        out.append("q", quoted: trade.size, scale: size)
        if isAggregate {
          out.append("f", integer: id)
          out.append("l", integer: id)
        }
        envelope.append("T", trade.time, to: &out)
        out.append(trade.side == .sell ? ",\"m\":true,\"M\":true}" : ",\"m\":false,\"M\":true}")
      }
    }
    pending.removeAll(keepingCapacity: true)
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool { true }
}

/// `bookTicker`: the best bid and ask, with each change. Nothing while a side is empty.
final class BinanceQuoteWriter: DialectQuoteWriter {
  private let envelope: BinanceEnvelope
  private var sent: Quote?

  init(_ envelope: BinanceEnvelope) { self.envelope = envelope }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    guard var quote = view.state.quote, quote.bidSize > 0, quote.askSize > 0 else { return }
    quote.time = .distantPast
    guard quote != sent else { return }
    sent = quote
    envelope.append(to: &out) { out in
      let (price, size) = (view.instrument.priceScale, view.instrument.sizeScale)
      out.append("{\"u\":")
      out.append(integer: view.state.updateID)
      out.append("s", text: envelope.symbol)
      out.append("b", quoted: quote.bid, scale: price)
      out.append("B", quoted: quote.bidSize, scale: size)
      out.append("a", quoted: quote.ask, scale: price)
      out.append("A", quoted: quote.askSize, scale: size)
      out.append(UInt8(ascii: "}"))
    }
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    sent = nil
    appendUpdate(view, now: now, to: &out)
    return view.state.quote != nil
  }
}

/// The figures of 24 h, where all of them are known.
struct BinanceDay: Equatable {
  var last, open, high, low: Int64
  var volume, quoteVolume: Decimal64
  var change, changePercent, vwap: Decimal64
  var trades: Int64

  init?(_ view: DialectView, now: Timestamp) {
    guard view.state.lastPrice != nil || view.state.ticker != nil else { return nil }
    let ticker = view.state.dayTicker(now: now).ticker
    guard let last = ticker.last, let open = ticker.open, let high = ticker.high, let low = ticker.low,
      let volume = ticker.volume, let quoteVolume = ticker.quoteVolume, let change = ticker.change,
      let percent = ticker.changePercent, let vwap = ticker.vwap
    else { return nil }
    (self.last, self.open, self.high, self.low) = (last, open, high, low)
    (self.volume, self.quoteVolume, self.change, self.vwap) = (volume, quoteVolume, change, vwap)
    changePercent = percent
    // −1 is Binance's own word for an id that there is not.
    trades = ticker.trades ?? -1
  }
}

/// `miniTicker` and `ticker`: the figures of 24 h, once a second. Nothing is sent before all of them are known. The ids
/// of the first and the last trade (`F`, `L`) are −1, and `x`, the price before the 24 h, is left out.
final class BinanceTickerWriter: DialectWriter {
  private let envelope: BinanceEnvelope
  private let isMini: Bool
  private var sent: (day: BinanceDay, quote: Quote?)?

  init(_ envelope: BinanceEnvelope, isMini: Bool) { (self.envelope, self.isMini) = (envelope, isMini) }

  func begin(_ view: DialectView) -> Bool { view.state.lastPrice != nil || view.state.ticker != nil }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment { .soon }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    guard let day = BinanceDay(view, now: now), isMini || view.state.quote != nil else { return }
    var quote = isMini ? nil : view.state.quote
    quote?.time = .distantPast
    guard sent == nil || sent?.day != day || sent?.quote != quote else { return }
    sent = (day, quote)
    envelope.append(to: &out) { append(day, quote, view, now: now, to: &$0) }
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    sent = nil
    appendUpdate(view, now: now, to: &out)
    return true
  }

  private func append(
    _ day: BinanceDay, _ quote: Quote?, _ view: DialectView, now: Timestamp, to out: inout ByteBuffer
  ) {
    let (price, size) = (view.instrument.priceScale, view.instrument.sizeScale)
    envelope.begin(isMini ? "24hrMiniTicker" : "24hrTicker", now, to: &out)
    out.append("c", quoted: day.last, scale: price)
    out.append("o", quoted: day.open, scale: price)
    out.append("h", quoted: day.high, scale: price)
    out.append("l", quoted: day.low, scale: price)
    out.append("v", quoted: day.volume)
    out.append("q", quoted: day.quoteVolume)
    if let quote {
      out.append("p", quoted: day.change)
      out.append("P", quoted: day.changePercent)
      out.append("w", quoted: day.vwap)
      if let trade = view.state.lastTrade { out.append("Q", quoted: trade.size, scale: size) }
      out.append("b", quoted: quote.bid, scale: price)
      out.append("B", quoted: quote.bidSize, scale: size)
      out.append("a", quoted: quote.ask, scale: price)
      out.append("A", quoted: quote.askSize, scale: size)
      envelope.append("O", now - Microseconds.day, to: &out)
      envelope.append("C", now, to: &out)
      out.append(",\"F\":-1,\"L\":-1")
      out.append("n", integer: day.trades)
    }
    out.append(UInt8(ascii: "}"))
  }
}

/// `kline_1m` and longer. The volumes of takers who bought (`V`, `Q`) are not known and left out; ids are −1.
final class BinanceCandleWriter: DialectWriter {
  private let envelope: BinanceEnvelope
  private let interval: CandleInterval
  private var open: Candle?
  /// Candles that closed, or changed after it, since the last message.
  private var closed: [Candle] = []
  private static let closedLimit = 100

  init(_ envelope: BinanceEnvelope, _ interval: CandleInterval) {
    (self.envelope, self.interval) = (envelope, interval)
  }

  func begin(_ view: DialectView) -> Bool { view.state.hasCandles(interval) }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    if case .candles(_, let range) = change {
      for candle in changes.candles[range] where candle.interval == interval {
        if closed.count < Self.closedLimit { closed.append(candle) }
      }
    }
    return .soon
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    for candle in closed { append(candle, view, now: now, to: &out) }
    closed.removeAll(keepingCapacity: true)
    guard let present = view.state.openCandle(interval, now: now), present != open else { return }
    open = present
    append(present, view, now: now, to: &out)
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    closed.removeAll(keepingCapacity: true)
    open = nil
    appendUpdate(view, now: now, to: &out)
    return true
  }

  private func append(_ candle: Candle, _ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    guard let figures = BinanceCandle(candle, of: view.instrument) else { return }
    envelope.append(to: &out) { out in
      let price = view.instrument.priceScale
      envelope.begin("kline", now, to: &out)
      out.append(",\"k\":{\"t\":")
      out.append(integer: envelope.unit == .milliseconds ? candle.time.microseconds / 1_000 : candle.time.microseconds)
      envelope.append("T", candle.end - (envelope.unit == .milliseconds ? 1_000 : 1), to: &out)
      out.append("s", text: envelope.symbol)
      out.append("i", text: interval.name)
      out.append(",\"f\":-1,\"L\":-1")
      out.append("o", quoted: candle.open, scale: price)
      out.append("c", quoted: candle.close, scale: price)
      out.append("h", quoted: candle.high, scale: price)
      out.append("l", quoted: candle.low, scale: price)
      out.append("v", quoted: figures.volume)
      out.append("n", integer: candle.trades ?? -1)
      out.append(candle.isClosed ? ",\"x\":true" : ",\"x\":false")
      out.append("q", quoted: figures.quoteVolume)
      out.append("}}")
    }
  }
}

/// The volumes of a candle; nil if they are not known.
struct BinanceCandle {
  let volume: Decimal64
  let quoteVolume: Decimal64

  init?(_ candle: Candle, of instrument: Instrument) {
    let size = Int(instrument.sizeScale)
    guard let sum = candle.quoteVolume, let volume = Ratio.decimal(candle.volume, scale: size, digits: size),
      let quoteVolume = Ratio.decimal(sum, scale: size + Int(instrument.priceScale), digits: 8)
    else { return nil }
    (self.volume, self.quoteVolume) = (volume, quoteVolume)
  }
}
