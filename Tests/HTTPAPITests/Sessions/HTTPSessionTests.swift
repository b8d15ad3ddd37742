import Bytes
import HTTP1
import Synchronization
import TestSupport
import TestTraits
import Testing
import Transport

@testable import HTTPAPI

/// Answers with method, path and query; a path with `late` in a later turn, `/big` with half a megabyte.
private final class EchoResponder: HTTPResponder, @unchecked Sendable {
  // `@unchecked`: used on its loop only.
  private let loop: EventLoop
  init(loop: EventLoop) { self.loop = loop }

  var httpDate: String { "today" }
  var answersOrigins: Bool { true }
  func upgrade(_ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer) -> Bool {
    false
  }
  func answered(
    _ request: HTTPRequestHead?, status: Int, bytes: Int, nanoseconds: UInt64, on connection: Connection
  ) {}
  func ended(_ connection: Connection) {}
  func sawTLS(from peer: SocketAddress) {}

  func needsBody(_ request: HTTPRequestHead) -> Bool { request.method == "POST" && request.path == "/body" }

  func respond(
    to request: HTTPRequestHead, body: [UInt8], on connection: Connection, reply: @escaping (HTTPResponse) -> Void
  ) {
    guard needsBody(request) else { return respond(to: request, on: connection, reply: reply) }
    reply(.text(String(decoding: body, as: UTF8.self), status: 202))
  }

  func respond(to request: HTTPRequestHead, on connection: Connection, reply: @escaping (HTTPResponse) -> Void) {
    if let refusal = HTTPResponse.refusal(of: request.method, allowed: ["GET", "HEAD", "POST"]) {
      return reply(refusal)
    }
    let answer = Self.answer(request.method, request.target)
    guard request.path.contains("late") else { return reply(answer) }
    loop.schedule(after: .zero) { reply(answer) }
  }

  static func answer(_ method: String, _ target: String) -> HTTPResponse {
    target == "/big"
      ? .text(String(repeating: "x", count: 1 << 19), status: 201) : .text("\(method) \(target)\n", status: 201)
  }
}

/// An HTTP port on a loop of its own, and raw conversations with it.
private final class SessionHarness: Sendable {
  let loop: EventLoop
  let clientLoop: EventLoop
  private let listener: Listener
  private let responder: EchoResponder

  init(requests: Int = 10_000) throws {
    let loop = try EventLoop(index: 0, label: "test.server")
    let responder = EchoResponder(loop: loop)
    var limits = HTTPConnectionLimits()
    limits.requests = requests
    let chosen = limits
    self.loop = loop
    self.responder = responder
    clientLoop = try EventLoop(index: 0, label: "test.client")
    listener = try Listener(address: SocketAddress(host: "127.0.0.1", port: 0), loops: [loop]) { connection in
      HTTPSession(connection: connection, responder: responder, limits: chosen)
    }
  }

  /// Sends `pieces`, each for itself, and answers everything that came until the server closed.
  /// - Parameter awaiting: what must have come in all before each piece but the first is sent; missing: nothing.
  func converse(_ pieces: [[UInt8]], awaiting: [String] = []) async throws -> String {
    let address = listener.address
    return try await withCheckedThrowingContinuation { continuation in
      clientLoop.execute { [clientLoop] in
        let talker = Talker(pieces, awaiting) { continuation.resume(with: $0) }
        Connector.connect(host: address.host, port: address.port, tls: nil, loop: clientLoop, handler: talker) {
          switch $0 {
          case .success(let connection): talker.begin(connection)
          case .failure(let error): talker.end(.failure(error))
          }
        }
      }
    }
  }

  func converse(_ text: String) async throws -> String { try await converse([Array(text.utf8)]) }

  func stop() async {
    listener.close()
    let (loop, clientLoop) = (loop, clientLoop)
    await withCheckedContinuation { continuation in clientLoop.shutdown { continuation.resume() } }
    await withCheckedContinuation { continuation in loop.shutdown { continuation.resume() } }
  }
}

private final class Talker: ConnectionHandler {
  private let pieces: [[UInt8]]
  private let awaited: [String]
  private var sent = 0
  private var received: [UInt8] = []
  private var completion: ((Result<String, any Error>) -> Void)?

  init(_ pieces: [[UInt8]], _ awaited: [String], _ completion: @escaping (Result<String, any Error>) -> Void) {
    self.pieces = pieces
    self.awaited = awaited
    self.completion = completion
  }

