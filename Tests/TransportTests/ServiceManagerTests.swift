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
    #expect(listener.next() == nil)
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
