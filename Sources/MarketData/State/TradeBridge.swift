import Bytes

/// The trades of one instrument across two runs of the gateway: which of those that the venue sends have been told by
/// the earlier run, and whether some between them and the others may be missing.
///
/// At first it holds what comes, until it is known what the earlier run has told. Then nothing is certain until the
/// venue has shown where its trades join those:
/// - it sends the newest of them again, as venues do that begin a subscription with their last trades;
/// - or it counts its trades without holes, and sends the one with the next number.
///
/// Where neither is so before the first trade that nobody has told, trades may be missing. What was told is compared
/// by id, time, price and size: a venue that has begun its ids anew, as a simulated one does, is not mistaken.
struct TradeBridge {
  /// Trades that are held at most; beyond it the oldest half is forgotten. They wait for a read of the data file.
  static let limit = 2_000

  /// What is to be published of the trades that came.
  struct Crossing: Equatable {
    /// Whether trades may be missing between those that were told and all that follows.
    var hasGap = false
    /// Places of `held` that are news, in the order of trading.
    var news: [Int] = []
  }

  /// The last trades that were told, oldest first; nil while that is not known.
  private var told: [Trade]?
  /// Whether the venue counts the instrument's trades without holes.
  private var isCounted = false
  /// What has come and is not decided on.
  private(set) var held: [Trade] = []

  /// - Parameter trades: the last that were told, oldest first; empty where none are known.
  mutating func begin(after trades: [Trade], isCounted: Bool) {
    told = trades
    self.isCounted = isCounted
  }

  mutating func hold(_ trade: Trade) {
    held.append(trade)
    if held.count > Self.limit { held.removeFirst(Self.limit / 2) }
  }

  /// The instrument's prices and sizes are now written with more digits. What does not fit is forgotten.
  mutating func rescale(priceBy: Int64, sizeBy: Int64) {
    func rescaled(_ trades: [Trade]) -> [Trade]? {
      var result = trades
      for index in result.indices {
        let (price, isPriceLarge) = trades[index].price.multipliedReportingOverflow(by: priceBy)
        let (size, isSizeLarge) = trades[index].size.multipliedReportingOverflow(by: sizeBy)
        if isPriceLarge || isSizeLarge { return nil }
        (result[index].price, result[index].size) = (price, size)
      }
      return result
    }
    told = told.map { rescaled($0) ?? [] }
    held = rescaled(held) ?? []
  }

  /// Prices and sizes cannot be compared with those from before.
  mutating func forget() {
    told = told.map { _ in [] }
    held = []
  }

  /// Decides on what has come. Nil: nothing is known yet, or all of it has been told already and is forgotten; what
  /// comes next may join. Otherwise the bridge has done its work. O(held × told), for each message until then.
  mutating func cross() -> Crossing? {
    guard let told, !held.isEmpty else { return nil }
    let order = order
    guard let last = told.last else { return Crossing(hasGap: true, news: order) }
    if let place = order.lastIndex(where: { held[$0].isSame(as: last) }) {
      return Crossing(news: order[(place + 1)...].filter { !isTold(held[$0]) })
    }
    let number = isCounted ? last.id.number : nil
    let news = order.filter { place in
      let trade = held[place]
      if isTold(trade) || trade.time < told[0].time { return false }
      guard let number, let own = trade.id.number else { return true }
      return own > number
    }
    guard let first = news.first else {
      held.removeAll()
      return nil
    }
    let joins = number.map { held[first].id.number == $0 &+ 1 } ?? false
    return Crossing(hasGap: !joins, news: news)
  }

  /// The places of what is held in the order of trading, each trade once: a venue may begin with the newest, and begins
  /// again after a lost connection.
  private var order: [Int] {
    var result: [Int] = []
    var seen: Set<Key> = []
    var start = 0
    while start < held.count {
      let end = held[start...].firstIndex { $0.isBacklog != held[start].isBacklog } ?? held.count
      let (first, last) = (held[start], held[end - 1])
      let isDescending =
        first.isBacklog && (first.time, first.id.number ?? 0) > (last.time, last.id.number ?? 0)
      for place in isDescending ? Array((start..<end).reversed()) : Array(start..<end)
      where held[place].id.isEmpty || seen.insert(Key(held[place])).inserted {
        result.append(place)
      }
      start = end
    }
    return result
  }

  private struct Key: Hashable {
    let (id, time, price, size): (TradeID, Timestamp, Int64, Int64)
    init(_ trade: Trade) { (id, time, price, size) = (trade.id, trade.time, trade.price, trade.size) }
  }

  private func isTold(_ trade: Trade) -> Bool { told?.contains { $0.isSame(as: trade) } ?? false }
}

extension Trade {
  /// Whether both are the same execution of one instrument, told twice.
  fileprivate func isSame(as other: Trade) -> Bool {
    id == other.id && time == other.time && price == other.price && size == other.size && !id.isEmpty
  }
}

extension Market {
  /// Goes on after the last trades that an earlier run has told, where `bridgesTrades` holds: those are not published
  /// again, what the venue tells of the time between is published as `.trades` though it is backlog, and where some may
  /// be missing `.tradeGap` comes first.
  ///
  /// - Parameters:
  ///   - told: oldest first, at the instrument's scales; empty where none are known: then trades may be missing.
  ///   - isCounted: whether the venue counts the instrument's trades without holes.
  package func bridge(after told: [Trade], isCounted: Bool, of id: InstrumentID, into changes: inout MarketChanges) {
    guard id.index >= 0, id.index < instruments.count else { return }
    let state = instruments[id.index]
    state.bridge?.begin(after: told, isCounted: isCounted)
    if state.bridge != nil { cross(state, into: &changes) }
  }

  /// Publishes what has waited of an instrument that has no earlier run.
  package func beginWithoutPast(of id: InstrumentID, into changes: inout MarketChanges) {
    guard id.index >= 0, id.index < instruments.count, let held = instruments[id.index].bridge?.held else { return }
    instruments[id.index].bridge = nil
    append(held.filter { !$0.isBacklog }, of: id, into: &changes)
  }

  /// Publishes what the bridge lets through of the trades that have come.
  func cross(_ state: InstrumentState, into changes: inout MarketChanges) {
    guard let crossing = state.bridge?.cross(), let held = state.bridge?.held else { return }
    state.bridge = nil
    let id = state.instrument.id
    let news = crossing.news.map { held[$0] }
    guard crossing.hasGap else { return append(news, of: id, into: &changes) }
    let start = changes.trades.count
    changes.trades += news.filter(\.isBacklog)
    changes.items.append(.tradeGap(id, start..<changes.trades.count))
    append(news.filter { !$0.isBacklog }, of: id, into: &changes)
  }

  private func append(_ trades: [Trade], of id: InstrumentID, into changes: inout MarketChanges) {
    guard !trades.isEmpty else { return }
    let start = changes.trades.count
    changes.trades += trades
    changes.items.append(.trades(id, start..<changes.trades.count))
  }
}
