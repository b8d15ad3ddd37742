import Bytes
import Dispatch
import Foundation
import Gateway
import Logging
import Synchronization
import Transport
import VenueSimulator
import Venues

// Where the commands meet the parts that do their work: a function each.

/// A logger to standard error, so that standard output is for what a command prints.
func makeLog(_ level: Logger.Level) -> Logger {
  var log = Logger(label: "tidegate") { StreamLogHandler.standardError(label: $0) }
  log.logLevel = level
  return log
}

/// Waits for Ctrl-C or SIGTERM, or until `seconds` have passed; answers the signal.
func waitForEnd(seconds: Int? = nil) async -> Int32? {
  let signals = AsyncStream<Int32?>.makeStream()
  let sources = Interrupt.sources { signals.continuation.yield($0) }
  defer { for source in sources { source.cancel() } }
  if let seconds {
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { signals.continuation.yield(nil) }
  }
  for await number in signals.stream { return number }
  return nil
}

/// Runs a gateway until a signal ends it: SIGTERM and SIGUSR2 by sending the clients away one after the other, SIGINT, or a second
/// signal, at once.
func serve(_ configuration: GatewayConfiguration) async throws {
  var configuration = configuration
  let log = makeLog(configuration.logLevel)
  var demo: Demo?
  if configuration.demo {
    let made = try Demo(seed: configuration.seed, rate: configuration.rate)
    configuration.feeds = made.feeds
    configuration.caFile = made.caFile
    demo = made
  }
  defer { demo?.stop() }
  if configuration.feeds.isEmpty, configuration.replay.isEmpty {
    throw CommandFailure("nothing to serve: give --feed VENUE=SYM,SYM, --replay FILE, or --demo for a simulated market")
  }
  if let shortage = DescriptorPlan.fit(&configuration, descriptors: DescriptorLimit.raise()) {
    log.warning("\(shortage)")
  }
  var access: Authenticator?
  if let file = configuration.keysFile {
    access = try loadKeys(file)
    log.notice("key file read", metadata: ["holds": "\(access?.description ?? "")"])
  }
  let memory = MemoryKeeper(log)
  defer { withExtendedLifetime(memory) {} }
  let gateway = try Gateway(configuration: configuration, access: access, log: log)
  let recorders = Recorders(path: configuration.record, log: log)
  try gateway.start { recorders.make($0, $1) }
  // Without files of its own to read again, a gateway in a terminal is to end with it.
  let hangUp: SignalSource? =
    configuration.tls == nil && configuration.keysFile == nil && (configuration.caFile == nil || configuration.demo)
    ? nil
    : SignalSource([SIGHUP]) { _ in
      gateway.reloadCertificates()
      gateway.reload()
    }
  defer { withExtendedLifetime(hangUp) {} }

  let scheme = configuration.tls == nil ? "ws" : "wss"
  let url = "\(scheme)://\(gateway.address.description)/v1/stream"
  let web = "\(configuration.tls == nil ? "http" : "https")://\(gateway.address.description)"
  let watched = configuration.feeds.prefix(3).compactMap { feed in
    feed.symbols.first.map { MarketSelection.isMeant(by: $0) ? "'\(feed.venue):*'" : "\(feed.venue):\($0)" }
  }
  print(
    """
    Tidegate \(TidegateVersion.current)
      stream    \(url)
      http      \(web)/v1/instruments
      internal  http://\(gateway.internalAddress.description)/metrics
    """)
  if configuration.demo { print("The prices are SIMULATED: Kraken, Coinbase and Binance run inside this process.") }
  if !watched.isEmpty {
    let program = CommandLine.arguments[0]
    let address = url == WatchCommand.defaultURL ? "" : url + " "
    print("See it, in another terminal:\n  \(program) watch \(address)\(watched.joined(separator: " "))")
  }
  fflush(nil)

  await waitForEnd(of: gateway, drainSeconds: configuration.drainSeconds, log: log)
  await recorders.finish()
}

/// Ends a gateway as signals tell, and waits for that.
private func waitForEnd(of gateway: Gateway, drainSeconds: Int, log: Logger) async {
  enum Step { case signal(Int32), ended }
  let steps = AsyncStream<Step>.makeStream()
  let sources = Interrupt.sources([SIGINT, SIGTERM, SIGUSR2]) { steps.continuation.yield(.signal($0)) }
  defer { for source in sources { source.cancel() } }
  var isDraining = false
  for await step in steps.stream {
    switch step {
    case .ended: return
    case .signal(SIGUSR2) where isDraining: continue
    case .signal(let number) where isDraining || number == SIGINT || drainSeconds == 0:
      log.notice("stopping", metadata: ["signal": "\(number)"])
      isDraining = true
      gateway.stop { steps.continuation.yield(.ended) }
    case .signal(let number):
      isDraining = true
      gateway.drain(seconds: drainSeconds, handsOver: number == SIGUSR2) { steps.continuation.yield(.ended) }
    }
  }
}

