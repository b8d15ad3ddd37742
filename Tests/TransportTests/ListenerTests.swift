import Dispatch
import Glibc
import TestTraits
import Testing

@testable import Transport

@Suite("Listener", .realTime)
struct ListenerTests {
  /// A listener that counts whom it accepts and echoes.
  private func sharing(
    _ loop: EventLoop, _ address: SocketAddress, sharesPort: Bool = true, _ count: Box<Int>
  ) throws(TransportError) -> Listener {
    try Listener(address: address, loops: [loop], sharesPort: sharesPort) { _ in
      count.update { $0 += 1 }
      let probe = Probe()
      probe.onReceive = { connection, bytes in connection.write(UnsafeRawBufferPointer(bytes).bytes) }
      return probe
    }
  }

  @Test("two that share a port both get connections, and all go to the other once one is closed")
  func sharedPort() throws {
    try withLoops(2) { loops in
      let counts = [Box(0), Box(0)]
      let first = try sharing(loops[0], SocketAddress(host: "127.0.0.1", port: 0), counts[0])
      let second = try sharing(loops[1], first.address, counts[1])
      #expect(first.address == second.address)
      // The kernel chooses by a hash of both addresses: that sixty-four go one way has a chance of 2⁻⁶³.
      for _ in 0..<64 {
        let socket = try RawSocket(connectedTo: first.address)
        socket.send([7])
        #expect(socket.receive(1) == [7])
      }
      #expect(counts[0].value > 0 && counts[1].value > 0 && counts[0].value + counts[1].value == 64)
      first.close()
      on(loops[0]) {}
      let before = counts.map(\.value)
      for _ in 0..<32 {
        let socket = try RawSocket(connectedTo: second.address)
        socket.send([7])
        #expect(socket.receive(1) == [7])
      }
      #expect(counts.map(\.value) == [before[0], before[1] + 32])
    }
  }

  @Test("an address is shared only where both listeners say so")
  func unshared() throws {
    try withLoops { loops in
      for (one, other) in [(false, false), (true, false), (false, true)] {
        let first = try sharing(loops[0], SocketAddress(host: "127.0.0.1", port: 0), sharesPort: one, Box(0))
        #expect(throws: TransportError.system(call: "bind \(first.address.description)", errno: EADDRINUSE)) {
          _ = try sharing(loops[0], first.address, sharesPort: other, Box(0))
        }
        first.close()
      }
    }
  }

  @Test("who has connected before a listener closes is served; after it, nobody gets in")
  func closeTakesWhoWaits() throws {
    try withLoops(2) { loops in
      let count = Box(0)
      let listener = try sharing(loops[0], SocketAddress(host: "127.0.0.1", port: 0), sharesPort: false, count)
      on(loops[0]) {}
      let stands = DispatchSemaphore(value: 0)
      let goesOn = DispatchSemaphore(value: 0)
      loops[0].execute {
        stands.signal()
        goesOn.wait()
      }
      stands.wait()
      // More than one turn accepts. The kernel completes them while the loop stands still.
      var waiting: [OpenSocket] = []
      for _ in 0..<100 { waiting.append(try OpenSocket(listener.address)) }
      listener.close()
      goesOn.signal()
      for open in waiting {
        open.socket.send([9])
        #expect(open.socket.receive(1) == [9])
      }
      #expect(count.value == 100)
      #expect(throws: TransportError.self) { try connect(loops[1], to: listener.address, probe: Probe()).get() }
    }
  }

  /// Something that an array can hold.
  private final class OpenSocket {
    let socket: RawSocket
    init(_ address: SocketAddress) throws { socket = try RawSocket(connectedTo: address) }
  }
}
