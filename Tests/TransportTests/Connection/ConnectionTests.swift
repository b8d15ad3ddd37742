import Bytes
import Dispatch
import Foundation
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import Transport

@Suite("Connection", .realTime)
struct ConnectionTests {
  /// A listener on `loop` and one connection to it from `client`'s loop.
  struct Pair {
    let listener: Listener
    let server: Probe
    let client: Probe
  }

  func makePair(
    _ loops: [EventLoop], limits: Connection.Limits = .init(), prepare: (Probe, Probe) -> Void = { _, _ in }
  ) throws -> Pair {
    let server = Probe()
    let client = Probe()
    prepare(server, client)
    let accepted = DispatchSemaphore(value: 0)
    let listener = try listener([loops[0]], limits: limits) { connection in
      server.connection = connection
      accepted.signal()
      return server
    }
    try connect(loops[loops.count - 1], to: listener.address, limits: limits, probe: client).get()
    try #require(accepted.wait(timeout: .now() + patience) == .success)
    return Pair(listener: listener, server: server, client: client)
  }

  func isClosedByPeer(_ reason: CloseReason?) -> Bool {
    if case .closedByPeer? = reason { true } else { false }
  }

  func isClosedLocally(_ reason: CloseReason?) -> Bool {
    if case .closedLocally? = reason { true } else { false }
  }

  func error(_ reason: CloseReason?) -> TransportError? {
    if case .failed(let error)? = reason { error } else { nil }
  }

  @Test("a connection has 160 bytes: a gateway has ten thousand")
  func size() {
    #expect(instanceSize(of: Connection.self) <= 160)
    #expect(MemoryLayout<SocketAddress>.size <= 18)
  }

  @Test("what is sent to an echo comes back, through two loops")
  func echo() throws {
    try withLoops(2) { loops in
      let listener = try echoListener(loops)
      for round in 0..<4 {
        let probe = Probe()
        try connect(loops[round % 2], to: listener.address, probe: probe).get()
        let text = Array("hello \(round)".utf8)
        on(loops[round % 2]) { probe.connection?.write(SharedBytes(text)) }
        probe.waitForBytes(text.count)
        #expect(probe.received.value == text)
        on(loops[round % 2]) { probe.connection?.close() }
        #expect(isClosedLocally(probe.waitForClose()))
      }
      listener.close()
    }
  }

