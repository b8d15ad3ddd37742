import ArgumentParser
import Foundation
import TidegateClient

struct WatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Show live prices in the terminal.",
    discussion: """
        tidegate watch kraken:BTC-USD coinbase:ETH-USD
        tidegate watch wss://gateway.example/v1/stream 'kraken:*'
        tidegate watch kraken:BTC-USD --json
      """)

  static let defaultURL = "ws://127.0.0.1:8080/v1/stream"

  @Argument(
    help: ArgumentHelp(
      "The gateway's URL (default: \(defaultURL)), then symbols: kraken:BTC-USD, kraken:* or *:BTC-USD.",
      valueName: "url-or-symbol"))
  var arguments: [String]
  @Flag(help: "Print every message as it comes, one a line.")
  var json = false
  @Option(help: ArgumentHelp("Trust the roots in this PEM file instead of the system's.", valueName: "file"))
  var ca: String?
  @Flag(help: "Print one table when every row is full, or after 5 s, and exit.")
  var once = false

  var hasURL: Bool { arguments.first?.contains("://") == true }
  var symbols: [String] { hasURL ? Array(arguments.dropFirst()) : arguments }
  var url: String { hasURL ? arguments[0] : Self.defaultURL }

  func validate() throws {
    if TidegateURL(url) == nil {
      throw ValidationError("URL \"\(url)\" is not allowed; give one like \(Self.defaultURL) or wss://host/v1/stream.")
    }
    if symbols.isEmpty { throw ValidationError("SYMBOL is missing; give at least one, like kraken:BTC-USD.") }
    for symbol in symbols {
      let parts = symbol.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
        throw ValidationError(
          "SYMBOL \"\(symbol)\" is not allowed; give VENUE:BASE-QUOTE like kraken:BTC-USD, kraken:* or *:BTC-USD.")
      }
    }
    if let ca, !FileManager.default.isReadableFile(atPath: ca) {
      throw ValidationError("--ca \"\(ca)\" cannot be read; give a PEM file.")
    }
  }

  func run() async throws {
    var options = TidegateOptions()
    options.clientName = "tidegate-watch"
    options.caFile = ca
    options.includesFrames = json
    guard let client = TidegateClient(url: url, options: options) else { throw ExitCode.validationFailure }
    let events = client.events(
      .init(channels: [.status]),
      .init(channels: [.pulse, .quote, .ticker], symbols: symbols, intervalMilliseconds: 250),
      .init(channels: [.sparkline], symbols: symbols, points: 24))
    if json {
      try await printFrames(events)
    } else {
      try await WatchScreen(url: url, symbols: symbols, once: once).run(events)
    }
  }

  /// Every message verbatim; what is not a message (no connection) goes to standard error.
  private func printFrames(_ events: TidegateEvents) async throws {
    for await event in events {
      switch event {
      case .frame(let text):
        StandardOutput.write(text + "\n")
        if once, text.contains("\"type\":\"snapshot\"") { return }
      case .disconnected(let reason, let retryIn):
        printError("disconnected: \(reason.description)\(retryIn == nil ? "" : "; reconnecting")")
        if retryIn == nil { throw ExitCode.failure }
      case .dropped(let count): printError("\(count) messages were dropped: the output is too slow")
      default: break
      }
    }
  }
}
