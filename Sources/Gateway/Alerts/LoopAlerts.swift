import Alerts
import Bytes
import Documents
import Feeds
import MarketData
import PubSub
import Transport
import Venues

/// Passes the values of one loop's markets that the desk needs to the desk. Owned by its node's loop.
///
/// A batch of a feed that no rule names costs one look-up; otherwise each change costs one more.
final class LoopAlerts: TurnObserver {
  /// The state of one instrument as it was handed over.
  private struct Watched {
    var watch: AlertWatch
    var isFeedLive = false
    var isBookLive = false
    var priceScale: UInt8 = 0
    var sizeScale: UInt8 = 0
    /// The book changed since the depths were last summed up.
    var isDirty = false
    var contract = ContractFigures()
  }

  unowned let node: LoopNode
  let desk: AlertDesk
  /// The markets that the desk needs, of this loop or of others.
  private var wanted: [String: AlertWatch] = [:]
  /// By feed and instrument.
  private var watched: [Int: [Watched?]] = [:]
  /// Symbols of `watched` that a reload or an operator has ended. They are not live, even if their feed is, until they
  /// are listed again.
  private var forgotten: Set<String> = []
  private var events: [AlertMarketEvent] = []

  init(node: LoopNode, desk: AlertDesk) {
    self.node = node
    self.desk = desk
  }

  /// The desk changes what it needs of a symbol, or no longer needs it.
  func watch(_ watch: AlertWatch) {
    wanted[watch.symbol] = watch.isWanted ? watch : nil
    guard let entry = node.hub.directory.entries[watch.symbol], entry.loop == node.loop.index else { return }
    follow(watch.symbol, entry.market, entry.instrument.id)
  }

  /// An instrument of this loop is listed. The desk may have asked for it earlier, and its feed may have named it even
  /// before that: a feed that was taken over names all of its instruments at once.
  func listed(_ entry: DirectoryEntry) {
    let (symbol, id) = (entry.instrument.symbol, entry.instrument.id)
    guard !wanted.isEmpty, wanted[symbol] != nil, self.entry(entry.market, id) == nil else { return }
    follow(symbol, entry.market, id)
  }

  private func follow(_ symbol: String, _ slot: Int, _ id: InstrumentID) {
    guard slot < node.feeds.all.count, id.index < node.feeds[slot].pipeline.market.instruments.count else { return }
    var list = watched[slot] ?? []
    while list.count <= id.index { list.append(nil) }
    let old = list[id.index]
    list[id.index] = wanted[symbol].map { watch in
      var new = old ?? Watched(watch: watch)
      new.watch = watch
      new.isDirty = true
      new.contract.watch(watch.contracts, at: node.clock.now())
      return new
    }
    let wishes = wanted[symbol]?.contracts.reduce(into: MarketWishes()) { $0.formUnion($1.wish) } ?? []
    node.services.wishes.watch(MarketRoute(market: slot, instrument: id), wishes, node.clock.now())
    watched[slot] = list.contains { $0 != nil } ? list : nil
    guard let watch = wanted[symbol] else { return }
    tellState(of: id, slot, isNew: old == nil)
    if old?.watch.windows != watch.windows { tellPast(of: id, slot) }
  }

  /// Hands over the closes of the minutes that windows of changes reach back to. O(1,440).
  private func tellPast(of id: InstrumentID, _ slot: Int) {
    guard let watch = entry(slot, id)?.watch, let longest = watch.windows.last else { return }
    let now = node.clock.now()
    let from = now + -(Int64(longest) + 30) * Microseconds.minute
    let candles = node.feeds[slot].pipeline.market[id]
      .candles(.minute, from: from, to: now, limit: Int(longest) + 30, now: now)
    // The last price of a minute that was observed in part may be another one.
    let samples = candles.filter { $0.isClosed && $0.source != .partial }.map { (time: $0.end, price: $0.close) }
    guard !samples.isEmpty else { return }
    events.append(.past(samples))
    send(watch.source)
  }

  // MARK: Events