  /// Sends the pieces that need not wait any longer.
  func begin(_ connection: Connection) {
    while sent < pieces.count {
      if sent > 0, sent - 1 < awaited.count, received.count < awaited[sent - 1].utf8.count { return }
      let piece = pieces[sent]
      sent += 1
      connection.write(piece.span.bytes)
      connection.flush()
    }
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    received.append(contentsOf: bytes)
    begin(connection)
  }
  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    end(.success(String(decoding: received, as: UTF8.self)))
  }

  func end(_ result: Result<String, any Error>) {
    completion?(result)
    completion = nil
  }
}

@Suite("HTTP sessions on a socket", .serialized, .realTime)
struct HTTPSessionTests {
  private static func response(_ answer: HTTPResponse, keepAlive: Bool, isHead: Bool = false) -> String {
    var out = ByteBuffer()
    let fields =
      answer.fields + [
        HTTPField("Access-Control-Allow-Origin", "*"),
        HTTPField("Access-Control-Expose-Headers", HTTPResponse.exposedFields),
        HTTPField("Content-Type", answer.contentType), HTTPField("X-Content-Type-Options", "nosniff"),
      ]
    HTTPEncoder.append(
      HTTPResponseHead(status: answer.status, fields: HTTPFields(fields)), bodyLength: answer.body.count,
      keepAlive: keepAlive, date: "today", to: &out)
    return String(decoding: out.unsafeBytes, as: UTF8.self)
      + (isHead ? "" : String(decoding: answer.body, as: UTF8.self))
  }

