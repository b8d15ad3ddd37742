import Foundation
import Gateway
import Logging
import Settings
import Transport
import VenueSimulator

/// Simulated exchanges inside this process, on loopback ports of the system's choice, that the gateway reaches over the
/// same TLS, WebSocket and REST as the real ones. Their prices are a function of the seed and the time, so that a run
/// goes on with the data that the one before has kept.
final class Demo {
  private static let assets = ["BTC", "ETH", "SOL", "ZEC", "XRP", "ADA", "DOGE", "LTC"]

  /// What the gateway must know to follow the exchanges.
  struct Market: Sendable {
    var feeds: [GatewayConfiguration.Feed]
    /// PEM file of the root that signed the exchanges' certificate.
    var caFile: String
    /// The operators' token, for a configuration that names none.
    var adminTokenFile: String?

    /// Replaces the feeds of a configuration, and completes it.
    func apply(to configuration: inout GatewayConfiguration) {
      configuration.feeds = feeds
      configuration.caFile = caFile
      if configuration.adminTokenFile == nil { configuration.adminTokenFile = adminTokenFile }
    }
  }

  private(set) var market: Market

  private let loop: EventLoop
  private let exchanges: [SimulatedExchange]
  private let folder: URL

  /// - Parameters:
  ///   - seed: the seed of the markets; the same seed gives the same markets.
  ///   - rate: messages per second and symbol.
  init(seed: UInt64, rate: Int) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-demo-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let certificate = try SelfSignedCertificate(hosts: ["localhost", "127.0.0.1", "::1"])
    let file = folder.appendingPathComponent("ca.pem")
    try Data(certificate.certificatePEM.utf8).write(to: file)
    let tls = try TLSServerContext(certificate: certificate)
    loop = try EventLoop(index: 0, label: "tidegate.demo")
    var exchanges: [SimulatedExchange] = []
    var feeds: [GatewayConfiguration.Feed] = []
    for (number, (venue, quote)) in [("kraken", "USD"), ("coinbase", "USD"), ("binance", "USDT")].enumerated() {
      let exchange = try SimulatedExchange(
        venue: venue, seed: seed &+ UInt64(number), rate: Double(rate), faults: [], origin: .continued(seed: seed),
        listen: SocketAddress(host: "127.0.0.1", port: 0), tls: tls, loop: loop)
      exchanges.append(exchange)
      feeds.append(
        .init(
          venue: venue, symbols: Self.assets.map { "\($0)-\(quote)" }, endpoint: exchange.webSocketURL,
          restEndpoint: exchange.restURL))
    }
    self.exchanges = exchanges
    market = Market(feeds: feeds, caFile: file.path)
  }

  /// Makes the operators' token of a configuration that names none.
  func addToken(_ configuration: GatewayConfiguration, _ log: Logger) {
    guard configuration.adminTokenFile == nil else { return }
    do {
      market.adminTokenFile = try DemoToken.file(in: configuration.data.directory ?? folder.path)
    } catch {
      log.warning("the demo has no operators' token", metadata: ["reason": "\(error.localizedDescription)"])
    }
  }

  /// Stops the exchanges and removes the certificate's file.
  func stop() {
    for exchange in exchanges { exchange.stop() }
    loop.shutdown {}
    try? FileManager.default.removeItem(at: folder)
  }
}
