import MarketData
import PubSub
import Transport

/// Composite markets and conversions on the stream. Owned by its node's loop.
///
/// Every loop passes the values of its member markets to loop 0. It passes markets whose book went in or out of sync at
/// the end of the turn, and others on a tick of 100 ms, once for any number of changes. Loop 0 computes each composite
/// once for all changes since its own last tick, and at once after a change of state. A market that is not a member
/// costs one look-up a batch.
final class LoopComposites {
  /// The largest age of the table of conversions while a conversion has subscribers, µs.
  private static let ratePeriod = 250 * Microseconds.millisecond
  /// The bytes that a part takes in a mailbox.
  private static let partBytes = MemoryLayout<QuotePart>.stride + 128

  private unowned let node: LoopNode

  // What every loop keeps about its own markets.

  /// The symbols that loop 0 asks for, by feed and instrument.
  private var watched: [Int: [Int: String]] = [:]
  /// The watched markets that have changed since they were handed over.
  private var dirty: Set<MarketPlace> = []
  /// Whether they must be passed on at the end of this turn.
  private var isUrgent = false
  private var ticks: UInt = 0

  // What loop 0 keeps.

  private var board = CompositeBoard()
  /// Whether a state has changed, or a new subscriber waits, so that loop 0 does not wait for the next tick.
  private var isNews = false
  private var rates = RateBoard()
  private lazy var rateBook = RateBook(node: node)
  private var table: (table: ConversionTable, parts: [QuotePart])?
  private var tableAt = Timestamp.distantPast
  private var isGathering = false

  init(node: LoopNode) { self.node = node }

  // MARK: The owners of markets

  /// Loop 0 needs a market of this loop, or no longer needs it.
  private func watch(_ place: CompositePlace, _ isWanted: Bool) {
    node.loop.assertOnLoop()
    guard isWanted else {
      watched[place.place.market]?[place.place.instrument.index] = nil
      if watched[place.place.market]?.isEmpty == true { watched[place.place.market] = nil }
      dirty.remove(place.place)
      return
    }
    watched[place.place.market, default: [:]][place.place.instrument.index] = place.symbol
    dirty.insert(place.place)
    isUrgent = true
  }

  /// Marks the members that a batch of changes concerns.
  func note(_ feed: any Feed, _ changes: borrowing MarketChanges) {
    guard let members = watched[feed.slot] else { return }
    for item in changes.items {
      switch item {
      case .quote(let quote): note(quote.instrument, feed.slot, members)
      case .trades(let id, _), .ticker(let id): note(id, feed.slot, members)
      case .bookState(let id, _), .instrument(let id), .channel(let id, _, _):
        if note(id, feed.slot, members) { isUrgent = true }
      case .tradeGap, .tradesMissing, .tradesSearched, .pulse, .bookSnapshot, .bookDelta, .sparkline, .candles, .past:
        break
      }
    }
  }

  @discardableResult
  private func note(_ id: InstrumentID, _ slot: Int, _ members: [Int: String]) -> Bool {
    guard members[id.index] != nil else { return false }
    dirty.insert(MarketPlace(market: slot, instrument: id))
    return true
  }

  /// Hands over the changed markets. If loop 0 cannot take them now, their values of the next tick are handed over
  /// instead.
  private func handOver(_ now: Timestamp) {
    let isNews = isUrgent
    isUrgent = false
    guard !dirty.isEmpty else { return }
    let places = dirty.sorted { ($0.market, $0.instrument.index) < ($1.market, $1.instrument.index) }
    let found = places.compactMap { place -> (symbol: String, part: QuotePart?)? in
      guard let symbol = watched[place.market]?[place.instrument.index] else { return nil }
      return (symbol, node.publisher.quotePart(at: place, depth: 0, hasFigures: true, now: now))
    }
    let first = node.nodes[0]
    if first === node {
      take(found, isNews)
    } else {
      let isTaken = first.loop.offer(bytes: found.count * Self.partBytes) { first.composites.take(found, isNews) }
      guard isTaken else { return }
    }
    dirty.removeAll(keepingCapacity: true)
  }

  // MARK: Time

  /// About ten times a second.
  func everyTick(_ now: Timestamp) {
    ticks &+= 1
    if ticks % 10 == 0 {
      // The 24 h figures change with time.
      for (slot, members) in watched {
        for index in members.keys { dirty.insert(MarketPlace(market: slot, instrument: InstrumentID(index))) }
      }
      if node.loop.index == 0 { for symbol in board.symbols { follow(symbol) } }
    }
    handOver(now)
    guard node.loop.index == 0 else { return }
    show(now)
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
      isNews = true
      follow(name.name)
      handOver(node.clock.now())
      // Starts a turn that shows the known values now.
      node.loop.execute {}
    case .unwanted(let name) where name.channel.isOfComposites:
      for place in board.release(name.channel, of: name.name) { tell(place, isWanted: false) }
    case .wanted, .unwanted: break
    }
  }

  /// Watches a composite's members, as the directory has them now.
  private func follow(_ symbol: String) {
    let change = board.setMembers(node.hub.members(ofComposite: symbol), of: symbol)
    for place in change.removed { tell(place, isWanted: false) }
    for place in change.added { tell(place, isWanted: true) }
  }

  private func tell(_ place: CompositePlace, isWanted: Bool) {
    let owner = node.nodes[place.loop]
    if owner === node { return watch(place, isWanted) }
    owner.loop.execute { owner.composites.watch(place, isWanted) }
  }

  private func show(_ now: Timestamp) {
    isNews = false
    board.advance(to: now, judge: { node.hub.judge(&$0) }) { name, document in
      node.publisher.replace(document, of: name, now: now, into: &node.outgoing)
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
      node.publisher.replace(document, of: name, now: now, into: &node.outgoing)
    }
  }
}
