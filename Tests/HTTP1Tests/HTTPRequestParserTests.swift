import Bytes
import TestSupport
import TestTraits
import Testing

@testable import HTTP1

@Suite("Parsing requests")
struct HTTPRequestParserTests {
  static let host = HTTPField("Host", "h")

  /// Pipelined requests of every framing, and what they are.
  static let pipeline: (bytes: [UInt8], messages: [Message]) = (
    Array(
      ("GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        + "\r\nPOST /a?b=c HTTP/1.1\r\nhOST:h\r\nContent-Length: 5\r\nX-Empty:\r\nX: \t tabs\tin \t\r\n\r\nhello"
        + "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
        + "5\r\nhello\r\n006;a;b=c;d=\"e\\\"f; g\"\r\n world\r\n0\r\nX-Sum: x\r\nAnother:\r\n\r\n"
        + "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n" + "GET / HTTP/1.0\r\n\r\n"
        + "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n"
        + "GET HTTP://H.example:80/x HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 0\r\n\r\n").utf8),
    [
      .request("GET", "/", [host], []),
      .request(
        "POST", "/a?b=c",
        [
          HTTPField("hOST", "h"), HTTPField("Content-Length", "5"), HTTPField("X-Empty", ""),
          HTTPField("X", "tabs\tin"),
        ], Array("hello".utf8)),
      .request("POST", "/c", [host, HTTPField("Transfer-Encoding", "Chunked")], Array("hello world".utf8)),
      .request("OPTIONS", "*", [host], []),
      .request("GET", "/", [], []),
      .request("CONNECT", "h:443", [HTTPField("Host", "h:443")], []),
      .request(
        "GET", "HTTP://H.example:80/x", [HTTPField("Host", "[::1]:80"), HTTPField("Content-Length", "0")], []),
    ]
  )

