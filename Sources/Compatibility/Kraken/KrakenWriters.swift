import Bytes
import MarketData
import PubSub
import Venues

/// `{"channel":"…","type":"…","data":[…]}` of Kraken's protocol v2.
enum KrakenEnvelope {
  static func append(
    _ channel: StaticString, isSnapshot: Bool, to out: inout ByteBuffer, _ data: (inout ByteBuffer) -> Void
  ) {
    out.append("{\"channel\":\"")
    out.append(channel)
    out.append(isSnapshot ? "\",\"type\":\"snapshot\",\"data\":[" : "\",\"type\":\"update\",\"data\":[")
    data(&out)
    out.append("]}")
  }

  /// `{"symbol":"BTC/USD"`
  static func begin(_ instrument: Instrument, to out: inout ByteBuffer) {
    out.append("{\"symbol\":\"")
    out.append(instrument.base)
    out.append(UInt8(ascii: "/"))
    out.append(instrument.quote)
    out.append(UInt8(ascii: "\""))
  }
}

/// `book`: the best levels of a side, and what changes in them.
///
/// Clients cut their books to the depth after each message, so a level that others push out is not removed, and one
/// that comes back is sent again. After a loss of sync, the difference to the new book is one update: a snapshot would
/// not make every client forget the levels before it.
final class KrakenBookWriter: DialectWriter {
  private let depth: Int
  private var sent = BookView()
  private var changed = ChangedLevels()

  init(depth: Int) { self.depth = depth }

  func begin(_ view: DialectView) -> Bool {
    guard view.state.bookState == .live else { return false }
    BookView.top(depth, of: view.state.book.bids, into: &sent.bids)
    BookView.top(depth, of: view.state.book.asks, into: &sent.asks)
    return true
  }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    .endOfBatch
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    let state = view.state
    guard state.bookState == .live else { return }
    changed.advance(&sent, bids: state.book.bids, asks: state.book.asks, depth: depth)
    let bids = Run(changed.bids, sent.bids, depth: depth) { $0 < $1 }
    let asks = Run(changed.asks, sent.asks, depth: depth) { $0 > $1 }
    guard !bids.isEmpty || !asks.isEmpty else { return }
    out.text { Self.append(bids, asks, of: view, isSnapshot: false, now: now, to: &$0) }
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    guard view.state.bookState == .live else { return false }
    let bids = Run(sent.bids)
    let asks = Run(sent.asks)
    out.text { Self.append(bids, asks, of: view, isSnapshot: true, now: now, to: &$0) }
    return true
  }

  /// Levels of one side, without those that others have pushed out. These are at the end of the changes, because
  /// changes go from the best price to the worst.
  private struct Run {
    let levels: ArraySlice<PriceLevel>

    init(_ levels: [PriceLevel]) { self.levels = levels[...] }

    /// - Parameter isWorse: whether the first price is worse than the second.
    init(_ changed: [PriceLevel], _ sent: [PriceLevel], depth: Int, isWorse: (Int64, Int64) -> Bool) {
      guard sent.count == depth, let last = sent.last else {
        levels = changed[...]
        return
      }
      var end = changed.endIndex
      while end > 0, changed[end - 1].size == 0, isWorse(changed[end - 1].price, last.price) { end -= 1 }
      levels = changed[..<end]
    }

    var isEmpty: Bool { levels.isEmpty }
  }

  private static func append(
    _ bids: Run, _ asks: Run, of view: DialectView, isSnapshot: Bool, now: Timestamp, to out: inout ByteBuffer
  ) {
    let instrument = view.instrument
    KrakenEnvelope.append("book", isSnapshot: isSnapshot, to: &out) { out in
      KrakenEnvelope.begin(instrument, to: &out)
      out.append(",\"bids\":[")
      append(bids.levels, of: instrument, to: &out)
      out.append("],\"asks\":[")
      append(asks.levels, of: instrument, to: &out)
      out.append("],\"checksum\":")
      out.append(integer: UInt64(KrakenBookChecksum.checksum(of: view.state.book)))
      out.append(",\"timestamp\":\"")
      out.append(rfc3339: Swift.min(view.state.bookTime, now))
      out.append("\"}")
    }
  }

  /// Levels that go first: some clients cut their books after each level, and would lose the last one to a new one.
  private static func append(_ levels: ArraySlice<PriceLevel>, of instrument: Instrument, to out: inout ByteBuffer) {
    var isFirst = true
    for goes in [true, false] {
      for level in levels where (level.size == 0) == goes {
        out.append(isFirst ? "{\"price\":" : ",{\"price\":")
        isFirst = false
        out.append(decimal: level.price, scale: instrument.priceScale)
        out.append(",\"qty\":")
        out.append(decimal: level.size, scale: instrument.sizeScale)
        out.append(UInt8(ascii: "}"))
      }
    }
  }
}

