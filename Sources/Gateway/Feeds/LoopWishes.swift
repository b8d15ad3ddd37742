import Feeds
import MarketData
import PubSub
import Venues

/// What clients want of the instruments of one loop that their venues send only on demand: as long as a stream wants
/// it or a rule watches it, and for some minutes after a request over HTTP. A market that nobody asks for costs its
/// venue no request.
final class LoopWishes: TurnObserver, @unchecked Sendable {
  // `@unchecked`: a part of its node, which alone holds it and uses it on its own loop.

  /// How long a request over HTTP counts, µs.
  static let requestLife = 5 * Microseconds.minute
  /// The most instruments that requests over HTTP are remembered of.
  static let requestLimit = 4_096

  private unowned let node: LoopNode
  /// The requested data of each instrument, and the time until which the request counts.
  private var requested: [MarketRoute: (wishes: MarketWishes, until: Timestamp)] = [:]
  /// What rules of alerts need. Bounded by the instruments, as the next.
  private var watched: [MarketRoute: MarketWishes] = [:]
  /// What composites of perpetuals need.
  private var composed: [MarketRoute: MarketWishes] = [:]

  init(node: LoopNode) { self.node = node }

  /// Takes what streams want since the last call.
  func endTurn(_ now: Timestamp) {
    for demand in node.publisher.takeMarketDemands() { tell(demand.route, demand.wishes, now) }
  }

  func meetDemands(_ now: Timestamp) {}

  /// A client has asked for something of an instrument over HTTP.
  func request(_ wishes: MarketWishes, of route: MarketRoute, _ now: Timestamp) {
    let known = requested[route]?.wishes
    guard known != nil || requested.count < Self.requestLimit else { return }
    let all = wishes.union(known ?? [])
    requested[route] = (all, now + Self.requestLife)
    if all != known { tell(route, node.publisher.wishes(at: route), now) }
  }

  /// The rules of alerts need this of an instrument.
  func watch(_ route: MarketRoute, _ wishes: MarketWishes, _ now: Timestamp) {
    guard wishes != watched[route] ?? [] else { return }
    watched[route] = wishes.isEmpty ? nil : wishes
    tell(route, node.publisher.wishes(at: route), now)
  }

  /// A composite needs this of an instrument.
  func compose(_ route: MarketRoute, _ wishes: MarketWishes, _ now: Timestamp) {
    guard wishes != composed[route] ?? [] else { return }
    composed[route] = wishes.isEmpty ? nil : wishes
    tell(route, node.publisher.wishes(at: route), now)
  }

  func everySecond(_ now: Timestamp) {
    guard !requested.isEmpty else { return }
    for (route, request) in requested.sorted(by: { $0.value.until < $1.value.until }) where request.until <= now {
      requested[route] = nil
      tell(route, node.publisher.wishes(at: route), now)
    }
  }

  private func tell(_ route: MarketRoute, _ streams: MarketWishes, _ now: Timestamp) {
    // Composites have no feed.
    guard node.feeds.all.indices.contains(route.market) else { return }
    let feed = node.feeds[route.market]
    let wishes = streams.union(watched[route] ?? []).union(composed[route] ?? []).union(requested[route]?.wishes ?? [])
    feed.pipeline.want(route.instrument, wishes, now: now)
    node.feeds.settle(feed, now)
  }
}
