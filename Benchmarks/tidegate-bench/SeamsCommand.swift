import ArgumentParser
import MicroBenchmarks

/// What single parts of the hot path cost: the same with and without them, in turns.
struct SeamsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "seams",
    abstract: "What the kernel's protocol and the rings for clients that come back cost: with and without, in turns.")

  @Option(help: "Turns of each.") var rounds = 40
  @Option(help: "CPU time of a turn, ms, at least one batch.") var milliseconds = 10.0

  func validate() throws {
    guard rounds >= 1, milliseconds > 0 else { throw ValidationError("--rounds and --milliseconds must be positive") }
  }

  func run() {
    print(Table.row("seam", width: 62, ["with ns", "without", "ratio", "median"]))
    for seam in SeamBenchmark.all {
      do {
        print(try measure(seam))
      } catch {
        print(Table.row(seam.name, width: 62, ["-", "-", "-", "-"]) + "  \(error)")
      }
    }
  }

  private func measure(_ seam: SeamBenchmark) throws -> String {
    let sides = [try seam.with(), try seam.without()]
    var result = 0
    var batches = [1, 1]
    for side in 0..<2 {
      result &+= sides[side].run()
      batches[side] = max(1, Int(milliseconds * 1e6 / Double(max(1, Self.time(sides[side], 1, &result)))))
    }
    var times: [[Double]] = [[], []]
    for round in 0..<rounds {
      // Each is the first every other time.
      for side in round % 2 == 0 ? [0, 1] : [1, 0] {
        let spent = Self.time(sides[side], batches[side], &result)
        times[side].append(Double(spent) / Double(batches[side] * MicroBenchmark.batch))
      }
    }
    if result == .min { print("") }
    let least = times.map { $0.min() ?? 0 }
    let ratios = zip(times[0], times[1]).map { $0 / $1 }
    return Table.row(
      seam.name, width: 62,
      [
        Table.number(least[0]), Table.number(least[1]), Table.ratio(least[0] / least[1]),
        Table.ratio(Table.median(ratios)),
      ])
  }

  private static func time(_ benchmark: PreparedBenchmark, _ batches: Int, _ result: inout Int) -> Int64 {
    let start = CPUClock.process()
    for _ in 0..<batches { result &+= benchmark.run() }
    return CPUClock.process() - start
  }
}