/// `trade`: each execution, after the last 50. The kind of the taker's order is not known: it says `market`.
final class KrakenTradeWriter: DialectWriter {
  private let sendsSnapshot: Bool
  /// Trades since the last message.
  private var pending: [Trade] = []

  init(sendsSnapshot: Bool) { self.sendsSnapshot = sendsSnapshot }

  func begin(_ view: DialectView) -> Bool { true }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    guard case .trades(_, let range) = change else { return .never }
    pending.append(contentsOf: changes.trades[range])
    return .soon
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    guard !pending.isEmpty else { return }
    let instrument = view.instrument
    out.text { Self.append(pending[...], of: instrument, isSnapshot: false, to: &$0) }
    pending.removeAll(keepingCapacity: true)
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    let trades = view.trades(last: 50)
    guard sendsSnapshot, !trades.isEmpty else { return true }
    let instrument = view.instrument
    out.text { Self.append(trades, of: instrument, isSnapshot: true, to: &$0) }
    return true
  }

  private static func append(
    _ trades: ArraySlice<Trade>, of instrument: Instrument, isSnapshot: Bool, to out: inout ByteBuffer
  ) {
    KrakenEnvelope.append("trade", isSnapshot: isSnapshot, to: &out) { out in
      var isFirst = true
      for trade in trades {
        if !isFirst { out.append(UInt8(ascii: ",")) }
        isFirst = false
        KrakenEnvelope.begin(instrument, to: &out)
        switch trade.side {
        case .buy: out.append(",\"side\":\"buy\"")
        case .sell: out.append(",\"side\":\"sell\"")
        }
        out.append("price", trade.price, scale: instrument.priceScale)
        out.append("qty", trade.size, scale: instrument.sizeScale)
        out.append(",\"ord_type\":\"market\"")
        out.append("trade_id", integer: trade.id.wholeNumber)
        out.append(",\"timestamp\":\"")
        out.append(rfc3339: trade.time)
        out.append("\"}")
      }
    }
  }
}

/// `ticker`: the best prices and the figures of 24 h. Nothing is sent before all of them are known.
final class KrakenTickerWriter: DialectWriter {
  private struct Figures: Equatable {
    var quote: Quote
    var last, low, high: Int64
    var volume, vwap, change: Decimal64
    var changePercent: Decimal64

    init?(_ view: DialectView, now: Timestamp) {
      guard let quote = view.state.quote, quote.bidSize > 0, quote.askSize > 0 else { return nil }
      let ticker = view.state.dayTicker(now: now).ticker
      guard let last = ticker.last, let low = ticker.low, let high = ticker.high, let volume = ticker.volume,
        let vwap = ticker.vwap, let change = ticker.change, let percent = ticker.changePercent
      else { return nil }
      self.quote = quote
      self.quote.time = .distantPast
      (self.last, self.low, self.high) = (last, low, high)
      (self.volume, self.vwap, self.change) = (volume, vwap, change)
      changePercent = Decimal64(
        mantissa: Ratio.rescaled(percent.mantissa, from: percent.scale, to: 2) ?? percent.mantissa,
        scale: Ratio.rescaled(percent.mantissa, from: percent.scale, to: 2) == nil ? percent.scale : 2)
    }
  }

  private var sent: Figures?

