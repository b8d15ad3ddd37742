import Access
import Feeds
import Foundation
import HTTP1
import History
import Logging
import Settings
import TestTraits
import Transport
import VenueSimulator
import Venues
import WebSocket

@testable import Gateway

/// A gateway with simulated venues over real TLS, WebSocket and REST on loopback, on ports that the system chooses.
final class GatewayHarness: Sendable {
  let gateway: Gateway
  let exchanges: [String: SimulatedExchange]
  let clientLoop: EventLoop
  private let simulatorLoop: EventLoop
  private let folder: URL

  static let symbols: [String: [String]] = [
    "kraken": ["BTC-USD", "ETH-USD", "ZEC-USD"], "coinbase": ["BTC-USD", "ETH-USD", "ZEC-USD"],
    "binance": ["BTC-USDT", "ETH-USDT", "ZEC-USDT"], "okx": ["BTC-USDT", "ETH-USDT", "ZEC-USDT"],
    "bybit": ["BTC-USDT-PERP"], "bitget": ["BTC-USDT-PERP"], "gemini": ["BTC-GUSD-PERP"],
  ]

  /// - Parameters:
  ///   - change: changes the configuration before the start.
  ///   - recorder: makes the recorder of a venue's feed.
  init(
    venues: [String] = ["kraken", "coinbase", "binance"], faults: [String: [Fault]] = [:], seed: UInt64 = 7,
    rate: Double = 20,
    loops: Int = 2, access: Authenticator? = nil, history: HistoryKeeper? = nil,
    change: (inout GatewayConfiguration) -> Void = { _ in },
    recorder: @escaping @Sendable (Venue, FeedConfiguration) -> RecordingSink? = { _, _ in nil }
  ) throws {
    simulatorLoop = try EventLoop(index: 0, label: "test.simulator")
    clientLoop = try EventLoop(index: 0, label: "test.client")
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let certificate = try SelfSignedCertificate(hosts: ["localhost", "127.0.0.1"])
    let caFile = folder.appendingPathComponent("ca.pem").path
    try certificate.certificatePEM.write(toFile: caFile, atomically: true, encoding: .utf8)
    let tls = try TLSServerContext(certificate: certificate)
    var configuration = GatewayConfiguration()
    configuration.listen = SocketAddress(host: "127.0.0.1", port: 0)
    configuration.internalListen = SocketAddress(host: "127.0.0.1", port: 0)
    configuration.loops = loops
    configuration.caFile = caFile
    configuration.heartbeatSeconds = 1
    configuration.reconnectLimitSeconds = 1
    // Every test is one address, and looks often.
    configuration.limits.connectionsPerAddress = 10_000
    configuration.limits.connectionsPerSecondPerAddress = 100_000
    configuration.limits.handshakesPerSecondPerAddress = 2_000
    configuration.limits.httpRequestsPerSecondPerAddress = 100_000
    var exchanges: [String: SimulatedExchange] = [:]
    for venue in venues {
      let exchange = try SimulatedExchange(
        venue: venue, seed: seed, rate: rate, faults: faults[venue] ?? [],
        listen: SocketAddress(host: "127.0.0.1", port: 0),
        tls: tls, loop: simulatorLoop)
      exchanges[venue] = exchange
      configuration.feeds.append(
        .init(
          venue: venue, symbols: Self.symbols[venue]!, endpoint: exchange.webSocketURL, restEndpoint: exchange.restURL))
    }
    self.exchanges = exchanges
    change(&configuration)
    var log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    log.logLevel = .critical
    gateway = try Gateway(configuration: configuration, access: access, history: history, log: log)
    try gateway.start(recorder: recorder)
  }

  func probe(
    offers: [PerMessageDeflate.Offer] = [], fields: [HTTPField] = [], answersPings: Bool = true, first: String? = nil,
    subprotocol: String? = "tidegate.v1.json", target: String = "/v1/stream"
  ) async throws -> StreamProbe {
    try await StreamProbe(
      gateway.address, fields: fields, loop: clientLoop, offers: offers, answersPings: answersPings, first: first,
      subprotocol: subprotocol, target: target)
  }

  /// A GET on the client port, or the internal one.
  func get(_ path: String, internal isInternal: Bool = false, fields: [HTTPField] = []) async throws -> Answer {
    try await HTTPProbe.send(
      "GET", path, to: isInternal ? gateway.internalAddress : gateway.address, fields: fields, loop: clientLoop)
  }

  /// Waits until every instrument of every venue is live.
  /// - Parameter fields: for a gateway that wants to know who asks.
  func waitUntilLive(fields: [HTTPField] = []) async throws {
    let expected = exchanges.keys.reduce(0) { $0 + Self.symbols[$1]!.count }
    var patience = Patience()
    while true {
      let answer = try await get("/v1/instruments", fields: fields)
      let instruments = answer.json["instruments"] as? [[String: Any]] ?? []
      if instruments.count == expected, instruments.allSatisfy({ $0["state"] as? String == "live" }) { return }
      try await patience.wait(for: "every book to be live; \(answer.text)")
    }
  }

  func stop() async {
    for exchange in exchanges.values { exchange.stop() }
    await withCheckedContinuation { continuation in
      gateway.stop(within: .seconds(1)) { continuation.resume() }
    }
    let (clientLoop, simulatorLoop) = (clientLoop, simulatorLoop)
    await withCheckedContinuation { continuation in clientLoop.shutdown { continuation.resume() } }
    await withCheckedContinuation { continuation in simulatorLoop.shutdown { continuation.resume() } }
    try? FileManager.default.removeItem(at: folder)
  }
}
