import Bytes
import COpenSSL
import Dispatch
import Glibc
import TestTraits
import Testing

@testable import Transport

@Suite("TLS limits and ends", .realTime)
struct TLSLimitTests {
  @Test("a client that says nothing is cut off at the time-out")
  func silence() throws {
    let authority = try Authority()
    try withLoops { loops in
      let listener = try echoListener(loops, tls: authority.server { $0.handshakeTimeout = .milliseconds(20) })
      let socket = try RawSocket(connectedTo: listener.address)
      #expect(socket.receive(1) == [])
      #expect(authority.reports.next()?.failure.kind == .timeout)
      wait(until: "the descriptor to be closed", on: loops[0]) { loops[0].table.count == 1 }
    }
  }

  @Test("a client that sends a byte now and then is cut off at the same time-out")
  func drip() throws {
    let authority = try Authority()
    try withLoops(2) { loops in
      let listener = try echoListener([loops[0]], tls: authority.server { $0.handshakeTimeout = .milliseconds(100) })
      let probe = Probe()
      try connect(loops[1], to: listener.address, probe: probe).get()
      on(loops[1]) {
        // A record of 512 bytes with a ClientHello, which never gets complete.
        var sent = 0
        let head: [UInt8] = [22, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3]
        loops[1].scheduleRepeating(every: .milliseconds(1)) {
          guard sent < 511, let connection = probe.connection else { return }
          connection.write(SharedBytes([sent < head.count ? head[sent] : 0]))
          sent += 1
        }
      }
      _ = probe.waitForClose()
      #expect(probe.received.value == [])
      #expect(authority.reports.next()?.failure.kind == .timeout)
    }
  }

  @Test("bytes before the handshake is complete are bounded")
  func bytes() throws {
    let authority = try Authority()
    try withLoops { loops in
      let listener = try echoListener(loops, tls: authority.server { $0.handshakeBytes = 4096 })
      let socket = try RawSocket(connectedTo: listener.address)
      // The first records of a ClientHello of 65,536 bytes.
      socket.send([22, 3, 1, 0x20, 0, 1, 1, 0, 0] + [UInt8](repeating: 0, count: 0x1FFC))
      _ = socket.receive(1)
      let failure = authority.reports.next()?.failure
      #expect(failure?.kind == .tooManyBytes, "\(String(describing: failure))")
    }
  }

  @Test("at the limit of handshakes under way, connections wait to be accepted", arguments: [true, false])
  func underWay(isPerListener: Bool) throws {
    let authority = try Authority()
    let server = try authority.server {
      $0.handshakeLimit = isPerListener ? 10 : 1
      $0.handshakeLimitPerListener = isPerListener ? 1 : 10
      $0.handshakeTimeout = .seconds(60)
    }
    try withLoops(2) { loops in
      let first = try echoListener([loops[0]], tls: server)
      // The limit over all listeners holds between two of them, that of one does not.
      let second = isPerListener ? first : try echoListener([loops[0]], tls: server)
      let client = try authority.client()
      do {
        let silent = try RawSocket(connectedTo: first.address)
        wait(until: "a handshake to be under way", on: loops[0]) { loops[0].table.count >= (isPerListener ? 2 : 3) }
        let probe = Probe()
        let result = Box<Result<Void, TransportError>?>(nil)
        let finished = DispatchSemaphore(value: 0)
        loops[1].execute {
          Connector.connect(
            host: "127.0.0.1", port: second.address.port, tls: client, loop: loops[1], timeout: .seconds(60),
            handler: probe
          ) { outcome in
            result.set(outcome.map { _ in })
            finished.signal()
          }
        }
        // The kernel has connected it; the loop goes round without accepting it.
        wait(until: "the second connection to be made", on: loops[1]) { loops[1].table.count == 1 }
        for _ in 0..<50 { on(loops[0]) {} }
        #expect(result.value == nil)
        #expect(server.statistics.underWay == 1)
        silent.endStream()
        #expect(finished.wait(timeout: .now() + patience) == .success)
        #expect(throws: Never.self) { try result.value?.get() }
      }
      #expect(authority.reports.next()?.failure.kind == .closed)
      // Many at once all get their turn.
      let probes = (0..<20).map { _ in Probe() }
      let group = DispatchGroup()
      for probe in probes {
        group.enter()
        loops[1].execute {
          Connector.connect(
            host: "127.0.0.1", port: second.address.port, tls: client, loop: loops[1], timeout: .seconds(60),
            handler: probe
          ) { outcome in
            if case .failure(let error) = outcome { Issue.record("\(error)") }
            group.leave()
          }
        }
      }
      #expect(group.wait(timeout: .now() + patience) == .success)
      wait(until: "no handshake to be under way", on: loops[0]) { server.statistics.underWay == 0 }
    }
  }

  @Test("renegotiation is refused, and the connection goes on for who does not insist")
  func renegotiation() throws {
    let authority = try Authority()
    try withLoops { loops in
      let listener = try echoListener(loops, tls: authority.server())
      let client = try RawTLSClient(connectedTo: listener.address) { _ = copenssl_set_max_version($0, TLS1_2_VERSION) }
      #expect(client.handshake() == nil)
      #expect(SSL_renegotiate(client.session) == 1)
      #expect(client.handshake()?.contains("no renegotiation") == true)
      let other = try RawTLSClient(connectedTo: listener.address)
      #expect(other.handshake() == nil)
      other.write([1, 2])
      #expect(other.read().bytes == [1, 2])
    }
  }

