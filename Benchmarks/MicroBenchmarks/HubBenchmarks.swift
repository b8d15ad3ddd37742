import Bytes
import MarketData
import PubSub

/// One frame to a thousand subscribers of a loop, per subscriber; the sending itself is the kernel's.
enum HubBenchmarks {
  static let clients = MicroBenchmark.batch

  static var all: [MicroBenchmark] {
    [
      MicroBenchmark(name: "hub: deliver a frame, per client of 1,000") {
        let bench = try HubBench()
        return PreparedBenchmark(
          reset: {
            _ = bench.drain()
            bench.makeFrame()
          }, run: { bench.deliver() })
      },
      MicroBenchmark(name: "hub: deliver and take a frame, per client of 1,000") {
        let bench = try HubBench()
        return PreparedBenchmark(
          reset: { bench.makeFrame() },
          run: {
            _ = bench.deliver()
            return bench.drain()
          })
      },
      MicroBenchmark(name: "hub: subscribe to a wildcard, per symbol of 1,000") {
        let bench = WildcardBench()
        return PreparedBenchmark(run: { bench.subscribe() })
      },
    ]
  }
}

/// A hub that knows a thousand instruments of a venue.
final class WildcardBench {
  private let hub = SubscriberHub(loop: 0, loops: 1, identity: .init(node: "bench", version: "1"))
  private let now = Timestamp(milliseconds: 1_790_000_000_000)
  private let request = Array(
    #"{"op":"subscribe","streams":[{"channel":"book","symbols":["binance:*"],"interval_ms":100}]}"#.utf8)
  private var actions: [HubAction] = []

  init() {
    var directory = Directory()
    directory.venues = ["binance"]
    for index in 0..<MicroBenchmark.batch {
      let instrument = Instrument(
        id: InstrumentID(index), venue: "binance", venueSymbol: "A\(index)USDT", base: "A\(index)", quote: "USDT",
        priceScale: 2, sizeScale: 5)
      directory.update(DirectoryEntry(loop: 0, market: 0, instrument: instrument, bookState: .live))
    }
    hub.directory = directory
  }

  /// A new client subscribes to all of them and leaves; returns the number of joins.
  func subscribe() -> Int {
    actions.removeAll(keepingCapacity: true)
    let client = hub.open(secret: SessionSecret(high: 0, low: 1), now: now)
    request.withUnsafeBytes { hub.receive(RawSpan(_unsafeBytes: $0), from: client, now: now, into: &actions) }
    hub.close(client, into: &actions)
    return actions.count
  }
}

/// A hub whose clients all subscribe to the trades of one instrument.
final class HubBench {
  private let hub = SubscriberHub(loop: 0, loops: 1, identity: .init(node: "bench", version: "1"))
  private let bench = PublisherBench(StreamKey(channel: .trades, symbol: MarketBench.symbol))
  private var actions: [HubAction] = []
  private var deliveries: [Delivery] = []
  private var next: [Delivery] = []
  private var frames: [SharedBytes] = []

  init() throws {
    var directory = Directory()
    directory.venues = ["binance"]
    directory.entries[MarketBench.symbol] = DirectoryEntry(
      loop: 0, market: 0, instrument: bench.market.instrument, bookState: .live)
    hub.directory = directory
    let request = Array(
      #"{"op":"subscribe","id":1,"streams":[{"channel":"trades","symbols":["\#(MarketBench.symbol)"]}]}"#.utf8)
    for number in 0..<HubBenchmarks.clients {
      let client = hub.open(secret: SessionSecret(high: 0, low: UInt32(number)), now: bench.market.now)
      request.withUnsafeBytes {
        hub.receive(RawSpan(_unsafeBytes: $0), from: client, now: bench.market.now, into: &actions)
      }
      carryOut()
    }
    _ = drain()
    makeFrame()
    _ = deliver()
    guard drain() == HubBenchmarks.clients else {
      throw BenchmarkUnavailable("a frame did not reach each of \(HubBenchmarks.clients) clients")
    }
    makeFrame()
  }

  private func carryOut() {
    let commands = actions
    actions.removeAll(keepingCapacity: true)
    deliveries.removeAll(keepingCapacity: true)
    for case .command(let command, _) in commands {
      bench.publisher.perform(command, now: bench.market.now, into: &deliveries)
    }
    hub.deliver(deliveries, now: bench.market.now, into: &actions)
  }

  /// A new trade, encoded.
  func makeFrame() {
    bench.market.trade(step: 1_000)
    next.removeAll(keepingCapacity: true)
    bench.publisher.publish(bench.market.changes, market: 0, now: bench.market.now, into: &next)
    next.removeAll {
      if case .frame(let frame, _) = $0 { return frame.events == 0 }
      return true
    }
  }

  /// Queues the frame for every client.
  func deliver() -> Int {
    hub.deliver(next, now: bench.market.now, into: &actions)
    return hub.dirty.count
  }

  /// Takes what every client has queued, as a connection that is writable does; returns the number of frames.
  func drain() -> Int {
    var taken = 0
    for client in hub.dirty {
      frames.removeAll(keepingCapacity: true)
      hub.take(from: client, byteLimit: 64 << 10, now: bench.market.now, into: &frames, actions: &actions)
      taken &+= frames.count
      hub.setUnsent(0, for: client, now: bench.market.now)
    }
    hub.removeDirty()
    frames.removeAll(keepingCapacity: true)
    return taken
  }
}
