import HTTP1
import MarketData
import PubSub
import Transport

/// Collects the values of markets from the loops that own them, with the state of each feed. Owned by the requesting
/// loop.
///
/// Composite markets and conversions have no state of their own: each answer is computed from the markets of one
/// moment. So a stale venue is excluded from the next answer.
package final class QuoteGathering {
  private let loops: any Loops
  private let depth: Int
  private let hasFigures: Bool

  /// - Parameters:
  ///   - depth: levels a side of each book, 0 for none.
  ///   - hasFigures: whether the 24 h volumes are wanted.
  package init(loops: any Loops, depth: Int, hasFigures: Bool) {
    self.loops = loops
    self.depth = depth
    self.hasFigures = hasFigures
  }

  /// Calls `completion` on the asking loop with the parts, in no particular order.
  package func gather(_ entries: [DirectoryEntry], then completion: @escaping ([QuotePart]) -> Void) {
    var byLoop: [Int: [MarketRoute]] = [:]
    for entry in entries {
      byLoop[entry.loop, default: []].append(MarketRoute(market: entry.market, instrument: entry.instrument.id))
    }
    guard !byLoop.isEmpty else { return completion([]) }
    var pending = byLoop.count
    var parts: [QuotePart] = []
    let (loops, depth, hasFigures) = (loops, depth, hasFigures)
    for (loop, routes) in byLoop.sorted(by: { $0.key < $1.key }) {
      loops.askMarkets(loop) { markets in
        let now = markets.now()
        return routes.compactMap {
          markets.publisher.quotePart(at: $0, depth: depth, hasFigures: hasFigures, now: now)
        }
      } then: { found in
        for var part in found {
          loops.hub.judge(&part)
          parts.append(part)
        }
        pending -= 1
        if pending == 0 { completion(parts) }
      }
    }
  }
}

/// The markets that conversions go through, gathered at most four times a second for all clients of a loop.
package final class RateBook {
  /// How long a table is valid, µs.
  private static let validity = 250 * Microseconds.millisecond

  private unowned let loops: any Loops
  private var parts: [QuotePart] = []
  private var table = ConversionTable([VenueMarket]())
  private var madeAt = Timestamp.distantPast
  /// Requests that arrived while markets are being gathered; at most as many as there are requests under way.
  private var waiting: [(ConversionTable, [QuotePart]) -> Void] = []

  package init(loops: any Loops) { self.loops = loops }

  /// Calls `completion` with a table of the present markets, and the parts that it was made of.
  package func table(now: Timestamp, then completion: @escaping (ConversionTable, [QuotePart]) -> Void) {
    if now - madeAt < Self.validity, waiting.isEmpty { return completion(table, parts) }
    waiting.append(completion)
    guard waiting.count == 1 else { return }
    let entries = loops.hub.directory.entries.values.filter { $0.instrument.kind == .spot }
    QuoteGathering(loops: loops, depth: 0, hasFigures: false).gather(entries) { [unowned self] found in
      parts = found
      table = ConversionTable(found.map(\.market))
      madeAt = loops.now()
      let answered = waiting
      waiting = []
      for completion in answered { completion(table, parts) }
    }
  }
}
