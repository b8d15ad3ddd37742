import Alerts
import Bytes
import MarketData

/// A million price alerts on 2,000 instruments: trades that reach none, and trades that make one fire each.
enum AlertBenchmarks {
  static var all: [MicroBenchmark] {
    [
      MicroBenchmark(name: "alerts: a trade when none of 1,000,000 fires") {
        let bench = try AlertBench(alerts: 1_000_000)
        return PreparedBenchmark(run: { bench.quietTrades() })
      },
      MicroBenchmark(name: "alerts: an alert of 1,000,000 that fires and is armed again") {
        let bench = try AlertBench(alerts: 1_000_000)
        return PreparedBenchmark(run: { bench.firings() })
      },
    ]
  }
}

/// An engine with the same number of alerts on each of 2,000 instruments, half above the price and half below.
final class AlertBench {
  static let instruments = 2_000
  /// Where every market begins, at a scale of 2.
  private static let start: Int64 = 5_000_000

  private let engine: AlertEngine
  private var sources: [AlertSource] = []
  private var moment = AlertMoment(steady: 0, wall: Timestamp(microseconds: 1_795_348_800_000_000))
  private var next = 0
  /// How far each market has gone towards its next level.
  private var levels: [Int64]

  init(alerts: Int) throws {
    engine = AlertEngine(
      limits: .init(rules: alerts, rulesOfOwner: alerts), at: moment)
    levels = Array(repeating: 0, count: Self.instruments)
    for index in 0..<Self.instruments {
      let source = engine.source("bench:\(index)-USD")
      engine.describe(source, priceScale: 2, sizeScale: 8)
      engine.setFeed(source, isLive: true, at: moment)
      engine.price(source, Self.start, at: moment)
      sources.append(source)
    }
    for number in 0..<alerts {
      let symbol = "bench:\(number % Self.instruments)-USD"
      let step = Int64(number / Self.instruments / 2 + 1) * 100
      let isAbove = number / Self.instruments % 2 == 0
      let threshold = AlertThreshold(
        symbol, .price, isAbove ? .above : .below,
        Decimal64(mantissa: Self.start + (isAbove ? step : -step), scale: 2))
      _ = try engine.insert(
        AlertRule(.threshold(threshold), frequency: .every(cooldown: 1)),
        owner: AlertOwner(rawValue: UInt32(number % 10_000)), at: moment)
    }
    _ = engine.takeOutput()
  }

  /// Trades within the nearest levels, market after market. Answers how many fired: none.
  func quietTrades() -> Int {
    for _ in 0..<MicroBenchmark.batch {
      next = next + 1 == Self.instruments ? 0 : next + 1
      moment.steady += 1
      engine.price(sources[next], Self.start + Int64(next & 63), at: moment)
    }
    return engine.takeOutput().firings.count
  }

  /// Trades that each reach one more level above, and back to the start once all are passed: there they are armed
  /// again.
  func firings() -> Int {
    var fired = 0
    while fired < MicroBenchmark.batch {
      next = next + 1 == Self.instruments ? 0 : next + 1
      moment.steady += 2 * Microseconds.second
      levels[next] += 1
      if levels[next] > 100 {
        levels[next] = 0
        engine.price(sources[next], Self.start, at: moment)
        moment.steady += 2 * Microseconds.second
        levels[next] = 1
      }
      engine.price(sources[next], Self.start + levels[next] * 100, at: moment)
      fired += 1
    }
    return engine.takeOutput().firings.count
  }
}
