// swift-tools-version: 6.2
import PackageDescription

/// The benchmarks need packages that a plain build should not pay for: `TIDEGATE_BENCHMARKS=1 swift build` adds them.
let withBenchmarks = Context.environment["TIDEGATE_BENCHMARKS"] == "1"

/// The libFuzzer executable can only be built with its sanitizer: `Deploy/fuzz.sh` sets this.
let withFuzzer = Context.environment["TIDEGATE_FUZZ"] == "1"

/// Under ThreadSanitizer modules take their `Mutex` from `Bytes` (`ObservedMutex`): `Deploy/sanitize.sh` sets this.
/// Files then use members of a module that they do not import.
let withThreadSanitizer = Context.environment["TIDEGATE_THREAD_SANITIZER"] == "1"

/// The targets without input and output alone, and their tests: few enough to be tested as a release as well, where the
/// optimizer may do what a debug build hides. `Deploy/test.sh` sets this.
let sansIOAlone = Context.environment["TIDEGATE_SANS_IO"] == "1"

/// The optimizer also works on a debug build, which keeps its assertions: all tests then run on what the optimizer
/// makes, and in half the time. `Deploy/test.sh` sets this. Files are compiled on their own, as SwiftPM does it for
/// debug builds; a release optimizes whole modules.
let withOptimizedTests = Context.environment["TIDEGATE_OPTIMIZED_TESTS"] == "1"

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  withThreadSanitizer ? .define("TIDEGATE_THREAD_SANITIZER") : .enableUpcomingFeature("MemberImportVisibility"),
  // `@_lifetime` on the scanners over `RawSpan`, which a span inside a struct needs.
  .enableExperimentalFeature("Lifetimes"),
]

/// For targets that keep state in classes and touch it for every message. A release does without the run-time check
/// that no two accesses to a property overlap: it cost 15–50 % of the hot paths (a ring push 20 ns with it and 8
/// without, a trade published 1,071 and 685), and all state has one owner queue. Debug builds, and so all tests, check.
/// Targets of the client library keep the check, because a package with such a flag in a product cannot be depended on
/// by version.
let confinedSettings =
  settings + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// A target of the house; its arrows point strictly downward (README.md, "The house").
func house(
  _ name: String, _ dependencies: [Target.Dependency] = [], settings: [SwiftSetting] = settings
) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings + optimizing)
}

let optimizing: [SwiftSetting] =
  withOptimizedTests ? [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))] : []

/// Of tests: a release optimizes only what they test. To optimize the tests as well took 12 minutes of a processor in
/// place of 7.
let testSettings = sansIOAlone ? settings + [.unsafeFlags(["-Onone"])] : settings

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: name + "Tests", dependencies: dependencies + ["TestSupport", "TestTraits"], swiftSettings: testSettings)
}

/// What a build tells of itself (`Deploy/package.sh`). A plain build is told nothing, so that it stays the same from
/// commit to commit.
let buildDefines: [CSetting] = ["TIDEGATE_COMMIT", "TIDEGATE_BUILD_DATE"].compactMap { name in
  guard let value = Context.environment[name], !value.isEmpty, !value.contains("\"") else { return nil }
  return .define(name, to: "\"\(value)\"")
}

/// What `Sources/Console/Console.c` embeds: no sources to the package manager.
let consoleFiles = [
  "Console.docc", "alerts.js", "app.js", "client", "components", "dom.js", "format.js", "health.js", "icon.svg",
  "index.html", "ops", "pages", "portfolios.js", "rules.js", "session.js", "styles", "theme.js", "valuation.js",
]

/// Other people's packages are the gateway's alone: an app that depends on this package with `traits: []` resolves none
/// of them. The trait is on by default, so that `swift build` builds everything.
let gateway: TargetDependencyCondition? = .when(traits: ["Gateway"])
let log: Target.Dependency = .product(name: "Logging", package: "swift-log", condition: gateway)
let arguments: Target.Dependency = .product(
  name: "ArgumentParser", package: "swift-argument-parser", condition: gateway)
let configuration: Target.Dependency = .product(
  name: "Configuration", package: "swift-configuration", condition: gateway)
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections", condition: gateway)
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections", condition: gateway)
/// SQLite, of the system (`libsqlite3-dev`).
let sqlite: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift", condition: gateway)
/// Its functions in C, for rows that are read by the million.
let sqliteFunctions: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift", condition: gateway)

