import Bytes
import Foundation
import MarketData

@testable import PubSub

/// A board beside a `World`, fed as a gateway feeds it: owners hand over what their markets show, and the candles that
/// changed since.
final class CompositeWorld {
  let world: World
  var board = CompositeBoard()
  /// Closed candles that have not been handed over, by loop.
  private var candles: [[Candle]]
  private var hasOtherPast: [Bool]
  /// How often a history was read.
  private(set) var histories = 0

  init(_ world: World) {
    self.world = world
    candles = Array(repeating: [], count: world.loops)
    hasOtherPast = Array(repeating: false, count: world.loops)
    world.onChanges = { [unowned self] loop in
      for item in world.changes.items {
        switch item {
        case .candles(InstrumentID(0), let range): candles[loop] += world.changes.candles[range]
        case .past(InstrumentID(0)): hasOtherPast[loop] = true
        default: break
        }
      }
    }
  }

  /// One tick: who is asked for, what the markets of `loops` show, what it comes to.
  func tick(handing loops: [Int]? = nil) {
    for demand in world.publishers[0].takeDocumentDemands() {
      switch demand {
      case .wanted(let name):
        board.want(name.channel, of: name.name)
        follow(name.name)
      case .unwanted(let name): _ = board.release(name.channel, of: name.name)
      }
    }
    for demand in world.publishers[0].takeCompositeDemands(now: world.now) {
      _ = board.demand(demand)
      if demand.market != nil { follow(demand.symbol) }
    }
    for symbol in board.symbols {
      for entry in world.hubs[0].members(ofComposite: symbol) where loops?.contains(entry.loop) ?? true {
        board.take(part(entry, board.wants(of: symbol)), of: entry.instrument.symbol)
      }
    }
    show()
    readHistories()
    // Whoever read one is shown it at once.
    show()
  }

  private func follow(_ symbol: String) {
    _ = board.setMembers(world.hubs[0].members(ofComposite: symbol), of: symbol)
  }

  private func part(_ entry: DirectoryEntry, _ wants: CompositeWants) -> QuotePart? {
    let route = MarketRoute(market: entry.market, instrument: entry.instrument.id)
    let publisher = world.publishers[entry.loop]
    var part = publisher.quotePart(
      at: route, depth: wants.hasBook ? CompositeMarket.depthLimit : 0, hasFigures: true, now: world.now)
    guard entry.instrument.id == InstrumentID(0) else { return part }
    part?.candles = candles[entry.loop].filter { wants.candles[Int($0.interval.rawValue)] > 0 }
    part?.hasOtherPast = hasOtherPast[entry.loop]
    for interval in CandleInterval.allCases where wants.candles[Int(interval.rawValue)] > 0 {
      if let open = publisher.openCandle(interval, at: route, now: world.now) { part?.candles.append(open) }
    }
    candles[entry.loop] = []
    hasOtherPast[entry.loop] = false
    return part
  }

  /// The candles of the members, as a request for a page reads them.
  func pages(_ symbol: String, _ interval: CandleInterval, _ count: Int) -> [CompositeCandles.Part] {
    world.hubs[0].members(ofComposite: symbol).compactMap { entry in
      let route = MarketRoute(market: entry.market, instrument: entry.instrument.id)
      let found = world.publishers[entry.loop].candles(
        interval, from: .distantPast, to: .distantFuture, limit: count, at: route, now: world.now)
      guard let found, !found.candles.isEmpty else { return nil }
      return .init(instrument: found.instrument, candles: found.candles)
    }
  }

  private func readHistories() {
    for history in board.takeMissing(limit: 8, now: world.now) {
      histories += 1
      board.restore(history, pages(history.symbol, history.interval, history.count), now: world.now, into: outputs)
    }
    post()
  }

  private final class Sink { var out: [Delivery] = [] }
  private let sink = Sink()

  private var outputs: CompositeBoard.Outputs {
    let (world, sink) = (world, sink)
    return CompositeBoard.Outputs { name, document in
      world.publishers[0].replace(document, of: name, now: world.now, into: &sink.out)
    } publish: { symbol, changes, members in
      world.publishers[0].publish(changes, ofComposite: symbol, members: members, now: world.now, into: &sink.out)
    }
  }

  private func post() {
    world.post(sink.out)
    sink.out = []
    world.settle()
  }

  func show() {
    board.advance(to: world.now, judge: { world.hubs[0].judge(&$0) }, into: outputs)
    post()
  }
}
