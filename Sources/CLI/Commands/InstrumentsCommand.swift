import ArgumentParser
import Feeds
import Foundation
import Gateway
import HTTP1
import MarketData
import Transport
import Venues

struct InstrumentsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "instruments",
    abstract: "List the markets of a venue by the gateway's symbols.",
    discussion: """
        tidegate instruments kraken --query zec
        tidegate instruments binance --kind perpetual --volume
        tidegate instruments kraken --query '*-USD:top20'      what --feed 'kraken=*-USD:top20' would follow

      Exits with 1 if nothing is found, and prints similar names.
      """)

  @Argument(help: ArgumentHelp("The venue; see tidegate venues.", valueName: "venue"))
  var venue: String
  @Option(
    help: ArgumentHelp("Only names that contain this, or a selection like *-USD or *-USD:top20.", valueName: "text"))
  var query: String?
  @Option(help: ArgumentHelp("Only spot, perpetual or future. Repeatable.", valueName: "kind"))
  var kind: [String] = []
  @Flag(help: "Request 24 h volumes, too, and sort by them within each quote currency.")
  var volume = false
  @Flag(help: "Print JSON.")
  var json = false
  @Option(help: ArgumentHelp("Use this WebSocket URL instead of the venue's.", valueName: "url"))
  var endpoint: String?
  @Option(
    help: ArgumentHelp(
      "Use this REST URL instead of the venue's (default: host and port of --endpoint).", valueName: "url"))
  var restEndpoint: String?
  @Option(help: ArgumentHelp("Trust the roots in this PEM file instead of the system's.", valueName: "file"))
  var ca: String?

  func validate() throws {
    guard VenueRegistry.venue(named: venue) != nil else {
      throw ValidationError("VENUE: \(VenueRegistry.unknownVenue(venue))")
    }
    for name in kind where Instrument.Kind.Family(rawValue: name) == nil {
      let all = Instrument.Kind.Family.allCases.map(\.rawValue)
      throw ValidationError("--kind \"\(name)\" is not allowed; give \(all.joined(separator: ", ")).")
    }
    if let endpoint, EndpointURL(endpoint).map({ $0.scheme == .ws || $0.scheme == .wss }) != true {
      throw ValidationError("--endpoint \"\(endpoint)\" is not allowed; give a URL like wss://host:port/path.")
    }
    if let restEndpoint, EndpointURL(restEndpoint).map({ $0.scheme == .http || $0.scheme == .https }) != true {
      throw ValidationError("--rest-endpoint \"\(restEndpoint)\" is not allowed; give a URL like https://host:port.")
    }
    if let ca, !FileManager.default.isReadableFile(atPath: ca) {
      throw ValidationError("--ca \"\(ca)\" cannot be read; give a PEM file.")
    }
    do throws(MarketSelectionError) {
      _ = try MarketQuery(query)
    } catch {
      throw ValidationError("--query \"\(query ?? "")\": \(error.description).")
    }
  }

  func run() async throws { try await instruments(self) }
}
