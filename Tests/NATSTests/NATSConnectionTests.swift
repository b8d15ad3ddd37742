import Bytes
import Testing

@testable import NATS

/// A server as a script, with the bytes that the client sent.
private final class Wire {
  var connection: NATSConnection
  var output = ByteBuffer()
  var now: Int64 = 0

  init(_ options: NATSOptions = NATSOptions(name: "t")) { connection = NATSConnection(options, now: 0) }

  /// What the client makes of the bytes; an error is the last entry.
  func receive(_ text: String) -> [String] {
    var said: [String] = []
    Array(text.utf8).withUnsafeBytes { bytes in
      var input = bytes
      do throws(NATSError) {
        while let event = try connection.next(&input, now: now, output: &output) { said.append(Self.name(event)) }
      } catch { said.append("error: \(error)") }
    }
    return said
  }

  var isConnected: Bool { connection.isConnected }
  var infoIsTrusted: Bool { connection.infoIsTrusted }

  func sent() -> String {
    defer { output.removeAll() }
    return output.description
  }

  private static func name(_ event: NATSConnection.Event) -> String {
    switch event {
    case .startTLS: "startTLS"
    case .connected: "connected"
    case .message(let message): text(message)
    case .infoChanged: "infoChanged"
    case .refused(let error): "refused: \(error.text)"
    }
  }

  static func connected(_ options: NATSOptions = NATSOptions(name: "t")) -> Wire {
    let wire = Wire(options)
    #expect(wire.receive("INFO {\"headers\":true,\"max_payload\":100,\"nonce\":\"n\"}\r\nPONG\r\n") == ["connected"])
    _ = wire.sent()
    return wire
  }
}

