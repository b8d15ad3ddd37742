import Bytes
import COpenSSL
import Glibc
import TestTraits
import Testing

@testable import Transport

@Suite("TLS resumption", .realTime)
struct TLSResumptionTests {
  /// Connects, waits for a byte to come back (tickets came before it), and tells whether a session was resumed.
  static func visit(
    _ loop: EventLoop, _ listener: Listener, _ client: TLSClientContext, host: String = "localhost", isCut: Bool = false
  ) throws -> Bool {
    let probe = Probe()
    try connect(loop, to: listener.address, host: host, tls: client, probe: probe).get()
    let isResumed = on(loop) {
      probe.connection?.write(SharedBytes([1]))
      return probe.connection?.tlsIsResumed ?? false
    }
    probe.waitForBytes(1)
    on(loop) { if isCut { probe.connection?.abort() } else { probe.connection?.close() } }
    _ = probe.waitForClose()
    return isResumed
  }

  @Test(
    "a client comes back without a full handshake, also after its connection was cut",
    arguments: [TLS1_2_VERSION, TLS1_3_VERSION], [1, 2])
  func resumes(version: Int32, tickets: Int) throws {
    let authority = try Authority()
    let server = try authority.server { $0.ticketCount = tickets }
    try withLoops(2) { loops in
      // Accepted connections alternate between the loops: the keys are the same on both.
      let listener = try echoListener(loops, tls: server)
      let client = try authority.client(highest: version)
      let first = try Self.visit(loops[0], listener, client)
      #expect(!first)
      for isCut in [false, true, true, false] {
        let isResumed = try Self.visit(loops[0], listener, client, isCut: isCut)
        #expect(isResumed)
      }
      // Sessions are kept by host and port.
      let other = try Self.visit(loops[0], listener, client, host: "127.0.0.1")
      #expect(!other)
      #expect(server.statistics.full == 2 && server.statistics.resumed == 4)
    }
  }

  @Test("without tickets every handshake is a full one", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
  func noTickets(version: Int32) throws {
    let authority = try Authority()
    let server = try authority.server { $0.ticketCount = 0 }
    try withLoops { loops in
      let listener = try echoListener(loops, tls: server)
      let client = try authority.client(highest: version)
      for _ in 0..<3 {
        let isResumed = try Self.visit(loops[0], listener, client)
        #expect(!isResumed)
      }
      #expect(client.sessions.count == 0)
    }
  }

  @Test("a ticket is opened for two periods of its key and not longer", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
  func rotation(version: Int32) throws {
    let authority = try Authority()
    let now = Box<UInt64>(1)
    let server = try authority.server(clock: now) { $0.ticketKeyPeriod = 600 }
    try withLoops { loops in
      let listener = try echoListener(loops, tls: server)
      let client = try authority.client(highest: version)
      func visit(after seconds: UInt64) throws -> Bool {
        now.update { $0 += seconds * 1_000_000_000 }
        return try Self.visit(loops[0], listener, client)
      }
      #expect(try !visit(after: 0))
      #expect(try visit(after: 599))
      // Under the previous key; the ticket is replaced by one under the new.
      #expect(try visit(after: 1))
      #expect(try visit(after: 600))
      #expect(try !visit(after: 1200))
      #expect(try visit(after: 0))
      server.ticketKeys.discardAll()
      #expect(try !visit(after: 0))
    }
  }

  @Test("a session of TLS 1.3 is used once; one of a server that has gone wrong is not tried again")
  func singleUse() throws {
    let authority = try Authority()
    try withLoops { loops in
      let listener = try echoListener(loops, tls: authority.server())
      let client = try authority.client()
      _ = try Self.visit(loops[0], listener, client)
      #expect(client.sessions.count == 1)
      let key = "localhost \(listener.address.port)"
      let taken = client.sessions.take(for: key, now: time(nil))
      #expect(taken != nil && client.sessions.count == 0)
      if let taken { SSL_SESSION_free(taken.pointer) }
      #expect(client.sessions.take(for: key, now: time(nil)) == nil)
      _ = try Self.visit(loops[0], listener, client)
      #expect(client.sessions.take(for: key, now: time(nil) + 90_000) == nil)
      #expect(client.sessions.count == 0)
    }
  }

  @Test("the sessions that are kept are bounded, in all and per peer")
  func bounds() throws {
    let cache = TLSSessionCache()
    for index in 0..<200 {
      cache.insert(TLSSessionReference(pointer: try #require(SSL_SESSION_new())), for: "host \(index / 10)")
    }
    #expect(cache.count == TLSSessionCache.limit)
    cache.removeAll(of: "host 19")
    #expect(cache.count == TLSSessionCache.limit - TLSSessionCache.limitPerPeer)
    cache.removeAll()
    #expect(cache.count == 0)
  }
}

@Suite("TLS ticket keys")
struct TLSTicketKeysTests {
  @Test("a key is used for a period and known for another; a long pause forgets both")
  func rotation() {
    let now = Box<UInt64>(5)
    let keys = TLSTicketKeys(period: 10) { now.value }
    func known(_ name: [UInt8]) -> Bool? { name.withUnsafeBytes { keys.key(named: $0)?.isCurrent } }
    let first = Array(keys.current().name)
    #expect(Array(keys.current().name) == first && known(first) == true)
    now.update { $0 += 10_000_000_000 }
    #expect(known(first) == false)
    let second = Array(keys.current().name)
    #expect(second != first)
    now.update { $0 += 10_000_000_000 }
    #expect(known(first) == nil && known(second) == false)
    now.update { $0 += 20_000_000_000 }
    #expect(known(second) == nil)
    #expect(known([UInt8](repeating: 0, count: 16)) == nil)
  }
}
