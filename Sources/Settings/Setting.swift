import Access
import Compatibility
import Documents
import HTTP1
import HTTPAPI
import Logging
import Operations
import Recordings
import Transport

/// One key of the configuration: its name, its check, how it is set and shown. `all` is the reference of the keys.
struct Setting: Sendable {
  /// Its path in a file: `limits.requests-per-second`.
  let key: String
  /// The allowed values, for error messages.
  let allowed: String
  /// Whether it takes a list (in a file) or values between commas (in the environment).
  var isList = false
  /// Whether it is true or false; on some platforms a JSON parser reads `true` as the number 1, too.
  var isBool = false
  /// Whether a reload applies it; if not, it takes effect when the process starts.
  var isLive = false
  /// Sets the value; false if it is not allowed.
  let set: @Sendable (inout GatewayConfiguration, [String]) -> Bool
  /// The effective value as text.
  let show: @Sendable (GatewayConfiguration) -> String

  /// `TIDEGATE_LIMITS_REQUESTS_PER_SECOND`.
  var variable: String { Self.variable(key) }

  static func variable(_ key: String) -> String {
    "TIDEGATE_" + key.uppercased().map { $0 == "." || $0 == "-" ? "_" : String($0) }.joined()
  }

  /// The same, applied by a reload (`NodeSettings.take`, `Gateway.applySettings`).
  private var live: Setting {
    var live = self
    live.isLive = true
    return live
  }

  static let all: [Setting] =
    own + DialectName.allCases.map { bool("compat.\($0.rawValue)", \.compatibility[$0]).live }

