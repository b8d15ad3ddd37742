import Access
import Dispatch
import Feeds
import Foundation
import Gateway
import History
import Logging
import Operations
import Settings
import Transport
import VenueSimulator
import Venues

// The work of the commands, a function each.

/// A logger to standard error: standard output is for the command's own output.
func makeLog(_ level: Logger.Level) -> Logger { makeLogs(LogLevels(standard: level), .logfmt).logger }

/// A log sink to standard error, whose levels can change.
func makeLogs(_ levels: LogLevels, _ format: LogFormat) -> LogSink {
  _ = flushAtExit
  return LogSink(levels: levels, format: format) { LogOutput.standardError.write($0) }
}

/// Writes what a slow reader has not taken yet, at the end of the process.
private let flushAtExit: Void = { atexit { LogOutput.standardError.flush() } }()

/// Waits for a signal that ends the command, or until `seconds` have passed.
func waitForEnd(_ signals: ServiceSignals, seconds: Int? = nil) async {
  await withTaskGroup(of: Void.self) { group in
    group.addTask { for await _ in signals.ends { return } }
    if let seconds { group.addTask { try? await Task.sleep(for: .seconds(seconds)) } }
    await group.next()
    group.cancelAll()
  }
}

extension Logger {
  /// Logs a signal that does nothing in this command.
  func notice(_ signal: ServiceSignals.Notice) {
    switch signal {
    case .nothingToRead: notice("nothing to reload", metadata: ["signal": "SIGHUP"])
    case .ignored(let name):
      notice(
        "signal ignored",
        metadata: ["signal": "\(name)", "hint": "SIGTERM ends the gateway, SIGHUP reloads its files"])
    }
  }
}

/// Runs a gateway until a signal ends it. SIGTERM closes the clients one after the other; SIGINT, or a second signal,
/// all at once. SIGUSR2 starts another process, which takes over, and sends the clients there.
///
/// - Parameters:
///   - lasting: what can never work of it, for the log.
///   - program: the program that another process is started with.
///   - origin: the process that this one takes over from.
///   - load: reads the configuration again; nil: it cannot change.
func serve(
  _ configuration: GatewayConfiguration, lasting: [ConfigurationProblem] = [], signals: ServiceSignals,
  program: Program?, origin: UpgradeOrigin?,
  load: (@Sendable () throws(ConfigurationProblems) -> GatewayConfiguration)? = nil
) async throws {
  var configuration = configuration
  let logs = makeLogs(configuration.logLevels, configuration.logs.format)
  let log = logs.logger
  for problem in lasting {
    log.warning("a setting can never work", metadata: ["reason": "\(problem.description)"])
  }
  var demo: Demo?
  if configuration.demo {
    let made = try Demo(seed: configuration.seed, rate: configuration.rate)
    made.addToken(configuration, log)
    made.market.apply(to: &configuration)
    demo = made
  }
  defer { demo?.stop() }
  if configuration.feeds.isEmpty, configuration.replay.isEmpty {
    throw CommandFailure("nothing to serve: give --feed VENUE=SYM,SYM, --replay FILE, or --demo for a simulated market")
  }
  if let shortage = DescriptorPlan.fit(&configuration, descriptors: DescriptorLimit.raise()) {
    log.warning("limits.clients is lowered", metadata: ["reason": "\(shortage)"])
  }
  let access = try readAccess(configuration, origin, log)
  let memory = HeapTrimmer(log)
  defer { withExtendedLifetime(memory) {} }
  let environment = ProcessInfo.processInfo.environment
  try origin?.check(configuration)
  // From here on this process has the data file.
  let warm = try await origin?.warm(configuration, log: log)
  let gateway = try Gateway(
    configuration: configuration, access: access, history: try openHistory(configuration, log.of(.history)), log: log,
    logs: logs, sockets: origin?.sockets ?? ServiceManager.takeSockets(environment: environment), warm: warm?.feeds)
  let recorders = Recorders(path: configuration.record, policy: configuration.recording, log: log.of(.recording))
  try gateway.start { recorders.make($0, $1) }
  let manager = ServiceManager(environment: environment)
  // The manager says how many sockets it keeps for the service; without it, this process serves waiting clients itself.
  if let manager, environment["FDSTORE"].flatMap({ Int($0) }) ?? 0 > 0 { gateway.leavePorts(to: manager) }
  let reload = load.map { reloading($0, demo?.market, log) }
  gateway.onReload(reload)
  gateway.onDrainRequest { kill(getpid(), SIGTERM) }
  let end = ServiceEnd()
  let upgrades = makeUpgrades(
    of: gateway, program: program, environment: environment, number: warm?.number ?? 0, recorders, manager, end, log)
  gateway.onUpgradeRequest(upgrades)
  signals.begin(notice: { log.notice($0) }, reload: { manager.reloading { gateway.reload(reload) } })

  let banner = Banner(
    configuration: configuration, address: gateway.address, internalAddress: gateway.internalAddress,
    program: CommandLine.arguments[0], environment: environment)
  print(banner.lines.joined(separator: "\n"))
  fflush(nil)

  gateway.whenOpen {
    origin?.serving()
    manager?.ready("clients on \(gateway.address.description)")
  }
  let watchdog = Task { await manager?.watch(gateway) }
  defer { watchdog.cancel() }
  let isFailure = await waitForEnd(of: gateway, signals, end, upgrades, manager: manager, log: log)
  await recorders.finish()
  if isFailure { throw CommandFailure("the upgrade failed after the data file was handed over") }
}

