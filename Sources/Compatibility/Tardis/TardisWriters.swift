import Bytes
import MarketData
import PubSub

/// What all messages of a stream have in common.
struct TardisHead: Sendable {
  /// In capitals, as the client named it.
  let symbol: String
  let exchange: String

  func streamName(_ dataType: String) -> String { "tardis.\(dataType).\(exchange).\(symbol)" }

  /// `{"type":"trade","symbol":"BTCUSDT","exchange":"binance"`
  func begin(_ type: StaticString, to out: inout ByteBuffer) {
    out.append("{\"type\":\"")
    out.append(type)
    out.append(UInt8(ascii: "\""))
    out.append("symbol", text: symbol)
    out.append("exchange", text: exchange)
  }

  /// `,"timestamp":"…","localTimestamp":"…"}`
  func end(_ time: Timestamp, _ now: Timestamp, to out: inout ByteBuffer) {
    out.append(",\"timestamp\":\"")
    out.append(rfc3339: time)
    out.append("\",\"localTimestamp\":\"")
    out.append(rfc3339: now)
    out.append("\"}")
  }
}

extension ByteBuffer {
  /// Appends an exact number without zeros at its end.
  mutating func append(trimmed value: Int64, scale: UInt8) {
    var (value, scale) = (value, scale)
    while scale > 0, value % 10 == 0 { (value, scale) = (value / 10, scale - 1) }
    append(decimal: value, scale: scale)
  }

  fileprivate mutating func append(_ name: StaticString, trimmed value: Int64, scale: UInt8) {
    appendName(name)
    append(trimmed: value, scale: scale)
  }

  fileprivate mutating func append(_ name: StaticString, trimmed value: Decimal64?) {
    guard let value else { return }
    append(name, trimmed: value.mantissa, scale: value.scale)
  }

  /// Appends `[{"price":…,"amount":…},…]`, with `{}` for levels that are missing.
  fileprivate mutating func append(
    _ name: StaticString, levels: some Collection<PriceLevel>, of instrument: Instrument, filledTo count: Int = 0
  ) {
    appendName(name)
    append(UInt8(ascii: "["))
    var isFirst = true
    for level in levels {
      append(isFirst ? "{\"price\":" : ",{\"price\":")
      isFirst = false
      append(trimmed: level.price, scale: instrument.priceScale)
      append(",\"amount\":")
      append(trimmed: level.size, scale: instrument.sizeScale)
      append(UInt8(ascii: "}"))
    }
    for index in levels.count..<max(levels.count, count) { append(index == 0 ? "{}" : ",{}") }
    append(UInt8(ascii: "]"))
  }
}

/// `trade`
final class TardisTradeWriter: DialectWriter {
  private let head: TardisHead
  private var pending: [Trade] = []

  init(_ head: TardisHead) { self.head = head }

  func begin(_ view: DialectView) -> Bool { true }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    guard case .trades(_, let range) = change else { return .never }
    pending.append(contentsOf: changes.trades[range])
    return .soon
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    // A trade of nothing is refused by nautilus.
    for trade in pending where trade.size > 0 {
      out.text { out in
        head.begin("trade", to: &out)
        out.append(",\"id\":\"")
        trade.id.append(to: &out)
        out.append(UInt8(ascii: "\""))
        out.append("price", trimmed: trade.price, scale: view.instrument.priceScale)
        out.append("amount", trimmed: trade.size, scale: view.instrument.sizeScale)
        switch trade.side {
        case .buy: out.append(",\"side\":\"buy\"")
        case .sell: out.append(",\"side\":\"sell\"")
        }
        head.end(trade.time, now, to: &out)
      }
    }
    pending.removeAll(keepingCapacity: true)
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool { true }
}

/// `book_change`: the whole book, then what changes with each of the venue's messages. Never one without levels, which
/// clients take for an error.
final class TardisBookWriter: DialectWriter {
  private let head: TardisHead
  private var view = BookView()
  private var changed = ChangedLevels()

  init(_ head: TardisHead) { self.head = head }