  /// Hands over what rules need of a batch of changes.
  func observe(_ changes: borrowing MarketChanges, of feed: any Feed, at now: Timestamp) {
    guard !wanted.isEmpty else { return }
    for item in changes.items {
      switch item {
      case .instrument(let id):
        let symbol = feed.pipeline.market[id].instrument.symbol
        if wanted[symbol] != nil { follow(symbol, feed.slot, id) }
      case .trades(let id, let range):
        guard let entry = entry(feed.slot, id), tellState(of: id, feed.slot), entry.watch.isWanted else { continue }
        for trade in changes.trades[range] where !trade.isBacklog && !trade.isLate {
          events.append(.price(trade.price))
        }
        send(entry.watch.source)
      case .quote(let quote):
        guard let entry = entry(feed.slot, quote.instrument), tellState(of: quote.instrument, feed.slot) else {
          continue
        }
        events.append(
          .quote(bid: quote.bidSize > 0 ? quote.bid : 0, ask: quote.askSize > 0 ? quote.ask : 0))
        send(entry.watch.source)
      case .bookSnapshot(let id), .bookDelta(let id, bids: _, asks: _, time: _):
        if entry(feed.slot, id)?.watch.depths.isEmpty == false { watched[feed.slot]?[id.index]?.isDirty = true }
      case .bookState(let id, _): tellState(of: id, feed.slot)
      case .past(let id): tellPast(of: id, feed.slot)
      case .derivative(let id):
        guard entry(feed.slot, id)?.contract.isEmpty == false, tellState(of: id, feed.slot) else { continue }
        takeDerivative(of: id, feed.slot, now)
      case .liquidations(let id, let range):
        guard entry(feed.slot, id)?.contract.isEmpty == false, tellState(of: id, feed.slot) else { continue }
        for liquidation in changes.liquidations[range] {
          guard let value = liquidation.value else { continue }
          watched[feed.slot]?[id.index]?.contract.liquidated(value, at: now)
        }
        tellContract(of: id, feed.slot, now)
      case .tradeGap, .tradesMissing, .tradesSearched, .ticker, .pulse, .sparkline, .candles, .channel: break
      }
    }
  }

  private func takeDerivative(of id: InstrumentID, _ slot: Int, _ now: Timestamp) {
    let shown = node.feeds[slot].pipeline.market[id].derivative?.shown(at: now)
    watched[slot]?[id.index]?.contract.take(
      fundingRate: shown?.fundingRate?.value, openInterest: shown?.openInterest?.value, at: now)
    tellContract(of: id, slot, now)
  }

  /// Hands over the figures of a perpetual or dated future that have changed. O(its measures).
  private func tellContract(of id: InstrumentID, _ slot: Int, _ now: Timestamp) {
    guard let source = entry(slot, id)?.watch.source,
      let changes = watched[slot]?[id.index]?.contract.changes(at: now)
    else { return }
    for (measure, value) in changes { events.append(.contract(measure, value)) }
    send(source)
  }

  /// Candles from a store or a venue have become known.
  func observePast(_ changes: borrowing MarketChanges, slot: Int) {
    guard watched[slot] != nil else { return }
    for case .past(let id) in changes.items { tellPast(of: id, slot) }
  }

  /// Symbols are no longer listed. O(watched instruments).
  func forget(_ symbols: [String]) {
    guard !watched.isEmpty else { return }
    let gone = Set(symbols)
    for slot in watched.keys.sorted() {
      for (index, entry) in (watched[slot] ?? []).enumerated() {
        guard let symbol = entry?.watch.symbol, gone.contains(symbol) else { continue }
        forgotten.insert(symbol)
        tellState(of: InstrumentID(index), slot)
      }
    }
  }

  /// Whether a watched symbol is followed; a symbol that is listed again is followed again.
  private func isFollowed(_ symbol: String) -> Bool {
    guard forgotten.contains(symbol) else { return true }
    guard node.hub.directory.entries[symbol] != nil else { return false }
    forgotten.remove(symbol)
    return true
  }

  /// The state of a feed may have changed. O(its watched instruments).
  func feedChanged(_ slot: Int) {
    for index in (watched[slot] ?? []).indices { tellState(of: InstrumentID(index), slot) }
  }