  @Test("shared and copied writes of all sizes arrive in the order they were made")
  func order() throws {
    try withLoops(2) { loops in
      let pair = try makePair(loops, limits: .init(queuedBytes: 64 << 20))
      let sizes = [1, 100, 5_000, 40_000, 3, 70_000, 200, 1, 1, 300_000, 12]
      let pieces = (0..<200).map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: sizes[$0 % sizes.count]) }
      on(loops[1]) {
        for (index, piece) in pieces.enumerated() {
          if index % 3 == 0 {
            piece.withUnsafeBytes { pair.client.connection?.write($0.bytes) }
          } else {
            pair.client.connection?.write(SharedBytes(piece))
          }
        }
      }
      let expected = pieces.flatMap { $0 }
      pair.server.waitForBytes(expected.count)
      #expect(pair.server.received.value == expected)
      #expect(on(loops[1]) { pair.client.connection?.queuedBytes } == 0)
      #expect(on(loops[1]) { pair.client.connection?.bytesWritten } == UInt64(expected.count))
    }
  }

  @Test("small writes of one turn are sent together")
  func gathering() throws {
    try withLoops(2) { loops in
      let calls = Box(0)
      let pair = try makePair(loops) { server, _ in server.onReceive = { _, _ in calls.update { $0 += 1 } } }
      on(loops[1]) {
        for number in 0..<1_000 { pair.client.connection?.write(SharedBytes([UInt8(truncatingIfNeeded: number)])) }
      }
      pair.server.waitForBytes(1_000)
      #expect(calls.value == 1)
    }
  }

  @Test("50 MB go both ways at once, each side waiting for the other to drain")
  func largeTransfer() throws {
    try withLoops(2) { loops in
      let total = 50 << 20
      let chunk = SharedBytes([UInt8](repeating: 0x5A, count: 200_000))
      // Writes while the socket takes it, and goes on when it has drained.
      func feed(_ probe: Probe) -> @Sendable () -> Void {
        nonisolated(unsafe) var left = total
        let go: @Sendable () -> Void = {
          guard let connection = probe.connection else { return }
          while left > 0, connection.isWritable {
            let count = min(left, chunk.count)
            left -= count
            connection.write(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: chunk.start, count: count)))
            connection.flush()
          }
        }
        probe.onDrain = { _ in go() }
        probe.keepsBytes = false
        return go
      }
      var start: [@Sendable () -> Void] = []
      let pair = try makePair(loops) { server, client in start = [feed(server), feed(client)] }
      let (server, client) = (start[0], start[1])
      loops[0].execute(server)
      loops[1].execute(client)
      pair.server.waitForBytes(total)
      pair.client.waitForBytes(total)
      #expect(pair.server.receivedCount.value == total)
      #expect(pair.client.receivedCount.value == total)
    }
  }

  @Test("a peer that does not read makes it unwritable; reading on drains it")
  func backPressure() throws {
    try withLoops(2) { loops in
      let pair = try makePair(loops, limits: .init(queuedBytes: 64 << 20, kernelUnsentBytes: 16 << 10))
      on(loops[0]) { pair.server.connection?.pauseReading() }
      let chunk = SharedBytes([UInt8](repeating: 1, count: 1 << 20))
      let count = 32
      let writable = on(loops[1]) {
        for _ in 0..<count { pair.client.connection?.write(chunk) }
        pair.client.connection?.flush()
        return pair.client.connection?.isWritable
      }
      #expect(writable == false)
      #expect(on(loops[1]) { pair.client.connection?.queuedBytes ?? 0 } > 0)
      on(loops[0]) { pair.server.connection?.resumeReading() }
      #expect(pair.client.drained.wait(timeout: .now() + patience) == .success)
      #expect(on(loops[1]) { pair.client.connection?.isWritable } == true)
      pair.server.waitForBytes(count << 20)
    }
  }

  @Test("a write beyond the limit closes the connection and says so")
  func writeQueueFull() throws {
    try withLoops(2) { loops in
      let pair = try makePair(loops, limits: .init(queuedBytes: 1_000))
      on(loops[1]) {
        pair.client.connection?.write(SharedBytes([UInt8](repeating: 1, count: 1_000)))
        pair.client.connection?.write(SharedBytes([1]))
        #expect(pair.client.connection?.isOpen == false)
      }
      #expect(error(pair.client.waitForClose()) == .writeQueueFull(limit: 1_000))
    }
  }

  @Test("closing sends what is queued first")
  func closeFlushes() throws {
    try withLoops(2) { loops in
      let pair = try makePair(loops, limits: .init(queuedBytes: 64 << 20))
      let bytes = [UInt8](repeating: 7, count: 20 << 20)
      on(loops[1]) {
        pair.client.connection?.write(SharedBytes(bytes))
        pair.client.connection?.close(timeout: .seconds(60))
        // Dropped: the connection is closing.
        pair.client.connection?.write(SharedBytes([1]))
      }
      #expect(isClosedByPeer(pair.server.waitForClose()))
      #expect(pair.server.receivedCount.value == bytes.count)
      #expect(isClosedLocally(pair.client.waitForClose()))
    }
  }

  @Test("bytes that come in while closing do not destroy what the peer has yet to read")
  func closeWithUnread() throws {
    try withLoops { loops in
      let listener = try listener(loops) { connection in
        connection.write(SharedBytes(Array("last words".utf8)))
        connection.pauseReading()
        connection.close()
        return Probe()
      }
      let socket = try RawSocket(connectedTo: listener.address)
      socket.send([UInt8](repeating: 1, count: 10_000))
      #expect(socket.receive(10) == Array("last words".utf8))
    }
  }

  @Test("closing gives up after its time-out where the peer does not read")
  func closeTimeout() throws {
    try withLoops(2) { loops in
      let pair = try makePair(loops, limits: .init(queuedBytes: 64 << 20))
      on(loops[0]) { pair.server.connection?.pauseReading() }
      on(loops[1]) {
        pair.client.connection?.write(SharedBytes([UInt8](repeating: 7, count: 40 << 20)))
        pair.client.connection?.close(timeout: .milliseconds(20))
      }
      #expect(isClosedLocally(pair.client.waitForClose()))
    }
  }

  @Test("aborting drops what is queued")
  func abort() throws {
    try withLoops(2) { loops in
      let pair = try makePair(loops)
      on(loops[1]) {
        pair.client.connection?.write(SharedBytes([1, 2, 3]))
        pair.client.connection?.abort()
      }
      #expect(isClosedLocally(pair.client.waitForClose()))
      _ = pair.server.waitForClose()
      #expect(pair.server.receivedCount.value == 0)
    }
  }

  @Test("a handler may write, close or abort from any of its calls", arguments: ["close", "abort", "full"])
  func reentrancy(what: String) throws {
    try withLoops(2) { loops in
      let pair = try makePair(loops, limits: .init(queuedBytes: 100)) { server, _ in
        server.onReceive = { connection, _ in
          connection.write(SharedBytes([9]))
          switch what {
          case "close": connection.close()
          case "abort": connection.abort()
          default: connection.write(SharedBytes([UInt8](repeating: 0, count: 1_000)))
          }
          connection.close()
          connection.abort()
        }
        server.onClose = { connection, _ in
          connection.write(SharedBytes([1]))
          connection.close()
          connection.abort()
          connection.flush()
          connection.resumeReading()
        }
      }
      on(loops[1]) { pair.client.connection?.write(SharedBytes([1])) }
      _ = pair.server.waitForClose()
      _ = pair.client.waitForClose()
      #expect(pair.client.received.value == (what == "close" ? [9] : []))
    }
  }

  @Test("a peer that has only ended its own stream still gets its answer")
  func halfClose() throws {
    try withLoops { loops in
      let answer = [UInt8](repeating: 3, count: 5 << 20)
      let probe = Probe()
      probe.onReceive = { connection, _ in connection.write(SharedBytes(answer)) }
      let listener = try listener(loops, limits: .init(queuedBytes: 64 << 20)) { _ in probe }
      let socket = try RawSocket(connectedTo: listener.address)
      socket.send([1])
      socket.endStream()
      #expect(socket.receive(answer.count) == answer)
      #expect(isClosedByPeer(probe.waitForClose()))
    }
  }

  @Test("what came before the peer's end is delivered before it is told")
  func bytesBeforeEnd() throws {
    try withLoops { loops in
      let probe = Probe()
      let atClose = Box(0)
      probe.onClose = { _, _ in atClose.set(probe.receivedCount.value) }
      let listener = try listener(loops) { _ in probe }
      let bytes = [UInt8](repeating: 1, count: 700_000)
      do {
        let socket = try RawSocket(connectedTo: listener.address)
        socket.send(bytes)
      }
      #expect(isClosedByPeer(probe.waitForClose()))
      #expect(atClose.value == bytes.count)
    }
  }

  @Test("a refused connection is closed")
  func refused() throws {
    try withLoops { loops in
      let listener = try listener(loops) { _ in nil }
      let socket = try RawSocket(connectedTo: listener.address)
      #expect(socket.receive(1) == [])
    }
  }

  @Test("the bounds on the kernel's buffers hold for accepted connections")
  func options() throws {
    try withLoops { loops in
      let pair = try makePair(
        loops, limits: .init(kernelUnsentBytes: 10_000, kernelBytes: 40_000, kernelReceivedBytes: 30_000))
      func option(_ level: Int32, _ name: Int32) -> Int32 {
        on(loops[0]) {
          var value: Int32 = -1
          var length = socklen_t(4)
          getsockopt(pair.server.connection?.descriptor ?? -1, level, name, &value, &length)
          return value
        }
      }
      #expect(option(Int32(IPPROTO_TCP), Int32(TCP_NODELAY)) != 0)
      #expect(option(Int32(IPPROTO_TCP), Int32(TCP_NOTSENT_LOWAT)) == 10_000)
      // The kernel doubles it, for its own bookkeeping (socket(7)).
      #expect(option(SOL_SOCKET, SO_SNDBUF) == 80_000)
      #expect(option(SOL_SOCKET, SO_RCVBUF) == 60_000)
      #expect(option(SOL_SOCKET, SO_KEEPALIVE) == 1)
    }
  }

  @Test("a thousand connections, opened and closed, leave nothing behind")
  func noLeaks() throws {
    try withLoops(2) { loops in
      let listener = try echoListener(loops)
      let closed = DispatchGroup()
      for _ in 0..<20 {
        let probes = (0..<50).map { _ in Probe() }
        for (index, probe) in probes.enumerated() {
          closed.enter()
          probe.onClose = { _, _ in closed.leave() }
          try connect(loops[index % 2], to: listener.address, probe: probe).get()
        }
        for (index, probe) in probes.enumerated() {
          loops[index % 2].execute {
            probe.connection?.write(SharedBytes([1]))
            if index % 3 == 0 { probe.connection?.abort() } else { probe.connection?.close() }
          }
        }
      }
      #expect(closed.wait(timeout: .now() + patience) == .success)
      // The other ends follow with the next turns; each look is a turn.
      var left = 0
      let giveUp = DispatchTime.now() + patience
      repeat {
        left = loops.map { loop in on(loop) { loop.table.count } }.reduce(0, +)
      } while left > 1 && .now() < giveUp
      // The listener.
      #expect(left == 1)
    }
  }
}