  func begin(_ view: DialectView) -> Bool {
    self.view.removePending()
    return view.state.bookState == .live && !(view.state.book.bids.isEmpty && view.state.book.asks.isEmpty)
  }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    switch change {
    case .bookDelta(_, let bids, let asks, _): self.view.note(bids: changes.bids[bids], asks: changes.asks[asks])
    case .bookSnapshot: self.view.isOverflowing = true
    case .bookState(_, let state): if state != .live { return .whenBack }
    default: return .never
    }
    return .endOfBatch
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    guard view.state.bookState == .live else { return }
    guard !self.view.isOverflowing else {
      _ = appendSnapshot(view, now: now, to: &out)
      return
    }
    changed.resolve(&self.view, bids: view.state.book.bids, asks: view.state.book.asks)
    guard !changed.isEmpty else { return }
    append(changed.bids, changed.asks, view, isSnapshot: false, now: now, to: &out)
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    guard begin(view) else { return false }
    let book = view.state.book
    append(Array(book.bids.reversed()), Array(book.asks.reversed()), view, isSnapshot: true, now: now, to: &out)
    return true
  }

  private func append(
    _ bids: [PriceLevel], _ asks: [PriceLevel], _ view: DialectView, isSnapshot: Bool, now: Timestamp,
    to out: inout DialectMessages
  ) {
    out.text { out in
      head.begin("book_change", to: &out)
      out.append(isSnapshot ? ",\"isSnapshot\":true" : ",\"isSnapshot\":false")
      out.append("bids", levels: bids, of: view.instrument)
      out.append("asks", levels: asks, of: view.instrument)
      head.end(view.state.bookTime, now, to: &out)
    }
  }
}

/// `book_snapshot_…` and `quote`: the best levels, whole, when they have changed. Nothing while a side is empty.
final class TardisTopWriter: DialectWriter {
  private let head: TardisHead
  private let name: String
  private let depth: Int
  private let interval: Int
  private var sent = BookView()
  private var changed = ChangedLevels()

  init(_ head: TardisHead, name: String, depth: Int, interval: Int) {
    (self.head, self.name, self.depth, self.interval) = (head, name, depth, interval)
  }

  func begin(_ view: DialectView) -> Bool { view.state.bookState == .live }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    if case .bookState(_, let state) = change, state != .live { return .whenBack }
    return .endOfBatch
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    guard view.state.bookState == .live else { return }
    changed.advance(&sent, bids: view.state.book.bids, asks: view.state.book.asks, depth: depth)
    if !changed.isEmpty { append(view, now: now, to: &out) }
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    guard view.state.bookState == .live else { return false }
    changed.advance(&sent, bids: view.state.book.bids, asks: view.state.book.asks, depth: depth)
    append(view, now: now, to: &out)
    return true
  }

  private func append(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    guard !sent.bids.isEmpty, !sent.asks.isEmpty else { return }
    out.text { out in
      head.begin("book_snapshot", to: &out)
      out.append("name", text: name)
      out.append("depth", integer: Int64(depth))
      out.append("interval", integer: Int64(interval))
      out.append("bids", levels: sent.bids, of: view.instrument, filledTo: depth)
      out.append("asks", levels: sent.asks, of: view.instrument, filledTo: depth)
      head.end(view.state.bookTime, now, to: &out)
    }
  }
}

/// `book_ticker`: the best bid and ask. Nothing while a side is empty.
final class TardisQuoteWriter: DialectQuoteWriter {
  private let head: TardisHead
  private var sent: Quote?

  init(_ head: TardisHead) { self.head = head }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    guard let quote = view.state.quote, quote.bidSize > 0, quote.askSize > 0, quote != sent else { return }
    sent = quote
    out.text { out in
      let (price, size) = (view.instrument.priceScale, view.instrument.sizeScale)
      head.begin("book_ticker", to: &out)
      out.append("askAmount", trimmed: quote.askSize, scale: size)
      out.append("askPrice", trimmed: quote.ask, scale: price)
      out.append("bidPrice", trimmed: quote.bid, scale: price)
      out.append("bidAmount", trimmed: quote.bidSize, scale: size)
      head.end(quote.time, now, to: &out)
    }
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool {
    sent = nil
    appendUpdate(view, now: now, to: &out)
    return view.state.quote != nil
  }
}

