import ArgumentParser
import Dispatch
import Foundation
import Gateway
import Logging
import Settings
import Transport

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run the gateway.",
    discussion: """
      Settings come from --config, then TIDEGATE_ variables, then flags; later ones win.

        tidegate serve --demo
        tidegate serve --feed kraken=BTC-USD,ETH-USD --feed coinbase=BTC-USD
        tidegate serve --config tidegate.yaml --listen 0.0.0.0:8080
      """)

  @Option(help: ArgumentHelp("Read settings from a .yaml or .json file.", valueName: "file"))
  var config: String?
  @Option(help: ArgumentHelp("Serve clients here (default: 127.0.0.1:8080).", valueName: "host:port"))
  var listen: String?
  @Option(help: ArgumentHelp("Serve metrics and health here (default: 127.0.0.1:9090).", valueName: "host:port"))
  var internalListen: String?
  @OptionGroup var feeds: FeedOptions
  @Flag(help: "Follow simulated venues inside this process; needs no network.")
  var demo = false
  @Option(help: ArgumentHelp("Seed of the demo's market (default: 1).", valueName: "n"))
  var seed: String?
  @Option(help: ArgumentHelp("Messages per second and symbol of the demo (default: 20).", valueName: "n"))
  var rate: String?
  @Option(
    help: ArgumentHelp("Serve a recording, or a folder of them, instead of live feeds. Repeatable.", valueName: "file"))
  var replay: [String] = []
  @Option(help: ArgumentHelp("Speed of a replay: 1x as recorded, 10x, max as fast as possible.", valueName: "speed"))
  var speed: String?
  @Option(help: ArgumentHelp("Event loops, 1 to 64 (default: one per core).", valueName: "n"))
  var loops: String?
  @Option(
    help: ArgumentHelp("trace, debug, info, notice, warning, error or critical (default: info).", valueName: "level"))
  var logLevel: String?
  @Option(help: ArgumentHelp("Record every received message to this file, or into this folder/.", valueName: "file"))
  var record: String?

  /// What was typed, as settings.
  var flags: [ConfigurationFlag] {
    var flags = feeds.flags
    func add(_ name: String, _ key: String, _ value: String?) {
      if let value { flags.append(ConfigurationFlag(name, sets: key, to: [value])) }
    }
    add("--listen", "listen", listen)
    add("--internal-listen", "internal-listen", internalListen)
    if demo { add("--demo", "demo", "true") }
    add("--seed", "seed", seed)
    add("--rate", "rate", rate)
    if !replay.isEmpty { flags.append(ConfigurationFlag("--replay", sets: "replay", to: replay)) }
    add("--speed", "speed", speed)
    add("--loops", "loops", loops)
    add("--log-level", "log-level", logLevel)
    add("--record", "record", record)
    return flags
  }

  func run() async throws {
    let program = Program(arguments: CommandLine.arguments)
    let signals = ServiceSignals(upgrades: true)
    let origin = try UpgradeOrigin(environment: ProcessInfo.processInfo.environment)
    do {
      let loaded = try loadConfiguration(file: config, flags: flags) { origin?.fail($0) }
      let check = StartCheck(loaded)
      try refuse(check.refusals) { origin?.fail($0) }
      try await serve(loaded.configuration, lasting: check.lasting, signals: signals, program: program, origin: origin)
      {
        [config, flags] () throws(ConfigurationProblems) in
        try ConfigurationLoader.load(file: config, environment: ProcessInfo.processInfo.environment, flags: flags)
          .configuration
      }
    } catch {
      origin?.fail("\(error)")
      throw error
    }
  }
}
