import ArgumentParser
import Glibc

@main
struct TidegateLoad: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tidegate-load",
    abstract: "Loads a running gateway with WebSocket clients and says what a delivery costs.",
    discussion: """
      Exits with 0 if the gateway did what was asked, 2 if it lost, refused or missed something (the last line says what), 3 if the \
      run says nothing about it, because the load test itself was the bottleneck, say, and 1 if there was no run.
      """,
    subcommands: [
      RunCommand.self, CompareCommand.self, FloorServerCommand.self, HostileCommand.self, HandshakesCommand.self,
    ],
    defaultSubcommand: RunCommand.self)
}

/// The load test.
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "run", abstract: "Connect N clients and measure.")

  @Option(help: "The gateway's stream, ws or wss.") var url = "ws://127.0.0.1:8080/v1/stream"
  @Option(help: "WebSocket clients.") var clients = 1000
  @Option(help: "Symbols, separated by commas; without it the first of /v1/instruments.") var symbols: String?
  @Option(help: "How many symbols to take from /v1/instruments.") var symbolCount = 1
  @Option(help: "Channels, separated by commas.") var channels = "trades,quote"
  @Option(help: "Levels a side of book streams: 10, 25, 100 or 0 for all.") var depth = 25
  @Option(help: "Rate class of state channels, ms: 0, 100, 250, 1000, 5000.") var intervalMs = 0
  @Option(help: "Measured time, s.") var duration = 10.0
  @Option(help: "Time between subscribing and measuring, s.") var warmup = 2.0
  @Option(help: "New connections per second.") var connectRate = 5000.0
  @Option(help: "How many of the clients read slowly.") var slowClients = 0
  @Option(help: "What a slow client reads, bytes per second.") var slowRate = 2048
  @Option(help: "The gateway's process: its CPU and memory are measured.") var pid: Int32?
  @Flag(help: "Connect, measure memory per idle client, exit.") var idle = false
  @Flag(help: "Measure a bare send loop beside the gateway, in turns, and print the ratio.") var floor = false
  @Flag(help: "The bare send loop puts frames of one instant into one send per client.") var floorGathers = false
  @Option(help: "Hostile connections to measure beside: first without, then with them.") var hostile = 0
  @Option(help: "What they do: silent, drip (a byte a second), never-read.") var hostileKind = "silent"
  @Option(help: "Turns of gateway and floor, or of without and with hostile connections.") var rounds = 3
  @Option(help: "Where the result goes as JSON: a file, or - for standard output.") var json = "-"
  @Option(help: "Write latencies as a percentile distribution of HdrHistogram (.hgrm) to this file.") var hgrm: String?
  @Option(help: "Draw latencies and seconds as SVG into this file.") var chart: String?
  @Option(help: "The gateway's internal port, HOST:PORT: whether it has had clients before.") var `internal` =
    "127.0.0.1:9090"
  @Option(help: "The commit under test (default: that of the checkout here).") var commit: String?
  @OptionGroup(title: "Thresholds") var limits: ThresholdOptions

  func validate() throws {
    guard clients >= 1, clients <= 200_000 else { throw ValidationError("--clients takes 1 to 200000") }
    guard duration > 0, duration <= 86_400, warmup >= 0 else {
      throw ValidationError("--duration takes seconds above 0, --warmup seconds from 0")
    }
    guard connectRate > 0 else { throw ValidationError("--connect-rate takes connections per second above 0") }
    guard slowClients >= 0, slowClients < clients, slowRate > 0 else {
      throw ValidationError("--slow-clients takes 0 to below --clients: one at least must read at full speed")
    }
    guard !floor || pid != nil else {
      throw ValidationError("--floor compares CPU time and needs --pid of the gateway")
    }
    guard !idle || pid != nil else { throw ValidationError("--idle measures memory and needs --pid of the gateway") }
    guard !(floor && idle) else { throw ValidationError("--idle and --floor exclude each other") }
    guard hostile == 0 || !(floor || idle) else {
      throw ValidationError("--hostile, --floor and --idle exclude each other")
    }
    guard (0...200_000).contains(hostile), HostileKind(rawValue: hostileKind) != nil else {
      throw ValidationError("--hostile takes 0 to 200000, --hostile-kind \(HostileKind.names)")
    }
    guard hgrm == nil && chart == nil || !(idle || hostile > 0) else {
      throw ValidationError("--hgrm and --chart show the latencies of a run, which --idle and --hostile do not have")
    }
    guard rounds >= 1, symbolCount >= 1 else { throw ValidationError("--rounds and --symbol-count take 1 or more") }
  }

  func run() throws {
    do {
      try measure()
    } catch let error as LoadError {
      Terminal.say("tidegate-load: \(error)\n")
      throw ExitCode.failure
    }
  }

  private func measure() throws {
    let target = try StreamURL(url)
    guard !target.isSecure || (!floor && hostile == 0) else {
      throw LoadError("--floor and --hostile speak plain WebSocket: give a ws:// URL")
    }
    let environment = RunEnvironment(commit: commit)
    let probe = try pid.map { try ProcessProbe(pid: $0) }
    let freshness = probe.map { Freshness(metrics: internalMetrics, started: $0.startTime) }
    let subscription = try idle ? Subscription.none : makeSubscription(target)
    var report: JSONObject
    var gatewayRuns: [Figures] = []
    var floorRuns: [Figures] = []
    if hostile > 0 {
      let comparison = try runHostile(target, subscription, probe: probe)
      report = comparison.json
      gatewayRuns = comparison.quiet + comparison.besieged
      Terminal.say(
        "p99 with hostile connections over p99 without: \(comparison.ratios.map { Decimal.text($0, digits: 2) })\n")
    } else {
      for round in 0..<(floor ? rounds : 1) {
        var figures = try run(target, subscription, label: "gateway", probe: probe)
        figures.freshness = round == 0 ? freshness : freshness.map { _ in .used(clients: clients * round) }
        gatewayRuns.append(figures)
        if floor { floorRuns.append(try runFloor(beside: figures, subscription)) }
      }
      report =
        idle
        ? Self.idleReport(gatewayRuns[0])
        : floor ? Comparison(gateway: gatewayRuns, floor: floorRuns, gathers: floorGathers).json : gatewayRuns[0].json
    }
    let verdict = Verdict(
      worstOf: gatewayRuns.map { idle ? Verdict.ofConnections($0) : Verdict($0, limits.thresholds) })
    report["plan"] = .object(planJSON(subscription))
    report["environment"] = .object(environment.json(loadAfter: RunEnvironment.loadAverages))
    report["verdict"] = .object(verdict.json)
    try write(report.text + "\n", to: json)
    let shown = gatewayRuns[0]
    if let hgrm { try write(PercentileReport(latency: shown.latency).hgrm, to: hgrm) }
    if let chart {
      let title = "\(clients) clients, \(channels), \(environment.startedAt), \(environment.commit)"
      try write(LatencyChart(title: title, latency: shown.latency, seconds: shown.timeline).svg, to: chart)
    }
    if floor {
      Terminal.say(Comparison(gateway: gatewayRuns, floor: floorRuns, gathers: floorGathers).text)
    } else if hostile == 0, !idle {
      Terminal.say(PercentileReport(latency: shown.latency).table)
    }
    if let objection = shown.freshness?.objection { Terminal.say("rss_per_client is not known: \(objection)\n") }
    Terminal.say(verdict.line(gatewayRuns.count == 1 ? shown : nil))
    if verdict.outcome != .pass { throw ExitCode(verdict.outcome.exitCode) }
  }

  /// What the gateway's `/metrics` says; nil if it is not available.
  private var internalMetrics: String? {
    guard let url = try? StreamURL("ws://\(`internal`)/metrics"), let answer = try? Sockets.get(url, path: "/metrics")
    else { return nil }
    return String(decoding: answer, as: UTF8.self)
  }

  /// What was asked of the gateway.
  private func planJSON(_ subscription: Subscription) -> JSONObject {
    var plan = JSONObject()
    plan["url"] = .text(url)
    plan["symbols"] = .texts(subscription.symbols)
    plan["channels"] = .text(idle ? "" : channels)
    plan["depth"] = .integer(Int64(depth))
    plan["interval_ms"] = .integer(Int64(intervalMs))
    plan["warmup_s"] = .number(warmup, digits: 1)
    plan["duration_s"] = .number(duration, digits: 1)
    return plan
  }

  private func makeSubscription(_ target: StreamURL) throws -> Subscription {
    var names = symbols.map { $0.split(separator: ",").map(String.init) } ?? []
    if names.isEmpty {
      names = Text.strings(after: "\"symbol\":\"", in: try Sockets.get(target, path: "/v1/instruments"))
      guard names.count >= symbolCount else {
        throw LoadError("/v1/instruments names \(names.count) symbols, fewer than --symbol-count \(symbolCount)")
      }
      names = Array(names.prefix(symbolCount))
    }
    return try Subscription(
      channels: channels.split(separator: ",").map(String.init), symbols: names, depth: depth, intervalMs: intervalMs)
  }

  func run(
    _ target: StreamURL, _ subscription: Subscription, label: String, probe: ProcessProbe?
  ) throws -> Figures {
    var fleet = try Fleet(
      FleetPlan(
        label: label, url: target, clients: clients, requests: subscription.frames,
        streamsPerClient: subscription.streamCount, connectRate: connectRate, warmup: warmup, duration: duration,
        slowClients: slowClients, slowBytesPerSecond: slowRate, probe: probe, idleOnly: idle))
    return try fleet.run()
  }

  /// The same clients against a bare send loop that repeats the run's rate, burst shape and frame sizes.
  private func runFloor(beside gateway: Figures, _ subscription: Subscription) throws -> Figures {
    guard gateway.trace.entries.count > 1 else {
      throw LoadError("the gateway published fewer than two updates in \(duration) s: there is no rate to repeat")
    }
    let child = try ChildServer(
      beside: pid ?? getpid(), clients: clients, gathers: floorGathers,
      lifetime: 120 + duration + warmup + Double(clients) / connectRate,
      trace: gateway.trace)
    defer { child.stop() }
    return try run(
      StreamURL(loopbackPort: child.port, path: "/"), subscription, label: "floor", probe: ProcessProbe(pid: child.pid))
  }

  private static func idleReport(_ figures: Figures) -> JSONObject {
    var report = JSONObject()
    report["clients"] = .integer(Int64(figures.clients))
    report["connected"] = .integer(Int64(figures.connected))
    report["connect_s"] = .number(figures.connectSeconds, digits: 3)
    if let before = figures.residentBefore { report["rss_before"] = .integer(before) }
    if let idle = figures.residentIdle { report["rss_idle"] = .integer(idle) }
    if let after = figures.residentEnd { report["rss_after_close"] = .integer(after) }
    if let perClient = figures.residentPerClient { report["rss_per_client"] = .number(perClient, digits: 0) }
    if let objection = figures.freshness?.objection { report["rss_per_client_unknown"] = .text(objection) }
    return report
  }

  private func write(_ text: String, to path: String) throws {
    if path == "-" { return print(text, terminator: "") }
    guard let file = fopen(path, "w") else { throw LoadError("cannot write \(path): \(Sockets.reason(errno))") }
    let isWhole = fputs(text, file) >= 0
    guard fclose(file) == 0, isWhole else { throw LoadError("cannot write \(path): \(Sockets.reason(errno))") }
  }
}

