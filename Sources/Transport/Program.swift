import CLinux
import Glibc

/// The program that this process was started as, and how its next process is started.
package struct Program: Sendable {
  /// Absolute and not resolved: the file there may now be newer than the running program.
  package let path: String
  package let arguments: [String]

  package init(path: String, arguments: [String]) {
    self.path = path
    self.arguments = arguments
  }

  /// The path that the kernel was given (`AT_EXECFN`, getauxval(3)). Read it before the working directory changes. Nil
  /// if it is not available.
  package init?(arguments: [String]) {
    guard let name = clinux_program_path() else { return nil }
    var path = String(cString: name)
    if !path.hasPrefix("/") {
      guard let folder = getcwd(nil, 0) else { return nil }
      path = String(cString: folder) + "/" + path
      free(folder)
    }
    self.init(path: path, arguments: arguments)
  }

  /// The first descriptor that `start` passes on, after the three standard ones.
  package static let firstDescriptor: Int32 = 3
  /// Copies have numbers from here on, which do not collide with the numbers in the new process.
  private static let copyPlace: Int32 = 64
  /// Signals that this process may ignore or block, and that are reset for a new one.
  private static let reset = [SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ]

  /// Another descriptor of the same socket, for `start`; negative: an error. The caller closes it.
  package static func copy(_ descriptor: Int32) -> Int32 { fcntl(descriptor, F_DUPFD_CLOEXEC, copyPlace) }

  /// Takes over a descriptor that this process was started with, so that its children do not inherit it. Returns false
  /// if it does not exist.
  package static func takeInherited(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 }

  /// Starts the program as a child of this process.
  ///
  /// The child has the standard descriptors of this process, then `descriptors` in order, and no others.
  /// - Parameters:
  ///   - environment: the whole environment.
  ///   - descriptors: made by `copy`.
  /// - Throws: `.system` with the path.
  package func start(
    environment: [String: String], descriptors: [Int32]
  ) throws(TransportError) -> ChildProcess {
    precondition(descriptors.allSatisfy { $0 >= Self.copyPlace }, "a copy stands above the places")
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var index = Self.firstDescriptor
    for descriptor in descriptors {
      posix_spawn_file_actions_adddup2(&actions, descriptor, index)
      index += 1
    }
    clinux_spawn_close_from(&actions, index)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in Self.reset { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
    var arguments = arguments.map { strdup($0) } + [nil]
    var variables = environment.sorted { $0.key < $1.key }.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var process: pid_t = 0
    let error = posix_spawn(&process, path, &actions, &attributes, &arguments, &variables)
    guard error == 0 else { throw .system(call: "posix_spawn \(path)", errno: error) }
    return ChildProcess(id: process)
  }
}

/// A child of this process. Its process id stays valid until `end` has returned its end.
package struct ChildProcess: Sendable, Equatable {
  package let id: Int32

  /// How a process ended.
  package enum End: Sendable, Equatable, CustomStringConvertible {
    case status(Int32)
    case signal(Int32)

    package var description: String {
      switch self {
      case .status(let status): "it ended with status \(status)"
      case .signal(let number): "signal \(number) ended it"
      }
    }
  }

  /// Returns once how the child ended; nil while it runs. Never waits. After it has returned an end, do not use the
  /// child any more.
  package func end() -> End? {
    var status: Int32 = 0
    guard waitpid(id, &status, WNOHANG) == id else { return nil }
    let signal = status & 0x7F
    return signal == 0 ? .status(status >> 8 & 0xFF) : .signal(signal)
  }

  package func kill() { _ = Glibc.kill(id, SIGKILL) }
}
