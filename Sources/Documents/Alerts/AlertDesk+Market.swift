import Alerts
import Foundation
import MarketData
import PubSub
import Synchronization

/// Takes what the loops hand over.
extension AlertDesk {
  /// Takes a market's values; never waits. On any loop.
  package func add(_ source: AlertSource, _ events: [AlertMarketEvent]) {
    let moment = moment
    if mailbox.withLock({ $0.add(source, events, at: moment) }) { queue.async { self.takeMail() } }
  }

  private func takeMail() {
    let mail = mailbox.withLock { $0.take() }
    // Nothing that fires now could be written: the time until then counts as a gap.
    let isStuck = writes.draft.firings.count >= Self.firingLimit
    for (source, event, moment) in mail.events {
      switch event {
      case .scales(let price, let size): engine.describe(source, priceScale: price, sizeScale: size)
      case .feed(let isLive, let isFirst):
        symbols.setLive(engine.symbol(of: source), isLive)
        engine.setFeed(source, isLive: isLive, isFirst: isFirst, at: moment)
      case .book(let isLive, let isFirst): engine.setBook(source, isLive: isLive, isFirst: isFirst, at: moment)
      case .price(let price): if !isStuck { engine.price(source, price, at: moment) }
      case .quote(let bid, let ask): if !isStuck { engine.quote(source, bid: bid, ask: ask, at: moment) }
      case .depth(let side, let points, let size):
        if !isStuck { engine.depth(source, side, basisPoints: points, size: size, at: moment) }
      case .contract(let measure, let value): if !isStuck { engine.contract(source, measure, value, at: moment) }
      case .past(let samples): engine.prime(source, samples, at: moment)
      }
    }
    if mail.hasOverflown || isStuck { breakOff() }
    settle()
  }

  /// Records that values were left out: every live market has a gap, which its next value ends.
  private func breakOff() {
    sharedFigures.withLock { $0.overflows += 1 }
    let now = moment
    for symbol in symbols.allLive {
      let source = engine.source(symbol)
      engine.setFeed(source, isLive: false, at: now)
      engine.setFeed(source, isLive: true, at: now)
    }
  }

  /// Lists the events of a symbol that the loops hand over.
  func watch(of symbol: String) -> AlertWatch {
    let source = engine.source(symbol)
    return AlertWatch(
      symbol: symbol, source: source, isWanted: symbols.isUsed(symbol),
      depths: engine.depths(of: source).map { .init(side: $0.side, basisPoints: $0.basisPoints) },
      windows: engine.windows(of: source), contracts: engine.contracts(of: source))
  }

  /// A rule was added: tells the loops which values to hand over.
  func startUsing(_ rule: AlertRule) {
    for symbol in rule.symbols {
      symbols.add(symbol)
      outlet?.watch(watch(of: symbol))
    }
  }

  /// A rule was removed: tells the loops which values to leave out.
  func stopUsing(_ rule: AlertRule) {
    for symbol in rule.symbols {
      if symbols.remove(symbol) {
        let now = moment
        engine.setFeed(engine.source(symbol), isLive: false, at: now)
        engine.setBook(engine.source(symbol), isLive: false, at: now)
      }
      outlet?.watch(watch(of: symbol))
    }
  }

  // MARK: Streams

  /// A stream begins or stops showing an owner's rules. From loop 0.
  package func demand(_ demand: StreamDocumentDemand) {
    queue.async { [self] in
      switch demand {
      case .wanted(let name):
        let owner = owners.make(name.name)
        owners.watch(owner, true)
        outlet?.show(document(of: owner), of: name.name)
      case .unwanted(let name):
        if let owner = owners[name.name] { owners.watch(owner, false) }
        owners.forgetIfIdle(name.name)
      }
    }
  }

  // MARK: Zones

  /// Gives the engine a zone that it does not know yet, if the system has it. Reads a small file the first time.
  func loadZone(_ name: String, _ moment: AlertMoment) {
    guard !engine.hasZone(name), let zone = ZoneFiles.read(name) else { return }
    engine.setZone(name, zone, at: moment)
  }
}
