import Glibc
import TestTraits
import Testing

@testable import Transport

/// In a process of its own, because the limit is the process's.
@Suite("Out of descriptors", .realTime)
struct DescriptorExhaustionTests {
  @Test("a listener without descriptors turns connections away, goes on, and accepts again when there are some")
  func sheds() async {
    await #expect(processExitsWith: .success) {
      try withLoops(2) { loops in
        let server = try echoListener([loops[0]])
        let probe = Probe()
        guard case .success = connect(loops[1], to: server.address, probe: probe) else { exit(2) }
        // The kernel has connected it; that it is answered shows that it was accepted, too.
        on(loops[1]) { [probe] in probe.connection?.write([UInt8]([0]).span.bytes) }
        probe.waitForBytes(1)
        let watched = on(loops[0]) { loops[0].table.count }
        // Sockets of this process's own, made before the descriptors run out.
        var sockets: [Int32] = []
        for _ in 0..<8 { sockets.append(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)) }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = min(limit.rlim_cur, 256)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard DescriptorLimit.current <= 256 else { exit(3) }
        var hoard: [Int32] = []
        while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { hoard.append(descriptor) }
        guard errno == EMFILE else { exit(4) }

        let address = KernelAddress(host: server.address.host, port: server.address.port)!
        var byte: UInt8 = 0
        var shed = 0
        for descriptor in sockets {
          var patience = timeval(tv_sec: 10, tv_usec: 0)
          setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
          guard address.withPointer({ Glibc.connect(descriptor, $0, address.length) }) == 0 else { exit(5) }
          // Turned away: the stream ends, or is reset. If nothing comes, it was accepted, with a descriptor that was
          // free after all.
          let count = recv(descriptor, &byte, 1, 0)
          guard count <= 0 else { exit(6) }
          if count == 0 || errno != EAGAIN { shed += 1 }
          close(descriptor)
          // Once the listener has its spare again, and one that was accepted has ended, what else is free is taken, so
          // that there is none for the next connection, either.
          wait(until: "the connection to be gone", on: loops[0]) { loops[0].table.count == watched }
          while case let found = open("/dev/null", O_RDONLY), found >= 0 { hoard.append(found) }
        }
        // The loop counts after it has closed.
        on(loops[0]) {}
        guard server.shedCount == shed else { exit(7) }
        guard shed >= sockets.count / 2 else { exit(10) }

        // Connections from before are served all the while.
        on(loops[1]) { [probe] in probe.connection?.write([UInt8]([1, 2, 3]).span.bytes) }
        probe.waitForBytes(4)
        for descriptor in hoard { close(descriptor) }
        let late = Probe()
        guard case .success = connect(loops[1], to: server.address, probe: late) else { exit(8) }
        on(loops[1]) { late.connection?.write([UInt8]([4, 5]).span.bytes) }
        late.waitForBytes(2)
        guard late.received.value == [4, 5], server.shedCount == shed else { exit(9) }
      }
      exit(0)
    }
  }

  @Test("without even the spare descriptor a listener tries again by itself")
  func withoutSpare() async {
    await #expect(processExitsWith: .success) {
      try withLoops(2) { loops in
        let server = try echoListener([loops[0]])
        let probe = Probe()
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let before = limit
        let own = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // Below what is open already: the spare cannot be had again once it was given up.
        limit.rlim_cur = 3
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let address = KernelAddress(host: server.address.host, port: server.address.port)!
        guard address.withPointer({ Glibc.connect(own, $0, address.length) }) == 0 else { exit(5) }
        on(loops[0]) {}
        on(loops[0]) {}
        var restored = before
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &restored)
        // The connection that waited is served, without another one that would wake the listener.
        var byte: UInt8 = 42
        guard send(own, &byte, 1, 0) == 1 else { exit(6) }
        byte = 0
        guard recv(own, &byte, 1, 0) == 1, byte == 42 else { exit(7) }
        guard case .success = connect(loops[1], to: server.address, probe: probe) else { exit(8) }
        on(loops[1]) { [probe] in probe.connection?.write([UInt8]([7]).span.bytes) }
        probe.waitForBytes(1)
        guard probe.received.value == [7] else { exit(9) }
      }
      exit(0)
    }
  }

  @Test("the soft limit is raised to the hard one")
  func raises() async {
    await #expect(processExitsWith: .success) {
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let hard = limit.rlim_max
      limit.rlim_cur = 64
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      guard DescriptorLimit.current == 64 else { exit(2) }
      guard DescriptorLimit.raise() == Int(clamping: hard), DescriptorLimit.current == Int(clamping: hard) else {
        exit(3)
      }
      exit(0)
    }
  }
}