var package = Package(
  name: "tidegate",
  // Of the client library. `Mutex` sets the versions.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .executable(name: "tidegate", targets: ["tidegate"]),
    // For Apple's platforms; builds on Linux as well.
    .library(name: "TidegateClient", targets: ["TidegateClient", "TidegateURLSession"]),
    // For Linux.
    .library(name: "TidegateClientLinux", targets: ["TidegateClient", "TidegateEpoll"]),
  ],
  traits: [
    .trait(name: "Gateway", description: "The gateway and its command; apps that only need the client do without."),
    .default(enabledTraits: ["Gateway"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["JSON", "YAML"]),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    // Level 0
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CLinux"),
    .target(name: "CBuild", cSettings: buildDefines),
    house("Build", ["CBuild"]),
    house("Bytes"),
    // The console's static files, embedded by a C file.
    .target(name: "Console", path: "Sources/Console", exclude: consoleFiles),
    // Level 1
    house("HTTP1", ["Bytes"]),
    house("Transport", ["Bytes", "COpenSSL", "CLinux"]),
    house("NATS", ["Bytes", "COpenSSL"], settings: confinedSettings),
    // Level 2
    house("WebSocket", ["HTTP1", "Bytes", "CZlib"]),
    house("MarketData", ["Bytes", heap], settings: confinedSettings),
    // Level 3
    house("Venues", ["MarketData", "Bytes"], settings: confinedSettings),
    house("Alerts", ["MarketData", "Bytes", heap], settings: confinedSettings),
    house("Portfolio", ["MarketData", "Bytes"]),
    // Level 4
    house(
      "History", ["Alerts", "Portfolio", "MarketData", "Transport", "Bytes", sqlite, sqliteFunctions, log],
      settings: confinedSettings),
    house("PubSub", ["Portfolio", "MarketData", "WebSocket", "Bytes", deque], settings: confinedSettings),
    house("Decks", ["Alerts", "MarketData", "Bytes"]),
    house("Recordings", ["PubSub", "Venues", "MarketData", "Bytes", "CZlib"], settings: confinedSettings),
    house("Access", ["PubSub", "MarketData", "HTTP1", "Transport", "Bytes"], settings: confinedSettings),
    // Level 5
    house("VenueSimulator", ["Venues", "MarketData", "WebSocket", "HTTP1", "Transport", "Bytes", log, heap]),
    house(
      "Feeds",
      [
        "History", "Recordings", "PubSub", "Venues", "MarketData", "WebSocket", "HTTP1", "Transport", "Bytes", "Build",
        log,
      ],
      settings: confinedSettings),
    house(
      "Documents",
      [
        "History", "Decks", "Alerts", "Portfolio", "Access", "PubSub", "MarketData", "HTTP1", "Transport", "Bytes",
        "Build", log,
      ],
      settings: confinedSettings),
    house(
      "Operations",
      [
        "HTTPAPI", "Documents", "Feeds", "History", "Recordings", "Access", "PubSub", "Venues", "MarketData",
        "WebSocket", "HTTP1", "Transport", "Bytes", "Build", log,
      ],
      settings: confinedSettings),
    house(
      "HTTPAPI",
      [
        "Documents", "History", "Decks", "Alerts", "Portfolio", "Recordings", "Access", "PubSub", "Venues",
        "MarketData", "WebSocket", "HTTP1", "Transport", "Bytes", "Build", "CZlib", "Console", deque,
      ],
      settings: confinedSettings),
    house(
      "Compatibility", ["HTTPAPI", "Recordings", "PubSub", "Venues", "MarketData", "HTTP1", "Bytes"],
      settings: confinedSettings),
    house(
      "Settings",
      [
        "Operations", "Compatibility", "HTTPAPI", "Documents", "History", "Decks", "Recordings", "Access", "PubSub",
        "Venues", "MarketData", "HTTP1", "Transport", "Bytes", log, configuration,
      ]),
    house(
      "Gateway",
      [
        "Settings", "Compatibility", "HTTPAPI", "Operations", "Documents", "Feeds", "History", "Decks", "Alerts",
        "Portfolio", "Recordings", "Access", "PubSub", "Venues", "MarketData", "WebSocket", "HTTP1", "Transport",
        "Bytes", "Build", log,
      ],
      settings: confinedSettings),
    house("Cluster", ["NATS", "Transport", "Bytes"], settings: confinedSettings),
    // The client library: a core without sockets, and a transport for each kind of platform.
    house("TidegateClient", ["HTTP1", "Bytes"]),
    house("TidegateURLSession", ["TidegateClient", "Bytes"]),
    house("TidegateEpoll", ["TidegateClient", "WebSocket", "HTTP1", "Transport", "Bytes"]),
    house("Watch", ["TidegateClient"]),
    // Level 6
    .executableTarget(
      name: "tidegate",
      dependencies: [
        "Gateway", "Settings", "Operations",
        "Feeds", "VenueSimulator", "TidegateClient", "TidegateEpoll", "Watch", "History", "Recordings",
        "Access", "PubSub", "Venues", "MarketData", "HTTP1", "Transport", "Bytes", "Build", arguments, log,
      ],
      path: "Sources/CLI", swiftSettings: settings),
    // Tests
    .target(name: "TestTraits", dependencies: ["Bytes"], path: "Tests/TestTraits", swiftSettings: settings),
    .target(name: "TestSupport", dependencies: ["Bytes"], path: "Tests/TestSupport", swiftSettings: settings),
    // What fuzzing runs, with libFuzzer and in `swift test` alike.
    .target(
      name: "FuzzTargets",
      dependencies: [
        "Gateway", "Settings", "Compatibility", "HTTPAPI", "TidegateClient", "Watch", "History", "Decks", "Alerts",
        "Portfolio", "Recordings", "Cluster", "Access", "PubSub", "Venues", "MarketData", "WebSocket", "NATS", "HTTP1",
        "Transport", "Bytes", "CZlib", "TestSupport",
      ],
      path: "Tests/Fuzz/Targets", swiftSettings: settings),
    tests("Fuzz", ["FuzzTargets", "Venues"]),
    // What other people's WebSocket test suites are run against.
    .executableTarget(
      name: "WebSocketEcho", dependencies: ["WebSocket", "HTTP1", "Transport", "Bytes"], path: "Tests/WebSocketEcho",
      exclude: ["README.md"], swiftSettings: settings),
    // A NATS client of ours that other people's clients talk to.
    .executableTarget(
      name: "nats-trial", dependencies: ["Cluster", "NATS", "Transport", "Bytes"], path: "Tests/NATSTrial",
      swiftSettings: settings),
    tests("House", []),
    tests("Build", ["Build"]),
    tests("Bytes", ["Bytes"]),
    tests("HTTP1", ["HTTP1", "Bytes"]),
    tests("Transport", ["Transport", "Bytes"]),
    tests("NATS", ["NATS", "Bytes"]),
    tests("WebSocket", ["WebSocket", "HTTP1", "Bytes"]),
    tests("MarketData", ["MarketData", "Bytes"]),
    // Watches for alerts on behalf of tests that kill it.
    .executableTarget(
      name: "alert-trial", dependencies: ["Alerts", "History", "MarketData", "Bytes"], path: "Tests/AlertTrial",
      swiftSettings: settings),
    tests("History", ["History", "Alerts", "Portfolio", "MarketData", "Bytes", "alert-trial", sqlite, log]),
    tests("Venues", ["Venues", "MarketData", "Bytes"]),
    tests("Alerts", ["Alerts", "MarketData", "Bytes"]),
    .testTarget(
      name: "PortfolioTests", dependencies: ["Portfolio", "MarketData", "Bytes", "TestSupport", "TestTraits"],
      exclude: ["oracle.py"], swiftSettings: settings),
    tests("Decks", ["Decks", "Alerts", "MarketData", "Bytes"]),
    tests("PubSub", ["PubSub", "TidegateClient", "Portfolio", "MarketData", "WebSocket", "Bytes"]),
    tests("Recordings", ["Recordings", "TidegateClient", "PubSub", "Venues", "MarketData", "Bytes", "CZlib"]),
    tests("Access", ["Access", "PubSub", "MarketData", "HTTP1", "Transport", "Bytes"]),
    tests("VenueSimulator", ["VenueSimulator", "Venues", "MarketData", "WebSocket", "HTTP1", "Transport", "Bytes"]),
    tests(
      "Feeds",
      [
        "Feeds", "VenueSimulator", "History", "Recordings", "PubSub", "Venues", "MarketData", "Transport", "Bytes", log,
      ]),
    tests(
      "Documents",
      [
        "Documents", "History", "Decks", "Alerts", "Portfolio", "PubSub", "MarketData", "Transport", "Bytes", sqlite,
        log,
      ]),
    .testTarget(
      name: "OperationsTests",
      dependencies: [
        "Operations", "HTTPAPI", "Documents", "Feeds", "History", "Recordings", "Access", "PubSub", "Venues",
        "MarketData", "HTTP1", "Transport", "Bytes", "TestSupport", "TestTraits", log,
      ],
      exclude: ["Metrics/metrics.txt"], swiftSettings: testSettings),
    tests(
      "HTTPAPI",
      [
        "HTTPAPI", "History", "Recordings", "Access", "PubSub", "Venues", "MarketData", "HTTP1", "Transport", "Bytes",
      ]),
    .testTarget(
      name: "CompatibilityTests",
      dependencies: [
        "Compatibility", "HTTPAPI", "PubSub", "MarketData", "HTTP1", "Bytes", "TestSupport", "TestTraits",
      ],
      exclude: ["Golden"], swiftSettings: testSettings),
    tests(
      "Settings",
      [
        "Settings", "Operations", "Documents", "History", "Decks", "Recordings", "Access", "PubSub", "Venues",
        "MarketData", "HTTP1", "Transport", "Bytes", log,
      ]),
    tests(
      "Gateway",
      [
        "Gateway", "Settings", "Compatibility", "HTTPAPI", "Operations", "Documents",
        "Feeds", "VenueSimulator", "TidegateClient", "TidegateEpoll", "Decks", "Alerts", "Portfolio",
        "History",
        "Recordings", "Access", "PubSub", "Venues", "MarketData", "WebSocket", "HTTP1", "Transport", "Bytes",
        "FuzzTargets", sqlite, log,
      ]),
    .target(
      name: "Simulation",
      dependencies: [
        "Gateway", "Settings", "VenueSimulator", "MarketData", "WebSocket", "HTTP1", "Transport", "Bytes",
        "TestSupport", log,
      ],
      path: "Tests/Simulation", exclude: ["README.md"], swiftSettings: settings),
    tests(
      "Simulation",
      [
        "Simulation", "Gateway", "Settings", "Operations",
        "VenueSimulator", "PubSub", "MarketData", "WebSocket", "HTTP1", "Transport", "Bytes",
        log,
      ]),
    .executableTarget(
      name: "tidegate-simulation", dependencies: ["Simulation", arguments], path: "Tests/SimulationRunner",
      swiftSettings: settings),
    // Runs the executable, as people do.
    .testTarget(
      name: "CLITests", dependencies: ["tidegate", "Transport", "TestSupport", "TestTraits"], swiftSettings: settings),
    tests("TidegateClient", ["TidegateClient", "HTTP1", "Bytes"]),
    // A gateway on loopback for what the transports have to do.
    .target(
      name: "TransportTrials", dependencies: ["TidegateClient", "WebSocket", "HTTP1", "Transport", "Bytes"],
      path: "Tests/TransportTrials", swiftSettings: settings),
    tests("TidegateURLSession", ["TidegateURLSession", "TidegateClient", "TransportTrials"]),
    tests("TidegateEpoll", ["TidegateEpoll", "TidegateClient", "Transport", "TransportTrials"]),
    tests("Watch", ["Watch", "TidegateClient"]),
    tests("Cluster", ["Cluster", "NATS", "Transport", "Bytes"]),
  ]
)

