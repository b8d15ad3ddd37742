import Access
import Foundation
import Testing
import Venues
import Transport

@testable import Settings

@Suite("Configuration")
struct ConfigurationLoaderTests {
  static let venues = [
    ConfigurationLoader.VenueRule(name: "kraken", symbolLimit: 3),
    ConfigurationLoader.VenueRule(name: "coinbase", symbolLimit: 50),
    ConfigurationLoader.VenueRule(name: "binance", symbolLimit: 50),
  ]

  /// Loads `text` as a file called `t.yaml` or `t.json`, with the rest.
  static func load(
    _ text: String = "", json: Bool = false, environment: [String: String] = [:], flags: [ConfigurationFlag] = [],
    needsData: Bool = false, isReadable: Bool = true,
    tlsProblems: @escaping @Sendable (TLSServerConfiguration) -> [TransportError] = { _ in [] }
  ) throws(ConfigurationProblems) -> LoadedConfiguration {
    var loader = ConfigurationLoader(venues: venues, isReadable: { _ in isReadable }, tlsProblems: tlsProblems)
    if !text.isEmpty { loader.read(contents: Array(text.utf8), isJSON: json, name: json ? "t.json" : "t.yaml") }
    loader.read(environment: environment)
    loader.read(flags: flags)
    loader.check(needsData: needsData)
    guard loader.problems.isEmpty else { throw ConfigurationProblems(problems: loader.problems) }
    return LoadedConfiguration(configuration: loader.configuration, entries: loader.entries())
  }

