import Build
import Foundation
import Gateway
import Settings
import Transport
import Venues

/// The first lines of `tidegate serve`: what to open in a browser, where the gateway listens, what to type elsewhere.
struct Banner {
  let configuration: GatewayConfiguration
  /// The addresses that the gateway listens on.
  let address, internalAddress: SocketAddress
  /// The command as its user typed it.
  let program: String
  let environment: [String: String]

  var lines: [String] {
    var lines: [String] = []
    if configuration.console { lines.append("open \(url("http", address))/") }
    lines += operators
    lines += [
      "Tidegate \(TidegateVersion.current)",
      "  stream    \(stream)",
      "  http      \(url("http", address))/v1/instruments",
      "  internal  http://\(internalAddress.description)/metrics",
    ]
    if configuration.demo {
      lines.append("The prices are SIMULATED: Kraken, Coinbase and Binance run inside this process.")
    }
    if !configuration.replay.isEmpty { lines.append("The prices are REPLAYED: they are those of the recordings.") }
    if !commands.isEmpty { lines += ["In another terminal:"] + commands.map { "  \(program) \($0)" } }
    return lines
  }

  /// The page for operators, which shows nothing without a token. A demo's token guards invented prices, so it is
  /// shown.
  private var operators: [String] {
    guard let file = configuration.adminTokenFile else { return [] }
    let page = "open http://\(Self.reachable(internalAddress))/ops"
    guard configuration.demo, let token = WatchCommand.token(inFile: file) else {
      return ["\(page) (with the token in \(file))"]
    }
    return ["\(page)#token=\(token)", "  (for operators; the demo's token is \(token))"]
  }

  private var stream: String { url("ws", address) + "/v1/stream" }

  private var commands: [String] {
    let watched = configuration.feeds.prefix(3).compactMap { feed in
      feed.symbols.first.map { MarketSelection.isMeant(by: $0) ? "'\(feed.venue):*'" : "\(feed.venue):\($0)" }
    }
    var commands: [String] = []
    if !watched.isEmpty {
      let words = [stream == WatchCommand.defaultURL ? nil : stream] + watched
      commands.append("watch " + words.compactMap { $0 }.joined(separator: " "))
    }
    if let file = configuration.adminTokenFile {
      let at = Self.reachable(internalAddress)
      let words = [
        at == TopCommand.defaultAddress ? nil : "--at \(at)",
        configuration.demo && file == DemoToken.usualFile(environment) ? nil : "--token-file \(file)",
      ]
      commands.append((["top"] + words.compactMap { $0 }).joined(separator: " "))
    }
    return commands
  }

  private func url(_ scheme: String, _ address: SocketAddress) -> String {
    "\(scheme)\(configuration.tls == nil ? "" : "s")://\(Self.reachable(address))"
  }

  /// An address that a browser on this machine can open: a gateway that listens on all addresses listens on loopback.
  static func reachable(_ address: SocketAddress) -> String {
    switch address.host {
    case "0.0.0.0": "127.0.0.1:\(address.port)"
    case "::": "[::1]:\(address.port)"
    default: address.description
    }
  }
}
