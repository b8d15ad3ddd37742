import Bytes
import MarketData
import PubSub
import TestSupport

/// A change to a finished frame: `Hub.publish`, which encodes once per stream, header and envelope included. The change is made
/// by the market in the same operation; "market: …" says what that takes.
enum HubBenchmarks {
  static var all: [MicroBenchmark] {
    [
      hub("hub: apply and encode a trade", StreamKey(channel: .trades, symbol: MarketBench.symbol)) {
        $0.trade(step: $1)
      },
      hub("hub: apply and encode a quote", StreamKey(channel: .quote, symbol: MarketBench.symbol)) {
        $0.quote(step: $1)
      },
      MicroBenchmark(name: "market: apply a book delta of 20 levels") {
        let bench = MarketBench()
        let steps = Self.steps
        return PreparedBenchmark {
          var changed = 0
          for step in steps {
            bench.book(step: step)
            changed &+= bench.changes.bids.count
          }
          return changed
        }
      },
      hub("hub: apply and encode a book delta of 20 levels, depth 25", book(25)) { $0.book(step: $1) },
      hub("hub: apply and encode a book delta of 20 levels, full depth", book(0)) { $0.book(step: $1) },
    ]
  }

  private static func book(_ depth: UInt16) -> StreamKey {
    StreamKey(channel: .book, symbol: MarketBench.symbol, depth: depth)
  }

  static var steps: [Int64] {
    var random = SeededGenerator(seed: 41)
    return (0..<MicroBenchmark.batch).map { _ in Int64.random(in: 0...2_000, using: &random) }
  }

  private static func hub(
    _ name: String, _ key: StreamKey, _ change: @escaping @Sendable (MarketBench, Int64) -> Void
  ) -> MicroBenchmark {
    MicroBenchmark(name: name) {
      let bench = HubBench(key)
      let steps = steps
      let run = {
        var bytes = 0
        for step in steps {
          change(bench.market, step)
          bytes &+= bench.publish()
        }
        return bytes
      }
      let bytes = run()
      guard bytes > 0 else { throw BenchmarkUnavailable("the hub published nothing") }
      return PreparedBenchmark(bytes: bytes, run: run)
    }
  }
}

/// A hub with one market and one subscribed stream.
final class HubBench {
  let market = MarketBench()
  let hub: Hub
  private var deliveries: [Delivery] = []

  init(_ key: StreamKey, remembers: Bool = true) {
    hub = Hub(loop: 0, loops: 1, epoch: "k7", remembers: remembers)
    let slot = hub.add(market: market.market, venue: "binance")
    hub.perform(
      .join(
        JoinRequest(
          key: key, market: slot, instrument: InstrumentID(0), loop: 0, client: ClientID(slot: 0, generation: 1),
          request: 1,
          item: 0, reason: .subscribe)), now: market.now, into: &deliveries)
  }

  /// Publishes the market's last changes; returns the bytes of the frames.
  func publish() -> Int {
    deliveries.removeAll(keepingCapacity: true)
    hub.publish(market.changes, market: 0, now: market.now, into: &deliveries)
    var bytes = 0
    for delivery in deliveries {
      if case .frame(let frame, _) = delivery { bytes &+= frame.bytes.count }
    }
    return bytes
  }
}
