import ArgumentParser

@main
struct Tidegate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "tidegate", abstract: "A market-data gateway.")
}
