import Access
import Compatibility
import Documents
import Foundation
import HTTPAPI
import History
import Logging
import MarketData
import Operations
import PubSub
import Recordings
import Transport
import Venues

#if canImport(Glibc)
  import Glibc
#endif

/// Everything that can be set about a gateway, with its defaults. A plain value; `ConfigurationLoader` fills one from a
/// file, the environment and flags, and checks it.
package struct GatewayConfiguration: Sendable, Equatable {
  /// One venue to follow.
  package struct Feed: Sendable, Equatable {
    /// A name in `VenueRegistry`: `kraken`.
    package var venue: String
    /// `BTC-USD`, upper case, without duplicates, in the order given.
    package var symbols: [String]
    /// The `ws`/`wss` URL to use instead of the venue's own.
    package var endpoint: String?
    /// The `http`/`https` base URL of REST requests instead of the venue's own. Where only `endpoint` is configured,
    /// the loader sets it to the same host and port, so that a simulated venue is never mixed with the real one.
    package var restEndpoint: String?

    package init(venue: String, symbols: [String], endpoint: String? = nil, restEndpoint: String? = nil) {
      self.venue = venue
      self.symbols = symbols
      self.endpoint = endpoint
      self.restEndpoint = restEndpoint
    }

    /// The same as the feed engine's value.
    package var feedConfiguration: FeedConfiguration {
      FeedConfiguration(symbols: symbols, endpoint: endpoint, restEndpoint: restEndpoint)
    }
  }

  /// The connections of all feeds, in order: one for each feed, or one for each part of a venue that has symbols of it.
  package var feedConnections: [(venue: Venue, configuration: FeedConfiguration)] {
    feeds.flatMap { feed in
      VenueRegistry.venue(named: feed.venue)?.connections(for: feed.feedConfiguration) ?? []
    }
  }

  /// The TLS settings of `wss` and `https`; without a certificate the port serves without TLS.
  package struct TLSSettings: Sendable, Equatable {
    /// PEM files of chains, leaf first. The gateway picks one by the name that the client asks for (SNI); the first one
    /// serves all other names.
    package var certificates: [String] = []
    /// The keys of these, in the same order, without passphrases.
    package var keys: [String] = []
    /// PEM file of the roots that issue clients' certificates.
    package var clientCA: String?
    package var clientAuthentication = TLSClientAuthentication.none
    /// The longest a handshake may take, s, 1…60.
    package var handshakeSeconds = 10
    /// Handshakes under way at a time, 1…100,000. At the limit, new connections wait to be accepted.
    package var handshakes = 1_000
    /// Tickets to resume with after a full handshake, 0…2.
    package var tickets = 1
    /// How long a key encrypts new tickets, s, 60…302,400. It decrypts them as long again (RFC 8446 §4.6.1: a week
    /// at most).
    package var ticketKeySeconds = 43_200
    package init() {}
  }

  /// The limits of one client, of one address, and of all clients together.
  package struct Limits: Sendable, Equatable {
    /// Client connections at a time, 1…1,000,000.
    package var clients = 10_000
    /// Connections of one address at a time, 1…1,000,000. Here and below an address is an IPv4 address or an IPv6 /64.
    package var connectionsPerAddress = 1_024
    /// New connections of one address per second, and the burst, 1…100,000.
    package var connectionsPerSecondPerAddress = 250
    /// WebSocket handshakes of all clients per second, and the burst, 1…100,000.
    package var handshakesPerSecond = 2_000
    /// WebSocket handshakes of one address per second, and the burst, 1…100,000.
    package var handshakesPerSecondPerAddress = 250
    /// Clients of one address that may do all the work that `requestsPerSecond` allows at the same time, on each event
    /// loop, 1…1,000,000.
    package var fullRateClientsPerAddress = ClientLimits().clientsAtFullRate
    /// HTTP requests of one connection per second, and the burst, 1…100,000.
    package var httpRequestsPerSecond = 100
    /// HTTP requests of one address per second, and the burst, 1…100,000.
    package var httpRequestsPerSecondPerAddress = 500
    /// Subscriptions of one client, 1…100,000.
    package var subscriptions = 1_000
    /// Requests of one client per second, 1…10,000.
    package var requestsPerSecond = 20
    /// Bytes of one request, 1 KiB…16 MiB.
    package var messageBytes = 64 << 10
    /// Unsent bytes above which a client is closed with 4108, 64 KiB…256 MiB.
    package var queuedBytes = 1 << 20
    /// Time without progress after which a client with queued bytes is closed with 4108, 1…600 s.
    package var stallSeconds = 60
    /// Unsent bytes of all clients together, 1 MiB…64 GiB. Above it, the gateway closes the clients with the most
    /// with 4108 and refuses new ones.
    package var totalQueuedBytes = 256 << 20
    package init() {}

    /// The limits of each client, as the hub takes them.
    package var ofClients: ClientLimits {
      var limits = ClientLimits()
      limits.clients = clients
      limits.subscriptions = subscriptions
      limits.requestsPerSecond = requestsPerSecond
      limits.clientsAtFullRate = fullRateClientsPerAddress
      limits.messageBytes = messageBytes
      limits.hardQueuedBytes = queuedBytes
      limits.softQueuedBytes = queuedBytes / 4
      limits.stallSeconds = stallSeconds
      return limits
    }

    package var admission: Admission.Limits {
      var limits = Admission.Limits()
      limits.connections = clients
      limits.connectionsPerAddress = connectionsPerAddress
      limits.connectionsPerSecondPerAddress = connectionsPerSecondPerAddress
      limits.handshakesPerSecond = handshakesPerSecond
      limits.handshakesPerSecondPerAddress = handshakesPerSecondPerAddress
      limits.requestsPerSecond = httpRequestsPerSecond
      limits.requestsPerSecondPerAddress = httpRequestsPerSecondPerAddress
      return limits
    }
  }

  /// permessage-deflate on the client port (RFC 7692).
  package struct Compression: Sendable, Equatable {
    /// Whether the gateway accepts it from clients that offer it.
    package var enabled = true
    /// The smallest payload that is compressed, bytes, 64…1,048,576. A message is compressed once for all its
    /// clients.
    package var thresholdBytes = 512
    /// 1 (fast)…9 (small).
    package var level = 1
    /// The window of both directions as a power of two, 9…15; clients with a smaller window get no compression.
    /// Common clients request at least 12.
    package var windowBits = 12
    package init() {}
  }

  /// The settings of the log, except its level.
  package struct LogSettings: Sendable, Equatable {
    package var format = LogFormat.logfmt
    /// Levels of the parts that differ from `logLevel`.
    package var levels: [LogComponent: Logger.Level] = [:]
    package var access = AccessLog.Settings()
    package init() {}
  }

  /// The levels of all parts of the log.
  package var logLevels: LogLevels { LogLevels(standard: logLevel, byComponent: logs.levels) }

  /// What the gateway stores for charts and for its next start.
  package struct DataSettings: Sendable, Equatable {
    /// The folder; nil: nothing is kept.
    package var directory: String?
    /// Days that candles of each length are kept, 1…36,500; 0: for ever.
    package var keepMinutes = 30
    package var keepQuarters = 366
    package var keepHours = 0
    package var keepDays = 0
    /// Whether the gateway requests missing candles from venues.
    package var backfill = true
    package init() {}

    /// The same, as the store takes it.
    package var retention: Retention {
      func span(_ days: Int) -> Int64? { days == 0 ? nil : Int64(days) * Microseconds.day }
      return Retention(
        minute: span(keepMinutes), quarter: span(keepQuarters), hour: span(keepHours), day: span(keepDays))
    }

    /// The default folder: `STATE_DIRECTORY` (systemd), `XDG_STATE_HOME`, `~/.local/state`.
    package static func usualDirectory(_ environment: [String: String]) -> String? {
      func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
      if let folders = value("STATE_DIRECTORY") { return folders.split(separator: ":").first.map(String.init) }
      if let home = value("XDG_STATE_HOME"), home.hasPrefix("/") { return "\(home)/tidegate" }
      return value("HOME").map { "\($0)/.local/state/tidegate" }
    }
  }

  /// The address that clients connect to.
  package var listen = SocketAddress(host: "127.0.0.1", port: 8080)
  /// The address of metrics and health.
  package var internalListen = SocketAddress(host: "127.0.0.1", port: 9090)
  /// Host names that the internal port answers to, beside its addresses and localhost; `*` for any.
  package var internalHosts: [String] = []
  /// Host names under which the client port serves owners' documents and the console while it asks for no tokens,
  /// beside addresses and localhost; `*` for any.
  package var hosts: [String] = []
  /// Whether another gateway of the same user may listen on the same two addresses.
  package var reusePort = false
  /// Whether the client port serves the console at `/`. It serves `tidegate.js` in any case.
  package var console = true
  /// Event loops, 1…64; the number of cores by default.
  package var loops = min(64, max(1, ProcessInfo.processInfo.activeProcessorCount))
  /// One per venue, in the order of the names.
  package var feeds: [Feed] = []
  /// PEM file of the roots to trust for `wss` and `https` endpoints instead of the system's.
  package var caFile: String?
  package var tlsSettings = TLSSettings()
  /// The key file with the admitted clients; nil: `access` decides.
  package var keysFile: String?
  /// The admitted clients, if the configuration itself names them; nil: those of the key file, or every client without
  /// one.
  package var access: AccessPolicy?
  /// A file with the token that operators send on the internal port; nil: the administration is closed.
  package var adminTokenFile: String?
  /// Whether to follow simulated venues inside this process.
  package var demo = false
  /// The other protocols of the configuration.
  package var compatibility = CompatibilitySettings()
  /// Those that are spoken: a demo speaks all.
  package var spokenDialects: CompatibilitySettings { demo ? .demo : compatibility }
  /// Seed of the demo's market.
  package var seed: UInt64 = 1
  /// Messages per second and symbol of the demo, 1…100,000.
  package var rate = 20
  /// Recordings, and folders of them, to serve instead of live feeds.
  package var replay: [String] = []
  package var speed = ReplaySpeed.recorded
  package var limits = Limits()
  /// The limits of an HTTP connection: times, pace and number of requests.
  package var http = HTTPConnectionLimits()
  package var compression = Compression()
  package var data = DataSettings()
  /// How many rules and webhooks clients may create.
  package var alerts = AlertDesk.Limits()
  /// How many portfolios clients may create.
  package var portfolios = PortfolioDesk.Limits()
  /// The decks of cards.
  package var decks = DeckSettings()
  /// The schemas that documents of topics must satisfy.
  package var topics = TopicSettings()
  /// Lists of symbols, or of patterns like `kraken:*`, that clients request by name.
  package var watchlists = WatchlistSettings()
  /// Networks that webhooks may be sent to, beside the public Internet.
  package var webhookNetworks: [IPNetwork] = []
  /// Feeds that must be live before the gateway counts as ready: at most as many as are configured.
  package var readyFeeds = 1
  /// Feeds of the demo: Kraken, Coinbase and Binance.
  static let demoFeeds = 3
  /// Seconds between heartbeats to clients, 1…60.
  package var heartbeatSeconds = 5
  /// The longest wait between attempts to reach a venue, s, 1…600; each wait is drawn from 0 to a ceiling that doubles
  /// up to it.
  package var reconnectLimitSeconds = 30
  /// Over how long the gateway closes its clients before it ends, s, 0…3600; 0: all at once.
  package var drainSeconds = 15
  /// How long the next process of an upgrade waits for its feeds, s, 1…600.
  package var upgradeWarmSeconds = 30
  /// Over how long an upgrade sends the clients to the next process, s, 0…3600. It takes longer if the clients would
  /// use more than half of `limits.handshakes-per-second`.
  package var upgradeDrainSeconds = 3
  /// `Origin` values of pages that may connect, compared exactly; empty: any.
  package var origins: [String] = []
  /// Proxies whose reports of client addresses are trusted.
  package var trustedProxies: [IPNetwork] = []
  /// The header field that they report it in.
  package var proxyHeader = TrustedProxies.Header.xForwardedFor
  /// This gateway's name in `welcome` and metrics; the host's name by default.
  package var node = GatewayConfiguration.hostName
  package var logLevel = Logger.Level.info
  package var logs = LogSettings()
  /// A folder (ends in `/`) or file that every received message is recorded to.
  package var record: String?
  /// When recordings are rotated, synced and deleted.
  package var recording = RecordingPolicy()

  package init() {}

  /// The origins whose pages may connect; nil: all.
  package var allowedOrigins: Set<String>? { origins.isEmpty ? nil : Set(origins) }

  /// The TLS settings of the client port; nil: the port serves without TLS.
  package var tls: TLSServerConfiguration? {
    guard !tlsSettings.certificates.isEmpty else { return nil }
    var server = TLSServerConfiguration(
      certificates: zip(tlsSettings.certificates, tlsSettings.keys).map { .init(certificate: $0, key: $1) })
    server.clientCA = tlsSettings.clientCA
    server.clientAuthentication = tlsSettings.clientAuthentication
    server.handshakeTimeout = .seconds(tlsSettings.handshakeSeconds)
    server.handshakeLimit = tlsSettings.handshakes
    server.handshakeLimitPerListener = tlsSettings.handshakes
    server.ticketCount = tlsSettings.tickets
    server.ticketKeyPeriod = tlsSettings.ticketKeySeconds
    return server
  }

  /// The host's name up to its first dot; `tidegate` if it has none.
  package static let hostName: String = {
    var bytes = [CChar](repeating: 0, count: 256)
    guard gethostname(&bytes, bytes.count - 1) == 0 else { return "tidegate" }
    let name = bytes.prefix { $0 != 0 && $0 != CChar(UInt8(ascii: ".")) }.map { UInt8(bitPattern: $0) }
    return name.isEmpty ? "tidegate" : String(decoding: name, as: UTF8.self)
  }()
}
