import Bytes
import MarketData

/// A planned change of a feed's connection: a second engine builds its books aside, on a connection of its own,
/// while the first goes on; when it has everything, it takes the first one's place. No tick is lost, doubled or shown
/// twice.
///
/// Sans-IO: the caller makes the connection of `successor` as of any pipeline, calls `collect` after every call of it,
/// and asks `standing` a few times a second. Confined to the feed's loop.
///
/// **When it has everything**: every book that is shown is in sync there too, nothing has been asked of the venue for
/// `settleTime` since, and every trade that the old connection brought meanwhile has come there within
/// `tradePatience`. That the subscriptions are in force is so shown by what comes, whatever a venue acknowledges, or
/// does not.
package final class FeedHandover {
  /// How long everything has to stand before the change, µs.
  package static let settleTime = 500 * Microseconds.millisecond
  /// How much later a trade may come on the new connection, µs.
  package static let tradePatience = Microseconds.second

  package enum Standing: Equatable, Sendable {
    case ready
    /// What is still wanting, for people.
    case waiting(String)
  }

  /// What builds the books aside.
  package let successor: FeedPipeline
  /// Symbols that the venue refused on the new connection, and why.
  package private(set) var refusals: [String: String] = [:]

  private let active: FeedPipeline
  private let overlap = TradeOverlap()
  /// The active market's indices by the successor's; -1 where it has no such instrument.
  private var targets: [Int32] = []
  /// The symbols that are configured, where they change; nil: all that `active` has.
  private let wanted: Set<String>?
  private var completeSince: Timestamp?
  private var lastRequest = Timestamp.distantPast

  /// Begins: from now on the trades of `active` are noted.
  /// - Parameter keepsOrder: whether the successor is asked for the symbols in the order of `active`'s, which saves
  ///   the change of indices.
  /// - Parameter changesSymbols: whether `configuration` names other symbols than `active` follows: then the successor
  ///   is asked for these alone, and what it does not have any more need not be in sync there.
  package init(
    of active: FeedPipeline, configuration: FeedConfiguration, keepsOrder: Bool = true, changesSymbols: Bool = false
  ) {
    self.active = active
    wanted = changesSymbols ? Set(configuration.symbols) : nil
    let keepsOrder = keepsOrder && !changesSymbols
    var settings = configuration
    if keepsOrder { settings.symbols = Self.symbols(of: active.market, configured: configuration.symbols) }
    successor = FeedPipeline(venue: active.venue, configuration: settings)
    active.overlap = overlap
    // A venue may begin a subscription with the newest trade, however old it is.
    for state in active.market.instruments {
      guard let last = state.lastTrade else { continue }
      overlap.willPublish(
        TradeKey(instrument: state.instrument.id.rawValue, id: last.id), at: last.time, now: .distantPast)
    }
  }

  /// The followed symbols in their order, which keeps the indices; then the configured ones that were not available. A
  /// selection (`*-USD`) is not resolved again: its symbols stay those of the beginning.
  private static func symbols(of market: Market, configured: [String]) -> [String] {
    let followed = market.instruments.map { FeedSymbol($0.instrument).text }
    let known = Set(followed)
    return followed
      + configured.filter { !known.contains($0) && (followed.isEmpty || !MarketSelection.isMeant(by: $0)) }
  }

  /// Ends without a change.
  package func cancel() {
    if active.overlap === overlap { active.overlap = nil }
  }

  /// Something was asked of the venue on the new connection.
  package func noteRequest(now: Timestamp) { lastRequest = now }

  /// The venue refused a symbol on the new connection.
  package func noteRefusal(_ symbol: String, _ reason: String) { refusals[symbol] = reason }

  /// Takes what the successor's last call brought; call it after every one.
  package func collect() {
    let market = successor.market
    while targets.count < market.instruments.count {
      let symbol = market.instruments[targets.count].instrument.symbol
      let target = active.market.instruments.firstIndex { $0.instrument.symbol == symbol }
      targets.append(target.map(Int32.init) ?? -1)
    }
    for trade in successor.changes.trades {
      let index = trade.instrument.index
      let target = targets[index]
      let instrument = market[trade.instrument].instrument
      overlap.hold(
        .init(
          // Of what is not followed yet nothing has been published: any name of its own will do.
          key: TradeKey(instrument: target >= 0 ? target : -2 - Int32(index), id: trade.id), trade: trade,
          priceScale: instrument.priceScale, sizeScale: instrument.sizeScale))
    }
    successor.clear()
  }

  /// Whether the change can be made.
  package func standing(now: Timestamp) -> Standing {
    let states = Dictionary(
      successor.market.instruments.map { ($0.instrument.symbol, $0) }, uniquingKeysWith: { first, _ in first })
    let missing = active.market.instruments.count { state in
      guard state.bookState == .live, refusals[FeedSymbol(state.instrument).text] == nil else { return false }
      guard let other = states[state.instrument.symbol] else { return isWanted(state.instrument) }
      return other.bookState != .live
    }
    guard missing == 0, !states.isEmpty else {
      completeSince = nil
      return .waiting(states.isEmpty ? "waiting for its instruments" : "\(missing) of its books are missing")
    }
    if completeSince == nil {
      completeSince = now
      let left = active.market.instruments.filter { states[$0.instrument.symbol] == nil && !isWanted($0.instrument) }
      overlap.ignored = Set(left.map(\.instrument.id.rawValue))
      overlap.compare()
    }
    if let since = overlap.missingSince, now - since >= Self.tradePatience {
      completeSince = now
      overlap.compare()
      return .waiting("waiting for its trades")
    }
    guard now - max(completeSince ?? now, lastRequest) >= Self.settleTime else {
      return .waiting("it must settle first")
    }
    return overlap.missingSince == nil ? .ready : .waiting("waiting for its trades")
  }

  /// Whether the new connection is to have an instrument of the old one. A selection's are not known beforehand.
  private func isWanted(_ instrument: Instrument) -> Bool { wanted?.contains(FeedSymbol(instrument).text) ?? true }

  /// The symbols of `active` that the successor does not have; empty where symbols do not change.
  package var leftOut: [String] {
    guard wanted != nil else { return [] }
    let kept = Set(successor.market.instruments.map(\.instrument.symbol))
    return active.market.instruments.filter { !kept.contains($0.instrument.symbol) && !isWanted($0.instrument) }
      .map(\.instrument.symbol)
  }

  /// How many of the books that are shown the successor has in sync.
  package var booksInSync: Int { successor.market.instruments.count { $0.bookState == .live } }

  /// Makes the change. False if it cannot be made; then the handover is cancelled.
  package func takeOver(now: Timestamp) -> Bool {
    collect()
    if active.takeOver(from: successor, overlap, now: now) { return true }
    cancel()
    return false
  }
}
