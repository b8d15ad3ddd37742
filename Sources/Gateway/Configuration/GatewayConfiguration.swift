import Foundation
import Logging
import Transport
import Venues

#if canImport(Glibc)
  import Glibc
#endif

/// Everything that can be set about a gateway, with its defaults. A plain value; `ConfigurationLoader` fills one from a file,
/// the environment and flags, and checks it.
package struct GatewayConfiguration: Sendable, Equatable {
  /// One venue to follow.
  package struct Feed: Sendable, Equatable {
    /// A name in `VenueRegistry`: `kraken`.
    package var venue: String
    /// `BTC-USD`, upper case, without duplicates, in the order given.
    package var symbols: [String]
    /// The `ws`/`wss` URL to use instead of the venue's own.
    package var endpoint: String?
    /// The `http`/`https` base URL of REST requests instead of the venue's own. Where only `endpoint` is configured, the
    /// loader sets it to the same host and port, so that a simulated venue is never mixed with the real one.
    package var restEndpoint: String?

    package init(venue: String, symbols: [String], endpoint: String? = nil, restEndpoint: String? = nil) {
      self.venue = venue
      self.symbols = symbols
      self.endpoint = endpoint
      self.restEndpoint = restEndpoint
    }

    /// The same in the words of a feed handler.
    package var feedConfiguration: FeedConfiguration {
      FeedConfiguration(symbols: symbols, endpoint: endpoint, restEndpoint: restEndpoint)
    }
  }

  /// PEM files to serve `wss` and `https` with.
  package struct TLSFiles: Sendable, Equatable {
    /// The chain, leaf first.
    package var certificate: String
    package var key: String
    package init(certificate: String, key: String) {
      self.certificate = certificate
      self.key = key
    }
  }

  /// What all clients together, or one of them, may use.
  package struct Limits: Sendable, Equatable {
    /// Client connections at a time, 1…1,000,000.
    package var clients = 10_000
    /// Subscriptions of one client, 1…100,000.
    package var subscriptions = 1_000
    /// Requests of one client per second, 1…10,000.
    package var requestsPerSecond = 20
    /// Bytes of one request, 1 KiB…16 MiB.
    package var messageBytes = 64 << 10
    /// Unsent bytes above which a client is closed with 4108, 64 KiB…256 MiB.
    package var queuedBytes = 1 << 20
    package init() {}
  }

  /// permessage-deflate on the client port (RFC 7692).
  package struct Compression: Sendable, Equatable {
    /// Whether it is agreed on with clients that offer it.
    package var enabled = true
    /// Bytes of payload from which a message is compressed, 64…1,048,576. A message is compressed once for all its clients.
    package var thresholdBytes = 512
    /// 1 (fast)…9 (small).
    package var level = 1
    /// The window of both directions as a power of two, 9…15; clients with room for less get no compression. Twelve is what
    /// the smallest of the usual clients ask for.
    package var windowBits = 12
    package init() {}
  }

  /// How fast a replay runs.
  package enum ReplaySpeed: String, Sendable, CaseIterable {
    /// As it was recorded.
    case recorded = "1"
    /// As fast as it can be read.
    case fastest = "max"
  }

  /// Where clients connect.
  package var listen = SocketAddress(host: "127.0.0.1", port: 8080)
  /// Where metrics and health are served.
  package var internalListen = SocketAddress(host: "127.0.0.1", port: 9090)
  /// Event loops, 1…64; the number of cores by default.
  package var loops = min(64, max(1, ProcessInfo.processInfo.activeProcessorCount))
  /// One per venue, in the order of the names.
  package var feeds: [Feed] = []
  /// PEM file of the roots to trust for `wss` and `https` endpoints instead of the system's.
  package var caFile: String?
  /// Serve `wss` and `https`; in the clear if nil.
  package var tls: TLSFiles?
  /// Follow simulated venues inside this process.
  package var demo = false
  /// Seed of the demo's market.
  package var seed: UInt64 = 1
  /// Messages per second and symbol of the demo, 1…100,000.
  package var rate = 20
  /// Recordings to serve instead of live feeds.
  package var replay: [String] = []
  package var speed = ReplaySpeed.recorded
  package var limits = Limits()
  package var compression = Compression()
  /// Seconds between heartbeats to clients, 1…60.
  package var heartbeatSeconds = 5
  /// The longest wait between attempts to reach a venue, s, 1…600; each wait is drawn from 0 to a ceiling that doubles up to it.
  package var reconnectLimitSeconds = 30
  /// How long clients are sent away before the gateway ends, s, 0…3600; 0: all at once.
  package var drainSeconds = 15
  /// `Origin` values that browsers may come from, compared exactly; any if empty.
  package var origins: [String] = []
  /// This gateway's name in `welcome` and metrics; the host's name by default.
  package var node = GatewayConfiguration.hostName
  package var logLevel = Logger.Level.info
  /// A folder (ends in `/`) or file that every received message is recorded to.
  package var record: String?

  package init() {}

  /// The host's name up to its first dot; `tidegate` if it has none.
  package static let hostName: String = {
    var bytes = [CChar](repeating: 0, count: 256)
    guard gethostname(&bytes, bytes.count - 1) == 0 else { return "tidegate" }
    let name = bytes.prefix { $0 != 0 && $0 != CChar(UInt8(ascii: ".")) }.map { UInt8(bitPattern: $0) }
    return name.isEmpty ? "tidegate" : String(decoding: name, as: UTF8.self)
  }()
}
