import Feeds
import HTTPAPI
import History
import MarketData
import PubSub
import Transport

/// Composite markets and conversions on the stream. Owned by its node's loop.
///
/// Every loop passes the values of its member markets to loop 0: the best prices and the figures, and as far as streams
/// show them the best levels of the book and the candles that changed. It passes markets whose book went in or out of
/// sync at the end of the turn, and others on a tick of 100 ms, once for any number of changes. Loop 0 computes each
/// composite once for all changes since its own last tick, and at once after a change of state. A market that is not a
/// member costs one look-up a batch.
final class LoopComposites: TurnObserver {
  /// The largest age of the table of conversions while a conversion has subscribers, µs.
  private static let ratePeriod = 250 * Microseconds.millisecond
  /// The bytes that a part takes in a mailbox, without levels and candles.
  private static let partBytes = MemoryLayout<QuotePart>.stride + 128
  /// The most histories that are read at the same time. Each is a page of candles of every member.
  private static let historyLimit = 8

  private unowned let node: LoopNode

  // What every loop keeps about its own markets.

  /// A market that loop 0 asks for.
  private struct Watched {
    var symbol: String
    var wants: CompositeWants
    /// Its candles of these intervals that closed, or changed after it, since they were handed over.
    var candles: [Candle] = []
    /// Whether `candles` lacks some.
    var hasOtherPast = false
  }

  /// By feed and instrument.
  private var watched: [Int: [Int: Watched]] = [:]
  /// The watched markets that have changed since they were handed over.
  private var dirty: Set<MarketRoute> = []
  /// Whether they must be passed on at the end of this turn.
  private var isUrgent = false
  private var ticks: UInt = 0

  // What loop 0 keeps.

  private var board = CompositeBoard()
  /// Whether a state has changed, or a new subscriber waits, so that loop 0 does not wait for the next tick.
  private var isNews = false
  private var rates = RateBoard()
  private lazy var rateBook = RateBook(loops: node)
  private var table: (table: ConversionTable, parts: [QuotePart])?
  private var tableAt = Timestamp.distantPast
  private var isGathering = false
  private var histories = 0

  init(node: LoopNode) { self.node = node }

  // MARK: The owners of markets

  /// Loop 0 needs a market of this loop; nil: no longer.
  private func watch(_ route: CompositeRoute, _ wants: CompositeWants?) {
    node.loop.assertOnLoop()
    node.services.wishes.compose(route.local, wants?.hasDerivative == true ? .derivative : [], node.clock.now())
    guard let wants else {
      watched[route.local.market]?[route.local.instrument.index] = nil
      if watched[route.local.market]?.isEmpty == true { watched[route.local.market] = nil }
      dirty.remove(route.local)
      return
    }
    var member =
      watched[route.local.market]?[route.local.instrument.index] ?? Watched(symbol: route.symbol, wants: wants)
    member.wants = wants
    watched[route.local.market, default: [:]][route.local.instrument.index] = member
    dirty.insert(route.local)
    isUrgent = true
  }

  func observe(_ changes: borrowing MarketChanges, of feed: any Feed, at now: Timestamp) { note(feed.slot, changes) }

  func observePast(_ changes: borrowing MarketChanges, slot: Int) { note(slot, changes) }

  /// Marks the members that a batch of changes concerns.
  private func note(_ slot: Int, _ changes: borrowing MarketChanges) {
    guard let members = watched[slot] else { return }
    for item in changes.items {
      switch item {
      case .quote(let quote): note(quote.instrument, slot, members)
      case .trades(let id, _), .ticker(let id), .derivative(let id): note(id, slot, members)
      case .bookState(let id, _), .instrument(let id), .channel(let id, _, _):
        if note(id, slot, members) { isUrgent = true }
      case .bookSnapshot(let id), .bookDelta(let id, _, _, _):
        if members[id.index]?.wants.hasBook == true { note(id, slot, members) }
      case .candles(let id, let range):
        if note(id, slot, members) { note(changes.candles[range], of: id, slot) }
      case .past(let id):
        if note(id, slot, members) { watched[slot]?[id.index]?.hasOtherPast = true }
      case .tradeGap, .tradesMissing, .tradesSearched, .pulse, .sparkline, .liquidations: break
      }
    }
  }

