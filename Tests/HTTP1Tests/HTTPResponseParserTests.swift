import TestSupport
import TestTraits
import Testing

@testable import HTTP1

@Suite("Parsing responses")
struct HTTPResponseParserTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  /// Responses of every framing but the last, which runs until the connection ends.
  static let stream: (bytes: [UInt8], messages: [Message]) = (
    Array(
      ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        + "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nLink: x\r\n\r\n"
        + "HTTP/1.1 404 Nicht gefunden\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\n\r\n"
        + "HTTP/1.1 204\r\n\r\n" + "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n"
        + "HTTP/1.0 200 OK\r\nX: y\r\n\r\nuntil the end").utf8),
    [
      .response(200, "OK", [HTTPField("Content-Length", "5")], Array("hello".utf8)),
      .response(404, "Nicht gefunden", [HTTPField("Transfer-Encoding", "chunked")], Array("abc".utf8)),
      .response(204, "", [], []),
      .response(304, "Not Modified", [HTTPField("Content-Length", "77")], []),
      .response(200, "OK", [HTTPField("X", "y")], Array("until the end".utf8)),
    ]
  )

  @Test("Responses of every framing come one by one, wherever the bytes are cut")
  func cutAnywhere() {
    let (bytes, expected) = Self.stream
    #expect(responses([bytes], closed: true) == expected)
    for cut in 0...bytes.count {
      #expect(responses(pieces(bytes, at: [cut]), closed: true) == expected, "cut at \(cut)")
    }
    #expect(responses(bytes.map { [$0] }, closed: true) == expected)
  }

  @Test("A 101 has no body; what follows it stays in the input")
  func switching() throws {
    let text = bytes("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\u{81}")
    try text.withUnsafeBytes { memory in
      var parser = HTTPResponseParser(limits: .init())
      var input = memory
      let status = try parser.next(&input)?.head.status
      #expect(status == 101)
      #expect(input.count == 2)
      let rest = try parser.finish()
      #expect(rest == nil)
    }
  }

  @Test("The answer to HEAD has no body, whatever its fields say")
  func head() {
    let text = bytes("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
    #expect(responses([text], isHead: true).count == 2)
  }

  @Test(
    "A response that is cut short is refused",
    arguments: ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"])
  func cutShort(_ text: String) {
    #expect(responses([bytes(text)], closed: true) == [.refused(502)])
    #expect(responses([bytes(text)], closed: false) == [])
  }

  @Test("After an error every call throws it again, the end included")
  func staysFailed() {
    var parser = HTTPResponseParser(limits: .init())
    var reasons: [String] = []
    for text in ["HTTP/3 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"] {
      bytes(text).withUnsafeBytes { memory in
        var input = memory
        do throws(HTTPError) { _ = try parser.next(&input) } catch { reasons.append(error.reason) }
      }
    }
    do throws(HTTPError) { _ = try parser.finish() } catch { reasons.append(error.reason) }
    #expect(reasons.count == 3 && Set(reasons).count == 1)
  }

  @Test(
    "Mutated responses never crash, and what is made of them does not depend on the cuts", .longComputation,
    arguments: testSeeds(20))
  func mutations(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      var bytes = Self.stream.bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: index)
        case 2: bytes.insert([0x0D, 0x0A, 0x20, 0x3A, 0x30][Int.random(in: 0..<5, using: &random)], at: index)
        default: bytes.removeSubrange(index..<min(bytes.count, index + 20))
        }
      }
      let whole = responses([bytes], closed: true)
      let cuts = (0..<Int.random(in: 1...8, using: &random)).map { _ in Int.random(in: 0...bytes.count, using: &random)
      }
      let cut = responses(pieces(bytes, at: cuts), closed: true)
      #expect(whole == cut, "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
    }
  }

  @Test(
    "Malformed responses are refused",
    arguments: [
      "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n",
      "HTTP/2.0 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 O\u{0}K\r\n\r\n",
      "\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\n12345678901", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 05\r\n\r\nhello",
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX\r\n\r\n", "HTTP/1.1 200 OK\r\n: y\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
      "HTTP/1.1 200\tOK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "ICY 200 OK\r\n\r\n",
      "RTSP/1.0 200 OK\r\n\r\n", " HTTP/1.1 200 OK\r\n\r\n",
      String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 17),
    ])
  func refusals(_ text: String) {
    let all = bytes(text)
    let limits = HTTPLimits(bodyBytes: 10)
    for cut in 0...all.count {
      #expect(responses(pieces(all, at: [cut]), limits: limits) == [.refused(502)], "cut at \(cut)")
    }
  }
}