/// What a run may come to and still be good, as flags.
struct ThresholdOptions: ParsableArguments {
  @Option(help: "Links that broke and were not healed.") var maxGaps: UInt64 = 0
  @Option(help: "Frames that were sent, by the gateway's own count, and did not come.") var maxMissing: Int64 = 0
  @Option(help: "Answers to subscribe requests that refused something.") var maxRefused: UInt64 = 0
  @Option(help: "Error messages.") var maxErrors: UInt64 = 0
  @Option(help: "Clients at full speed whose connection ended.") var maxDisconnected: UInt64 = 0
  @Option(help: "Links that broke and were healed by a snapshot (default: any).") var maxResyncs: UInt64?
  @Option(help: "Events that notices said were lost (default: any).") var maxAnnouncedLost: UInt64?
  @Option(help: "Median latency of updates, ms.") var maxP50: Double?
  @Option(help: "p99 of it, ms.") var maxP99: Double?
  @Option(name: .customLong("max-p99-9"), help: "p99.9 of it, ms.") var maxP999: Double?
  @Option(help: "Deliveries per second, at least.") var minDeliveriesPerS: Double?
  @Option(help: "CPU time of the gateway for each delivery, ns; needs --pid.") var maxCpuNsPerDelivery: Double?
  @Option(help: "Of a core, by the load test; above it the run is invalid.") var maxToolCpu = Thresholds().maxToolCPU

