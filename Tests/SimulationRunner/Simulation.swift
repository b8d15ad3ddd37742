import ArgumentParser
import Dispatch
import Simulation

/// Runs worlds, one after the other, and says what happened in them.
@main
struct SimulationRunner: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tidegate-simulation",
    abstract: "Runs the whole gateway on a simulated network, a seed at a time.")

  @Option(help: "How many seeds to run.") var seeds = 1_000
  @Option(help: "The first seed.") var from: UInt64 = 1
  @Option(help: "One seed alone, to replay it.") var seed: UInt64?
  @Flag(help: "The worlds of the test suite instead of larger ones.") var small = false
  @Flag(help: "A line for everything that happens; with --seed.") var trace = false
  @Option(help: "Stop after so many seeds with faults.") var failures = 10

  func run() throws {
    let size: Scenario.Size = small ? .small : .large
    if let seed {
      let scenario = Scenario(seed: seed, size: size)
      print(scenario)
      let report = World.run(scenario, prints: trace)
      Self.show(report, seeds: 1, seconds: 0)
      print("hash \(report.hash)")
      for fault in report.faults { print("FAULT \(fault)") }
      if !report.faults.isEmpty { throw ExitCode.failure }
      return
    }
    var total = World.Report()
    var failed = 0
    var done = 0
    let start = DispatchTime.now()
    func seconds() -> Double { Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9 }
    for index in 0..<UInt64(seeds) {
      let scenario = Scenario(seed: from + index, size: size)
      let report = World.run(scenario)
      total.add(report)
      done += 1
      if !report.faults.isEmpty {
        failed += 1
        print("FAULT \(scenario)")
        for fault in report.faults { print("  \(fault)") }
        print("  again: \(replayCommand(seed: scenario.seed, size: size))")
        if failed >= failures { break }
      }
      if (index + 1) % 500 == 0 { print("\(index + 1) seeds, \(failed) with faults, \(Int(seconds())) s") }
    }
    Self.show(total, seeds: done, seconds: seconds())
    print("seeds with faults: \(failed)")
    if failed > 0 { throw ExitCode.failure }
  }

  private static func show(_ report: World.Report, seeds: Int, seconds: Double) {
    let network = report.network
    let clients = report.clients
    print(
      """
      \(seeds) seeds, \(report.span / 1_000_000_000) s of simulated time in \(Int(seconds)) s, \(network.turns) turns of loops
      network: \(network.connections) connections, \(network.bytes) bytes, \(network.arrivals) arrivals, \
      \(network.partialReads) partial reads, \(network.singleBytes) single bytes, \(network.partialWrites) partial writes
      faults: \(network.resets) resets, \(network.halfOpens) half-open, \(network.stalls) stalls, \
      \(network.refusedConnects) refused, \(network.acceptFailures) failed accepts, \(network.pauses) pauses of loops, \
      \(report.venueFaults) at venues
      clients: \(clients.connects) connects, \(clients.streams) upgraded, \(clients.requests) requests, \
      \(clients.messages) messages, \(clients.vanished) vanished, \(clients.deafTimes) times not reading
      accounted: \(clients.updates) updates by their links, \(clients.snapshots) snapshots, \(clients.trades) trades, \
      \(clients.lostMessages) announced lost, \(clients.slowNotices) slow notices, \(clients.heartbeats) heartbeats
      resumed: \(clients.resumes) sessions, \(clients.recovered) streams went on
      drained: \(report.drains) gateways, \(clients.drainNotices) notices
      endings: told \(clients.told.sorted { $0.key < $1.key }.map { "\($0.key)×\($0.value)" }.joined(separator: " ")), \
      left \(clients.left), cut \(clients.cut)
      venues: \(report.venueConnections) connections, \(report.linesReplaced) replaced before they were left, \
      \(report.handoversFailed) handovers failed
      books compared: \(report.booksCompared)
      """)
  }
}