  @Test("an end with close_notify is an end and is answered; one without is reported as a cut")
  func ends() throws {
    let authority = try Authority()
    try withLoops { loops in
      let probes = Box<[Probe]>([])
      let connections = Box<[OnLoop<Connection>]>([])
      let came = DispatchSemaphore(value: 0)
      let listener = try listener(loops, tls: authority.server()) { connection in
        let probe = Probe()
        connections.update { $0.append(OnLoop(value: connection)) }
        probes.update { $0.append(probe) }
        came.signal()
        return probe
      }
      let polite = try RawTLSClient(connectedTo: listener.address)
      #expect(polite.handshake() == nil)
      #expect(SSL_shutdown(polite.session) == 0)
      came.wait()
      guard case .closedByPeer? = probes.value[0].waitForClose() else {
        Issue.record("another end: \(String(describing: probes.value[0].closeReason.value))")
        return
      }
      // 1: the server's own close_notify has come. Tickets are read first.
      while polite.read().bytes != nil {}
      #expect(SSL_shutdown(polite.session) == 1)

      do {
        let rude = try RawTLSClient(connectedTo: listener.address)
        #expect(rude.handshake() == nil)
        came.wait()
        shutdown(SSL_get_fd(rude.session), Int32(SHUT_WR))
        _ = probes.value[1].waitForClose()
      }
      guard case .failed(.tlsFailed(_, let failure))? = probes.value[1].closeReason.value else {
        Issue.record("another end: \(String(describing: probes.value[1].closeReason.value))")
        return
      }
      #expect(failure.kind == .truncated)

      let left = try RawTLSClient(connectedTo: listener.address)
      #expect(left.handshake() == nil)
      came.wait()
      loops[0].execute { connections.value[2].value.close() }
      while left.read().bytes != nil {}
      #expect(SSL_get_shutdown(left.session) & SSL_RECEIVED_SHUTDOWN != 0)
    }
  }

  @Test("a close behind a full socket still ends with close_notify")
  func closeBehindFullSocket() throws {
    let authority = try Authority()
    try withLoops { loops in
      let probe = Probe()
      let limits = Connection.Limits(queuedBytes: 64 << 20)
      let listener = try listener(loops, tls: authority.server(), limits: limits) { connection in
        connection.write(SharedBytes([UInt8](repeating: 3, count: 8 << 20)))
        connection.close(timeout: .seconds(60))
        return probe
      }
      let client = try RawTLSClient(connectedTo: listener.address)
      #expect(client.handshake() == nil)
      var count = 0
      while let bytes = client.read().bytes { count += bytes.count }
      #expect(count == 8 << 20)
      #expect(SSL_get_shutdown(client.session) & SSL_RECEIVED_SHUTDOWN != 0)
    }
  }

  @Test("a record that breaks the protocol is answered with an alert, and ends the connection")
  func badRecord() throws {
    let authority = try Authority()
    try withLoops { loops in
      let probe = Probe()
      let listener = try listener(loops, tls: authority.server()) { _ in probe }
      let client = try RawTLSClient(connectedTo: listener.address)
      #expect(client.handshake() == nil)
      // A record that no key has sealed.
      let bytes = [23, 3, 3, 0, 32] + [UInt8](repeating: 1, count: 32)
      _ = bytes.withUnsafeBytes { send(SSL_get_fd(client.session), $0.baseAddress, $0.count, 0) }
      var reason: String?
      while reason == nil {
        let answer = client.read()
        if answer.bytes == nil { reason = answer.reason ?? "ended" }
      }
      #expect(reason?.contains("bad record mac") == true, "\(String(describing: reason))")
      let end = probe.waitForClose()
      guard case .failed(.tlsFailed(_, let failure))? = end else {
        Issue.record("another end: \(String(describing: end))")
        return
      }
      #expect(failure.kind == .protocolError)
    }
  }

  @Test("handshakes that fail leave no descriptor behind")
  func descriptors() throws {
    let authority = try Authority()
    let stranger = try Authority()
    try withLoops(2) { loops in
      let listener = try echoListener([loops[0]], tls: authority.server())
      for round in 0..<20 {
        switch round % 4 {
        case 0:
          let client = try stranger.client()
          #expect(throws: TransportError.self) {
            try connect(loops[1], to: listener.address, host: "localhost", tls: client, probe: Probe()).get()
          }
        case 1:
          let socket = try RawSocket(connectedTo: listener.address)
          socket.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
          _ = socket.receive(10_000)
        case 2: try RawSocket(connectedTo: listener.address).send([22, 3, 1])
        default: _ = try TLSResumptionTests.visit(loops[1], listener, authority.client())
        }
        #expect(round % 4 == 3 || authority.reports.next() != nil)
      }
      wait(until: "the server's descriptors to be closed", on: loops[0]) { loops[0].table.count == 1 }
      wait(until: "the clients' descriptors to be closed", on: loops[1]) { loops[1].table.count == 0 }
    }
  }
}