/// A failure with a message for the person at the terminal.
struct CommandFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The recordings of a run: one file, or one for each connection in a folder.
final class Recorders: Sendable {
  private let path: String?
  private let log: Logger
  private let sinks = Mutex<[RecordingSink]>([])

  init(path: String?, log: Logger) {
    self.path = path
    self.log = log
  }

  func make(_ venue: Venue, _ configuration: FeedConfiguration) -> RecordingSink? {
    guard let path else { return nil }
    var file = path
    if path.hasSuffix("/") {
      try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      let day = ISO8601DateFormatter.string(
        from: Date(), timeZone: TimeZone(secondsFromGMT: 0)!,
        formatOptions: [.withYear, .withMonth, .withDay, .withTime])
      let number = venue.number > 1 ? "-\(venue.number)" : ""
      file = "\(path)\(venue.name)-\(venue.marketName)\(number)-\(day).ndjson.gz"
    }
    if sinks.withLock({ $0.contains { $0.path == file } }) {
      log.error(
        "cannot record",
        metadata: ["venue": "\(venue.label)", "reason": "\(file) is another connection's; record into a folder/"])
      return nil
    }
    do throws(RecordingError) {
      let sink = try RecordingSink(path: file, venue: venue, configuration: configuration, log: log)
      sinks.withLock { $0.append(sink) }
      log.notice("recording", metadata: ["venue": "\(venue.name)", "file": "\(file)"])
      return sink
    } catch {
      log.error("cannot record", metadata: ["venue": "\(venue.name)", "reason": "\(error.description)"])
      return nil
    }
  }

  var records: Int { sinks.withLock { $0.reduce(0) { $0 + $1.records } } }

  func finish() async {
    for sink in sinks.withLock({ $0 }) {
      await withCheckedContinuation { continuation in sink.finish { continuation.resume() } }
      log.notice("recorded", metadata: ["file": "\(sink.path)", "records": "\(sink.records)"])
    }
  }
}

/// Plays recordings as fast as they go and reports what they hold.
func replay(files: [String], json: Bool) async throws {
  for file in files {
    let replayer = try Replayer(path: file)
    let isTerminal = isatty(STDERR_FILENO) == 1
    let result = try replayer.run { records in
      if isTerminal { FileHandle.standardError.write(Data("\r\(file): \(records) records".utf8)) }
    }
    if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
    if json {
      var out = ByteBuffer(capacity: 16 << 10)
      result.append(to: &out)
      print(out.description)
    } else {
      print(ReplayReport.text(result))
    }
  }
}

/// Records feeds, without serving clients, until Ctrl-C or for so many seconds.
func record(_ configuration: GatewayConfiguration, seconds: Int?) async throws {
  guard let path = configuration.record else { throw CommandFailure("--out is missing") }
  let connections = configuration.feedConnections.count
  guard connections == 1 || path.hasSuffix("/") else {
    throw CommandFailure("\(connections) connections need a folder: give --out FOLDER/ to get a file for each")
  }
  var configuration = configuration
  // The ports are of no use here; any free ones on loopback.
  configuration.listen = SocketAddress(host: "127.0.0.1", port: 0)
  configuration.internalListen = SocketAddress(host: "127.0.0.1", port: 0)
  configuration.loops = 1
  let log = makeLog(configuration.logLevel)
  let gateway = try Gateway(configuration: configuration, log: log)
  let recorders = Recorders(path: path, log: log)
  try gateway.start { recorders.make($0, $1) }
  let progress = Task {
    while !Task.isCancelled {
      try await Task.sleep(for: .seconds(5))
      FileHandle.standardError.write(Data("\(recorders.records) records\n".utf8))
    }
  }
  _ = await waitForEnd(seconds: seconds)
  progress.cancel()
  await withCheckedContinuation { continuation in gateway.stop { continuation.resume() } }
  await recorders.finish()
}

/// Is an exchange until Ctrl-C.
func simulate(_ command: SimulateCommand) async throws {
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
      venue: venue, seed: seed, rate: Double(rate), faults: try command.faults, listen: listen, tls: tls, loop: loop,
      log: log)
    title = "A simulated \(venue) (seed \(seed), rate \(rate))"
    symbols = SimulatedVenue.symbols(of: venue).filter { $0.hasPrefix("BTC-") || $0.hasPrefix("ZEC-") }
  }
  let ca = command.caOut.map { " --ca \($0)" } ?? ""
  // A recorder may have followed hundreds; the hint need not.
  let feed = "\(exchange.venue)=\(symbols.prefix(10).joined(separator: ","))"
  print(
    """
    \(title) is at \(exchange.webSocketURL)
    Follow it:
      \(CommandLine.arguments[0]) serve --feed \(feed) --endpoint \(exchange.venue)=\(exchange.webSocketURL)\(ca)
    """)
  fflush(nil)
  _ = await waitForEnd()
  let statistics = exchange.statistics
  exchange.stop()
  log.notice(
    "stopped",
    metadata: ["frames": "\(statistics.framesSent)", "faults": "\(statistics.faultsInjected)"])
}
