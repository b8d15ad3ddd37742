import ArgumentParser
import Gateway
import Settings

struct RecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Record the messages of exchanges, for replay and simulate.",
    discussion: """
        tidegate record --feed kraken=BTC-USD --out kraken.ndjson.gz --for 60
        tidegate record --feed kraken=BTC-USD,ETH-USD --out recordings/ --rotate-seconds 3600 --keep-megabytes 50000

      In a folder, record begins a new file at the limits below; each file names the one before. A full disk pauses the
      recording. It continues as soon as there is room, and marks the gap. Metrics are served on --internal-listen.
      """)

  @OptionGroup var feeds: FeedOptions
  @Option(help: ArgumentHelp("Write to this file, or into this folder/ with files per connection.", valueName: "file"))
  var out: String
  @Option(help: ArgumentHelp("Begin another file at this many MB, 0: never (default: 256).", valueName: "n"))
  var rotateMegabytes: String?
  @Option(help: ArgumentHelp("Begin another file after this many seconds, 0: never (default: 3600).", valueName: "n"))
  var rotateSeconds: String?
  @Option(
    help: ArgumentHelp("Delete a connection's oldest files beyond this many MB, 0: none (default: 0).", valueName: "n"))
  var keepMegabytes: String?
  @Option(help: ArgumentHelp("Keep this many files of a connection, 0: all (default: 0).", valueName: "n"))
  var keepFiles: String?
  @Option(help: ArgumentHelp("Write at least this often, in seconds, 1 to 60 (default: 2).", valueName: "n"))
  var flushSeconds: String?
  @Option(
    help: ArgumentHelp(
      "When to fsync: none, rotation, or an interval in seconds (default: rotation).", valueName: "policy"))
  var sync: String?
  @Option(help: ArgumentHelp("Serve metrics and health here (default: a free port).", valueName: "host:port"))
  var internalListen = "127.0.0.1:0"
  @Option(
    name: .customLong("for"),
    help: ArgumentHelp("Stop after this many seconds, 1 to 604800 (default: at Ctrl-C).", valueName: "seconds"))
  var seconds: Int?

  func validate() throws {
    if feeds.feed.isEmpty { throw ValidationError("--feed is missing; give the symbols to record: kraken=BTC-USD.") }
    if let seconds, !(1...604_800).contains(seconds) {
      throw ValidationError("--for \(seconds) is not allowed; give 1 to 604800 seconds.")
    }
    if out.isEmpty { throw ValidationError("--out is empty; give a file, or a folder that ends in \"/\".") }
  }

  func run() async throws {
    let signals = ServiceSignals()
    var flags = feeds.flags + [ConfigurationFlag("--out", sets: "record", to: [out])]
    for (name, value) in [
      ("rotate-megabytes", rotateMegabytes), ("rotate-seconds", rotateSeconds), ("keep-megabytes", keepMegabytes),
      ("keep-files", keepFiles), ("flush-seconds", flushSeconds), ("sync", sync),
    ] {
      if let value { flags.append(ConfigurationFlag("--\(name)", sets: "recording.\(name)", to: [value])) }
    }
    flags.append(ConfigurationFlag("--internal-listen", sets: "internal-listen", to: [internalListen]))
    let loaded = try loadConfiguration(file: nil, flags: flags)
    try await record(loaded.configuration, seconds: seconds, signals: signals)
  }
}
