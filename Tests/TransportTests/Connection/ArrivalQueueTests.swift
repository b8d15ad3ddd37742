import Glibc
import TestTraits
import Testing

@testable import Transport

@Suite("Connections in the order they came", .realTime)
struct ArrivalQueueTests {
  /// A connection whose peer is the second descriptor.
  private static func connection(on loop: EventLoop) throws -> (Connection, peer: Int32) {
    var pair: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_NONBLOCK, 0, &pair) == 0)
    let connection = Connection(
      loop: loop, peer: SocketAddress(host: "127.0.0.1", port: 1), descriptor: pair[0], limits: .init())
    try loop.watch(connection)
    return (connection, pair[1])
  }

  @Test("the oldest of interest is taken; those that are gone are nobody, whoever has their place")
  func order() throws {
    try withLoops { loops in
      let loop = loops[0]
      let result = on(loop) { () -> [Bool] in
        var queue = ArrivalQueue()
        var peers: [Int32] = []
        var all: [Connection] = []
        func add(_ time: UInt64) {
          guard let (connection, peer) = try? Self.connection(on: loop) else { return }
          peers.append(peer)
          all.append(connection)
          queue.append(connection, at: time) { _ in true }
        }
        for time in 1...4 as ClosedRange<UInt64> { add(time) }
        // The first is gone, and the next to come has its place in the table.
        let slot = all[0].slot
        all[0].abort()
        add(5)
        var checks = [all[4].slot == slot]
        checks.append(queue.popFirst(until: 1) { _, _ in .take } == nil)
        checks.append(queue.popFirst(until: 4) { connection, _ in connection === all[1] ? .keep : .take } === all[2])
        checks.append(queue.popFirst(until: 4) { _, _ in .take } === all[1])
        checks.append(queue.popFirst(until: 4) { _, _ in .forget } == nil)
        checks.append(queue.popFirst(until: 5) { _, came in came == 5 ? .take : .keep } === all[4])
        checks.append(queue.popFirst(until: .max) { _, _ in .take } == nil)
        for connection in all { connection.abort() }
        for peer in peers { close(peer) }
        return checks
      }
      #expect(result.count == 7 && result.allSatisfy { $0 }, "\(result)")
    }
  }
}