  func begin(_ view: DialectView) -> Bool { view.state.quote != nil && view.state.lastPrice != nil }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment { .soon }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    guard let figures = Figures(view, now: now), figures != sent else { return }
    sent = figures
    let instrument = view.instrument
    out.text { Self.append(figures, of: instrument, isSnapshot: false, to: &$0) }
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    guard let figures = Figures(view, now: now) else { return false }
    sent = figures
    let instrument = view.instrument
    out.text { Self.append(figures, of: instrument, isSnapshot: true, to: &$0) }
    return true
  }

  private static func append(
    _ figures: Figures, of instrument: Instrument, isSnapshot: Bool, to out: inout ByteBuffer
  ) {
    let (price, size) = (instrument.priceScale, instrument.sizeScale)
    KrakenEnvelope.append("ticker", isSnapshot: isSnapshot, to: &out) { out in
      KrakenEnvelope.begin(instrument, to: &out)
      out.append("bid", figures.quote.bid, scale: price)
      out.append("bid_qty", figures.quote.bidSize, scale: size)
      out.append("ask", figures.quote.ask, scale: price)
      out.append("ask_qty", figures.quote.askSize, scale: size)
      out.append("last", figures.last, scale: price)
      out.append("volume", figures.volume)
      out.append("vwap", figures.vwap)
      out.append("low", figures.low, scale: price)
      out.append("high", figures.high, scale: price)
      out.append("change", figures.change)
      out.append("change_pct", figures.changePercent)
      out.append(UInt8(ascii: "}"))
    }
  }
}

/// `ohlc`: candles with trades in them.
final class KrakenCandleWriter: DialectWriter {
  private static let snapshotCandles = 100

  private let interval: CandleInterval
  private var open: Candle?
  /// Candles that closed, or changed after it, since the last message.
  private var closed: [Candle] = []

  init(interval: CandleInterval) { self.interval = interval }

  func begin(_ view: DialectView) -> Bool { view.state.hasCandles(interval) }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    if case .candles(_, let range) = change {
      for candle in changes.candles[range] where candle.interval == interval && candle.volume > 0 {
        if closed.count < Self.snapshotCandles { closed.append(candle) }
      }
    }
    return .soon
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    if let present = view.state.openCandle(interval, now: now), present.volume > 0, present != open {
      open = present
      closed.append(present)
    }
    guard !closed.isEmpty else { return }
    let instrument = view.instrument
    out.text { Self.append(closed[...], of: instrument, isSnapshot: false, to: &$0) }
    closed.removeAll(keepingCapacity: true)
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    let candles = view.state.candles(
      interval, from: .distantPast, to: .distantFuture, limit: Self.snapshotCandles, now: now
    ).filter { $0.volume > 0 }
    closed.removeAll(keepingCapacity: true)
    open = candles.last.flatMap { $0.isClosed ? nil : $0 }
    guard !candles.isEmpty else { return true }
    let instrument = view.instrument
    out.text { Self.append(candles[...], of: instrument, isSnapshot: true, to: &$0) }
    return true
  }

  private static func append(
    _ candles: ArraySlice<Candle>, of instrument: Instrument, isSnapshot: Bool, to out: inout ByteBuffer
  ) {
    let (price, size) = (instrument.priceScale, instrument.sizeScale)
    KrakenEnvelope.append("ohlc", isSnapshot: isSnapshot, to: &out) { out in
      var isFirst = true
      for candle in candles {
        if !isFirst { out.append(UInt8(ascii: ",")) }
        isFirst = false
        KrakenEnvelope.begin(instrument, to: &out)
        out.append("open", candle.open, scale: price)
        out.append("high", candle.high, scale: price)
        out.append("low", candle.low, scale: price)
        out.append("close", candle.close, scale: price)
        if let trades = candle.trades { out.append("trades", integer: trades) }
        if let volume = Ratio.decimal(candle.volume, scale: Int(size), digits: Int(size)) {
          out.append("volume", volume)
        }
        if let quoteVolume = candle.quoteVolume,
          let vwap = Ratio.quotient(quoteVolume, by: candle.volume, powerOfTen: 0)
        {
          out.append("vwap", vwap, scale: price)
        }
        out.append(",\"interval_begin\":\"")
        out.append(rfc3339: candle.time)
        out.append("\",\"interval\":")
        out.append(integer: candle.interval.minutes)
        out.append(",\"timestamp\":\"")
        out.append(rfc3339: candle.end)
        out.append("\"}")
      }
    }
  }
}