  /// Sums up the changed depths that rules need; about ten times a second. O(levels within).
  func everyTick(_ now: Timestamp) {
    for slot in watched.keys.sorted() {
      if !forgotten.isEmpty { feedChanged(slot) }
      for (index, entry) in (watched[slot] ?? []).enumerated() {
        if let entry, entry.isFeedLive, !entry.contract.isEmpty { tellContract(of: InstrumentID(index), slot, now) }
        guard let entry, entry.isDirty, entry.isBookLive, !entry.watch.depths.isEmpty else { continue }
        watched[slot]?[index]?.isDirty = false
        let book = node.feeds[slot].pipeline.market[InstrumentID(index)].book
        for depth in entry.watch.depths {
          events.append(
            .depth(depth.side, basisPoints: depth.basisPoints, size: book.size(depth.side, within: depth.basisPoints)))
        }
        send(entry.watch.source)
      }
    }
  }

  private func entry(_ slot: Int, _ id: InstrumentID) -> Watched? {
    guard let list = watched[slot], id.index < list.count else { return nil }
    return list[id.index]
  }

  /// Reports changes of scales, feed and book to the desk; returns whether the feed is live.
  @discardableResult
  private func tellState(of id: InstrumentID, _ slot: Int, isNew: Bool = false) -> Bool {
    guard var entry = entry(slot, id) else { return false }
    let feed = node.feeds[slot]
    let state = feed.pipeline.market[id]
    let isFeedLive = feed.status.state == .live && isFollowed(entry.watch.symbol)
    let isBookLive = isFeedLive && state.bookState == .live
    let instrument = state.instrument
    if isNew || entry.priceScale != instrument.priceScale || entry.sizeScale != instrument.sizeScale {
      (entry.priceScale, entry.sizeScale) = (instrument.priceScale, instrument.sizeScale)
      events.append(.scales(price: instrument.priceScale, size: instrument.sizeScale))
    }
    if entry.isFeedLive != isFeedLive {
      entry.isFeedLive = isFeedLive
      entry.contract.reset(at: node.clock.now())
      events.append(.feed(isLive: isFeedLive, isFirst: isNew))
    }
    if entry.isBookLive != isBookLive {
      entry.isBookLive = isBookLive
      entry.isDirty = true
      events.append(.book(isLive: isBookLive, isFirst: isNew))
    }
    // A new rule starts with the present price of a live market: a quiet market may not trade for an hour.
    if isNew, isFeedLive, let price = state.lastPrice { events.append(.price(price)) }
    if isNew, isBookLive, let quote = state.quote {
      events.append(.quote(bid: quote.bidSize > 0 ? quote.bid : 0, ask: quote.askSize > 0 ? quote.ask : 0))
    }
    watched[slot]?[id.index] = entry
    send(entry.watch.source)
    if isNew, isFeedLive, !entry.contract.isEmpty { takeDerivative(of: id, slot, node.clock.now()) }
    return isFeedLive
  }

  private func send(_ source: AlertSource) {
    guard !events.isEmpty else { return }
    desk.add(source, events)
    events.removeAll(keepingCapacity: true)
  }
}

extension AlertThreshold.Measure {
  /// The data that the venue sends on request only.
  fileprivate var wish: MarketWishes {
    switch self {
    case .funding, .openInterest: .derivative
    case .liquidations: .liquidations
    case .price, .spread, .spreadPercent, .depth, .change: []
    }
  }
}

extension OrderBook {
  /// The size on one side within so many basis points of its best price. O(levels within).
  func size(_ side: AlertThreshold.BookSideName, within basisPoints: UInt16) -> Int64 {
    var sum: Int64 = 0
    let count = side == .bids ? bids.count : asks.count
    guard count > 0 else { return 0 }
    let best = side == .bids ? bid(at: 0).price : ask(at: 0).price
    // |price − best| × 10,000 ≤ best × basis points.
    let reach = Int128(best) * Int128(basisPoints)
    for rank in 0..<count {
      let level = side == .bids ? bid(at: rank) : ask(at: rank)
      guard Int128((level.price - best).magnitude) * 10_000 <= reach else { break }
      sum = sum.addingReportingOverflow(level.size).overflow ? .max : sum + level.size
      if sum == .max { break }
    }
    return sum
  }
}
