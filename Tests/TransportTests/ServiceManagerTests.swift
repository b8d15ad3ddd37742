import Glibc
import TestTraits
import Testing

@testable import Transport

@Suite("The service manager", .realTime)
struct ServiceManagerTests {
  /// A manager that listens at a path or an abstract name.
  private final class Listener {
    let descriptor: Int32

    init(_ name: String) throws {
      descriptor = socket(AF_UNIX, 2, 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      var bytes = Array(name.utf8)
      if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
      }
      try #require(result == 0)
    }
    deinit { close(descriptor) }

    /// The next datagram; nil if there is none.
    func next() -> String? {
      var buffer = [UInt8](repeating: 0, count: 500)
      let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
    }
  }

  @Test(
    "it is told each step, at a path and at an abstract name",
    arguments: ["/tmp/tidegate-notify-", "@tidegate-notify-"])
  func steps(name: String) throws {
    let name = name + "\(getpid())-\(UInt64.random(in: 0 ... .max))"
    defer { if name.hasPrefix("/") { unlink(name) } }
    let listener = try Listener(name)
    let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": name]))
    manager.ready("two\nlines")
    #expect(listener.next() == "READY=1\nSTATUS=two lines")
    manager.reloading(monotonicMicroseconds: 7)
    #expect(listener.next() == "RELOADING=1\nMONOTONIC_USEC=7")
    manager.stopping("bye")
    #expect(listener.next() == "STOPPING=1\nSTATUS=bye")
    manager.alive()
    #expect(listener.next() == "WATCHDOG=1")
    manager.handOver(to: 4711, "clients are sent there")
    #expect(listener.next() == "MAINPID=4711\nSTATUS=clients are sent there")
    #expect(listener.next() == nil)
  }

  @Test("another process is not given what was meant for this one alone, and its signs of life count")
  func inheritance() {
    let own = [
      "NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1", "LISTEN_PID": "1",
      "LISTEN_FDS": "2", "LISTEN_FDNAMES": "clients:internal", "FDSTORE": "2", "HOME": "/",
    ]
    let next = ServiceManager.inheritable(own)
    #expect(next.keys.sorted() == ["FDSTORE", "HOME", "NOTIFY_SOCKET", "WATCHDOG_USEC"])
    #expect(ServiceManager(environment: own)?.watchInterval == nil)
    #expect(ServiceManager(environment: next)?.watchInterval == 15_000_000)
    #expect(ServiceManager.takeSockets(environment: next).isEmpty)
  }

  @Test("a manager that is gone, or whose queue is full, holds nobody up")
  func gone() throws {
    let name = "@tidegate-notify-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": name]))
    manager.alive()
    let listener = try Listener(name)
    for _ in 0..<10_000 { manager.alive() }
    #expect(listener.next() == "WATCHDOG=1")
  }

  @Test("without a socket of the right kind there is none")
  func none() {
    for value in ["", "@", "relative/path", "/" + String(repeating: "x", count: 200)] {
      #expect(ServiceManager(environment: ["NOTIFY_SOCKET": value]) == nil)
    }
    #expect(ServiceManager(environment: [:]) == nil)
  }

  @Test("the watch is half of what the manager says, and only if it means this process")
  func watch() {
    func interval(_ more: [String: String]) -> UInt64? {
      ServiceManager(environment: ["NOTIFY_SOCKET": "/x"].merging(more) { $1 }, process: 42)?.watchInterval
    }
    #expect(interval(["WATCHDOG_USEC": "30000000"]) == 15_000_000)
    #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]) == 15_000_000)
    #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"]) == nil)
    for value in ["", "0", "1", "-5", "x"] { #expect(interval(["WATCHDOG_USEC": value]) == nil) }
  }
}

