import Access
import Compatibility
import Documents
import HTTPAPI
import History
import Logging
import Operations
import PubSub
import Settings
import Transport

/// The settings and objects that all nodes of a gateway share.
struct NodeSettings: Sendable {
  var node: String
  /// The names of the venues that have a feed from the start; those of replays are known with their first status.
  var venues: Set<String> = []
  /// The origin of the feeds' prices, unless the exchange says that it is simulated.
  var source = DataSource.live
  /// The epoch: it tells clients that stream numbers have started again.
  var epoch: String
  /// The name of this run; every run has another.
  var run: String
  var clientLimits: ClientLimits
  /// Feeds that must be live before the gateway counts as ready, 0 and more.
  var readyFeeds = 1
  /// The default interval of heartbeats, s, 1…60.
  var heartbeatSeconds: Int
  var compression = GatewayConfiguration.Compression()
  /// How long a hand-over to another process waits for requests, µs: a few round trips.
  var handOverAnswerTime: Int64 = 250_000
  /// The longest wait between attempts to reach a venue, s.
  var reconnectLimitSeconds = 30
  /// Those of the client port.
  var api = APISettings()
  /// Host names that the internal port accepts, beside addresses and localhost.
  var internalHosts: [String] = []
  /// Admits connections and requests; one for all nodes.
  var admission: Admission
  /// The accepted tokens; nil: no token is required.
  var access: Authenticator?
  /// The stored streams and sessions of the previous run; nil: none.
  var kept: KeptRun?
  /// Stores what survives a restart; nil: nothing is stored.
  var history: HistoryKeeper?
  /// Reads recordings for clients; nil: there are none.
  var past: PastReader?
  /// Whether missing candles are requested from venues.
  var backfills = false
  var log: Logger
  /// Logs clients whose TLS fails.
  var tlsLog: TLSLog?
  /// The published topics; one for all nodes.
  var topics: PublishedTopics
  /// Watches alerts for owners; one for all nodes.
  var alerts: AlertDesk
  /// Stores and values portfolios; one for all nodes.
  var portfolios: PortfolioDesk
  /// The lists of symbols that clients request by name.
  var watchlists: [String: [String]] = [:]
  /// The decks of cards; one for all nodes.
  var decks: DeckDesk
  /// The networks of allowed webhook receivers outside the public Internet.
  var webhookNetworks: [IPNetwork] = []
  /// Logs requests and streams, if configured.
  var accessLog: AccessLog?
  /// Logs refused and closed clients.
  var refusalLog: RefusalLog?

  /// Takes what a node can change while it runs, but for the limits of clients.
  mutating func take(_ configuration: GatewayConfiguration) {
    readyFeeds = configuration.readyFeeds
    watchlists = configuration.watchlists.lists
    internalHosts = configuration.internalHosts
    api.connections = configuration.http
    api.origins = configuration.allowedOrigins
    api.hosts = configuration.hosts
    api.servesConsole = configuration.console
    let spoken = configuration.spokenDialects
    api.dialects = spoken.dialects.isEmpty ? nil : CompatibilityPort(spoken)
  }
}

/// Names made of random bytes.
enum RandomName {
  /// `count` random bytes of `kernel` in hexadecimal digits.
  static func hex(_ count: Int, from kernel: any Kernel) -> String {
    let digits = Array("0123456789abcdef")
    return String(kernel.randomBytes(count).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