  @discardableResult
  private func note(_ id: InstrumentID, _ slot: Int, _ members: [Int: Watched]) -> Bool {
    guard members[id.index] != nil else { return false }
    dirty.insert(MarketRoute(market: slot, instrument: id))
    return true
  }

  private func note(_ candles: ArraySlice<Candle>, of id: InstrumentID, _ slot: Int) {
    guard let member = watched[slot]?[id.index] else { return }
    let wanted = candles.filter { member.wants.candles[Int($0.interval.rawValue)] > 0 }
    guard member.candles.count + wanted.count <= CompositeBoard.candleLimit else {
      watched[slot]?[id.index]?.hasOtherPast = true
      return
    }
    watched[slot]?[id.index]?.candles += wanted
  }

  /// Hands over the changed markets. If loop 0 cannot take them now, their values of the next tick are handed over
  /// instead.
  private func handOver(_ now: Timestamp) {
    let isNews = isUrgent
    isUrgent = false
    guard !dirty.isEmpty else { return }
    let routes = dirty.sorted { ($0.market, $0.instrument.index) < ($1.market, $1.instrument.index) }
    let found = routes.compactMap { route -> (symbol: String, part: QuotePart?)? in
      guard let member = watched[route.market]?[route.instrument.index] else { return nil }
      return (member.symbol, part(of: member, at: route, now))
    }
    let first = node.nodes[0]
    if first === node {
      take(found, isNews)
    } else {
      let bytes = found.reduce(0) { $0 + Self.bytes(of: $1.part) }
      let isTaken = first.loop.offer(bytes: bytes) { first.composites.take(found, isNews) }
      guard isTaken else { return }
    }
    for route in routes {
      watched[route.market]?[route.instrument.index]?.candles = []
      watched[route.market]?[route.instrument.index]?.hasOtherPast = false
    }
    dirty.removeAll(keepingCapacity: true)
  }

  private func part(of member: Watched, at route: MarketRoute, _ now: Timestamp) -> QuotePart? {
    let depth = member.wants.hasBook ? CompositeMarket.depthLimit : 0
    var part = node.publisher.quotePart(at: route, depth: depth, hasFigures: true, now: now)
    part?.candles = member.candles
    part?.hasOtherPast = member.hasOtherPast
    for interval in CandleInterval.allCases where member.wants.candles[Int(interval.rawValue)] > 0 {
      if let open = node.publisher.openCandle(interval, at: route, now: now) { part?.candles.append(open) }
    }
    return part
  }

  private static func bytes(of part: QuotePart?) -> Int {
    let levels = (part?.book?.bids.count ?? 0) + (part?.book?.asks.count ?? 0)
    return partBytes + levels * MemoryLayout<PriceLevel>.stride
      + (part?.candles.count ?? 0) * MemoryLayout<Candle>.stride
  }

  // MARK: Time

  /// About ten times a second.
  func everyTick(_ now: Timestamp) {
    ticks &+= 1
    if ticks % 10 == 0 {
      // The 24 h figures change with time.
      for (slot, members) in watched {
        for index in members.keys { dirty.insert(MarketRoute(market: slot, instrument: InstrumentID(index))) }
      }
      if node.loop.index == 0 { for symbol in board.symbols { follow(symbol) } }
    }
    handOver(now)
    guard node.loop.index == 0 else { return }
    show(now)
    readHistories(now)
    advanceRates(now)
  }

  /// At the end of a turn, before its frames are delivered.
  func endTurn(_ now: Timestamp) {
    if isUrgent { handOver(now) }
    if isNews { show(now) }
  }

  // MARK: Loop 0

  private func take(_ found: [(symbol: String, part: QuotePart?)], _ isNews: Bool) {
    if isNews { self.isNews = true }
    for (symbol, part) in found { board.take(part, of: symbol) }
  }

  /// The state of a feed has changed, so its markets leave or enter composites.
  func feedsChanged() {
    guard !board.isEmpty else { return }
    board.feedsChanged()
    isNews = true
  }

