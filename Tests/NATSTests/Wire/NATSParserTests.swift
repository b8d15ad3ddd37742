import TestSupport
import TestTraits
import Testing

@testable import NATS

@Suite("Operations of a NATS server")
struct NATSParserTests {
  private static let all =
    "INFO {\"server_name\":\"n1\"}\r\nPING\r\nPONG\r\n+OK\r\n-ERR 'Permissions Violation'\r\n"
    + "MSG a.b 7 5\r\nhello\r\nMSG a.b 7 _INBOX.1 0\r\n\r\n"
    + "HMSG a.b 8 12 17\r\nNATS/1.0\r\n\r\nhello\r\nHMSG a 9 r.1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"
  private static let said = [
    "INFO {\"server_name\":\"n1\"}", "PING", "PONG", "+OK", "-ERR 'Permissions Violation'",
    "a.b 7 [] |hello", "a.b 7 [_INBOX.1] |", "a.b 8 [] NATS/1.0\r\n\r\n|hello", "a 9 [r.1] NATS/1.0 503\r\n\r\n|",
  ]

  @Test("each operation is read, payloads and headers apart")
  func whole() { #expect(operations(Self.all) == Self.said) }

  @Test("wherever a read ends, the same operations are read")
  func cuts() {
    let bytes = Array(Self.all.utf8)
    for cut in 0...bytes.count { #expect(operations([Array(bytes[..<cut]), Array(bytes[cut...])]) == Self.said) }
    #expect(operations(bytes.map { [$0] }) == Self.said)
  }

  @Test("names of operations may be in any case, and fields may be apart by tabs and several spaces")
  func spelling() {
    #expect(operations("msg  a\t1   2\r\nhi\r\nping\r\ninfo  {}\r\n") == ["a 1 [] |hi", "PING", "INFO {}"])
  }

  @Test("a payload may contain what looks like an operation")
  func payloadWithLines() {
    #expect(operations("MSG a 1 6\r\nPING\r\n\r\nPONG\r\n") == ["a 1 [] |PING\r\n", "PONG"])
  }

  @Test(
    "what the protocol does not allow is an error",
    arguments: [
      "\r\n", "PING\n", "PINGS\r\n", "PUB a 1\r\nx\r\n", "MSG a 1\r\nx\r\n", "MSG a 1 x\r\n", "MSG a 1 -1\r\n\r\n",
      "MSG a x 0\r\n\r\n", "MSG a 1 2\r\nhiPI", "MSG a 1 b c 0\r\n\r\n", "MSG a 1 1 \r\nx\r\n",
      "HMSG a 1 5\r\nhello\r\n", "HMSG a 1 6 5\r\nhello\r\n", "HMSG a 1 x 5\r\nhello\r\n", "HMSG a 1 b c 1 1\r\nx\r\n",
      "MSG a 1 9999999999999999999\r\n", "MSG a 9999999999999999999 0\r\n\r\n",
      "HMSG a 1 99999999999999999999 5\r\nhello\r\n",
      "MSG\r\n", "M\r\n", "MSX a 1 0\r\n\r\n",
    ])
  func malformed(_ input: String) {
    let whole = operations(input)
    #expect(whole.count == 1 && whole[0].hasPrefix("error: "), "\(whole)")
    #expect(operations(input.utf8.map { [$0] }) == whole)
  }

  @Test("after an error, the parser reads nothing more")
  func afterAnError() throws {
    var parser = NATSParser()
    for _ in 0..<2 {
      Array("X\r\nPING\r\n".utf8).withUnsafeBytes { bytes in
        var input = bytes
        var failure: NATSError?
        do throws(NATSError) { _ = try parser.next(&input) } catch { failure = error }
        #expect(failure == .protocolViolation("an unknown operation"))
      }
    }
  }

  @Test("a line is refused at its limit, before its end has arrived")
  func lineLimit() {
    let limits = NATSLimits(infoBytes: 64, lineBytes: 16, messageBytes: 8)
    let refused = ["error: \(NATSError.lineTooLong(limit: 16))"]
    for length in [15, 16, 17, 200] {
      let line = Array(repeating: UInt8(ascii: "P"), count: length)
      #expect(operations([line], limits: limits) == (length < 16 ? [] : refused))
      #expect(operations(line.map { [$0] }, limits: limits) == (length < 16 ? [] : refused))
    }
    let info = Array(("INFO " + String(repeating: "x", count: 100)).utf8)
    #expect(operations(info.map { [$0] }, limits: limits) == ["error: \(NATSError.lineTooLong(limit: 64))"])
  }

  @Test("a message is refused by its announced size; nothing of it is stored")
  func messageLimit() {
    let limits = NATSLimits(messageBytes: 8)
    #expect(operations("MSG a 1 8\r\n12345678\r\n", limits: limits).count == 1)
    let refused = ["error: \(NATSError.messageTooLarge(bytes: 9, limit: 8))"]
    #expect(operations("MSG a 1 9\r\n", limits: limits) == refused)
    #expect(operations([Array("HMSG a 1 2".utf8), Array(" 9\r\n".utf8)], limits: limits) == refused)
  }

  @Test("an unfinished operation is held up to its size, and a large buffer is given back")
  func memory() {
    var parser = NATSParser()
    let size = 2 * NATSParser.keptBytes
    var pieces = [Array("MSG a 1 \(size)\r\n".utf8)]
    for _ in 0..<size / 1_024 { pieces.append([UInt8](repeating: 0x61, count: 1_024)) }
    var held = 0
    for piece in pieces {
      piece.withUnsafeBytes { bytes in
        var input = bytes
        let operation = try? parser.next(&input)
        #expect(operation == nil)
      }
      held += piece.count
      #expect(parser.pendingBytes == held)
    }
    Array("\r\n".utf8).withUnsafeBytes { bytes in
      var input = bytes
      let operation = try? parser.next(&input)
      guard case .message(let message)? = operation else {
        Issue.record("no message")
        return
      }
      #expect(message.payload.count == size)
    }
    #expect(parser.pendingBytes == 0)
  }

  @Test("random traffic, cut at random, is read as it was written")
  func randomTraffic() {
    for seed in testSeeds(30) {
      var random = SeededGenerator(seed: seed)
      var wire: [UInt8] = []
      var expected: [String] = []
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        let (bytes, said) = Self.operation(&random)
        wire += bytes
        expected.append(said)
      }
      var pieces: [[UInt8]] = []
      var rest = wire[...]
      while !rest.isEmpty {
        let count = min(rest.count, Int.random(in: 1...(Bool.random(using: &random) ? 4 : 300), using: &random))
        pieces.append(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
      }
      #expect(operations(pieces) == expected, "seed \(seed)")
    }
  }

  private static func operation(_ random: inout SeededGenerator) -> ([UInt8], String) {
    let reply = Bool.random(using: &random) ? "_INBOX.x.\(UInt16.random(in: 0...9_999, using: &random))" : ""
    let subject = "tg.c.f.\(UInt16.random(in: 0...99, using: &random))"
    let number = UInt64.random(in: 0...1 << 50, using: &random)
    let payload = (0..<Int.random(in: 0...400, using: &random)).map { _ in
      [UInt8(ascii: "\r"), UInt8(ascii: "\n"), UInt8(ascii: "M"), UInt8(ascii: " ")].randomElement(using: &random)!
    }
    let space = reply.isEmpty ? "" : " "
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return (Array("PING\r\n".utf8), "PING")
    case 1:
      let headers = "NATS/1.0\r\nA: \(number)\r\n\r\n"
      let total = headers.utf8.count + payload.count
      return (
        Array("HMSG \(subject) \(number)\(space)\(reply) \(headers.utf8.count) \(total)\r\n\(headers)".utf8) + payload
          + [13, 10],
        "\(subject) \(number) [\(reply)] \(headers)|\(String(decoding: payload, as: UTF8.self))"
      )
    default:
      return (
        Array("MSG \(subject) \(number)\(space)\(reply) \(payload.count)\r\n".utf8) + payload + [13, 10],
        "\(subject) \(number) [\(reply)] |\(String(decoding: payload, as: UTF8.self))"
      )
    }
  }
}
