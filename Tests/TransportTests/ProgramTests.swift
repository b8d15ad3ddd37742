import Glibc
import TestTraits
import Testing

@testable import Transport

@Suite("A program started as a child", .realTime)
struct ProgramTests {
  private func shell(_ script: String) -> Program { Program(path: "/bin/sh", arguments: ["sh", "-c", script]) }

  private func end(of child: ChildProcess) async throws -> ChildProcess.End {
    while true {
      if let end = child.end() { return end }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  @Test("the program of this process is an absolute path that can be executed")
  func own() throws {
    let program = try #require(Program(arguments: ["x"]))
    #expect(program.path.hasPrefix("/"))
    #expect(access(program.path, X_OK) == 0)
  }

  @Test("it gets its arguments, its environment and nothing of ours, its descriptors in their order and no other")
  func inheritance() async throws {
    let (channel, end) = try MessageChannel.pair()
    var pipes: [Int32] = [0, 0]
    try #require(pipe(&pipes) == 0)
    // Inherited by mistake, if anything is: it has no `O_CLOEXEC`.
    let stray = dup(pipes[0])
    let copies = [Program.copy(pipes[1]), Program.copy(end)]
    let child = try shell("echo $0 $ONE $HOME >&3; ls /proc/self/fd | tr '\\n' ' ' >&3; test -S /proc/self/fd/4")
      .start(environment: ["ONE": "1", "PATH": "/usr/bin:/bin"], descriptors: copies)
    for descriptor in copies + [end, pipes[1]] { close(descriptor) }
    #expect(try await self.end(of: child) == .status(0))
    var buffer = [UInt8](repeating: 0, count: 500)
    let text = String(decoding: buffer[..<read(pipes[0], &buffer, buffer.count)], as: UTF8.self)
    // The last is the folder that `ls` reads.
    #expect(text == "sh 1\n0 1 2 3 4 5 ")
    for descriptor in [stray, pipes[0]] { close(descriptor) }
    withExtendedLifetime(channel) {}
  }

  @Test("signals that are ignored or blocked here have their default action there")
  func signals() async throws {
    let old = signal(SIGUSR2, SIG_IGN)
    defer { signal(SIGUSR2, old) }
    let child = try shell("kill -USR2 $$; exit 3").start(environment: ["PATH": "/usr/bin:/bin"], descriptors: [])
    #expect(try await end(of: child) == .signal(SIGUSR2))
  }

  @Test("how it ended is said once; one that runs is ended by its number")
  func ends() async throws {
    let failing = try shell("exit 7").start(environment: [:], descriptors: [])
    #expect(try await end(of: failing) == .status(7))
    let sleeping = try shell("exec sleep 1000").start(environment: ["PATH": "/usr/bin:/bin"], descriptors: [])
    #expect(sleeping.end() == nil)
    sleeping.kill()
    #expect(try await end(of: sleeping) == .signal(SIGKILL))
  }

  @Test("a program that is not there is an error with its path")
  func missing() {
    #expect(throws: TransportError.system(call: "posix_spawn /nowhere/at/all", errno: ENOENT)) {
      try Program(path: "/nowhere/at/all", arguments: ["x"]).start(environment: [:], descriptors: [])
    }
  }
}
