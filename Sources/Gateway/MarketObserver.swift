import Feeds
import History
import MarketData
import Operations
import PubSub
import Transport

/// Follows what the feeds of one loop publish. Its node calls it on the loop, with batches and never with single
/// events: such a call costs a lookup in a table.
protocol MarketObserver: AnyObject {
  /// A feed has published changes.
  func observe(_ changes: borrowing MarketChanges, of feed: any Feed, at now: Timestamp)
  /// The past of a feed's market has become known, from a store or its venue.
  func observePast(_ changes: borrowing MarketChanges, slot: Int)
  /// About ten times a second.
  func everyTick(_ now: Timestamp)
  func everySecond(_ now: Timestamp)
  /// The feeds have ended.
  func stop()
}

extension MarketObserver {
  func observe(_ changes: borrowing MarketChanges, of feed: any Feed, at now: Timestamp) {}
  func observePast(_ changes: borrowing MarketChanges, slot: Int) {}
  func everyTick(_ now: Timestamp) {}
  func everySecond(_ now: Timestamp) {}
  func stop() {}
}

/// An observer with something to do in every turn.
protocol TurnObserver: MarketObserver {
  /// Publishes what must not wait for the next tick. At the end of a turn, before its frames are delivered.
  func endTurn(_ now: Timestamp)
  /// Takes what streams need since the last call. On loop 0, after the turn's frames have been delivered.
  func meetDemands(_ now: Timestamp)
}

extension TurnObserver {
  func endTurn(_ now: Timestamp) {}
}

extension AssetNameRequests: MarketObserver {}

/// The parts of a node that live from its market data, beside the publisher. Code that asks one of them knows it by its
/// name here; the node knows the list.
///
/// A class, whose constant list needs no reference counting: a batch that concerns none of four observers takes 12 ns.
/// In a value of the node it took 54.
final class MarketServices {
  /// Nil if the gateway stores nothing.
  let history: LoopHistory?
  /// On the first loop only.
  let names: AssetNameRequests?
  let alerts: LoopAlerts
  let composites: LoopComposites
  let decks: LoopDecks
  let wishes: LoopWishes

  /// All of them, in the order in which they see a batch of changes.
  let observers: [any MarketObserver]
  let turnObservers: [any TurnObserver]

  init(node: LoopNode) {
    let settings = node.settings
    history = settings.history.map { LoopHistory(node: node, keeper: $0) }
    names =
      node.loop.index > 0
      ? nil
      : AssetNameRequests(
        loop: node.loop, store: settings.history.map { AssetNameStore(file: $0.store.file) },
        log: settings.log.of(.feeds), now: { [unowned node] in node.clock.now() },
        deliver: { [unowned node] in node.take($0) })
    alerts = LoopAlerts(node: node, desk: settings.alerts)
    composites = LoopComposites(node: node)
    decks = LoopDecks(node: node)
    wishes = LoopWishes(node: node)
    let all: [(any MarketObserver)?] = [history, alerts, composites, decks, names, wishes]
    observers = all.compactMap(\.self)
    turnObservers = [alerts, composites, wishes]
  }
}
