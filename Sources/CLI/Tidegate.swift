import ArgumentParser
import Build
import Gateway

@main
struct Tidegate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tidegate",
    abstract: "A market-data gateway: a few connections to each exchange, any number of clients.",
    discussion: """
      Try it without a network:
        tidegate serve --demo
        tidegate watch kraken:BTC-USD
      """,
    version: TidegateVersion.full,
    subcommands: [
      ServeCommand.self, WatchCommand.self, ReplayCommand.self, RecordCommand.self, RecordingsCommand.self,
      SimulateCommand.self, VenuesCommand.self, InstrumentsCommand.self, CheckConfigCommand.self, HistoryCommand.self,
      KeyCommand.self, PublishCommand.self, StatusCommand.self, TopCommand.self, BundleCommand.self,
      DecodeCommand.self,
    ])
}