  private static let own: [Setting] = [
    address("listen", \.listen),
    address("internal-listen", \.internalListen),
    Setting(
      key: "internal-hosts", allowed: "names like gateway.internal, without ports, or *", isList: true, isLive: true,
      set: { configuration, values in
        configuration.internalHosts = values
        return values.allSatisfy { HostNames.isName($0) }
      }, show: { $0.internalHosts.joined(separator: ",") }),
    Setting(
      key: "hosts", allowed: "names like gateway.example.com, without ports, or *", isList: true, isLive: true,
      set: { configuration, values in
        configuration.hosts = values
        return values.allSatisfy { HostNames.isName($0) }
      }, show: { $0.hosts.joined(separator: ",") }),
    bool("reuse-port", \.reusePort),
    bool("console", \.console).live,
    integer("loops", 1...64, \.loops),
    file("ca-file", \.caFile),
    files("tls.certificate", "a PEM file or a list of them, with tls.key", \.tlsSettings.certificates),
    files("tls.key", "a PEM file for each of tls.certificate, in the same order", \.tlsSettings.keys),
    file("tls.client-ca", \.tlsSettings.clientCA),
    choice("tls.client-auth", TLSClientAuthentication.allCases, \.tlsSettings.clientAuthentication),
    integer("tls.handshake-seconds", 1...60, \.tlsSettings.handshakeSeconds),
    integer("tls.handshakes", 1...100_000, \.tlsSettings.handshakes),
    integer("tls.tickets", 0...2, \.tlsSettings.tickets),
    integer("tls.ticket-key-seconds", 60...302_400, \.tlsSettings.ticketKeySeconds),
    file("keys-file", allowed: "a key file", \.keysFile),
    file("admin.token-file", allowed: "a file with a token of 16 letters or more", \.adminTokenFile),
    bool("demo", \.demo),
    bool("compat.allow-simulated", \.compatibility.allowsSimulated).live,
    Setting(
      key: "seed", allowed: "a whole number, 0…18446744073709551615",
      set: { configuration, values in
        guard let value = UInt64(values[0]) else { return false }
        configuration.seed = value
        return true
      }, show: { String($0.seed) }),
    integer("rate", 1...100_000, \.rate),
    Setting(
      key: "replay", allowed: "recordings, or folders of them", isList: true,
      set: { configuration, values in
        configuration.replay = values
        return !values.contains("")
      }, show: { $0.replay.joined(separator: ",") }),
    text("speed", ReplaySpeed.allowed, \.speed),
    integer("limits.clients", 1...1_000_000, \.limits.clients).live,
    integer("limits.connections-per-address", 1...1_000_000, \.limits.connectionsPerAddress).live,
    integer("limits.connections-per-second-per-address", 1...100_000, \.limits.connectionsPerSecondPerAddress).live,
    integer("limits.handshakes-per-second", 1...100_000, \.limits.handshakesPerSecond).live,
    integer("limits.handshakes-per-second-per-address", 1...100_000, \.limits.handshakesPerSecondPerAddress).live,
    integer("limits.full-rate-clients-per-address", 1...1_000_000, \.limits.fullRateClientsPerAddress).live,
    integer("limits.http-requests-per-second", 1...100_000, \.limits.httpRequestsPerSecond).live,
    integer("limits.http-requests-per-second-per-address", 1...100_000, \.limits.httpRequestsPerSecondPerAddress).live,
    integer("limits.subscriptions", 1...100_000, \.limits.subscriptions).live,
    integer("limits.requests-per-second", 1...10_000, \.limits.requestsPerSecond).live,
    integer("limits.message-bytes", (1 << 10)...(16 << 20), \.limits.messageBytes).live,
    integer("limits.queued-bytes", (64 << 10)...(256 << 20), \.limits.queuedBytes),
    integer("limits.stall-seconds", 1...600, \.limits.stallSeconds).live,
    integer("limits.total-queued-bytes", (1 << 20)...(64 << 30), \.limits.totalQueuedBytes).live,
    integer("http.head-seconds", 1...300, \.http.headSeconds).live,
    integer("http.idle-seconds", 1...3_600, \.http.idleSeconds).live,
    integer("http.bytes-per-second", 1...1_048_576, \.http.bytesPerSecond).live,
    integer("http.requests-per-connection", 1...1_000_000_000, \.http.requests).live,
    bool("compression.enabled", \.compression.enabled),
    integer("compression.threshold-bytes", 64...(1 << 20), \.compression.thresholdBytes),
    integer("compression.level", 1...9, \.compression.level),
    integer("compression.window-bits", 9...15, \.compression.windowBits),
    Setting(
      key: "data.directory", allowed: "a folder, or none",
      set: { configuration, values in
        configuration.data.directory = values[0] == "none" ? nil : values[0]
        return !values[0].isEmpty
      }, show: { $0.data.directory ?? "none" }),
    integer("data.keep-1m-days", 0...36_500, \.data.keepMinutes),
    integer("data.keep-15m-days", 0...36_500, \.data.keepQuarters),
    integer("data.keep-1h-days", 0...36_500, \.data.keepHours),
    integer("data.keep-1d-days", 0...36_500, \.data.keepDays),
    bool("data.backfill", \.data.backfill),
    integer("alerts.per-owner", 0...10_000, \.alerts.rulesOfOwner),
    integer("alerts.total", 0...1_000_000, \.alerts.rules),
    integer("portfolios.per-owner", 0...1_000, \.portfolios.perOwner),
    integer("portfolios.total", 0...1_000_000, \.portfolios.total),
    integer("portfolios.transactions", 0...10_000, \.portfolios.transactions),
    file("topics.schemas", allowed: "a folder with files NAME.json, each the schema of a topic", \.topics.folder).live,
    file("decks.directory", allowed: "a folder with files NAME.json", \.decks.directory).live,
    Setting(
      key: "watchlists", allowed: "NAME=SYMBOL SYMBOL like majors=kraken:BTC-USD kraken:ETH-USD", isList: true,
      isLive: true, set: { configuration, values in configuration.watchlists.take(values) },
      show: { $0.watchlists.entries.joined(separator: ",") }),
    integer("webhooks.per-owner", 0...20, \.alerts.webhooksOfOwner),
    Setting(
      key: "webhooks.networks", allowed: "networks like 10.0.0.0/8 that webhooks may be sent to", isList: true,
      set: { configuration, values in
        let networks = values.map { IPNetwork($0) }
        configuration.webhookNetworks = networks.compactMap { $0 }
        return !networks.contains(nil)
      }, show: { $0.webhookNetworks.map(\.description).joined(separator: ",") }),
    integer("ready-feeds", 0...100, \.readyFeeds).live,
    integer("heartbeat-seconds", 1...60, \.heartbeatSeconds),
    integer("reconnect-limit-seconds", 1...600, \.reconnectLimitSeconds),
    integer("drain.seconds", 0...3_600, \.drainSeconds).live,
    integer("upgrade.warm-seconds", 1...600, \.upgradeWarmSeconds).live,
    integer("upgrade.drain-seconds", 0...3_600, \.upgradeDrainSeconds).live,
    Setting(
      key: "origins", allowed: "origins like https://example.com, without a path", isList: true, isLive: true,
      set: { configuration, values in
        configuration.origins = values
        return values.allSatisfy { origin in
          guard let url = EndpointURL(origin), url.scheme == .http || url.scheme == .https else { return false }
          return url.target == "/" && !origin.hasSuffix("/")
        }
      }, show: { $0.origins.joined(separator: ",") }),
    Setting(
      key: "trusted-proxies", allowed: "addresses like 10.0.0.7 or networks like 10.0.0.0/8 and 2001:db8::/32",
      isList: true, isLive: true,
      set: { configuration, values in
        let networks = values.map { IPNetwork($0) }
        configuration.trustedProxies = networks.compactMap { $0 }
        return !networks.contains(nil)
      }, show: { $0.trustedProxies.map(\.description).joined(separator: ",") }),
    choice("proxy-header", TrustedProxies.Header.allCases, \.proxyHeader).live,
    Setting(
      key: "node", allowed: "1 to 63 letters, digits, '-', '_' or '.'",
      set: { configuration, values in
        configuration.node = values[0]
        return (1...63).contains(values[0].utf8.count)
          && values[0].utf8.allSatisfy { byte in
            let scalar = Unicode.Scalar(byte)
            return byte < 0x80
              && (scalar.properties.isAlphabetic || (0x30...0x39).contains(byte)
                || "-_.".unicodeScalars.contains(scalar))
          }
      }, show: { $0.node }),
    choice("log-level", Logger.Level.allCases, \.logLevel).live,
    choice("log.format", LogFormat.allCases, \.logs.format).live,
    Setting(
      key: "log.levels",
      allowed: "PART=LEVEL like feeds=debug; parts are "
        + LogComponent.allCases.map(\.rawValue).joined(separator: ", "), isList: true, isLive: true,
      set: { configuration, values in
        let pairs = values.compactMap { LogLevels.pair($0) }
        configuration.logs.levels = Dictionary(pairs.map { ($0.component, $0.level) }) { $1 }
        return pairs.count == values.count && configuration.logs.levels.count == values.count
      }, show: { $0.logLevels.pairs.joined(separator: ",") }),
    choice("log.access", AccessLog.Scope.allCases, \.logs.access.scope).live,
    integer("log.access-per-second", 1...10_000, \.logs.access.linesPerSecond).live,
    Setting(
      key: "record", allowed: "a file, or a folder with '/' at its end",
      set: { configuration, values in
        configuration.record = values[0]
        return !values[0].isEmpty
      }, show: { $0.record ?? "" }),
    integer("recording.rotate-megabytes", 0...1_000_000, \.recording.rotateMegabytes),
    integer("recording.rotate-seconds", 0...604_800, \.recording.rotateSeconds),
    integer("recording.keep-megabytes", 0...100_000_000, \.recording.keepMegabytes),
    integer("recording.keep-files", 0...1_000_000, \.recording.keepFiles),
    integer("recording.flush-seconds", 1...60, \.recording.flushSeconds),
    text("recording.sync", "none, rotation, or seconds, 1…3600", \.recording.sync),
    bool("recording.index", \.recording.indexes),
  ]

