import ArgumentParser
import Bytes
import Dispatch
import Feeds
import Foundation
import Gateway
import Logging
import MarketData
import Recordings
import Settings
import Transport

// The work of the commands record and replay.

/// Shows progress: on a terminal in one line that it redraws, elsewhere in a line now and then.
final class ProgressLine {
  private let isTerminal = isatty(STDERR_FILENO) == 1
  private let seconds: Double
  private var shownAt = ProgressLine.now
  private var isShown = false

  /// - Parameter seconds: the time between lines if standard error is not a terminal.
  init(everySeconds seconds: Double) { self.seconds = seconds }

  private static var now: Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }

  /// Shows `text` if it is due.
  func show(_ text: () -> String) {
    let now = Self.now
    guard now - shownAt >= (isTerminal ? 0.5 : seconds) else { return }
    shownAt = now
    isShown = true
    StandardError.write(isTerminal ? "\r\u{1B}[K\(text())" : "\(text())\n")
  }

  /// Erases the line, so that other output can follow.
  func clear() {
    guard isTerminal, isShown else { return }
    isShown = false
    StandardError.write("\r\u{1B}[K")
  }
}

/// Plays recordings and reports their contents.
func replay(_ command: ReplayCommand, speed: ReplaySpeed) async throws {
  let plan = try ReplayPlan(command.files)
  let file = try command.published.map { try OutputFile($0) }
  let publisher =
    command.digest || file != nil
    ? ReplayPublisher(output: { (text) throws(RecordingError) in try file?.write(text) }) : nil
  let run = try ReplayRun(plan, publisher: publisher, window: try command.window())
  for note in run.notes + run.skipped.map({ "\($0.description), left out" }) + plan.tracks.flatMap(\.notes) {
    printError("note: \(note)")
  }
  let progress = ProgressLine(everySeconds: 10)
  let start = DispatchTime.now().uptimeNanoseconds
  let results = try run.run(speed: speed) { elapsed in
    // In steps, so that the progress of a long wait is visible.
    while true {
      let left = elapsed - Int64((DispatchTime.now().uptimeNanoseconds - start) / 1_000)
      guard left > 0 else { return }
      usleep(UInt32(min(left, 500_000)))
    }
  } onProgress: { state in
    progress.show { "replay: \(state.description)" }
  }
  progress.clear()
  try file?.close()
  let report = ReplayReport(
    results, skipped: run.skipped, published: publisher.map { ($0.count, $0.bytes, $0.digest) })
  let text = command.json ? report.json : report.text
  // Published messages on standard output stand alone.
  if command.published == "-" { printError(text) } else { print(text) }
  let code = report.exitCode(isStrict: command.strict)
  if code != .replayed { throw ExitCode(code.rawValue) }
}

/// A file for lines, or standard output.
final class OutputFile {
  private static let blockSize = 256 << 10
  private let path: String
  private let descriptor: Int32
  private var text = ByteBuffer(capacity: 2 * blockSize)

  init(_ path: String) throws {
    self.path = path
    descriptor = path == "-" ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw failure }
  }

  /// - Parameter message: without its break.
  func write(_ message: UnsafeRawBufferPointer) throws(RecordingError) {
    text.append(message)
    text.append(0x0A as UInt8)
    if text.count >= Self.blockSize { try flush() }
  }

  /// - Parameter lines: with their breaks.
  func append(_ lines: borrowing ByteBuffer) throws(RecordingError) {
    text.append(lines.unsafeBytes)
    if text.count >= Self.blockSize { try flush() }
  }

  func close() throws(RecordingError) {
    try flush()
    if descriptor != STDOUT_FILENO, Foundation.close(descriptor) != 0 { throw failure }
  }

  private func flush() throws(RecordingError) {
    while !text.isEmpty {
      let bytes = text.unsafeBytes
      let count = Foundation.write(descriptor, bytes.baseAddress, bytes.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure }
      text.consume(count)
    }
  }

  private var failure: RecordingError {
    RecordingError(path: path, "cannot be written: \(String(cString: strerror(errno)))")
  }
}

/// Records feeds, without serving clients, until a signal ends it or `seconds` have passed.
func record(_ configuration: GatewayConfiguration, seconds: Int?, signals: ServiceSignals) async throws {
  guard let path = configuration.record else { throw CommandFailure("--out is missing") }
  let connections = configuration.feedConnections.count
  guard connections == 1 || path.hasSuffix("/") else {
    throw CommandFailure("\(connections) connections need a folder: give --out FOLDER/ to get files for each")
  }
  var configuration = configuration
  // No client connects here; any free port on loopback will do.
  configuration.listen = SocketAddress(host: "127.0.0.1", port: 0)
  configuration.loops = 1
  let log = makeLog(configuration.logLevel)
  let gateway = try Gateway(configuration: configuration, log: log)
  let recorders = Recorders(path: path, policy: configuration.recording, log: log)
  try gateway.start { recorders.make($0, $1) }
  signals.begin(notice: { log.notice($0) }, reload: { gateway.reload() })
  log.notice("metrics", metadata: ["url": "http://\(gateway.internalAddress.description)/metrics"])
  let progress = Task {
    let line = ProgressLine(everySeconds: 60)
    while !Task.isCancelled {
      try? await Task.sleep(for: .seconds(1))
      line.show { recordingStatus(recorders.figures) }
    }
    line.clear()
  }
  await waitForEnd(signals, seconds: seconds)
  progress.cancel()
  await progress.value
  await withCheckedContinuation { continuation in gateway.stop { continuation.resume() } }
  await recorders.finish()
}

/// `12345 records, 3.4 MB in 2 files`, and failures.
private func recordingStatus(_ recorders: [RecordingFigures]) -> String {
  let records = recorders.reduce(0) { $0 + $1.records }
  let bytes = recorders.reduce(0) { $0 + $1.bytes }
  let files = recorders.reduce(0) { $0 + $1.files }
  let lost = recorders.reduce(0) { $0 + $1.lost }
  var text = "\(records) records, \(Double(bytes / 100_000) / 10) MB in \(files) file\(files == 1 ? "" : "s")"
  if lost > 0 { text += ", \(lost) lost" }
  for recorder in recorders {
    if let reason = recorder.pausedBy { text += "; \(recorder.set) PAUSED: \(reason)" }
  }
  return text
}