  var thresholds: Thresholds {
    Thresholds(
      maxGaps: maxGaps, maxMissing: maxMissing, maxRefused: maxRefused, maxErrors: maxErrors,
      maxDisconnected: maxDisconnected, maxResyncs: maxResyncs, maxAnnouncedLost: maxAnnouncedLost, maxP50: maxP50,
      maxP99: maxP99, maxP999: maxP999, minDeliveriesPerSecond: minDeliveriesPerS,
      maxCPUPerDelivery: maxCpuNsPerDelivery, maxToolCPU: maxToolCpu)
  }
}

/// Two results side by side.
struct CompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Compare two results of run: is the second worse?",
    discussion: "Exits with 0 if it is not, 2 if it is, 3 if the two are not comparable.")

  @Argument(help: ArgumentHelp("The result to compare with.", valueName: "a.json")) var before: String
  @Argument(help: ArgumentHelp("The result to judge.", valueName: "b.json")) var after: String
  @Option(help: "How much worse is still the same, in percent; faults have no tolerance.") var tolerance = 10.0

  func validate() throws {
    guard (0...1_000).contains(tolerance) else { throw ValidationError("--tolerance takes 0 to 1000 percent") }
  }

  func run() throws {
    do {
      let comparison = ResultComparison(
        try ResultFile(path: before), try ResultFile(path: after), tolerance: tolerance / 100)
      print(comparison.text, terminator: "")
      if comparison.verdict.outcome != .pass { throw ExitCode(comparison.verdict.outcome.exitCode) }
    } catch let error as LoadError {
      Terminal.say("tidegate-load: \(error)\n")
      throw ExitCode.failure
    }
  }
}

