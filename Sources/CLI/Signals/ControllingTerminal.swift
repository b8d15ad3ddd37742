import Glibc

/// The terminal that a command was started in, if any of its standard descriptors is one.
struct ControllingTerminal: Sendable {
  private let descriptors: [Int32]

  /// - Parameter descriptors: the descriptors to check; the three standard ones by default.
  init(_ descriptors: [Int32] = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]) {
    self.descriptors = descriptors.filter { isatty($0) == 1 }
  }

  /// Whether the terminal was closed since. After a hang-up, every ioctl on the terminal fails with EIO (tty_hangup in
  /// the kernel), even before the kernel sends SIGHUP. This distinguishes a SIGHUP of a closed terminal from one that
  /// an operator sent.
  var isGone: Bool {
    !descriptors.isEmpty && descriptors.allSatisfy { isatty($0) == 0 && errno == EIO }
  }
}