  static let byKey = Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0) })

  private static func address(
    _ key: String, _ path: any WritableKeyPath<GatewayConfiguration, SocketAddress> & Sendable
  ) -> Setting {
    Setting(
      key: key, allowed: "HOST:PORT or [IPV6]:PORT, with a numeric host or localhost",
      set: { configuration, values in
        guard let address = try? SocketAddress(parsing: values[0]) else { return false }
        configuration[keyPath: path] = address
        return true
      }, show: { $0[keyPath: path].description })
  }

  private static func integer(
    _ key: String, _ range: ClosedRange<Int>, _ path: any WritableKeyPath<GatewayConfiguration, Int> & Sendable
  ) -> Setting {
    Setting(
      key: key, allowed: "a whole number, \(range.lowerBound)…\(range.upperBound)",
      set: { configuration, values in
        guard let value = Int(values[0]), range.contains(value) else { return false }
        configuration[keyPath: path] = value
        return true
      }, show: { String($0[keyPath: path]) })
  }

  private static func bool(
    _ key: String, _ path: any WritableKeyPath<GatewayConfiguration, Bool> & Sendable
  ) -> Setting {
    Setting(
      key: key, allowed: "true or false", isBool: true,
      set: { configuration, values in
        guard let value = ["true": true, "false": false][values[0].lowercased()] else { return false }
        configuration[keyPath: path] = value
        return true
      }, show: { String($0[keyPath: path]) })
  }

  private static func file(
    _ key: String, allowed: String = "a PEM file",
    _ path: any WritableKeyPath<GatewayConfiguration, String?> & Sendable
  ) -> Setting {
    Setting(
      key: key, allowed: allowed,
      set: { configuration, values in
        configuration[keyPath: path] = values[0]
        return !values[0].isEmpty
      }, show: { $0[keyPath: path] ?? "" })
  }

  private static func files(
    _ key: String, _ allowed: String, _ path: any WritableKeyPath<GatewayConfiguration, [String]> & Sendable
  ) -> Setting {
    Setting(
      key: key, allowed: allowed, isList: true,
      set: { configuration, values in
        configuration[keyPath: path] = values
        return !values.isEmpty
      }, show: { $0[keyPath: path].joined(separator: ",") })
  }

  private static func text<Value: LosslessStringConvertible & Sendable>(
    _ key: String, _ allowed: String, _ path: any WritableKeyPath<GatewayConfiguration, Value> & Sendable
  ) -> Setting {
    Setting(
      key: key, allowed: allowed,
      set: { configuration, values in
        guard let value = Value(values[0]) else { return false }
        configuration[keyPath: path] = value
        return true
      }, show: { $0[keyPath: path].description })
  }

  private static func choice<Value: RawRepresentable<String> & Sendable>(
    _ key: String, _ cases: [Value], _ path: any WritableKeyPath<GatewayConfiguration, Value> & Sendable
  ) -> Setting {
    Setting(
      key: key, allowed: cases.map(\.rawValue).joined(separator: ", "),
      set: { configuration, values in
        guard let value = Value(rawValue: values[0].lowercased()) else { return false }
        configuration[keyPath: path] = value
        return true
      }, show: { $0[keyPath: path].rawValue })
  }
}