  @Test("Pipelined requests come one by one, wherever the bytes are cut")
  func cutAnywhere() {
    let (bytes, expected) = Self.pipeline
    #expect(requests([bytes]) == expected)
    for cut in 0...bytes.count { #expect(requests(pieces(bytes, at: [cut])) == expected, "cut at \(cut)") }
    #expect(requests(bytes.map { [$0] }) == expected)
  }

  @Test("Cut at random, requests are the same", arguments: testSeeds(50))
  func cutAtRandom(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let (bytes, expected) = Self.pipeline
    let cuts = (0..<Int.random(in: 1...30, using: &random)).map { _ in Int.random(in: 0...bytes.count, using: &random) }
    #expect(requests(pieces(bytes, at: cuts)) == expected, "seed \(seed)")
  }

  @Test("One request per call; what follows stays in the input")
  func oneAtATime() throws {
    let bytes = Array("GET /1 HTTP/1.1\r\nHost: h\r\nUpgrade: x\r\n\r\nframes".utf8)
    try bytes.withUnsafeBytes { memory in
      var parser = HTTPRequestParser()
      var input = memory
      let first = try parser.next(&input)
      #expect(first?.head.target == "/1")
      #expect(String(decoding: input, as: UTF8.self) == "frames")
      #expect(parser.pendingBytes == 0)
    }
  }

  private static func get(_ fields: String, target: String = "/", body: String = "") -> String {
    "GET \(target) HTTP/1.1\r\n\(fields)\r\n\r\n\(body)"
  }

  private static func chunked(_ body: String) -> String {
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + body
  }

  /// The shapes by which a request is smuggled past, or breaks, a lenient server, with the status each is refused with.
  static let refusals: [(String, Int)] = [
    // The request line.
    ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET /  HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    (" GET / HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400),
    ("GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET /\tHTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /\r\nHost: h\r\n\r\n", 400), ("GET\r\n\r\n", 400), ("GET / \r\nHost: h\r\n\r\n", 400),
    ("G@T / HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("\u{E9} / HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/1.1\nHost: h\n\n", 400), ("GET / HTTP/1.1\rHost: h\r\r", 400),
    ("GET / HTTP/1.1\r\nHost: h\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: h\r\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\r\nHost: h\r\n\r\n", 400), ("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET / http/1.1\r\nHost: h\r\n\r\n", 400), ("GET / HTTP/1\r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/1.10\r\nHost: h\r\n\r\n", 400), ("GET / HTTP/01.1\r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/1,1\r\nHost: h\r\n\r\n", 400), ("GET / HTTPS/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505), ("GET / HTTP/0.9\r\nHost: h\r\n\r\n", 505),
    ("GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    // The target.
    (get("Host: h", target: "x"), 400), (get("Host: h", target: "*"), 400), (get("Host: h", target: "h:80"), 400),
    (get("Host: h", target: "/#top"), 400), (get("Host: h", target: "/\u{E9}"), 400),
    (get("Host: h", target: "/\u{0}"), 400), (get("Host: h", target: "/\u{7F}"), 400),
    (get("Host: h", target: "/%"), 400), (get("Host: h", target: "/%2"), 400), (get("Host: h", target: "/%zz"), 400),
    (get("Host: h", target: "/?a=%g0"), 400), (get("Host: h", target: "/%ff"), 400),
    (get("Host: h", target: "/%00"), 400), (get("Host: h", target: "/%0d%0aX:y"), 400),
    (get("Host: h", target: "/?a=%1f"), 400), (get("Host: h", target: "/%7F"), 400),
    (get("Host: h", target: "/%c0%ae"), 400), (get("Host: h", target: "/a\\b"), 400),
    (get("Host: h", target: "/\"a\""), 400), (get("Host: h", target: "/<a>"), 400),
    (get("Host: h", target: "ftp://h/"), 400), (get("Host: h", target: "http:///"), 400),
    (get("Host: h", target: "http://u@h/"), 400), (get("Host: h", target: "http://h:x/"), 400),
    ("CONNECT /x HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("CONNECT h HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("CONNECT h: HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    // Fields.
    (get("Host : h"), 400), (get("Host: h\r\nX : y"), 400), (get("Host: h\r\n: y"), 400), (get("Host: h\r\nX"), 400),
    (get("Host: h\r\nX\u{0}Y: z"), 400), (get("Host: h\r\nX: a\u{0}b"), 400), (get("Host: h\r\nX: a\u{1}b"), 400),
    (get("Host: h\r\nX: a\u{7F}b"), 400), (get("Host: h\r\nX: a\rb"), 400), (get("Host: h\r\nX Y: z"), 400),
    (get("Host: h\r\nX\tY: z"), 400), (get("Host: h\r\n(X): z"), 400), (get("Host: h\r\nX: a\r\n b"), 400),
    (get("Host: h\r\nX: a\r\n\tb"), 400), (get(" Host: h"), 400), (get("Host: h\r\n X: y"), 400),
    (get("Host: h\r\n\u{E9}: y"), 400), (get("Host: h\r\nX: y\u{B}"), 400),
    // Host.
    (get("X: y"), 400), ("GET / HTTP/1.1\r\n\r\n", 400), (get("Host: h\r\nHost: h"), 400),
    (get("Host: a\r\nhost: b"), 400),
    (get("Host:"), 400), (get("Host: a b"), 400), (get("Host: a, b"), 400), (get("Host: a/b"), 400),
    (get("Host: u@a"), 400),
    (get("Host: a:x"), 400), (get("Host: a:65536"), 400), (get("Host: a:1:2"), 400), (get("Host: [::1"), 400),
    (get("Host: [x]"), 400), (get("Host: []"), 400), (get("Host: :80"), 400), (get("Host: http://a"), 400),
    ("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    // Content-Length.
    (get("Host: h\r\nContent-Length: 1\r\nContent-Length: 1"), 400),
    (get("Host: h\r\nContent-Length: 1\r\ncontent-length: 2"), 400), (get("Host: h\r\nContent-Length: 1, 1"), 400),
    (get("Host: h\r\nContent-Length: +1"), 400), (get("Host: h\r\nContent-Length: -1"), 400),
    (get("Host: h\r\nContent-Length: 1 1"), 400), (get("Host: h\r\nContent-Length: 0x1"), 400),
    (get("Host: h\r\nContent-Length: 1.0"), 400), (get("Host: h\r\nContent-Length: 1e1"), 400),
    (get("Host: h\r\nContent-Length:"), 400), (get("Host: h\r\nContent-Length: 1_0"), 400),
    (get("Host: h\r\nContent-Length: 9223372036854775808"), 400),
    (get("Host: h\r\nContent-Length: 18446744073709551617"), 400),
    (get("Host: h\r\nContent-Length: 00"), 400), (get("Host: h\r\nContent-Length: 05"), 400),
    (get("Host: h\r\nContent-Length: -0"), 400), (get("Host: h\r\nContent-Length: 5;a"), 400),
    (get("Host: h\r\nContent-Length: 65537"), 413), (get("Host: h\r\nContent-Length: 9223372036854775807"), 413),
    // Transfer-Encoding.
    (get("Host: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked"), 400),
    (get("Host: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 5"), 400),
    (get("Host: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), 400),
    (get("Host: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity"), 400),
    (get("Host: h\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: chunked"), 501),
    (get("Host: h\r\nTransfer-Encoding: chunked, chunked"), 400), (get("Host: h\r\nTransfer-Encoding:"), 400),
    (get("Host: h\r\nTransfer-Encoding: ,"), 400), (get("Host: h\r\nTransfer-Encoding: \"chunked\""), 400),
    (get("Host: h\r\nTransfer-Encoding: chunked;a=b"), 400), (get("Host: h\r\nTransfer-Encoding : chunked"), 400),
    (get("Host: h\r\nTransfer-Encoding:\u{B}chunked"), 400), (get("Host: h\r\nTransfer-Encoding: chunked\u{0}"), 400),
    (get("Host: h\r\nTransfer-Encoding: xchunked"), 501), (get("Host: h\r\nTransfer-Encoding: chunkedx"), 501),
    (get("Host: h\r\nTransfer-Encoding: identity"), 501), (get("Host: h\r\nTransfer-Encoding: gzip, chunked"), 501),
    (get("Host: h\r\nTransfer-Encoding: chunked, gzip"), 400), (get("Host: h\r\nTransfer-Encoding: ,chunked"), 400),
    (get("Host: h\r\nTransfer-Encoding: chunked,"), 400),
    (get("Host: h\r\nTransfer-Encoding: chunked, gzip, chunked"), 400),
    ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (get("Host: h\r\nExpect: 200-ok"), 417),
    // Chunks.
    (chunked("\r\n"), 400), (chunked("g\r\n"), 400), (chunked("0x5\r\nhello\r\n"), 400),
    (chunked("+5\r\nhello\r\n"), 400),
    (chunked("-5\r\n"), 400), (chunked(" 5\r\nhello\r\n"), 400), (chunked("5 \r\nhello\r\n"), 400),
    (chunked("5 ;a\r\nhello\r\n"), 400), (chunked("5_0\r\n"), 400), (chunked("5\nhello\n"), 400),
    (chunked("5\rhello"), 400),
    (chunked("5\r\nhelloX\r\n"), 400), (chunked("5\r\nhello\n0\r\n\r\n"), 400), (chunked("5\r\nhello0\r\n\r\n"), 400),
    (chunked("5\r\nhello\r\r\n"), 400), (chunked("8000000000000000\r\n"), 400), (chunked("FFFFFFFFFFFFFFFFF\r\n"), 400),
    (chunked("00000000000000005\r\n"), 400), (chunked("10001\r\n"), 413), (chunked("7FFFFFFFFFFFFFFF\r\n"), 413),
    (chunked("5\r\nhello\r\nfffc\r\n"), 413), (chunked("5;\r\nhello\r\n"), 400), (chunked("5;=a\r\n"), 400),
    (chunked("5;a=\r\n"), 400), (chunked("5;a=\"b\r\n"), 400), (chunked("5;a=\"b\"c\r\n"), 400),
    (chunked("5;a\nhello\r\n"), 400),
    (chunked("5;a b\r\n"), 400), (chunked("5;a=\"\u{0}\"\r\n"), 400),
    (chunked("0\r\nX : y\r\n\r\n"), 400), (chunked("0\r\n X: y\r\n\r\n"), 400), (chunked("0\r\nX\r\n\r\n"), 400),
    (chunked("0\r\nX: \u{0}\r\n\r\n"), 400), (chunked("0\r\nX: y\n\r\n"), 400), (chunked("0\r\n\n"), 400),
    (chunked("0\n\n"), 400), (chunked("0\r\nContent-Length: 5\r\n\r\n"), 400),
    (chunked("0\r\nX: y\r\ntransfer-encoding: chunked\r\n\r\n"), 400), (chunked("0\r\nHOST: h\r\n\r\n"), 400),
    (chunked("0\r\nAuthorization: x\r\n\r\n"), 400),
  ]

  @Test("Malformed and ambiguous requests are refused with their status, wherever they are cut", arguments: refusals)
  func refusal(_ text: String, _ status: Int) {
    let bytes = Array(text.utf8)
    #expect(requests([bytes]) == [.refused(status)])
    for cut in 0...bytes.count { #expect(requests(pieces(bytes, at: [cut])) == [.refused(status)], "cut at \(cut)") }
  }

  @Test("A head or first line over the limit is refused before it is kept")
  func headLimits() {
    let limits = HTTPLimits(headBytes: 64, fieldCount: 3)
    let exact = "GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 32))\r\n\r\n"
    #expect(exact.utf8.count == 64)
    #expect(requests([Array(exact.utf8)], limits: limits).count == 1)
    for (text, status) in [
      ("GET /" + String(repeating: "x", count: 60), 414),
      ("GET / HTTP/1.1\r\nHost: h\r\nX: " + String(repeating: "x", count: 40), 431),
      (exact.replacing("X: x", with: "X: xx"), 431),
      ("GET / HTTP/1.1\r\nHost: h\r\na:\r\nb:\r\nc:\r\n\r\n", 431),
    ] {
      let bytes = Array(text.utf8)
      for cut in 0...bytes.count {
        #expect(requests(pieces(bytes, at: [cut]), limits: limits) == [.refused(status)], "\(text), cut at \(cut)")
      }
    }
    var parser = HTTPRequestParser(limits: limits)
    var messages: [Message] = []
    #expect(feed(Array(repeating: 0x61, count: 60), to: &parser, into: &messages))
    #expect(parser.pendingBytes == 60)
    #expect(!feed(Array(repeating: 0x61, count: 60_000), to: &parser, into: &messages))
    #expect(parser.pendingBytes == 60)
  }

  @Test("A line over its limit is refused where it crosses it, though the head has room")
  func lineLimits() {
    let limits = HTTPLimits(headBytes: 400, lineBytes: 40)
    func head(target: Int, value: Int) -> String {
      "GET /\(String(repeating: "t", count: target - 1)) HTTP/1.1\r\nHost: h\r\nX: "
        + String(repeating: "v", count: value) + "\r\n\r\n"
    }
    #expect(requests([Array(head(target: 27, value: 37).utf8)], limits: limits).first?.status == nil)
    for (text, status) in [(head(target: 28, value: 1), 414), (head(target: 1, value: 38), 431)] {
      let bytes = Array(text.utf8)
      for cut in 0...bytes.count {
        #expect(requests(pieces(bytes, at: [cut]), limits: limits) == [.refused(status)], "\(text), cut at \(cut)")
      }
    }
  }

  @Test("The parser says how far a request has come")
  func stages() {
    var parser = HTTPRequestParser()
    var messages: [Message] = []
    var stages = [parser.stage]
    for part in ["GET / HTTP/1.1\r\n", "Host: h\r\nContent-Length: 5\r\n\r\n", "he", "llo"] {
      #expect(feed(Array(part.utf8), to: &parser, into: &messages))
      stages.append(parser.stage)
    }
    #expect(stages == [.idle, .head, .body(received: 0), .body(received: 2), .idle])
    #expect(messages.count == 1)
  }

  @Test("A body over the limit is refused before it is kept, also chunk by chunk")
  func bodyLimits() {
    let limits = HTTPLimits(bodyBytes: 10)
    let fixed = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789"
    #expect(requests([Array(fixed.utf8)], limits: limits).count == 1)
    #expect(
      requests([Array(fixed.replacing("10\r\n\r\n", with: "11\r\n\r\n").utf8)], limits: limits) == [.refused(413)])
    var parser = HTTPRequestParser(limits: limits)
    var messages: [Message] = []
    let head = Self.chunked("").utf8.count
    #expect(feed(Array(Self.chunked("5\r\nhello\r\n").utf8), to: &parser, into: &messages))
    #expect(parser.pendingBytes == head + 5)
    #expect(!feed(Array("6\r\nworld!".utf8), to: &parser, into: &messages))
    #expect(messages == [.refused(413)])
    #expect(parser.pendingBytes == head + 5)
  }

  @Test("Chunk extensions and trailers are bounded")
  func overheads() {
    let long = String(repeating: "x", count: 600)
    #expect(requests([Array(Self.chunked("1;\(long)\r\na\r\n0\r\n\r\n").utf8)]).count == 1)
    #expect(requests([Array(Self.chunked("1;\(long)\r\na\r\n1;\(long)\r\na\r\n").utf8)]) == [.refused(400)])
    var limits = HTTPLimits(headBytes: 600)
    #expect(requests([Array(Self.chunked("0\r\nX: \(long)\r\n\r\n").utf8)], limits: limits) == [.refused(431)])
    limits = HTTPLimits(fieldCount: 2)
    #expect(requests([Array(Self.chunked("0\r\nX:\r\nY:\r\n\r\n").utf8)], limits: limits).count == 1)
    #expect(requests([Array(Self.chunked("0\r\nX:\r\nY:\r\nZ:\r\n\r\n").utf8)], limits: limits) == [.refused(431)])
  }

  @Test("Nothing is held between requests, and an empty line is not the beginning of one")
  func idle() {
    var parser = HTTPRequestParser()
    var messages: [Message] = []
    #expect(feed(Array("GET / HTTP/1.1\r\nHo".utf8), to: &parser, into: &messages))
    #expect(parser.pendingBytes == 18)
    #expect(feed(Array("st: h\r\n\r\n".utf8), to: &parser, into: &messages))
    #expect(messages.count == 1 && parser.pendingBytes == 0)
    #expect(feed([0x0D], to: &parser, into: &messages))
    #expect(parser.pendingBytes == 1)
    #expect(feed([0x0A], to: &parser, into: &messages))
    #expect(parser.pendingBytes == 0)
  }

  @Test("After an error every call throws it again")
  func staysFailed() {
    var parser = HTTPRequestParser()
    var messages: [Message] = []
    #expect(!feed(Array("GET / HTTP/3.0\r\nHost: h\r\n\r\n".utf8), to: &parser, into: &messages))
    #expect(!feed(Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8), to: &parser, into: &messages))
    #expect(messages == [.refused(505), .refused(505)])
  }

  @Test("The head of a client that waits for a status is given once, and not if the body has come")
  func expectsContinue() {
    let head = Array("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n".utf8)
    var messages: [Message] = []
    var waiting = HTTPRequestParser()
    #expect(feed(head, to: &waiting, into: &messages))
    let said = [waiting.takeExpectation(), waiting.takeExpectation()].map { $0?.method }
    #expect(said == ["POST", nil])
    var hasty = HTTPRequestParser()
    #expect(feed(head + [0x61], to: &hasty, into: &messages))
    let hastySaid = hasty.takeExpectation()
    #expect(hastySaid == nil)
    #expect(feed([0x61], to: &hasty, into: &messages))
    #expect(messages.count == 1)
    var old = HTTPRequestParser()
    #expect(
      feed(Array(String(decoding: head, as: UTF8.self).replacing("1.1", with: "1.0").utf8), to: &old, into: &messages))
    let oldSaid = old.takeExpectation()
    #expect(oldSaid == nil)
  }

  @Test("Garbage never crashes, and what is made of it does not depend on the cuts", .longComputation)
  func garbage() {
    var random = SeededGenerator(seed: testSeeds(1)[0])
    let parts: [[UInt8]] = [
      "GET ", "POST ", "/", "*", "?a=%41", "%4", " HTTP/1.1\r\n", " HTTP/1.0\r\n", "Host: h\r\n",
      "Content-Length: 3\r\n",
      "Transfer-Encoding: chunked\r\n", "\r\n", "\r", "\n", "3\r\nabc\r\n", "0\r\n\r\n", ": ", "X: y\r\n", "\t",
      "\u{0}", "é",
      "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n",
    ].map { Array($0.utf8) }
    let limits = HTTPLimits(headBytes: 200, fieldCount: 4, bodyBytes: 16)
    for round in 0..<100_000 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        if random.next() & 7 == 0 {
          bytes.append(UInt8(truncatingIfNeeded: random.next()))
        } else {
          bytes += parts[Int(random.next() % UInt64(parts.count))]
        }
      }
      let whole = requests([bytes], limits: limits)
      let cut = Int.random(in: 0...bytes.count, using: &random)
      guard whole == requests(pieces(bytes, at: [cut]), limits: limits), whole.allSatisfy(Self.isSane) else {
        Issue.record("round \(round), cut at \(cut): \(bytes) gives \(whole)")
        return
      }
    }
  }

  private static func isSane(_ message: Message) -> Bool {
    switch message {
    case .request(let method, let target, let fields, let body):
      ASCII.isToken(method) && !target.isEmpty && fields.count <= 4 && body.count <= 16
        && fields.allSatisfy { ASCII.isToken($0.name) && $0.value.utf8.allSatisfy { $0 >= 0x20 || $0 == 9 } }
    case .response: false
    case .refused(let status): [400, 413, 414, 431, 501, 505].contains(status)
    }
  }
}
