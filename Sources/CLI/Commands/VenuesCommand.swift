import ArgumentParser
import Feeds
import Gateway
import Venues

struct VenuesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "venues",
    abstract: "List the venues: the supported markets, how books are checked, limits and endpoints.",
    discussion: "  tidegate venues kraken binance\n  tidegate venues --json")

  @Argument(help: ArgumentHelp("Only these (default: all).", valueName: "venue"))
  var names: [String] = []
  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    for name in names where VenueRegistry.venue(named: name) == nil {
      throw ValidationError("VENUE: \(VenueRegistry.unknownVenue(name))")
    }
  }

  func run() throws {
    let chosen = names.isEmpty ? VenueRegistry.venues : names.compactMap(VenueRegistry.venue(named:))
    print(json ? VenueReport.json(chosen) : VenueReport.text(chosen))
  }
}
