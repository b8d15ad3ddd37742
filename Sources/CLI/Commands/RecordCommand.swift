import ArgumentParser
import Gateway

struct RecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Record what exchanges send, for replay and simulate.",
    discussion: "  tidegate record --feed kraken=BTC-USD --out kraken.ndjson.gz --for 60")

  @Option(help: ArgumentHelp("Record these symbols of a venue. Repeatable.", valueName: "venue=sym,sym"))
  var feed: [String]
  @Option(
    help: ArgumentHelp("Use this URL for a venue; VENUE.rest=URL for its REST API. Repeatable.", valueName: "venue=url")
  )
  var endpoint: [String] = []
  @Option(help: ArgumentHelp("Trust the roots in this PEM file instead of the system's.", valueName: "file"))
  var ca: String?
  @Option(help: ArgumentHelp("Write to this file, or into this folder/ with a file per venue.", valueName: "file"))
  var out: String
  @Option(
    name: .customLong("for"),
    help: ArgumentHelp("Stop after so many seconds, 1 to 604800 (default: at Ctrl-C).", valueName: "seconds"))
  var seconds: Int?

  func validate() throws {
    if let seconds, !(1...604_800).contains(seconds) {
      throw ValidationError("--for \(seconds) is not allowed; give 1 to 604800 seconds.")
    }
    if out.isEmpty { throw ValidationError("--out is empty; give a file, or a folder that ends in \"/\".") }
  }

  func run() async throws {
    var flags = [
      ConfigurationFlag("--feed", sets: "feeds", to: feed), ConfigurationFlag("--out", sets: "record", to: [out]),
    ]
    if !endpoint.isEmpty { flags.append(ConfigurationFlag("--endpoint", sets: "endpoints", to: endpoint)) }
    if let ca { flags.append(ConfigurationFlag("--ca", sets: "ca-file", to: [ca])) }
    let loaded = try loadConfiguration(file: nil, flags: flags)
    try await record(loaded.configuration, seconds: seconds)
  }
}
