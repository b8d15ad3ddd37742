import ArgumentParser
import Dispatch
import Foundation
import Synchronization
import TidegateClient

#if canImport(Glibc)
  import Glibc
#endif

/// Draws a `WatchTable` until it is interrupted: in place on a terminal, line by line elsewhere.
struct WatchScreen {
  let url: String
  let once: Bool

  private static let enter = "\u{1B}[?1049h\u{1B}[?25l"
  private static let leave = "\u{1B}[?25h\u{1B}[?1049l"

  func run(_ events: TidegateEvents) async throws {
    let isTerminal = isatty(STDOUT_FILENO) == 1 && !once
    let hasColor = isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"]?.isEmpty ?? true
    let table = Mutex(WatchTable(url: url))
    if isTerminal { write(Self.enter) }
    let signals = Interrupt.sources { number in
      if isTerminal { Self.put(Self.leave) }
      exit(128 + number)
    }
    defer {
      for source in signals { source.cancel() }
      if isTerminal { write(Self.leave) }
    }
    var lastDrawn = ContinuousClock.now - .seconds(1)
    let deadline = ContinuousClock.now + .seconds(5)
    var refusal: String?
    for await event in events {
      if case .disconnected(let reason, nil) = event { refusal = reason.description }
      let changed = table.withLock { $0.apply(event) }
      let now = ContinuousClock.now
      if once {
        guard table.withLock({ $0.isComplete }) || now >= deadline else { continue }
        return put(lines: table.withLock { $0.lines(width: 100, height: 1_000, color: hasColor) })
      }
      if isTerminal {
        // Ten frames a second: faster than that nobody reads.
        guard now - lastDrawn >= .milliseconds(100) else { continue }
        lastDrawn = now
        let size = Self.terminalSize
        let lines = table.withLock { $0.lines(width: size.columns, height: size.rows, color: hasColor) }
        write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
      } else if let changed, let line = table.withLock({ $0.line(changed, width: 100, color: false) }) {
        write(line + "\n")
      }
    }
    if let refusal {
      if isTerminal { write(Self.leave) }
      printError("error: \(refusal)")
      throw ExitCode.failure
    }
  }

  private func put(lines: [String]) { write(lines.joined(separator: "\n") + "\n") }
  private func write(_ text: String) { Self.put(text) }

  private static func put(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

  private static var terminalSize: (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }
}

/// Ctrl-C and SIGTERM.
enum Interrupt {
  /// Calls `handler` with the number of each signal, on a global queue, until the sources are cancelled.
  static func sources(_ handler: @escaping @Sendable (Int32) -> Void) -> [any DispatchSourceSignal] {
    [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { @Sendable in handler(number) }
      source.resume()
      return source
    }
  }
}
