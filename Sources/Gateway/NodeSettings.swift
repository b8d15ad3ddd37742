import Access
import Logging
import PubSub
import Transport

/// What all nodes of a gateway share.
struct NodeSettings: Sendable {
  var node: String
  /// The names of the venues that have a feed from the start; those of replays are known with their first status.
  var venues: Set<String> = []
  /// Where the prices of feeds come from, unless the exchange that they connect to says that it is a simulated one.
  var source = DataSource.live
  /// Tells clients when stream numbers started over.
  var epoch: String
  /// A name of this run, which is another each time.
  var run: String
  var clientLimits: ClientLimits
  /// Feeds that must be live before the gateway counts as ready, 0 and more.
  var readyFeeds = 1
  /// Seconds between heartbeats where a client does not say, 1…60.
  var heartbeatSeconds: Int
  var compression = GatewayConfiguration.Compression()
  /// The longest wait between attempts to reach a venue, s.
  var reconnectLimitSeconds = 30
  var http = HTTPConnectionLimits()
  /// The origins whose pages may connect; nil: all.
  var origins: Set<String>?
  /// Names, beside addresses and localhost, that the internal port answers to.
  var internalHosts: [String] = []
  /// Whether the client port has the console's pages.
  var servesConsole = true
  /// Admits connections and requests; one for all nodes.
  var admission: Admission
  /// The accepted tokens; nil: no token is required.
  var access: Authenticator?
  /// What streams and sessions continue from; nil: from nothing.
  var kept: KeptRun?
  /// What survives a restart; nil where nothing is kept.
  var history: HistoryKeeper?
  /// Whether venues are asked for candles that are missing.
  var backfills = false
  var log: Logger
  /// Logs clients whose TLS fails.
  var tlsLog: TLSLog?
  /// What operators publish; one for all nodes.
  var topics: PublishedTopics
  /// Watches for owners; one for all nodes.
  var alerts: AlertDesk
  /// Keeps and values portfolios; one for all nodes.
  var portfolios: PortfolioDesk
  /// The decks of cards; one for all nodes.
  var decks: DeckDesk
  /// What webhooks may be sent to beside the public Internet.
  var webhookNetworks: [IPNetwork] = []
  /// Logs requests and streams, where that is wanted.
  var accessLog: AccessLog?
  /// Logs refused and closed clients.
  var refusalLog: RefusalLog?
}

/// Names made of random bytes.
enum RandomName {
  /// `count` random bytes of `kernel` in hexadecimal digits.
  static func hex(_ count: Int, from kernel: any Kernel) -> String {
    let digits = Array("0123456789abcdef")
    return String(kernel.randomBytes(count).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