@Suite("A connection to a NATS server")
struct NATSConnectionTests {
  @Test("CONNECT follows INFO, and the first PONG opens the connection")
  func opening() {
    let wire = Wire()
    #expect(wire.receive("INFO {\"headers\":true,\"server_name\":\"n1\"}\r\n") == [])
    let sent = wire.sent()
    #expect(
      sent == """
        CONNECT {"verbose":false,"pedantic":false,"tls_required":false,"name":"t","lang":"swift","version":"1",\
        "protocol":1,"echo":false,"headers":true,"no_responders":true}\r\nPING\r\n
        """)
    #expect(!wire.isConnected)
    wire.now = 250
    #expect(wire.receive("PONG\r\n") == ["connected"])
    #expect(wire.connection.roundTrip == 250 && wire.connection.lastConfirmed == 0)
    #expect(wire.connection.serverInfo?.name == "n1")
  }

  @Test("each kind of credentials has its members in CONNECT; a nonce is signed")
  func credentials() throws {
    let key = try NKey(seed: userSeed.utf8)
    func connect(_ credentials: NATSCredentials, nonce: String = "nonce-1234567") -> String {
      let wire = Wire(NATSOptions(name: "t", credentials: credentials))
      let said = wire.receive("INFO {\"headers\":true,\"nonce\":\"\(nonce)\"}\r\n")
      return said.joined() + wire.sent()
    }
    #expect(connect(.token("s")).contains(#","auth_token":"s"}"#))
    #expect(connect(.password(user: "u", password: "p\"q")).contains(#","user":"u","pass":"p\"q"}"#))
    let signature = "s1LqZKSaJpE7JHLsRwIlc_OfNUFQFSOUx3nAbph5WXIOQ9VCCFWYM70d_ap4bTXAunUe-VI69v8rrHcdeTD3Ag"
    #expect(connect(.nkey(key)).contains(#","nkey":"\#(key.publicKey)","sig":"\#(signature)"}"#))
    #expect(connect(.jwt("j.w.t", key)).contains(#","jwt":"j.w.t","sig":"\#(signature)"}"#))
    #expect(connect(.nkey(key), nonce: "") == "error: \(NATSError.cannotSign)")
  }

  @Test("with TLS, nothing is sent before the handshake, and CONNECT after it")
  func tls() throws {
    let wire = Wire(NATSOptions(name: "t", credentials: .token("s"), tls: .afterInfo))
    #expect(
      wire.receive("INFO {\"headers\":true,\"tls_required\":true,\"connect_urls\":[\"x:1\"]}\r\n") == ["startTLS"])
    #expect(wire.sent() == "")
    // The addresses came in the clear.
    #expect(!wire.infoIsTrusted)
    try wire.connection.didStartTLS(now: 1, output: &wire.output)
    let sent = wire.sent()
    #expect(sent.hasPrefix("CONNECT {") && sent.contains("\"tls_required\":true") && sent.hasSuffix("PING\r\n"))
    #expect(wire.receive("PONG\r\nINFO {\"headers\":true}\r\n") == ["connected", "infoChanged"])
    #expect(wire.infoIsTrusted)
  }

  @Test("with TLS first, INFO is read after the handshake")
  func tlsFirst() throws {
    let wire = Wire(NATSOptions(name: "t", tls: .first))
    try wire.connection.didStartTLS(now: 1, output: &wire.output)
    #expect(wire.sent() == "")
    #expect(wire.receive("INFO {\"headers\":true,\"tls_required\":true}\r\n") == [])
    #expect(wire.sent().hasPrefix("CONNECT "))
    #expect(wire.infoIsTrusted)
  }

  @Test("bytes between INFO and the handshake end the connection: nobody can slip in what TLS should protect")
  func injection() {
    for extra in ["PING\r\n", "P", "INFO {}\r\n"] {
      let wire = Wire(NATSOptions(name: "t", tls: .afterInfo))
      let said = wire.receive("INFO {\"headers\":true,\"tls_required\":true}\r\n\(extra)")
      #expect(said == ["error: \(NATSError.bytesBeforeTLS)"])
      #expect(wire.sent() == "")
    }
  }

  @Test("neither side's wish for TLS is ignored, and no secret is sent then")
  func tlsRefusals() {
    var wire = Wire(NATSOptions(name: "t", credentials: .token("s"), tls: .afterInfo))
    #expect(wire.receive("INFO {\"headers\":true}\r\n") == ["error: \(NATSError.tlsUnavailable)"])
    #expect(wire.sent() == "")
    wire = Wire(NATSOptions(name: "t", credentials: .token("s")))
    #expect(wire.receive("INFO {\"headers\":true,\"tls_required\":true}\r\n") == ["error: \(NATSError.tlsRequired)"])
    #expect(wire.sent() == "")
  }

  @Test("errors that end the connection are thrown, the others are events")
  func serverErrors() {
    let wire = Wire.connected()
    #expect(
      wire.receive("-ERR 'Permissions Violation for Publish to \"x\"'\r\n-ERR 'Invalid Subject'\r\n")
        == ["refused: Permissions Violation for Publish to \"x\"", "refused: Invalid Subject"])
    for (text, kind) in [
      ("Authorization Violation", NATSServerError.Kind.authorization), ("Slow Consumer", .slowConsumer),
      ("User Authentication Expired", .authorization), ("Maximum Payload Violation", .tooLarge),
      ("maximum connections exceeded", .tooMany), ("Stale Connection", .stale), ("anything", .other),
      ("Secure Connection - TLS Required", .tlsRequired),
    ] {
      let wire = Wire.connected()
      let said = wire.receive("-ERR '\(text)'\r\nPING\r\n")
      #expect(said.count == 1 && said[0].hasPrefix("error: the NATS server refused"), "\(said)")
      #expect(wire.connection.phase == .failed && wire.sent() == "")
      let line = Array("'\(text)'".utf8).withUnsafeBytes { NATSServerError($0) }
      #expect(line.kind == kind, "\(text)")
    }
  }

  @Test("a message before the connection is open, and a server without headers, are refused")
  func earlyMessages() {
    var wire = Wire()
    #expect(wire.receive("MSG a 1 0\r\n\r\n").first?.hasPrefix("error: ") == true)
    wire = Wire()
    #expect(wire.receive("INFO {}\r\n").first?.hasPrefix("error: ") == true)
  }

  @Test("a PING of the server is answered at once, in the buffer of the turn")
  func serverPing() {
    let wire = Wire.connected()
    #expect(wire.receive("PING\r\nMSG a.b 1 2\r\nhi\r\nPING\r\n") == ["a.b 1 [] |hi"])
    #expect(wire.sent() == "PONG\r\nPONG\r\n")
  }

  @Test("a server that answers no PING and sends nothing is silent; one that sends messages is not")
  func staleness() throws {
    for sends in [false, true] {
      let wire = Wire.connected()
      for second in 1...2 {
        wire.now = wire.connection.nextDeadline
        #expect(wire.now == Int64(second) * 1_000_000)
        try wire.connection.runTimers(now: wire.now, output: &wire.output)
        #expect(wire.sent() == "PING\r\n")
      }
      wire.now = wire.connection.nextDeadline
      if sends { #expect(wire.receive("MSG a 1 0\r\n\r\n").count == 1) }
      if sends {
        try wire.connection.runTimers(now: wire.now, output: &wire.output)
        #expect(wire.isConnected)
      } else {
        #expect(throws: NATSError.silent) { try wire.connection.runTimers(now: wire.now, output: &wire.output) }
        #expect(wire.connection.nextDeadline == .max)
      }
      #expect(wire.sent() == "")
    }
  }

  @Test("each PONG answers the oldest PING; one that nobody asked for confirms nothing")
  func roundTrips() throws {
    let wire = Wire.connected()
    #expect(wire.receive("PONG\r\n") == [])
    #expect(wire.connection.lastConfirmed == 0)
    try wire.connection.runTimers(now: 1_000_000, output: &wire.output)
    try wire.connection.runTimers(now: 2_000_000, output: &wire.output)
    wire.now = 2_100_000
    #expect(wire.receive("PONG\r\n") == [])
    #expect(wire.connection.roundTrip == 1_100_000 && wire.connection.lastConfirmed == 1_000_000)
    #expect(wire.receive("PONG\r\n") == [])
    #expect(wire.connection.roundTrip == 100_000 && wire.connection.lastConfirmed == 2_000_000)
  }

  @Test("a server that does not open the connection in time is silent, in each phase")
  func connectTime() throws {
    for info in ["", "INFO {\"headers\":true}\r\n"] {
      let wire = Wire()
      _ = wire.receive(info)
      #expect(wire.connection.nextDeadline == 5_000_000)
      try wire.connection.runTimers(now: 4_999_999, output: &wire.output)
      #expect(throws: NATSError.silent) { try wire.connection.runTimers(now: 5_000_000, output: &wire.output) }
    }
  }

  @Test("messages are written as the protocol says, within the server's limit")
  func publishing() throws {
    let wire = Wire.connected()
    var out = ByteBuffer()
    func bytes(_ text: String, _ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
      try Array(text.utf8).withUnsafeBytes { try body($0) }
    }
    try bytes("hello") { try wire.connection.publish(subject("a.b"), payload: $0, to: &out) }
    try bytes("") { try wire.connection.publish(subject("a"), reply: subject("r.1"), payload: $0, to: &out) }
    try bytes("NATS/1.0\r\n\r\n") { block in
      try bytes("hello") { try wire.connection.publish(subject("a"), headers: block, payload: $0, to: &out) }
    }
    try wire.connection.publishLine(subject("a"), size: 3, to: &out)
    #expect(
      out.description == "PUB a.b 5\r\nhello\r\nPUB a r.1 0\r\n\r\nHPUB a 12 17\r\nNATS/1.0\r\n\r\nhello\r\nPUB a 3\r\n"
    )
    out.removeAll()
    let large = String(repeating: "x", count: 101)
    bytes(large) { payload in
      #expect(throws: NATSPublishError.tooLarge(bytes: 101, limit: 100)) {
        try wire.connection.publish(subject("a"), payload: payload, to: &out)
      }
    }
    #expect(out.description == "")
  }

  @Test("before the connection is open, and after it failed, nothing is written")
  func notConnected() {
    var wire = Wire.connected()
    _ = wire.receive("X\r\n")
    var out = ByteBuffer()
    #expect(throws: NATSPublishError.notConnected) { try wire.connection.publishLine(subject("a"), size: 0, to: &out) }
    wire = Wire()
    #expect(throws: NATSPublishError.notConnected) { try wire.connection.publishLine(subject("a"), size: 0, to: &out) }
    #expect(out.description == "")
  }

  @Test("a later INFO changes the limit, and says that the server shuts down")
  func laterInfo() {
    let wire = Wire.connected()
    #expect(wire.receive("INFO {\"max_payload\":5,\"ldm\":true}\r\n") == ["infoChanged"])
    #expect(wire.connection.serverInfo?.isLameDuck == true)
    var out = ByteBuffer()
    #expect(throws: NATSPublishError.tooLarge(bytes: 6, limit: 5)) {
      try wire.connection.publishLine(subject("a"), size: 6, to: &out)
    }
  }
}
