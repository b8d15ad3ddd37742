import Simulation
import TestTraits
import Testing
import Transport

@Suite("A machine without descriptors", .longComputation)
struct DescriptorShortageTests {
  private static let second: UInt64 = 1_000_000_000

  /// Somebody who connects and is told of the end.
  private final class Visitor: ConnectionHandler, @unchecked Sendable {
    // `@unchecked`: a network runs in one thread, its loops with it.
    private(set) var wasTurnedAway = false

    func visit(_ address: SocketAddress, _ loop: EventLoop) {
      loop.execute { [self] in
        Connector.connect(host: address.host, port: address.port, tls: nil, loop: loop, handler: self) { _ in }
      }
    }

    func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {}
    func connectionDidDrain(_ connection: Connection) {}
    func connectionDidClose(_ connection: Connection, reason: CloseReason) { wasTurnedAway = true }
  }

  @Test("a listener turns away each who comes, and does not let go of its spare descriptor while nobody does")
  func keepsSpare() throws {
    let network = FaultyTransport(seed: 1)
    defer { network.tearDown() }
    let host = network.host("10.0.0.1")
    let loop = network.loop(on: host)
    let visitors = network.loop(on: network.host("10.0.0.2"))
    let listener = try Listener(address: SocketAddress(host: "10.0.0.1", port: 80), loops: [loop]) { _ in nil }
    network.run(for: Self.second)
    host.descriptorLimit = host.openDescriptors
    for count in 1...3 {
      let visitor = Visitor()
      visitor.visit(listener.address, visitors)
      network.run(for: Self.second)
      #expect(visitor.wasTurnedAway && listener.shedCount == count)
      // Every look at the queue without a descriptor would be one more.
      let failures = network.statistics.acceptFailures
      network.run(for: 10 * Self.second)
      #expect(network.statistics.acceptFailures == failures)
    }
    listener.close()
    network.run(for: Self.second)
  }
}
