import Bytes
import MarketData
import PubSub
import TestSupport

/// A change to a finished frame: `StreamPublisher.publish`, which encodes once per stream, header and envelope
/// included. The change is made by the market in the same operation; "market: …" says what that takes.
enum PublisherBenchmarks {
  static var all: [MicroBenchmark] {
    [
      publisher("publisher: apply and encode a trade", StreamKey(channel: .trades, symbol: MarketBench.symbol)) {
        $0.trade(step: $1)
      },
      unwatched("publisher: apply a trade that nobody subscribes to") { $0.trade(step: $1) },
      publisher(
        "publisher: apply and encode a trade on all channels of its market",
        [.trades, .quote, .ticker, .pulse, .book, .sparkline, .candles].map {
          StreamKey(channel: $0, symbol: MarketBench.symbol, depth: 25, points: 96)
        }
      ) { $0.trade(step: $1) },
      publisher("publisher: apply and encode a quote", StreamKey(channel: .quote, symbol: MarketBench.symbol)) {
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
      publisher("publisher: apply and encode a book delta of 20 levels, depth 25", book(25)) { $0.book(step: $1) },
      publisher("publisher: apply and encode a book delta of 20 levels, full depth", book(0)) { $0.book(step: $1) },
    ]
  }

  private static func book(_ depth: UInt16) -> StreamKey {
    StreamKey(channel: .book, symbol: MarketBench.symbol, depth: depth)
  }

  static var steps: [Int64] {
    var random = SeededGenerator(seed: 41)
    return (0..<MicroBenchmark.batch).map { _ in Int64.random(in: 0...2_000, using: &random) }
  }

  private static func publisher(
    _ name: String, _ key: StreamKey, _ change: @escaping @Sendable (MarketBench, Int64) -> Void
  ) -> MicroBenchmark {
    publisher(name, [key], change)
  }

  /// A market without streams: what every change costs before anybody wants it.
  private static func unwatched(
    _ name: String, _ change: @escaping @Sendable (MarketBench, Int64) -> Void
  ) -> MicroBenchmark {
    MicroBenchmark(name: name) {
      let bench = PublisherBench([])
      let steps = steps
      return PreparedBenchmark {
        var changed = 0
        for step in steps {
          change(bench.market, step)
          changed &+= bench.publish() + bench.market.changes.items.count
        }
        return changed
      }
    }
  }

  private static func publisher(
    _ name: String, _ keys: [StreamKey], _ change: @escaping @Sendable (MarketBench, Int64) -> Void
  ) -> MicroBenchmark {
    MicroBenchmark(name: name) {
      let bench = PublisherBench(keys)
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
      guard bytes > 0 else { throw BenchmarkUnavailable("the publisher published nothing") }
      return PreparedBenchmark(bytes: bytes, run: run)
    }
  }
}

/// A publisher with one market and some subscribed streams.
final class PublisherBench {
  let market = MarketBench()
  let publisher: StreamPublisher
  private var deliveries: [Delivery] = []

  convenience init(_ key: StreamKey, remembers: Bool = true) { self.init([key], remembers: remembers) }

  init(_ keys: [StreamKey], remembers: Bool = true) {
    publisher = StreamPublisher(loop: 0, loops: 1, epoch: "k7", remembers: remembers)
    let slot = publisher.add(market: market.market, venue: "binance")
    for key in keys {
      publisher.perform(
        .join(
          JoinRequest(
            key: key, market: slot, instrument: InstrumentID(0), loop: 0, client: ClientID(slot: 0, generation: 1),
            request: 1, item: 0, reason: .subscribe)), now: market.now, into: &deliveries)
    }
  }

  /// Publishes the market's last changes; returns the bytes of the frames.
  func publish() -> Int {
    deliveries.removeAll(keepingCapacity: true)
    publisher.publish(market.changes, market: 0, now: market.now, into: &deliveries)
    var bytes = 0
    for delivery in deliveries {
      if case .frame(let frame, _) = delivery { bytes &+= frame.bytes.count }
    }
    return bytes
  }
}