/// Reads who may use the gateway. Nil: no token is required.
private func readAccess(
  _ configuration: GatewayConfiguration, _ origin: UpgradeOrigin?, _ log: Logger
) throws -> Authenticator? {
  var access: Authenticator?
  if let file = configuration.keysFile {
    access = try loadKeys(file) { origin?.fail($0) }
    if KeyFile.hasLines(file) {
      log.warning(
        "the key file has the old form, which the next version does not read",
        metadata: ["file": "\(file)", "hint": "tidegate key --convert \(file) writes the same as YAML"])
    }
  } else if let policy = configuration.access {
    access = Authenticator(policy: policy)
  }
  if let access { log.notice("keys read", metadata: ["holds": "\(access.description)"]) }
  return access
}

/// Makes what starts another process that takes over from this one.
private func makeUpgrades(
  of gateway: Gateway, program: Program?, environment: [String: String], number: Int, _ recorders: Recorders,
  _ manager: ServiceManager?, _ end: ServiceEnd, _ log: Logger
) -> UpgradeCoordinator {
  UpgradeCoordinator(
    gateway, program: program, environment: environment, number: number, log: log,
    hooks: .init(
      handOver: { done in
        gateway.handOver {
          Task {
            await recorders.finish()
            done()
          }
        }
      },
      leave: { process in
        // The service manager does not listen to the new process before this, so this process reports its state.
        manager?.handOver(to: process, "clients on \(gateway.address.description), taken over by process \(process)")
        gateway.leave(seconds: gateway.current.upgradeDrainSeconds) { end.yield(.ended(isFailure: false)) }
      }, giveUp: { gateway.stop { end.yield(.ended(isFailure: true)) } }))
}

/// Wraps `load` so that `limits.clients` is lowered to what the descriptors suffice for, and a demo keeps its market.
private func reloading(
  _ load: @escaping @Sendable () throws(ConfigurationProblems) -> GatewayConfiguration, _ market: Demo.Market?,
  _ log: Logger
) -> @Sendable () throws(ConfigurationProblems) -> GatewayConfiguration {
  { () throws(ConfigurationProblems) in
    var configuration = try load()
    market?.apply(to: &configuration)
    if let shortage = DescriptorPlan.fit(&configuration, descriptors: DescriptorLimit.current) {
      log.warning("limits.clients is lowered", metadata: ["reason": "\(shortage)"])
    }
    return configuration
  }
}

/// Opens the data file. If it cannot be used because of the machine, only history suffers. A file of another version,
/// of another program or of another running gateway ends the command, so that the operator notices it now and not weeks
/// later.
private func openHistory(_ configuration: GatewayConfiguration, _ log: Logger) throws -> HistoryKeeper? {
  // Replayed prices are not present prices.
  guard let directory = configuration.data.directory, configuration.replay.isEmpty else { return nil }
  do throws(DataFileError) {
    return try HistoryKeeper(
      directory: directory, isSimulated: configuration.demo, retention: configuration.data.retention, log: log)
  } catch {
    switch error {
    case .newer, .foreign, .owned: throw CommandFailure(error.description)
    case .damaged, .full, .busy, .inaccessible, .failed:
      log.error("history is not kept in this run", metadata: ["reason": "\(error.description)"])
      return nil
    }
  }
}

extension ServiceManager? {
  /// Reads files again, and tells the service manager when that begins and ends.
  fileprivate func reloading(_ body: () -> Void) {
    self?.reloading(monotonicMicroseconds: DispatchTime.now().uptimeNanoseconds / 1_000)
    body()
    self?.ready("files read again")
  }
}

extension ServiceManager {
  /// Reports to the manager that the process is alive, at the requested interval, as long as every event loop turns.
  fileprivate func watch(_ gateway: Gateway) async {
    guard let watchInterval else { return }
    while !Task.isCancelled {
      gateway.probeLoops { silent in if silent.isEmpty { alive() } }
      try? await Task.sleep(for: .microseconds(Int64(clamping: watchInterval)))
    }
  }
}

