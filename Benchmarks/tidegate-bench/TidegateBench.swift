import ArgumentParser
import MicroBenchmarks

@main
struct TidegateBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tidegate-bench", abstract: "What the parts of the gateway cost, in CPU time per operation.",
    subcommands: [PartsCommand.self, VenuesCommand.self, RecordingsCommand.self, SeamsCommand.self, DayCommand.self],
    defaultSubcommand: PartsCommand.self)
}

/// Runs the micro-benchmarks in one process and prints a table.
struct PartsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "parts", abstract: "What the parts of the gateway cost, in CPU time per operation.")

  @Option(help: "Run only benchmarks whose name contains this.") var filter = ""
  @Option(help: "Timed rounds of each benchmark.") var rounds = 30
  @Option(help: "CPU time of a round, ms, at least one batch.") var milliseconds = 10.0

  func validate() throws {
    guard rounds >= 1, milliseconds > 0 else { throw ValidationError("--rounds and --milliseconds must be positive") }
  }

  func run() {
    print(Self.row("benchmark", "min ns/op", "median", "MB/s"))
    for benchmark in MicroBenchmark.all where filter.isEmpty || benchmark.name.contains(filter) {
      do {
        print(measure(benchmark.name, try benchmark.prepare()))
      } catch {
        print(Self.row(benchmark.name, "-", "-", "-") + "  \(error)")
      }
    }
  }

  private func measure(_ name: String, _ prepared: PreparedBenchmark) -> String {
    var result = 0
    // One batch to warm up, and to see how many make a round long enough for the clock.
    prepared.reset?()
    let warm = CPUClock.process()
    result &+= prepared.run()
    let once = max(CPUClock.process() - warm, 1)
    let target = Int64(milliseconds * 1e6)
    let batches = max(1, Int(target / once))
    var times: [Double] = []
    for _ in 0..<rounds {
      var spent: Int64 = 0
      if prepared.reset == nil {
        let start = CPUClock.process()
        for _ in 0..<batches { result &+= prepared.run() }
        spent = CPUClock.process() - start
      } else {
        for _ in 0..<batches {
          prepared.reset?()
          let start = CPUClock.process()
          result &+= prepared.run()
          spent += CPUClock.process() - start
        }
      }
      times.append(Double(spent) / Double(batches * MicroBenchmark.batch))
    }
    times.sort()
    // Reading the result keeps the work alive.
    if result == .min { print("") }
    let best = times[0]
    let bytes = Double(prepared.bytes) / Double(MicroBenchmark.batch)
    return Self.row(
      name, Table.number(best), Table.number(times[times.count / 2]),
      bytes > 0 ? Table.number(bytes / best * 1_000) : "")
  }

  private static func row(_ name: String, _ columns: String...) -> String {
    let padded = name + String(repeating: " ", count: max(1, 72 - name.count))
    return columns.reduce(padded) { $0 + String(repeating: " ", count: max(1, 11 - $1.count)) + $1 }
  }
}