/// `trade_bar_…`: bars of the trades since the stream began. The first trade after the end of a bar of time sends it.
/// So there is none without trades.
final class TardisBarWriter: DialectWriter {
  private struct Bar {
    var open, high, low, close: Int64
    var volume: Int128 = 0
    var buyVolume: Int128 = 0
    var value: Int128 = 0
    var trades: Int64 = 0
    var openTime, closeTime: Timestamp

    init(_ trade: Trade) {
      (open, high, low, close) = (trade.price, trade.price, trade.price, trade.price)
      (openTime, closeTime) = (trade.time, trade.time)
      add(trade)
    }

    mutating func add(_ trade: Trade) {
      (high, low, close) = (max(high, trade.price), min(low, trade.price), trade.price)
      volume += Int128(trade.size)
      if trade.side == .buy { buyVolume += Int128(trade.size) }
      value += Int128(trade.price) * Int128(trade.size)
      trades += 1
      closeTime = trade.time
    }
  }

  private let head: TardisHead
  private let name: String
  private let rule: TardisBarRule
  private var bar: Bar?
  private var done: [Bar] = []

  init(_ head: TardisHead, name: String, rule: TardisBarRule) {
    (self.head, self.name, self.rule) = (head, name, rule)
  }

  func begin(_ view: DialectView) -> Bool { true }

  func take(_ change: MarketChange, _ changes: borrowing MarketChanges, _ view: DialectView) -> DialectMoment {
    guard case .trades(_, let range) = change else { return .never }
    for trade in changes.trades[range] { add(trade, of: view.instrument) }
    return done.isEmpty ? .never : .soon
  }

  private func add(_ trade: Trade, of instrument: Instrument) {
    if rule.kind == .time, let bar, trade.time.microseconds / rule.length > bar.openTime.microseconds / rule.length {
      done.append(bar)
      self.bar = nil
    }
    if bar == nil { bar = Bar(trade) } else { bar?.add(trade) }
    guard let bar, isFull(bar, of: instrument) else { return }
    done.append(bar)
    self.bar = nil
  }

  private func isFull(_ bar: Bar, of instrument: Instrument) -> Bool {
    switch rule.kind {
    case .time: return false
    case .tick: return bar.trades >= rule.number
    case .volume:
      let (limit, overflow) = Int128(rule.number).multipliedReportingOverflow(
        by: Int128(DecimalText.power(instrument.sizeScale)))
      return !overflow && bar.volume >= limit
    }
  }

  func appendUpdate(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    for bar in done { append(bar, view, now: now, to: &out) }
    done.removeAll(keepingCapacity: true)
  }

  func appendSnapshot(_ view: DialectView, now: Timestamp, to out: inout DialectMessages) -> Bool { true }

  private func append(_ bar: Bar, _ view: DialectView, now: Timestamp, to out: inout DialectMessages) {
    let (price, size) = (view.instrument.priceScale, view.instrument.sizeScale)
    func amount(_ sum: Int128) -> Decimal64? { Ratio.decimal(sum, scale: Int(size), digits: Int(size)) }
    out.text { out in
      head.begin("trade_bar", to: &out)
      out.append("name", text: name)
      out.append("interval", integer: Int64(rule.number))
      out.append("kind", text: rule.kind.rawValue)
      out.append("open", trimmed: bar.open, scale: price)
      out.append("high", trimmed: bar.high, scale: price)
      out.append("low", trimmed: bar.low, scale: price)
      out.append("close", trimmed: bar.close, scale: price)
      out.append("volume", trimmed: amount(bar.volume))
      out.append("buyVolume", trimmed: amount(bar.buyVolume))
      out.append("sellVolume", trimmed: amount(bar.volume - bar.buyVolume))
      out.append("trades", integer: bar.trades)
      if bar.volume > 0, let vwap = Ratio.quotient(bar.value, by: bar.volume, powerOfTen: 0) {
        out.append("vwap", trimmed: vwap, scale: price)
      }
      out.append(",\"openTimestamp\":\"")
      out.append(rfc3339: bar.openTime)
      out.append("\",\"closeTimestamp\":\"")
      out.append(rfc3339: bar.closeTime)
      out.append(UInt8(ascii: "\""))
      head.end(bar.closeTime, now, to: &out)
    }
  }
}