/// The events that end a serving gateway, in their order.
private final class ServiceEnd: Sendable {
  enum Step: Sendable {
    case signal(Int32)
    /// The gateway has ended; whether that counts as a failure.
    case ended(isFailure: Bool)
  }

  let steps: AsyncStream<Step>
  private let continuation: AsyncStream<Step>.Continuation

  init() { (steps, continuation) = AsyncStream<Step>.makeStream() }

  func yield(_ step: Step) { continuation.yield(step) }
}

/// Ends a gateway as signals request, and waits for its end; true if that is a failure.
private func waitForEnd(
  of gateway: Gateway, _ signals: ServiceSignals, _ end: ServiceEnd, _ upgrades: UpgradeCoordinator,
  manager: ServiceManager?,
  log: Logger
) async -> Bool {
  let forwarding = Task { for await number in signals.ends { end.yield(.signal(number)) } }
  defer { forwarding.cancel() }
  var isDraining = false
  for await step in end.steps {
    let drainSeconds = gateway.current.drainSeconds
    switch step {
    case .ended(let isFailure): return isFailure
    case .signal(SIGUSR2): upgrades.request { _ in }
    // The kernel and the shell both send a SIGHUP for a closed terminal.
    case .signal(SIGHUP) where isDraining: continue
    case .signal(let number) where isDraining || number == SIGINT || drainSeconds == 0:
      log.notice("stopping", metadata: ["signal": "\(number)"])
      upgrades.processEnds()
      isDraining = true
      manager?.stopping("stopping")
      gateway.stop { end.yield(.ended(isFailure: false)) }
    case .signal:
      upgrades.processEnds()
      isDraining = true
      manager?.stopping("closing clients over \(drainSeconds) s")
      gateway.drain(seconds: drainSeconds) { end.yield(.ended(isFailure: false)) }
    }
  }
  return false
}

/// A failure with a message for the person at the terminal.
struct CommandFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Simulates an exchange until Ctrl-C.
func simulate(_ command: SimulateCommand, signals: ServiceSignals) async throws {
  let log = makeLog(.info)
  var tls: TLSServerContext?
  if let file = command.caOut {
    let certificate = try SelfSignedCertificate(hosts: ["localhost", "127.0.0.1", "::1"])
    do {
      try Data(certificate.certificatePEM.utf8).write(to: URL(fileURLWithPath: file))
    } catch {
      throw CommandFailure("--ca-out \"\(file)\" cannot be written: \(error.localizedDescription)")
    }
    tls = try TLSServerContext(certificate: certificate)
  }
  let listen = try SocketAddress(parsing: command.listen)
  let loop = try EventLoop(index: 0, label: "tidegate.simulator")
  let exchange: SimulatedExchange
  let title: String
  let symbols: [String]
  if let path = command.from {
    let (recording, names) = try loadRecording(path)
    if let venue = command.venue, venue != recording.venue {
      throw CommandFailure("--venue \(venue): \(path) is a recording of \(recording.venue); leave --venue out")
    }
    exchange = try SimulatedExchange(
      recording: recording, faults: try command.faults, listen: listen, tls: tls, loop: loop, log: log)
    title = "\(recording.venue) as recorded (\(recording.count) frames of \(Int(recording.seconds.rounded())) s)"
    symbols = names
  } else {
    let (venue, seed, rate) = (command.venue ?? "", command.seed ?? 1, command.rate ?? 20)
    exchange = try SimulatedExchange(
      venue: venue, seed: seed, rate: Double(rate),
      excerpt: command.markets.map { SimulatedExcerpt(invented: $0, quote: "USD", levels: 20) },
      faults: try command.faults, listen: listen, tls: tls, loop: loop, log: log)
    title = "A simulated \(venue) (seed \(seed), rate \(rate))"
    symbols =
      command.markets != nil
      ? ["*"] : SimulatedVenue.symbols(of: venue).filter { $0.hasPrefix("BTC-") || $0.hasPrefix("ZEC-") }
  }
  let ca = command.caOut.map { " --ca \($0)" } ?? ""
  // The recording may have hundreds of symbols; the hint shows ten.
  let feed = "\(exchange.venue)=\(symbols.prefix(10).joined(separator: ","))"
  print(
    """
    \(title) is at \(exchange.webSocketURL)
    Follow it:
      \(CommandLine.arguments[0]) serve --feed \(feed) --endpoint \(exchange.venue)=\(exchange.webSocketURL)\(ca)
    """)
  fflush(nil)
  signals.begin(notice: { log.notice($0) })
  await waitForEnd(signals)
  let statistics = exchange.statistics
  exchange.stop()
  log.notice(
    "stopped",
    metadata: ["frames": "\(statistics.framesSent)", "faults": "\(statistics.faultsInjected)"])
}
