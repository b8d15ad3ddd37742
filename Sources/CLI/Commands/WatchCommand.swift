import ArgumentParser
import Foundation
import TidegateClient
import TidegateEpoll
import Watch

struct WatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Show live prices in the terminal.",
    discussion: """
        tidegate watch kraken:BTC-USD coinbase:ETH-USD
        tidegate watch wss://gateway.example/v1/stream 'kraken:*'
        tidegate watch kraken:BTC-USD --json
        TIDEGATE_TOKEN=tg_… tidegate watch wss://gateway.example/v1/stream kraken:BTC-USD

      The dot: green, data flows; yellow, waiting, out of sync or reconnecting; red, refused or disconnected.

      Exit status: 0, --once has shown everything; 1, no connection, or the gateway ended it; 2, symbols were refused
      (without --once: all of them); 3, --once could not fill every row within 5 s; 64, wrong arguments; 128 + N, ended
      by signal N.
      """)

  static let defaultURL = WatchTable.usualURL

  @Argument(
    help: ArgumentHelp(
      "The gateway's URL (default: \(defaultURL)), then symbols: kraken:BTC-USD, kraken:* or *:BTC-USD.",
      valueName: "url-or-symbol"))
  var arguments: [String]
  @Flag(help: "Print every message as it arrives, one a line.")
  var json = false
  @Option(help: ArgumentHelp("Trust the roots in this PEM file instead of the system's.", valueName: "file"))
  var ca: String?
  @Option(
    help: ArgumentHelp(
      "Read the key or token from this file, again before it expires (default: the variable TIDEGATE_TOKEN).",
      valueName: "file"))
  var tokenFile: String?
  @Flag(help: "Print one table when every row is full, or after 5 s, and exit; with --json, until the first snapshot.")
  var once = false

  @Flag(help: "Show how many bytes and wake-ups a minute the data costs; with --json, on standard error at the end.")
  var stats = false

  var hasURL: Bool { arguments.first?.contains("://") == true }
  var symbols: [String] { hasURL ? Array(arguments.dropFirst()) : arguments }
  var url: String { hasURL ? arguments[0] : Self.defaultURL }

  func validate() throws {
    if (try? GatewayURL(url)) == nil {
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
    if let tokenFile, Self.token(inFile: tokenFile) == nil {
      throw ValidationError(
        "--token-file \"\(tokenFile)\" cannot be read or is empty; give a file with one key or token.")
    }
  }

  /// The text of a file without the white space around it; nil if the file is empty or unreadable.
  static func token(inFile path: String) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
    return token.isEmpty ? nil : token
  }

  /// Whether a symbol is that of a perpetual or dated future: `BTC-USDT-PERP`, `BTC-USDT-20261225`.
  private static func isDerivative(_ symbol: String) -> Bool {
    symbol.drop { $0 != ":" }.split(separator: "-").count > 2
  }

  func run() async throws {
    var options = ClientOptions()
    options.clientName = "tidegate-watch"
    options.includesFrames = json
    var source: GatewayClient.TokenSource?
    if let tokenFile {
      options.token = Self.token(inFile: tokenFile)
      source = { Self.token(inFile: tokenFile) }
    } else if let token = ProcessInfo.processInfo.environment["TIDEGATE_TOKEN"], !token.isEmpty {
      options.token = token
    }
    let client = GatewayClient(
      url: try GatewayURL(url), transport: .epoll(caFile: ca), options: options, tokenSource: source)
    let every = Duration.milliseconds(250)
    let request = StreamRequest.all(
      StreamRequest.status.untyped, StreamRequest.pulse(symbols, every: every).untyped,
      StreamRequest.quote(symbols, every: every).untyped, StreamRequest.ticker(symbols, every: every).untyped,
      StreamRequest.sparkline(symbols, points: 24).untyped,
      StreamRequest.derivative(symbols.filter(Self.isDerivative)).untyped)
    let feed = WatchFeed(connection: client.connectionEvents(), streams: client.subscribe(request))
    let start = ContinuousClock.now
    let cost: @Sendable () -> String = { TrafficLine.text(client.traffic, over: .now - start) }
    if json {
      defer { if stats { FileHandle.standardError.write(Data((cost() + "\n").utf8)) } }
      try await FramePrinter(url: url, symbols: symbols, once: once).run(feed)
    } else {
      try await WatchScreen(url: url, symbols: symbols, once: once, cost: stats ? cost : nil).run(feed)
    }
  }
}
