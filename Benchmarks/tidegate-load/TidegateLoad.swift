import ArgumentParser
import Glibc

@main
struct TidegateLoad: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tidegate-load",
    abstract: "Loads a running gateway with WebSocket clients and says what a delivery costs.",
    subcommands: [RunCommand.self, FloorServerCommand.self, HostileCommand.self, HandshakesCommand.self],
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
    let probe = try pid.map { try ProcessProbe(pid: $0) }
    let subscription = try idle ? Subscription.none : makeSubscription(target)
    if hostile > 0 {
      let comparison = try runHostile(target, subscription, probe: probe)
      try write(comparison.json)
      return Terminal.say(
        "p99 with hostile connections over p99 without: \(comparison.ratios.map { Decimal.text($0, digits: 2) })\n")
    }
    var gatewayRuns: [Figures] = []
    var floorRuns: [Figures] = []
    for _ in 0..<(floor ? rounds : 1) {
      let figures = try run(target, subscription, label: "gateway", probe: probe)
      gatewayRuns.append(figures)
      if floor { floorRuns.append(try runFloor(beside: figures, subscription)) }
    }
    var report = JSONObject()
    if idle {
      report = Self.idleReport(gatewayRuns[0])
    } else if floor {
      report = Comparison(gateway: gatewayRuns, floor: floorRuns, gathers: floorGathers).json
    } else {
      report = gatewayRuns[0].json
    }
    try write(report)
    for figures in (gatewayRuns + floorRuns).prefix(1) where figures.isToolBound {
      Terminal.say(
        "The load test used \(Decimal.text(figures.toolCPUFraction, digits: 2)) of its core: it was the bottleneck.\n")
    }
    if floor { Terminal.say(Comparison(gateway: gatewayRuns, floor: floorRuns, gathers: floorGathers).text) }
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
    return report
  }

  private func write(_ report: JSONObject) throws {
    let text = report.text + "\n"
    if json == "-" { return print(text, terminator: "") }
    guard let file = fopen(json, "w") else { throw LoadError("cannot write \(json): \(Sockets.reason(errno))") }
    fputs(text, file)
    fclose(file)
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
