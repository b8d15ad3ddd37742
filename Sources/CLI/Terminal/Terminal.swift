import Dispatch
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Standard output as a terminal, for commands that draw in place.
enum Terminal {
  /// `enter` begins a separate screen without a cursor; `leave` restores the screen before.
  static let enter = "\u{1B}[?1049h\u{1B}[?25l"
  static let leave = "\u{1B}[?25h\u{1B}[?1049l"
  /// The columns of output that is not a terminal.
  static let plainWidth = 120

  static var isThere: Bool { isatty(STDOUT_FILENO) == 1 }
  static var hasColor: Bool { isThere && ProcessInfo.processInfo.environment["NO_COLOR"]?.isEmpty ?? true }

  static var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Until the sources are cancelled, a signal that would end the process restores the terminal first.
  static func leavingOnSignals() -> [any DispatchSourceSignal] {
    Interrupt.sources([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]) { number in
      StandardOutput.write(leave)
      exit(128 + number)
    }
  }

  /// Replaces the screen's lines.
  static func draw(_ lines: [String]) {
    StandardOutput.write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
  }
}

/// Signals of a command that has the terminal.
enum Interrupt {
  /// Calls `handler` with the number of each signal, on a global queue, until the sources are cancelled.
  static func sources(
    _ numbers: [Int32], _ handler: @escaping @Sendable (Int32) -> Void
  ) -> [any DispatchSourceSignal] {
    numbers.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { @Sendable in handler(number) }
      source.resume()
      return source
    }
  }
}