  static func problems(
    _ text: String = "", json: Bool = false, environment: [String: String] = [:], flags: [ConfigurationFlag] = [],
    needsData: Bool = false, isReadable: Bool = true,
    tlsProblems: @escaping @Sendable (TLSServerConfiguration) -> [TransportError] = { _ in [] }
  ) -> [String] {
    do throws(ConfigurationProblems) {
      _ = try load(
        text, json: json, environment: environment, flags: flags, needsData: needsData, isReadable: isReadable,
        tlsProblems: tlsProblems)
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  @Test("a kind of market that a venue does not have is refused, as a symbol and as a selection")
  func kinds() {
    func problems(_ feed: String) -> [String] {
      do throws(ConfigurationProblems) {
        _ = try ConfigurationLoader.load(
          file: nil, flags: [ConfigurationFlag("--feed", sets: "feeds", to: [feed])])
        return []
      } catch {
        return error.problems.map(\.description)
      }
    }
    for feed in [
      "kraken=BTC-USD-PERP", "coinbase=BTC-USD-20261225", "kraken=BTC-USD,*-USD-PERP:top20", "bitget=*-*-2026*",
    ] {
      let found = problems(feed)
      #expect(found.count == 1 && found[0].contains("is of a kind of market that"), "\(feed): \(found)")
    }
    for feed in ["kraken=BTC-USD,*", "okx=BTC-USDT-PERP,BTC-USD-20261225", "deribit=*-USDC-PERP", "gate=*-USDT:top5"] {
      #expect(problems(feed) == [], "\(feed)")
    }
  }

  @Test("an internal port that other networks reach is refused, unless its hosts are named")
  func internalAddress() {
    for address in ["0.0.0.0:9090", "[::]:9090", "8.8.8.8:9090", "[2600::1]:9090"] {
      let text = "internal-listen: \"\(address)\"\n"
      let found = Self.problems(text)
      #expect(found.count == 1 && found[0].contains("can be reached from"), "\(address): \(found)")
      #expect(Self.problems(text + "internal-hosts: [gateway.internal]\n") == [], "\(address)")
    }
    for address in ["127.0.0.1:9090", "[::1]:9090", "10.1.2.3:9090", "192.168.0.7:9090", "[fd00::1]:9090"] {
      #expect(Self.problems("internal-listen: \"\(address)\"\n") == [], "\(address)")
    }
  }

  @Test("the defaults")
  func defaults() throws {
    let configuration = try Self.load().configuration
    #expect(configuration.listen.description == "127.0.0.1:8080")
    #expect(configuration.internalListen.description == "127.0.0.1:9090")
    #expect((1...64).contains(configuration.loops))
    #expect(configuration.feeds.isEmpty && configuration.origins.isEmpty && configuration.tls == nil)
    #expect(!configuration.node.isEmpty)
  }

  @Test("flags win over variables, variables over the file, and each value knows where it is from")
  func precedence() throws {
    let loaded = try Self.load(
      "listen: 127.0.0.1:1\nheartbeat-seconds: 7\nnode: from-file\nlimits:\n  clients: 5\n",
      environment: ["TIDEGATE_LISTEN": "127.0.0.1:2", "TIDEGATE_NODE": "from-env", "PATH": "/bin"],
      flags: [ConfigurationFlag("--listen", sets: "listen", to: ["127.0.0.1:3"])])
    #expect(loaded.configuration.listen.port == 3)
    #expect(loaded.configuration.node == "from-env")
    #expect(loaded.configuration.heartbeatSeconds == 7)
    #expect(loaded.configuration.limits.clients == 5)
    func origin(_ key: String) -> String? { loaded.entries.first { $0.key == key }?.origin }
    #expect(origin("listen") == "flag --listen")
    #expect(origin("node") == "variable TIDEGATE_NODE")
    #expect(origin("heartbeat-seconds") == "file t.yaml, key heartbeat-seconds")
    #expect(origin("limits.clients") == "file t.yaml, key limits.clients")
    #expect(origin("loops") == "default")
    let lines = loaded.description.split(separator: "\n")
    #expect(lines.contains { $0.split(separator: " ") == ["listen", "127.0.0.1:3", "(flag", "--listen)"] })
  }

  @Test("JSON and YAML say the same")
  func formats() throws {
    let yaml = try Self.load(
      "feeds:\n  kraken: [BTC-USD]\nreuse-port: true\nlimits:\n  queued-bytes: 70000\norigins: [https://a.b]\n")
    let json = try Self.load(
      #"{"feeds":{"kraken":["BTC-USD"]},"reuse-port":true,"limits":{"queued-bytes":70000},"origins":["https://a.b"]}"#,
      json: true)
    #expect(yaml.configuration == json.configuration)
    #expect(yaml.configuration.reusePort && yaml.configuration.limits.queuedBytes == 70_000)
    #expect(yaml.configuration.origins == ["https://a.b"])
  }

  @Test("a later list of symbols replaces that venue's; REST follows an endpoint unless it is given")
  func feeds() throws {
    let configuration = try Self.load(
      "feeds:\n  kraken: [BTC-USD, ETH-USD]\n  coinbase:\n    symbols: [BTC-USD]\n    endpoint: wss://c.example/ws\n",
      environment: [
        "TIDEGATE_FEEDS": "binance=BTC-USDT, ETH-USDT; coinbase=SOL-USD",
        "TIDEGATE_ENDPOINTS": "binance=ws://[::1]:9001/ws;binance.rest=http://127.0.0.1:9002/api",
      ],
      flags: [
        ConfigurationFlag("--feed", sets: "feeds", to: ["kraken=XRP-USD"]),
        ConfigurationFlag("--endpoint", sets: "endpoints", to: ["kraken=ws://127.0.0.1:9003"]),
      ]
    ).configuration
    #expect(
      configuration.feeds == [
        .init(
          venue: "binance", symbols: ["BTC-USDT", "ETH-USDT"], endpoint: "ws://[::1]:9001/ws",
          restEndpoint: "http://127.0.0.1:9002/api"),
        .init(
          venue: "coinbase", symbols: ["SOL-USD"], endpoint: "wss://c.example/ws",
          restEndpoint: "https://c.example"),
        .init(
          venue: "kraken", symbols: ["XRP-USD"], endpoint: "ws://127.0.0.1:9003", restEndpoint: "http://127.0.0.1:9003"),
      ])
  }

  @Test("limits, proxies and the key file are set and checked like all else")
  func admission() throws {
    let configuration = try Self.load(
      """
      keys-file: /etc/tidegate/keys
      trusted-proxies: [10.0.0.0/8, "::1"]
      proxy-header: forwarded
      limits:
        connections-per-address: 7
        total-queued-bytes: 1048576
      """, environment: ["TIDEGATE_LIMITS_HTTP_REQUESTS_PER_SECOND_PER_ADDRESS": "9"]
    ).configuration
    #expect(configuration.keysFile == "/etc/tidegate/keys" && configuration.proxyHeader == .forwarded)
    #expect(configuration.trustedProxies.map(\.description) == ["10.0.0.0/8", "::1"])
    #expect(configuration.limits.connectionsPerAddress == 7 && configuration.limits.totalQueuedBytes == 1 << 20)
    #expect(configuration.limits.httpRequestsPerSecondPerAddress == 9)
    #expect(
      Self.problems(
        "trusted-proxies: [10.0.0.1/8]\nproxy-header: x-real-ip\nlimits:\n  connections-per-address: 0\n  total-queued-bytes: 1000\n"
      ) == [
        "limits.connections-per-address: \"0\" is not allowed (file t.yaml, key limits.connections-per-address); allowed: a whole number, 1…1000000",
        "limits.total-queued-bytes: \"1000\" is not allowed (file t.yaml, key limits.total-queued-bytes); allowed: a whole number, 1048576…68719476736",
        "proxy-header: \"x-real-ip\" is not allowed (file t.yaml, key proxy-header); allowed: x-forwarded-for, forwarded",
        "trusted-proxies: \"10.0.0.1/8\" is not allowed (file t.yaml, key trusted-proxies); allowed: addresses like 10.0.0.7 or networks like 10.0.0.0/8 and 2001:db8::/32",
      ])
    #expect(
      Self.problems("keys-file: keys\n", isReadable: false) == [
        "keys-file: \"keys\" cannot be read (file t.yaml, key keys-file); allowed: a readable file"
      ])
  }

  @Test("compression has a switch, a threshold, a level and a window, each within its range")
  func compression() throws {
    let standard = try Self.load("demo: true\n").configuration.compression
    #expect(standard.enabled && standard.thresholdBytes == 512 && standard.level == 1 && standard.windowBits == 12)
    let loaded = try Self.load(
      "demo: true\ncompression:\n  enabled: false\n  threshold-bytes: 100\n  level: 6\n",
      environment: ["TIDEGATE_COMPRESSION_WINDOW_BITS": "9"]
    ).configuration.compression
    #expect(!loaded.enabled && loaded.thresholdBytes == 100 && loaded.level == 6 && loaded.windowBits == 9)
    let problems = Self.problems(
      "demo: true\ncompression:\n  enabled: perhaps\n  threshold-bytes: 63\n  level: 0\n  window-bits: 8\n")
    #expect(problems.count == 4)
  }

  @Test("all problems are reported at once, each with name, place, what is allowed and what was meant")
  func everything() {
    #expect(
      Self.problems(
        "listn: 1\nlimits:\n  clients: many\nfeeds:\n  krakn: [BTC-USD]\n",
        environment: [
          "TIDEGATE_LIMIT_CLIENTS": "1", "TIDEGATE_LOOPS": "0", "TIDEGATE_RECORDINGS": "/x", "TIDEGATE_TOKEN": "tg_x",
        ],
        flags: [ConfigurationFlag("--speed", sets: "speed", to: ["fast"])]) == [
          "feeds.krakn: there is no venue \"krakn\" (file t.yaml, key feeds.krakn); allowed: binance, coinbase, kraken; did you mean kraken?",
          "limits.clients: \"many\" is not allowed (file t.yaml, key limits.clients); allowed: a whole number, 1…1000000",
          "listn: unknown key (file t.yaml, key listn); did you mean listen?",
          "TIDEGATE_LIMIT_CLIENTS: unknown variable (variable TIDEGATE_LIMIT_CLIENTS); did you mean TIDEGATE_LIMITS_CLIENTS?",
          "TIDEGATE_LOOPS: \"0\" is not allowed (variable TIDEGATE_LOOPS); allowed: a whole number, 1…64",
          "--speed: \"fast\" is not allowed (flag --speed); allowed: max, or times as fast as recorded, 0.01x to 10000x",
        ])
  }

  @Test("a wrong value is refused even where a later layer replaces it")
  func overridden() {
    #expect(
      Self.problems("loops: none\n", flags: [ConfigurationFlag("--loops", sets: "loops", to: ["2"])]) == [
        "loops: \"none\" is not allowed (file t.yaml, key loops); allowed: a whole number, 1…64"
      ])
  }

  @Test(
    "wrong values are refused by name",
    arguments: [
      ("listen", "localhost", "\"localhost\""), ("listen", "example.com:80", "\"example.com:80\""),
      ("internal-listen", "127.0.0.1:70000", "70000"), ("loops", "65", "1…64"), ("loops", "1.5", "\"1.5\""),
      ("demo", "maybe", "true or false"), ("reuse-port", "1", "true or false"), ("seed", "-1", "\"-1\""),
      ("rate", "0", "1…100000"),
      ("heartbeat-seconds", "61", "1…60"), ("origins", "[example.com]", "https://example.com"),
      ("origins", "[\"https://a.b/\"]", "without a path"), ("node", "\"a b\"", "letters"),
      ("log-level", "loud", "trace, debug"),
      ("loops", "[1, 2]", "takes one value, not a list of 2"), ("record", "\"\"", "a file, or a folder"),
    ])
  func wrongValue(key: String, value: String, expected: String) {
    let problems = Self.problems("\(key): \(value)\n")
    #expect(problems.count == 1)
    #expect(problems.first?.hasPrefix("\(key): ") == true && problems.first?.contains(expected) == true, "\(problems)")
    #expect(problems.first?.contains("file t.yaml, key \(key)") == true)
  }

  @Test(
    "wrong limits are refused with their range", arguments: Setting.all.map(\.key).filter { $0.hasPrefix("limits.") })
  func limits(key: String) {
    let name = key.dropFirst("limits.".count)
    #expect(Self.problems("limits:\n  \(name): 0\n").first?.contains("\(key): \"0\" is not allowed") == true)
  }

  @Test("selections stand beside symbols, in the file and in flags, in their short form, too")
  func selections() throws {
    let loaded = try Self.load(
      "feeds:\n  kraken: ['*']\n  coinbase:\n    symbols: [BTC-EUR, '*-USD:top20', '1*-USDC']\n",
      flags: [ConfigurationFlag("--feed", sets: "feeds", to: ["binance==USDT:top5,*-USDT-PERP:top7"])])
    let symbols = Dictionary(uniqueKeysWithValues: loaded.configuration.feeds.map { ($0.venue, $0.symbols) })
    #expect(symbols["kraken"] == ["*"])
    #expect(symbols["coinbase"] == ["BTC-EUR", "*-USD:top20", "1*-USDC"])
    #expect(symbols["binance"] == ["=USDT:top5", "*-USDT-PERP:top7"])
    let short = try Self.load(flags: [ConfigurationFlag("--feed", sets: "feeds", to: ["binance=USDT:top5"])])
    #expect(short.configuration.feeds.first?.symbols == ["USDT:top5"])
  }

  @Test("a wrong selection is told with what to write")
  func wrongSelections() {
    func problem(_ feed: String) -> String? {
      Self.problems(flags: [ConfigurationFlag("--feed", sets: "feeds", to: [feed])]).first
    }
    #expect(
      problem("coinbase=*:top20")
        == "--feed: \"*:top20\" is not allowed: 24 h volumes are compared within one quote currency: write *-USD:top20 (flag --feed)"
    )
    #expect(problem("coinbase=*-USD:20")?.contains("top and a number from 1 to 10000, as in *-USD:top20") == true)
    #expect(problem("coinbase=*-usd")?.contains("write * for every market, *-USD for those against USD") == true)
    #expect(problem("kraken=*-USD:top4")?.contains("follows at most 3 symbols: write *-USD:top3") == true)
    #expect(problem("kraken=*,*")?.contains("\"*\" is not allowed") == true)
    // A lone name is no selection by accident.
    #expect(problem("kraken=BTC")?.contains("\"BTC\" is not allowed") == true)
  }

  @Test("symbols beyond one connection are taken; beyond all that a feed may have they are refused with the numbers")
  func manySymbols() throws {
    func load(_ count: Int) throws(ConfigurationProblems) -> LoadedConfiguration {
      let symbols = (0..<count).map { "S\($0)-USDT" }.joined(separator: ",")
      return try ConfigurationLoader.load(
        file: nil, flags: [ConfigurationFlag("--feed", sets: "feeds", to: ["okx=\(symbols)"])])
    }
    #expect(try load(250).configuration.feedConnections.map(\.venue.label) == ["okx", "okx-2", "okx-3"])
    #expect(throws: ConfigurationProblems.self) { try load(2_001) }
    do {
      _ = try ConfigurationLoader.load(
        file: nil,
        flags: [
          ConfigurationFlag(
            "--feed", sets: "feeds",
            to: ["bybit=" + (0..<3_001).map { "S\($0)-USDT" }.joined(separator: ",")])
        ])
      Issue.record("3,001 symbols of one kind were taken")
    } catch {
      #expect(error.problems.count == 1)
      let words = error.problems.first?.description ?? ""
      #expect(words.contains("3001 symbols need 21 connections of 150 to Bybit spot"), "\(words)")
      #expect(words.contains("at most 20 connections of a kind"), "\(words)")
    }
  }

  @Test("wrong symbols and feeds are refused")
  func wrongFeeds() {
    #expect(
      Self.problems("feeds:\n  kraken: [BTC-USD, btc-usd]\n") == [
        "feeds.kraken: \"btc-usd\" is not allowed (file t.yaml, key feeds.kraken); allowed: 1 to 3 symbols like BTC-USD, BTC-USD-PERP or BTC-USD-20261225, or selections like *-USD or *-USD:top20, each once; did you mean BTC-USD?"
      ])
    #expect(Self.problems("feeds:\n  kraken: [A-B, A-C, A-D, A-E]\n").first?.contains("has 4 symbols") == true)
    #expect(Self.problems("feeds:\n  kraken: [A-B, A-B]\n").first?.contains("\"A-B\" is not allowed") == true)
    #expect(Self.problems("feeds:\n  kraken: []\n").first?.contains("has no symbols") == true)
    #expect(
      Self.problems("feeds:\n  kraken:\n    symbol: [A-B]\n") == [
        "feeds.kraken.symbol: unknown key (file t.yaml, key feeds.kraken.symbol); allowed: symbols, endpoint, rest-endpoint; did you mean feeds.kraken.symbols?"
      ])
    #expect(
      Self.problems("feeds:\n  kraken:\n    endpoint: ws://127.0.0.1:1\n") == [
        "feeds.kraken: has an endpoint but no symbols (file t.yaml, key feeds.kraken.endpoint); allowed: symbols like BTC-USD, BTC-USD-PERP or BTC-USD-20261225, or selections like *-USD or *-USD:top20, each once"
      ])
    #expect(
      Self.problems(flags: [ConfigurationFlag("--feed", sets: "feeds", to: ["kraken"])]) == [
        "--feed: \"kraken\" is not allowed (flag --feed); allowed: VENUE=SYMBOL,SYMBOL like kraken=BTC-USD"
      ])
    #expect(
      Self.problems(flags: [ConfigurationFlag("--endpoint", sets: "endpoints", to: ["kraken=http://a"])]).first
        == "--endpoint: \"http://a\" is not allowed (flag --endpoint); allowed: a URL like wss://host:port/path")
    #expect(
      Self.problems(flags: [ConfigurationFlag("--endpoint", sets: "endpoints", to: ["kraken.rest=ws://a"])]).first
        == "--endpoint: \"ws://a\" is not allowed (flag --endpoint); allowed: a URL like https://host:port")
  }

  @Test("settings that need each other or exclude each other")
  func combinations() {
    #expect(
      Self.problems("tls:\n  key: k.pem\n") == [
        "tls.certificate: is missing beside tls.key (file t.yaml, key tls.key); allowed: both or neither"
      ])
    #expect(
      Self.problems("tls:\n  certificate: c.pem\n") == [
        "tls.key: is missing beside tls.certificate (file t.yaml, key tls.certificate); allowed: both or neither"
      ])
    #expect(
      Self.problems("ca-file: roots.pem\n", isReadable: false) == [
        "ca-file: \"roots.pem\" cannot be read (file t.yaml, key ca-file); allowed: a readable file"
      ])
    #expect(
      Self.problems("demo: true\nreplay: a.jsonl\n") == [
        "replay: cannot be combined with demo (file t.yaml, key demo) (file t.yaml, key replay); allowed: one of them"
      ])
    #expect(
      Self.problems("demo: true\nfeeds:\n  kraken: [BTC-USD]\n") == [
        "demo: cannot be combined with feeds (feeds.kraken, file t.yaml, key feeds.kraken): its simulated prices would replace theirs (file t.yaml, key demo); allowed: one of them"
      ])
    #expect(Self.problems("demo: false\nfeeds:\n  kraken: [BTC-USD]\n").isEmpty)
    for key in ["internal-hosts", "hosts"] {
      #expect(Self.problems("\(key): [a.b, \"*\"]\n").isEmpty)
      #expect(Self.problems("\(key): [\"a.b:80\"]\n").first?.contains("without ports") == true)
    }
    #expect(Self.problems("listen: 127.0.0.1:9090\n").first?.contains("is taken by listen") == true)
    #expect(
      Self.problems(needsData: true) == [
        "feeds: there is nothing to serve (default); allowed: feeds in the file, --feed VENUE=SYMBOL, --demo or --replay FILE"
      ])
  }

  @Test("certificates come in pairs, with roots where clients show theirs, and every file is tried")
  func tls() throws {
    let tls = try Self.load(
      "tls:\n  certificate: [a.pem, b.pem]\n  key: [a.key, b.key]\n  client-ca: ca.pem\n  client-auth: required\n"
        + "  handshake-seconds: 3\n  handshakes: 7\n  tickets: 2\n",
      environment: ["TIDEGATE_TLS_TICKET_KEY_SECONDS": "600"]
    ).configuration.tls
    #expect(
      tls?.certificates == [.init(certificate: "a.pem", key: "a.key"), .init(certificate: "b.pem", key: "b.key")])
    #expect(tls?.clientCA == "ca.pem" && tls?.clientAuthentication == .required)
    #expect(tls?.handshakeTimeout == .seconds(3) && tls?.handshakeLimit == 7)
    #expect(tls?.ticketCount == 2 && tls?.ticketKeyPeriod == 600)
    #expect(
      Self.problems("tls:\n  certificate: [a.pem, b.pem]\n  key: a.key\n") == [
        "tls.key: names 1 files for 2 certificates (file t.yaml, key tls.key); allowed: a key for each of tls.certificate, in the same order"
      ])
    #expect(
      Self.problems("tls:\n  certificate: a.pem\n  key: a.key\n  client-auth: optional\n") == [
        "tls.client-ca: is missing beside tls.client-auth optional (file t.yaml, key tls.client-auth); allowed: a PEM file of the roots that issue clients' certificates"
      ])
    #expect(
      Self.problems("tls:\n  certificate: a.pem\n  key: a.key\n  client-ca: ca.pem\n") == [
        "tls.client-auth: is none, so tls.client-ca has no effect (file t.yaml, key tls.client-ca); allowed: optional or required beside tls.client-ca"
      ])
    #expect(
      Self.problems("tls:\n  certificate: a.pem\n  key: a.key\n") { _ in
        [
          .certificateFile(path: "a.key", reason: "it is not the key"),
          .certificateFile(path: "a.pem", reason: "it expired"),
        ]
      } == [
        "tls.key: cannot use a.key: it is not the key (file t.yaml, key tls.key)",
        "tls.certificate: cannot use a.pem: it expired (file t.yaml, key tls.certificate)",
      ])
  }

  @Test("a file that is no configuration is refused with its name")
  func badFiles() throws {
    #expect(Self.problems("[1, 2]").first?.hasPrefix("config: is not readable YAML:") == true)
    #expect(Self.problems("{", json: true).first?.hasPrefix("config: is not readable JSON:") == true)
    func load(_ path: String) -> [String] {
      do throws(ConfigurationProblems) {
        _ = try ConfigurationLoader.load(file: path, needsData: false, venues: Self.venues)
        return []
      } catch { return error.problems.map(\.description) }
    }
    #expect(
      load("settings.toml") == [
        "config: its name does not say its format (file settings.toml); allowed: a file that ends in .yaml, .yml or .json"
      ])
    #expect(
      load("/nowhere/t.yaml") == [
        "config: cannot be read: the folder /nowhere does not exist (file /nowhere/t.yaml); allowed: a readable file"
      ])
  }

  @Test("the example file loads, and shows the defaults")
  func example() throws {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Deploy/tidegate.example.yaml")
      .path
    let loaded = try ConfigurationLoader.load(file: path, venues: Self.venues)
    var expected = GatewayConfiguration()
    expected.feeds = [
      .init(venue: "binance", symbols: ["BTC-USDT"]), .init(venue: "coinbase", symbols: ["BTC-USD", "ETH-USD"]),
      .init(venue: "kraken", symbols: ["BTC-USD", "ETH-USD"]),
    ]
    #expect(loaded.configuration == expected)
  }
}
