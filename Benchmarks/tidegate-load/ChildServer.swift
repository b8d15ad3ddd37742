import CLoad
import Glibc

/// The floor's server as a process of its own, so that its CPU time is told apart.
struct ChildServer {
  let pid: pid_t
  let port: UInt16

  /// Starts this executable again as `floor-server`, on the processors that process `peer` may use, and hands it the
  /// trace on its standard input.
  /// - Throws: `LoadError` if it does not start to listen.
  init(beside peer: pid_t, clients: Int, gathers: Bool, lifetime: Double, trace: Trace) throws {
    var input: [Int32] = [0, 0]
    var output: [Int32] = [0, 0]
    guard pipe(&input) == 0, pipe(&output) == 0 else {
      throw LoadError("no pipe: \(Sockets.reason(errno))")
    }
    for fd in input + output { _ = fcntl(fd, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input[0], 0)
    posix_spawn_file_actions_adddup2(&actions, output[1], 1)
    var words = [
      "tidegate-load", "floor-server", "--clients", "\(clients)", "--lifetime", "\(Int(lifetime))", "--trace", "-",
    ]
    if gathers { words.append("--gather") }
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, "/proc/self/exe", &actions, nil, &arguments, environ)
    close(input[0])
    close(output[1])
    guard code == 0 else { throw LoadError("the floor's server did not start: \(Sockets.reason(code))") }
    pid = child
    _ = cload_copy_affinity(peer, child)
    let text = Array(trace.text.utf8)
    var sent = 0
    while sent < text.count {
      let n = text.withUnsafeBytes { write(input[1], $0.baseAddress.unsafelyUnwrapped + sent, text.count - sent) }
      guard n > 0 else { break }
      sent += n
    }
    close(input[1])
    var line = [UInt8](repeating: 0, count: 64)
    let n = read(output[0], &line, line.count)
    close(output[0])
    let answer = String(decoding: line[..<max(n, 0)], as: UTF8.self).split { $0 == " " || $0 == "\n" }
    guard answer.count == 3, let port = UInt16(answer[2]) else {
      kill(child, SIGKILL)
      waitpid(child, nil, 0)
      throw LoadError("the floor's server did not say where it listens")
    }
    self.port = port
  }

  /// Ends it and waits for that.
  func stop() {
    kill(pid, SIGTERM)
    waitpid(pid, nil, 0)
  }
}