/// The floor's server, also on its own.
struct FloorServerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "floor-server", abstract: "A bare send loop to N sockets: the least that a fan-out can cost.")

  @Option(help: "The port on 127.0.0.1; 0 for any, which is printed.") var port: UInt16 = 0
  @Option(help: "Sending begins when so many clients are there.") var clients = 1000
  @Option(help: "Bytes of each frame.") var frameBytes = 300
  @Option(help: "Updates per second.") var rate = 100.0
  @Option(help: "Repeat this trace instead: lines of 'offset_us bytes' from a file, or - for standard input.")
  var trace: String?
  @Option(help: "bare: frames from the upgrade on; tidegate: answers subscribe requests first.") var `protocol` =
    "tidegate"
  @Flag(help: "Frames of one instant go out in one send per client.") var gather = false
  @Option(help: "Exit after so many seconds.") var lifetime = 3600.0

  func validate() throws {
    guard FloorServer.Dialect(rawValue: `protocol`) != nil else {
      throw ValidationError("--protocol takes bare or tidegate, not '\(`protocol`)'")
    }
    guard clients >= 1, frameBytes >= 1, frameBytes <= Fleet.frameLimit, rate >= 0.1, rate <= 1e6 else {
      throw ValidationError("--clients, --frame-bytes and --rate must be positive")
    }
  }

  func run() throws {
    do {
      let steps = try trace.map { try Trace(text: Self.read($0)) } ?? .steady(perSecond: rate, bytes: frameBytes)
      var server = try FloorServer(
        port: port, clients: clients, dialect: FloorServer.Dialect(rawValue: `protocol`) ?? .tidegate, gathers: gather,
        trace: steps)
      Terminal.write("listening on \(server.port)\n", to: 1)
      server.run(lifetime: lifetime)
    } catch let error as LoadError {
      Terminal.say("tidegate-load: \(error)\n")
      throw ExitCode.failure
    }
  }

  private static func read(_ path: String) throws -> String {
    let fd = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard fd >= 0 else { throw LoadError("cannot read \(path): \(Sockets.reason(errno))") }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.count < 64 << 20 {
      let n = Glibc.read(fd, &chunk, chunk.count)
      guard n > 0 else { break }
      bytes += chunk[..<n]
    }
    if fd != 0 { close(fd) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
