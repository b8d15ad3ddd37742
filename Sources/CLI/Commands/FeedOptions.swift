import ArgumentParser
import Gateway
import Settings

/// The markets to follow, and the addresses of their venues: the options that `serve` and `record` share.
struct FeedOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Follow these symbols of a venue. Repeatable.", valueName: "venue=sym,sym"))
  var feed: [String] = []
  @Option(
    help: ArgumentHelp(
      "Use this ws or wss URL for a venue; VENUE.rest=URL for its REST API. Repeatable.", valueName: "venue=url"))
  var endpoint: [String] = []
  @Option(help: ArgumentHelp("Trust the roots in this PEM file instead of the system's.", valueName: "file"))
  var ca: String?

  /// What was typed, as settings.
  var flags: [ConfigurationFlag] {
    var flags: [ConfigurationFlag] = []
    if !feed.isEmpty { flags.append(ConfigurationFlag("--feed", sets: "feeds", to: feed)) }
    if !endpoint.isEmpty { flags.append(ConfigurationFlag("--endpoint", sets: "endpoints", to: endpoint)) }
    if let ca { flags.append(ConfigurationFlag("--ca", sets: "ca-file", to: [ca])) }
    return flags
  }
}
