import Foundation
import Synchronization
import Testing

/// The built executable as a process of its own, on ports of the system's choice.
final class TidegateProcess: Sendable {
  private let process: ProcessBox
  private let output = Collected()
  private let errors = Collected()

  /// What it has written so far.
  private final class Collected: Sendable {
    let bytes = Mutex<[UInt8]>([])
    /// Whether the other side has closed it.
    let isComplete = Atomic(false)
    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
  }

  private final class ProcessBox: @unchecked Sendable {
    // `@unchecked`: configured before `run`, then only asked what it says from any thread.
    let process = Process()
  }

  /// Beside the test bundle that runs.
  static var executable: URL {
    get throws {
      let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let beside = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("tidegate")
      guard !FileManager.default.isExecutableFile(atPath: beside.path) else { return beside }
      // Under a helper of the toolchain, the bundle is an argument.
      let argument = try #require(CommandLine.arguments.first { $0.contains(".xctest") })
      return URL(fileURLWithPath: argument).deletingLastPathComponent().appendingPathComponent("tidegate")
    }
  }

  /// - Parameters:
  ///   - environment: in addition to the present one without its `TIDEGATE_` variables.
  ///   - standardInput: nothing by default.
  init(
    _ arguments: [String], environment: [String: String] = [:], standardInput: FileHandle = .nullDevice
  ) throws {
    let box = ProcessBox()
    self.process = box
    let process = box.process
    process.executableURL = try Self.executable
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("TIDEGATE_") }
      // Nothing that is run here leaves anything behind.
      .merging(["TIDEGATE_DATA_DIRECTORY": "none"]) { $1 }.merging(environment) { $1 }
    process.standardInput = standardInput
    let ends = try (Self.pipe(into: output), Self.pipe(into: errors))
    (process.standardOutput, process.standardError) = ends
    try process.run()
    // What is read ends with the process.
    try ends.0.close()
    try ends.1.close()
  }

  deinit {
    if process.process.isRunning { kill(process.process.processIdentifier, SIGKILL) }
  }

  /// The end to write to of a new pipe, whose bytes are collected. No other process inherits either end, however
  /// closely it is started after this one: it would hold the pipe open.
  private static func pipe(into collected: Collected) throws -> FileHandle {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw ProcessFailure(description: "no pipe: error \(errno)") }
    let reading = ends[0]
    // A thread of its own: the handlers of file handles wait for the threads of the global queue, which other tests may
    // hold for minutes.
    Thread.detachNewThread {
      var buffer = [UInt8](repeating: 0, count: 16 << 10)
      while true {
        let count = read(reading, &buffer, buffer.count)
        if count > 0 {
          collected.bytes.withLock { $0 += buffer[..<count] }
        } else if count == 0 || errno != EINTR {
          break
        }
      }
      close(reading)
      collected.isComplete.store(true, ordering: .releasing)
    }
    return FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
  }

  /// A gateway, already serving.
  static func serving(_ arguments: [String], environment: [String: String] = [:]) async throws -> TidegateProcess {
    let process = try TidegateProcess(
      ["serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--loops", "1"] + arguments,
      environment: environment)
    try await process.waitUntilOutput(contains: "/metrics")
    return process
  }

  var identifier: Int32 { process.process.processIdentifier }
  var isRunning: Bool { process.process.isRunning }
  /// Standard output so far.
  var printed: String { output.text }
  /// Standard error so far.
  var logged: String { errors.text }
  /// All that it has written, after its end: standard output, then standard error.
  var everything: String {
    get async throws {
      try await wait(for: "all that it wrote", whileRunning: false) {
        self.output.isComplete.load(ordering: .acquiring) && self.errors.isComplete.load(ordering: .acquiring)
      }
      return printed + logged
    }
  }
  /// Of a gateway: `127.0.0.1:41234`, as its first lines say it.
  var internalAddress: String { get throws { try address(of: "/metrics") } }
  var clientAddress: String { get throws { try address(of: "/v1/stream") } }

  private func address(of path: String) throws -> String {
    let line = try #require(printed.split(separator: "\n").first { $0.hasSuffix(path) })
    let url = try #require(line.split(separator: " ").last.flatMap { URL(string: String($0)) })
    return "\(try #require(url.host())):\(try #require(url.port))"
  }

  /// Lines of the log with this in them.
  func logLines(_ part: String) -> [String] {
    logged.split(separator: "\n").map(String.init).filter { $0.contains(part) }
  }

  func send(_ signal: Int32) { kill(identifier, signal) }

  func waitUntilOutput(contains text: String) async throws { try await wait(for: text) { self.printed.contains(text) } }
  func waitUntilOutput(_ condition: (String) -> Bool) async throws {
    try await wait(for: "its output") { condition(self.printed) }
  }
  func waitUntilLog(contains text: String) async throws { try await wait(for: text) { self.logged.contains(text) } }
  func waitUntilLog(_ condition: (String) -> Bool) async throws {
    try await wait(for: "a line of the log") { condition(self.logged) }
  }

  /// The exit status, or 128 and the signal that ended it; then `printed` and `logged` have all that it wrote.
  func status() async throws -> Int32 {
    try await wait(for: "its end", whileRunning: false) { !self.isRunning }
    _ = try await everything
    let process = process.process
    return process.terminationReason == .uncaughtSignal ? 128 + process.terminationStatus : process.terminationStatus
  }

  private func wait(for what: String, whileRunning: Bool = true, _ condition: () -> Bool) async throws {
    // Only a hang reaches it.
    let deadline = ContinuousClock.now + .seconds(120)
    while !condition() {
      guard ContinuousClock.now < deadline, !whileRunning || isRunning || condition() else {
        throw ProcessFailure(description: "waited in vain for \(what); it said:\n\(printed)\n\(logged)")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}

struct ProcessFailure: Error, CustomStringConvertible {
  let description: String
}