if withBenchmarks {
  package.dependencies += [
    .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  ]
  package.targets += [
    // The bodies that both runners time.
    .target(
      name: "MicroBenchmarks",
      dependencies: [
        "Alerts", "PubSub", "Venues", "MarketData", "WebSocket", "NATS", "Transport", "Bytes", "CZlib", "TestSupport",
      ],
      path: "Benchmarks/MicroBenchmarks", swiftSettings: confinedSettings),
    .executableTarget(
      name: "TidegateBenchmarks",
      dependencies: ["MicroBenchmarks", .product(name: "Benchmark", package: "benchmark")],
      path: "Benchmarks/TidegateBenchmarks", swiftSettings: settings,
      plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
    // Counts allocations; only an executable that is to be measured links it.
    .target(name: "CAllocations", path: "Benchmarks/CAllocations"),
    .executableTarget(
      name: "tidegate-bench",
      dependencies: [
        "MicroBenchmarks", "Simulation", "Gateway", "VenueSimulator", "Recordings", "Venues", "MarketData", "HTTP1",
        "Bytes", "TestSupport", "CAllocations", arguments,
      ],
      path: "Benchmarks/tidegate-bench", swiftSettings: settings),
    .systemLibrary(name: "CLoad", path: "Benchmarks/CLoad"),
    // The load test depends on nothing of the gateway: it must not share its mistakes.
    .executableTarget(
      name: "tidegate-load",
      dependencies: [
        "CLoad", "COpenSSL", arguments, .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      path: "Benchmarks/tidegate-load", swiftSettings: settings),
    .testTarget(
      name: "LoadTests",
      dependencies: ["tidegate-load", .product(name: "Histogram", package: "hdrhistogram-swift")],
      path: "Tests/LoadTests", swiftSettings: settings),
  ]
}

if withFuzzer {
  package.targets.append(
    .executableTarget(
      name: "tidegate-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Runner",
      // libFuzzer brings `main`.
      swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]))
}

if sansIOAlone {
  let kept: Set = [
    "CZlib", "Bytes", "HTTP1", "WebSocket", "MarketData", "Venues", "Alerts", "Portfolio", "Decks", "PubSub",
    "TidegateClient", "TestSupport", "TestTraits",
  ]
  package.products = []
  package.dependencies = [.package(url: "https://github.com/apple/swift-collections", from: "1.6.0")]
  package.targets.removeAll { target in
    let name = target.isTest ? String(target.name.dropLast("Tests".count)) : target.name
    return !kept.contains(name)
  }
}