  /// Shapes that must not be served, and the status of the answer to each, after which the connection is closed.
  private static let refusals: [(String, Int)] = [
    ("GET / HTTP/1.1\r\n\r\n", 400), ("GET /\r\n\r\n", 400), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400), ("GET / HTTP/1.1\nHost: a\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", 413),
    ("GET /\(String(repeating: "a", count: 8_200)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 8_200))\r\n\r\n", 431),
    ("GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X: y\r\n", count: 100))\r\n", 431),
    ("POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n", 417),
    ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 405), ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}", 400),
  ]

  @Test("what may not be served is answered with its status and a JSON error, and nothing after it is read")
  func refusals() async throws {
    let harness = try SessionHarness()
    for (text, status) in Self.refusals {
      let answer = try await harness.converse(text + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(text.prefix(120)) got \(answer)")
      #expect(answer.contains("\r\nConnection: close\r\n") && answer.contains("\r\nDate: today\r\n"))
      #expect(answer.contains(#"{"type":"error","code":""#) && !answer.contains("smuggled"))
      #expect(answer.components("\r\nDate: today\r\n") == 1)
    }
    await harness.stop()
  }

  @Test("a known method that is not served gets 405 with what is, an unknown one 501; both keep the connection")
  func methods() async throws {
    let harness = try SessionHarness()
    let answer = try await harness.converse(
      "DELETE / HTTP/1.1\r\nHost: a\r\n\r\nBREW / HTTP/1.1\r\nHost: a\r\n\r\nget / HTTP/1.1\r\nHost: a\r\n\r\n"
        + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(answer.contains("HTTP/1.1 405 Method Not Allowed\r\n") && answer.contains("\r\nAllow: GET, HEAD, POST\r\n"))
    #expect(answer.components("HTTP/1.1 501 Not Implemented\r\n") == 2)
    #expect(answer.hasSuffix(Self.response(EchoResponder.answer("GET", "/"), keepAlive: false)))
    await harness.stop()
  }

  @Test(
    "a client that waits where its body changes nothing gets the final status and no 100, and the connection ends")
  func expectation() async throws {
    let harness = try SessionHarness()
    func head(_ line: String, _ body: String = "Content-Length: 2") -> String {
      "\(line) HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\(body)\r\n\r\n"
    }
    // It answers later, or at once; served, refused for the method, refused for the length.
    let served = Self.response(EchoResponder.answer("POST", "/a"), keepAlive: false)
    let late = Self.response(EchoResponder.answer("POST", "/late"), keepAlive: false)
    for (request, expected) in [
      (head("POST /a"), served), (head("POST /a", "Transfer-Encoding: chunked"), served), (head("POST /late"), late),
    ] {
      #expect(try await harness.converse(request) == expected)
      let first = Self.response(EchoResponder.answer("GET", "/late"), keepAlive: true)
      #expect(try await harness.converse("GET /late HTTP/1.1\r\nHost: a\r\n\r\n" + request) == first + expected)
    }
    for (request, status) in [
      (head("DELETE /a"), 405), (head("QUERY /a"), 405), (head("BREW /a"), 501),
      (head("POST /a", "Content-Length: 65537"), 413),
    ] {
      let answer = try await harness.converse(request)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("\r\nConnection: close\r\n"), "\(answer)")
      #expect(answer.components("HTTP/1.1 ") == 1)
    }
    // Who does not wait keeps the connection, as does one of HTTP/1.0, which knows no expectations.
    #expect(
      try await harness.converse(head("POST /a") + "ab" + head("POST /a"))
        == Self.response(EchoResponder.answer("POST", "/a"), keepAlive: true) + served)
    let old = head("POST /a", "Connection: close\r\nContent-Length: 2").replacing("1.1", with: "1.0")
    #expect(try await harness.converse([Array(old.utf8), Array("ab".utf8)]) == served)
    await harness.stop()
  }

  /// A request whose answer is its body.
  private static func echo(_ body: String, expects: Bool, isChunked: Bool) -> (head: String, body: String) {
    let length = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.utf8.count)"
    let expectation = expects ? "Expect: 100-continue\r\n" : ""
    let head = "POST /body HTTP/1.1\r\nHost: a\r\n\(expectation)\(length)\r\n\r\n"
    guard isChunked else { return (head, body) }
    let half = body.utf8.count / 2
    let chunks = [body.prefix(half), body.dropFirst(half), ""].map { chunk in
      "\(String(chunk.utf8.count, radix: 16))\r\n\(chunk)\r\n"
    }
    return (head, chunks.joined())
  }

  @Test(
    "a client that waits gets 100 and then the answer to its body; the connection goes on",
    arguments: [false, true])
  func continued(isChunked: Bool) async throws {
    let harness = try SessionHarness()
    let (head, body) = Self.echo("the body", expects: true, isChunked: isChunked)
    let go = "HTTP/1.1 100 Continue\r\n\r\n"
    let answer = Self.response(.text("the body", status: 202), keepAlive: true)
    let last = Self.response(EchoResponder.answer("GET", "/"), keepAlive: false)
    let close = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    // Each piece is sent when the text before it has been answered.
    #expect(
      try await harness.converse(
        [head, body, head, body + close].map { Array($0.utf8) }, awaiting: [go, go + answer, go + answer + go])
        == go + answer + go + answer + last)
    // Behind a request that is answered later, the status comes in its order.
    let late = Self.response(EchoResponder.answer("GET", "/late"), keepAlive: true)
    let slow = "GET /late HTTP/1.1\r\nHost: a\r\n\r\n"
    #expect(
      try await harness.converse([Array((slow + head).utf8), Array((body + close).utf8)], awaiting: [late + go])
        == late + go + answer + last)
    await harness.stop()
  }

  @Test(
    "a body that is cut anywhere, sent without waiting, or pipelined gets the same answer", arguments: testSeeds(20))
  func bodies(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let harness = try SessionHarness()
    for _ in 0..<5 {
      var sent: [UInt8] = []
      var expected = ""
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let body = String(repeating: "b", count: Int.random(in: 2...300, using: &random))
        let request = Self.echo(body, expects: Bool.random(using: &random), isChunked: Bool.random(using: &random))
        sent += Array((request.head + request.body).utf8)
        expected += Self.response(.text(body, status: 202), keepAlive: true)
      }
      sent += Array("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)
      expected += Self.response(EchoResponder.answer("GET", "/"), keepAlive: false)
      var pieces: [[UInt8]] = []
      var start = 0
      while start < sent.count {
        let end = min(sent.count, start + Int.random(in: 1...200, using: &random))
        pieces.append(Array(sent[start..<end]))
        start = end
      }
      // Whether a 100 comes first depends on how the bytes are read.
      let answer = try await harness.converse(pieces).replacing("HTTP/1.1 100 Continue\r\n\r\n", with: "")
      #expect(answer == expected, "seed \(seed)")
    }
    await harness.stop()
  }

  @Test("a connection takes so many requests and no more")
  func requestLimit() async throws {
    let harness = try SessionHarness(requests: 3)
    let answer = try await harness.converse(String(repeating: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", count: 5))
    let one = EchoResponder.answer("GET", "/")
    #expect(
      answer == Self.response(one, keepAlive: true) + Self.response(one, keepAlive: true)
        + Self.response(one, keepAlive: false))
    await harness.stop()
  }

  @Test("answers that a client does not take hold back its next requests, and all come in the end")
  func backPressure() async throws {
    let harness = try SessionHarness()
    let answer = try await harness.converse(
      String(repeating: "GET /big HTTP/1.1\r\nHost: a\r\n\r\n", count: 20)
        + "GET /late HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(answer.utf8.count > 20 << 19)
    #expect(answer.hasSuffix("GET /late\n"))
    await harness.stop()
  }

  @Test("a client that sends more than may wait has its connection closed after the answer that is under way")
  func pipelineLimit() async throws {
    let harness = try SessionHarness()
    let answer = try await harness.converse(
      String(repeating: "GET /late HTTP/1.1\r\nHost: a\r\n\r\n", count: 20_000))
    let served = answer.components("HTTP/1.1 201 ")
    #expect(served >= 1 && served < 20_000)
    #expect(answer.hasSuffix(Self.response(EchoResponder.answer("GET", "/late"), keepAlive: false)) || answer.isEmpty)
    await harness.stop()
  }

  @Test(
    "pipelined requests of every shape, cut anywhere, are answered in order as the model says", arguments: testSeeds(20)
  )
  func model(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let harness = try SessionHarness()
    for _ in 0..<5 {
      var sent = ""
      var expected = ""
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        guard let keepAlive = Self.request(&random, &sent, &expected) else { break }
        if !keepAlive { break }
      }
      // The rest is never read if the connection has ended before.
      let isOpen = !expected.contains("Connection: close")
      sent += "GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
      if isOpen { expected += Self.response(EchoResponder.answer("GET", "/end"), keepAlive: false) }
      let bytes = Array(sent.utf8)
      var pieces: [[UInt8]] = []
      var start = 0
      while start < bytes.count {
        let end = min(bytes.count, start + Int.random(in: 1...120, using: &random))
        pieces.append(Array(bytes[start..<end]))
        start = end
      }
      let answer = try await harness.converse(pieces)
      #expect(answer == expected, "seed \(seed): \(sent)")
    }
    await harness.stop()
  }

  /// Adds a request and the answer it must get; false if that ends the connection, nil if the request is a bad one.
  private static func request(
    _ random: inout SeededGenerator, _ sent: inout String, _ expected: inout String
  ) -> Bool? {
    let path = ["/", "/late", "/a?b=c", "/late?x"][Int.random(in: 0..<4, using: &random)]
    switch Int.random(in: 0..<40, using: &random) {
    case 0:
      sent += "GET \(path) HTTP/1.0\r\n\r\n"
      expected += response(EchoResponder.answer("GET", path), keepAlive: false)
      return false
    case 1:
      sent += "GET \(path) HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n"
      let reason = "a field line must be a name, a colon right after it, and a value"
      expected += response(.error(400, code: "bad_request", message: reason), keepAlive: false)
      return nil
    case 2...9:
      sent += "HEAD \(path) HTTP/1.1\r\nHost: a\r\n\r\n"
      expected += response(EchoResponder.answer("HEAD", path), keepAlive: true, isHead: true)
    case 10...15:
      let body = String(repeating: "GET ", count: Int.random(in: 0...200, using: &random))
      sent += "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
      expected += response(EchoResponder.answer("POST", path), keepAlive: true)
    case 16...21:
      sent += "POST \(path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        let count = Int.random(in: 1...40, using: &random)
        sent += "\(String(count, radix: 16));x=\"y\"\r\n\(String(repeating: "\r", count: count))\r\n"
      }
      sent += "0\r\nX-Sum: 1\r\n\r\n"
      expected += response(EchoResponder.answer("POST", path), keepAlive: true)
    case 22...24:
      sent += "GET \(path) HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"
      expected += response(EchoResponder.answer("GET", path), keepAlive: true)
    default:
      sent += "\(Bool.random(using: &random) ? "\r\n" : "")GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n"
      expected += response(EchoResponder.answer("GET", path), keepAlive: true)
    }
    return true
  }
}

extension String {
  /// How often `part` occurs.
  fileprivate func components(_ part: String) -> Int {
    self.split(separator: part, omittingEmptySubsequences: false).count - 1
  }
}
