import Alerts
import Bytes
import Glibc
import History
import MarketData

/// Watches prices from standard input for alerts that are kept in a data file, and says on standard output what fired,
/// once it is kept. Tests kill it at any moment and start it again.
///
///     alert-trial FILE
///     < price 10100
///     > told 4294967296 1
///     > seen 10100
@main
enum AlertTrial {
  static let symbol = "trial:BTC-USD"
  static let alerts = 20

  static func main() throws {
    let file = try DataFile(path: CommandLine.arguments[1], parts: SchemaPart.all, stamp: "trial")
    let store = AlertStore(file: file)
    let contents = try store.load()
    let engine = AlertEngine(firstGeneration: contents.nextGeneration, at: now())
    let source = engine.source(symbol)
    engine.describe(source, priceScale: 2, sizeScale: 8)
    for alert in contents.alerts {
      try engine.restore(alert.rule, alert.id, owner: alert.owner, alert.progress, at: now())
    }
    engine.finishRestoring()
    if contents.alerts.isEmpty { try fill(store, engine) }
    // Whoever was not told is told now, with the same number.
    for alert in contents.alerts {
      for firing in try store.firings(of: alert.id) { say("told \(firing.alert.rawValue) \(firing.number)") }
    }
    engine.setFeed(source, isLive: true, at: now())
    say("ready")
    while let line = readLine() {
      guard let price = line.split(separator: " ").last.flatMap({ Int64($0) }) else { continue }
      engine.price(source, price, at: now())
      try keep(store, engine)
      say("seen \(price)")
    }
  }

  private static func fill(_ store: AlertStore, _ engine: AlertEngine) throws {
    var batch = AlertBatch(now: now().wall)
    let owner = try store.owner(of: "trial")
    for number in 0..<alerts {
      let comparison: AlertThreshold.Comparison = number % 2 == 0 ? .above : .crossesUp
      let rule = AlertRule(
        .threshold(
          AlertThreshold(symbol, .price, comparison, Decimal64(mantissa: 10_000 + Int64(number), scale: 2))),
        frequency: .every(cooldown: 1))
      let id = try engine.insert(rule, owner: owner, at: now())
      batch.rules.append(
        StoredAlert(
          id: id, owner: owner, name: "\(number)", rule: rule, progress: try engine.progress(of: id), created: batch.now
        ))
    }
    engine.takeOutput()
    try store.write(batch)
  }

  private static func keep(_ store: AlertStore, _ engine: AlertEngine) throws {
    let output = engine.takeOutput()
    guard !output.changed.isEmpty else { return }
    var batch = AlertBatch(now: now().wall)
    batch.firings = output.firings.map { StoredFiring($0, symbol: symbol) }
    batch.progress = try output.changed.map { ($0, try engine.progress(of: $0)) }
    try store.write(batch)
    for firing in output.firings { say("told \(firing.alert.rawValue) \(firing.number)") }
  }

  /// Writes a line at once, past the buffers of the C library.
  private static func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
  }

  /// A clock that runs ten thousand times as fast, so that no cooldown is waited for.
  private static func now() -> AlertMoment {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let micro = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    let fast = 1_795_000_000_000_000 + (micro - 1_795_000_000_000_000) * 10_000
    return AlertMoment(steady: fast, wall: Timestamp(microseconds: fast))
  }
}