  /// A composite or a conversion got its first subscriber, or lost its last one.
  func demand(_ demand: StreamDocumentDemand) {
    switch demand {
    case .wanted(let name) where name.channel == .rate: rates.want(name.name)
    case .unwanted(let name) where name.channel == .rate: rates.release(name.name)
    case .wanted(let name) where name.channel.isOfComposites:
      board.want(name.channel, of: name.name)
      let added = begin(name.name)
      guard name.channel.isOfDerivatives else { break }
      for route in board.routes(of: name.name) where !added.contains(route) { tell(route, board.wants(of: name.name)) }
    case .unwanted(let name) where name.channel.isOfComposites:
      for route in board.release(name.channel, of: name.name) { tell(route, nil) }
      guard name.channel.isOfDerivatives else { break }
      for route in board.routes(of: name.name) { tell(route, board.wants(of: name.name)) }
    case .wanted, .unwanted: break
    }
  }

  /// Takes what streams of book, line and candles need. At the end of a turn; loop 0 only.
  func meetDemands(_ now: Timestamp) {
    for demand in node.publisher.takeCompositeDemands(now: now) {
      for route in board.demand(demand) { tell(route, nil) }
      guard demand.market != nil else { continue }
      let wants = board.wants(of: demand.symbol)
      let change = begin(demand.symbol)
      for route in board.routes(of: demand.symbol) where !change.contains(route) { tell(route, wants) }
      wantAllDays(of: demand)
      readHistories(now)
    }
  }

  /// Shows a composite now that has something new to show. Returns the members that are new.
  @discardableResult
  private func begin(_ symbol: String) -> [CompositeRoute] {
    isNews = true
    let added = follow(symbol)
    handOver(node.clock.now())
    // Starts a turn that shows the known values now.
    node.loop.execute {}
    return added
  }

  /// Watches a composite's members, as the directory has them now. Returns the new ones.
  @discardableResult
  private func follow(_ symbol: String) -> [CompositeRoute] {
    let change = board.setMembers(node.hub.members(ofComposite: symbol), of: symbol)
    for route in change.removed { tell(route, nil) }
    for route in change.added { tell(route, board.wants(of: symbol)) }
    return change.added
  }

  private func tell(_ route: CompositeRoute, _ wants: CompositeWants?) {
    let owner = node.nodes[route.loop]
    if owner === node { return watch(route, wants) }
    owner.loop.execute { owner.composites.watch(route, wants) }
  }

  private func outputs(_ now: Timestamp) -> CompositeBoard.Outputs {
    let node: LoopNode = node
    return CompositeBoard.Outputs { name, document in
      node.publisher.replace(document, of: name, now: now, into: &node.work.outgoing)
    } publish: { symbol, changes, members in
      node.publisher.publish(changes, ofComposite: symbol, members: members, now: now, into: &node.work.outgoing)
    }
  }

  private func show(_ now: Timestamp) {
    isNews = false
    board.advance(to: now, judge: { node.hub.judge(&$0) }, into: outputs(now))
  }

  // MARK: Histories

  /// Reads the candles of members that composites lack.
  private func readHistories(_ now: Timestamp) {
    for history in board.takeMissing(limit: Self.historyLimit - histories, now: now) {
      histories += 1
      let request = ChartPage.Request(
        interval: history.interval, from: Timestamp(microseconds: 0), to: now + history.interval.length,
        limit: history.count)
      let entries = node.hub.members(ofComposite: history.symbol)
      CompositeGathering(loops: node, symbol: history.symbol).pages(of: entries, request) { [unowned self] pages in
        histories -= 1
        let now = node.clock.now()
        board.restore(history, pages.isBusy ? nil : pages.parts, now: now, into: outputs(now))
      }
    }
  }

  /// A client requests all days of a composite: of all its members.
  private func wantAllDays(of demand: CompositeDemand) {
    let all = ChartRange.all.candles
    guard demand.wants.candles[Int(all.interval.rawValue)] >= all.count else { return }
    for route in board.routes(of: demand.symbol) {
      let owner = node.nodes[route.loop]
      owner.loop.execute { owner.history?.wantAll(of: route.local.instrument, route.local.market) }
    }
  }

  private func advanceRates(_ now: Timestamp) {
    guard !rates.isEmpty else {
      table = nil
      return
    }
    if rates.isDone, !isGathering, now - tableAt >= Self.ratePeriod || now < tableAt {
      isGathering = true
      rateBook.table(now: now) { [unowned self] table, parts in
        isGathering = false
        self.table = (table, parts)
        tableAt = node.clock.now()
        rates.begin()
      }
    }
    guard let table else { return }
    rates.advance(table.table, table.parts) { name, document in
      node.publisher.replace(document, of: name, now: now, into: &node.work.outgoing)
    }
  }
}
