import Glibc

/// The terminal that a command was started in, if any of its standard descriptors is one.
struct ControllingTerminal: Sendable {
  private let descriptors: [Int32]

  /// - Parameter descriptors: those to look at; the three standard ones by default.
  init(_ descriptors: [Int32] = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]) {
    self.descriptors = descriptors.filter { isatty($0) == 1 }
  }

  /// Whether it was closed since. Every ioctl on a terminal that hung up fails with EIO (tty_hangup in the kernel),
  /// before the kernel sends SIGHUP: so a SIGHUP that tells of it can be told from one that somebody sent.
  var isGone: Bool {
    !descriptors.isEmpty && descriptors.allSatisfy { isatty($0) == 0 && errno == EIO }
  }
}
