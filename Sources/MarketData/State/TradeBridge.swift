import Bytes

/// Joins the trades of one instrument across two runs of the gateway: decides which of the venue's trades the earlier
/// run has published, and whether trades between those and the next may be missing.
///
/// At first it holds the venue's trades until it knows the trades that the earlier run has published. Then the venue
/// must show where its trades join those:
/// - It sends the newest of them again. Some venues begin a subscription with their last trades.
/// - Or it numbers its trades without gaps, and sends the trade with the next number.
///
/// If neither happens before the first unpublished trade, trades may be missing.
///
/// A received trade is a repetition if its id, time, price and size are those of a published one, if it is older than
/// the kept trades, or if the venue numbers its trades and the number is not above the last published one. The number
/// never decides against the clock: a trade that is newer than every published one is news under any id. Its venue has
/// then begun its numbers anew, as a new matching engine does, or a market that is listed again.
struct TradeBridge {
  /// The most held trades; beyond that, the oldest half is dropped. They wait for a read of the data file.
  static let limit = 2_000

  /// Which of the received trades are to be published.
  struct Crossing: Equatable {
    /// Whether trades may be missing between the published trades and the following ones.
    var hasGap = false
    /// Whether the venue began its numbers anew.
    var isRenumbered = false
    /// Indices of `held` that are new, in the order of trading.
    var news: [Int] = []
  }

  /// The last trades that the earlier run has published, oldest first; nil while they are not known.
  private var told: [Trade]?
  /// Whether the venue numbers the instrument's trades without gaps.
  private var isCounted = false
  /// The id of the last published trade; nil if none is known.
  var last: TradeID? { told?.last?.id }
  /// When the newest held trade arrived.
  private var arrived = Timestamp.distantPast
  /// Received trades without a decision.
  private(set) var held: [Trade] = []
  /// How many of `held` came before the last lost connection: trades after these may be missing.
  private var cut = 0
  /// The time of the live trades that were dropped because too many were held; nil if none was.
  private(set) var dropped: TimeSpan?
  /// The newest trade that the charts of the earlier run have; nil if none is known.
  private var charted: Trade?

  /// - Parameter trades: the last published trades, oldest first; empty if none are known.
  mutating func begin(after trades: [Trade], isCounted: Bool) {
    told = trades
    self.isCounted = isCounted
  }

  /// Notes the newest trade that the restored charts have. It may be newer than the last published one: the trades that
  /// a venue sends again after a lost connection are in charts alone.
  mutating func restore(until trade: Trade) { charted = trade }

  mutating func hold(_ trade: Trade, now: Timestamp) {
    arrived = now
    held.append(trade)
    guard held.count > Self.limit else { return }
    for trade in held[..<(Self.limit / 2)] where !trade.isBacklog {
      dropped = TimeSpan(
        from: min(dropped?.from ?? trade.time, trade.time), to: max(dropped?.to ?? trade.time, trade.time + 1))
    }
    held.removeFirst(Self.limit / 2)
    cut = max(0, cut - Self.limit / 2)
  }

  /// The connection was lost.
  mutating func disconnected() { cut = held.count }

  /// Widens the prices and sizes to the instrument's new scales. Values that do not fit are dropped.
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
    charted = charted.flatMap { rescaled([$0])?.first }
    replaceHeld(rescaled(held) ?? [])
  }

  /// Notes that prices and sizes cannot be compared with earlier ones.
  mutating func forget() {
    told = told.map { _ in [] }
    charted = nil
    replaceHeld([])
  }

  private mutating func replaceHeld(_ trades: [Trade]) {
    held = trades
    cut = min(cut, held.count)
  }

  /// Decides about the held trades. Nil: the earlier trades are not known yet, or all held trades were published by the
  /// earlier run and are dropped; the next trades may join. Otherwise the bridge has finished. O(held × told), for
  /// each message until then.
  mutating func cross() -> Crossing? {
    guard let told, !held.isEmpty else { return nil }
    let order = order
    guard let last = told.last else { return Crossing(hasGap: true, news: order) }
    if let index = order.lastIndex(where: { held[$0].isSame(as: last) }) {
      let news = order[(index + 1)...].filter { !isTold(held[$0]) }
      return Crossing(hasGap: cut > 0 && held[cut...].allSatisfy { !$0.isSame(as: last) }, news: news)
    }
    let number = isCounted ? last.id.number : nil
    // A published time that is still to come proves nothing.
    let times = told.map(\.time).filter { $0 <= arrived + Market.clockTolerance }
    let (oldest, newest) = (times.first ?? .distantPast, times.max() ?? .distantPast)
    let news = order.filter { index in
      let trade = held[index]
      if isTold(trade) || trade.time < oldest { return false }
      guard let number, let own = trade.id.number else { return true }
      return own > number || trade.time > newest
    }
    guard let first = news.first else {
      replaceHeld([])
      return nil
    }
    let own = held[first].id.number
    if let number, own == number &+ 1 { return Crossing(hasGap: first < cut, news: news) }
    let isRenumbered = isCounted && (number == nil) != (own == nil) || number.map { (own ?? .max) <= $0 } ?? false
    return Crossing(hasGap: true, isRenumbered: isRenumbered, news: news)
  }

  /// The indices of the held trades in the order of trading, each trade once: a venue may begin with the newest, and
  /// repeats trades after a lost connection.
  private var order: [Int] {
    var result: [Int] = []
    var seen: Set<Key> = []
    var start = 0
    while start < held.count {
      let end = held[start...].firstIndex { $0.isBacklog != held[start].isBacklog } ?? held.count
      let (first, last) = (held[start], held[end - 1])
      let isDescending =
        first.isBacklog && (first.time, first.id.number ?? 0) > (last.time, last.id.number ?? 0)
      for index in isDescending ? Array((start..<end).reversed()) : Array(start..<end)
      where held[index].id.isEmpty || seen.insert(Key(held[index])).inserted {
        result.append(index)
      }
      start = end
    }
    return result
  }

  private struct Key: Hashable {
    let (id, time, price, size): (TradeID, Timestamp, Int64, Int64)
    init(_ trade: Trade) { (id, time, price, size) = (trade.id, trade.time, trade.price, trade.size) }
  }

  /// Those of the new trades that the restored charts lack. O(news × told).
  func uncharted(_ news: [Trade]) -> [Trade] {
    // Without such a trade, the charts have the published ones, and none of these is new.
    guard let charted, !isTold(charted) else { return news }
    if let index = news.lastIndex(where: { $0.isSame(as: charted) }) { return Array(news[(index + 1)...]) }
    return news.filter { !$0.isBacklog || $0.time > charted.time }
  }

  private func isTold(_ trade: Trade) -> Bool { told?.contains { $0.isSame(as: trade) } ?? false }
}

extension Trade {
  /// Whether both are the same execution of one instrument.
  fileprivate func isSame(as other: Trade) -> Bool {
    id == other.id && time == other.time && price == other.price && size == other.size && !id.isEmpty
  }
}