@Suite("Sockets that outlive the process", .realTime)
struct KeptSocketTests {
  @Test("those that the manager hands over have the names that they were kept under; of another process there are none")
  func taken() throws {
    // The numbers are fixed by the manager's protocol, so that this takes what a test process has there, if anything.
    let sockets = ServiceManager.takeSockets(
      environment: ["LISTEN_PID": "42", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "clients"], process: 42)
    #expect(sockets.allSatisfy { $0.name == "clients" && $0.descriptor == 3 })
    for environment in [
      [:], ["LISTEN_PID": "43", "LISTEN_FDS": "1"], ["LISTEN_PID": "42", "LISTEN_FDS": "0"],
      ["LISTEN_PID": "42", "LISTEN_FDS": "x"], ["LISTEN_PID": "42", "LISTEN_FDS": "1000"], ["LISTEN_FDS": "1"],
    ] {
      #expect(ServiceManager.takeSockets(environment: environment, process: 42).isEmpty)
    }
  }

  @Test("a listener leaves its socket, and who waits there, to the one that goes on with it")
  func left() throws {
    try withLoops(2) { loops in
      let first = try Listener(address: SocketAddress(host: "127.0.0.1", port: 0), loops: [loops[0]]) { _ in Probe() }
      let kept = Box<Int32>(-1)
      first.leaveSocket { kept.set(dup($0)) }
      first.close()
      on(loops[0]) {}
      #expect(kept.value >= 0)
      // Nobody accepts now, and nobody is refused.
      let waiting = try RawSocket(connectedTo: first.address)
      let other = try RawSocket(connectedTo: first.address)
      let second = try Listener(address: first.address, loops: [loops[1]], kept: kept.value) { _ in
        let probe = Probe()
        probe.onReceive = { connection, bytes in connection.write(UnsafeRawBufferPointer(bytes).bytes) }
        return probe
      }
      #expect(second.address == first.address)
      waiting.send([7])
      other.send([8])
      #expect(waiting.receive(1) == [7])
      #expect(other.receive(1) == [8])
      second.close()
    }
  }

  @Test("what is to be kept goes to the manager with its name, and is the same socket there")
  func stored() throws {
    var pair: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, 2, 0, &pair) == 0)
    defer { for descriptor in pair { close(descriptor) } }
    let name = "/tmp/tidegate-keep-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    defer { unlink(name) }
    let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": name]))
    let receiver = socket(AF_UNIX, 2, 0)
    defer { close(receiver) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(name.utf8)) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + name.utf8.count)
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(receiver, $0, length) }
    }
    try #require(bound == 0)
    manager.keep(pair[0], as: "clients")
    var text = [UInt8](repeating: 0, count: 200)
    var control = [UInt64](repeating: 0, count: 8)
    let count = text.withUnsafeMutableBytes { text in
      control.withUnsafeMutableBytes { control in
        var piece = iovec(iov_base: text.baseAddress, iov_len: text.count)
        return withUnsafeMutablePointer(to: &piece) { pieces in
          var header = msghdr()
          header.msg_iov = pieces
          header.msg_iovlen = 1
          header.msg_control = control.baseAddress
          header.msg_controllen = control.count
          return recvmsg(receiver, &header, Int32(MSG_DONTWAIT))
        }
      }
    }
    try #require(count > 0)
    #expect(String(decoding: text.prefix(count), as: UTF8.self) == "FDSTORE=1\nFDNAME=clients")
    let received = Int32(truncatingIfNeeded: control[2])
    defer { close(received) }
    #expect(received > 2)
    #expect(send(received, [9], 1, 0) == 1)
    var byte: UInt8 = 0
    #expect(recv(pair[1], &byte, 1, Int32(MSG_DONTWAIT)) == 1 && byte == 9)
    manager.forget("clients")
    let next = recv(receiver, &text, text.count, Int32(MSG_DONTWAIT))
    #expect(String(decoding: text.prefix(max(0, next)), as: UTF8.self) == "FDSTOREREMOVE=1\nFDNAME=clients")
  }
}
