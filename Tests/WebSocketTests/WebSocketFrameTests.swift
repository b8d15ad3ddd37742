import Bytes
import TestSupport
import TestTraits
import Testing

@testable import WebSocket

@Suite("Sending WebSocket frames")
struct WebSocketFrameTests {
  @Test("The examples of RFC 6455 section 5.7")
  func examples() {
    let hello = Array("Hello".utf8)
    let hel = Array("Hel".utf8)
    let lo = Array("lo".utf8)
    #expect(
      encoded { WebSocketFrame.append(.text, payload: hello.span.bytes, mask: nil, to: &$0) }
        == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
    #expect(
      encoded { WebSocketFrame.append(.text, payload: hello.span.bytes, mask: 0x37FA_213D, to: &$0) }
        == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
    #expect(
      encoded {
        WebSocketFrame.append(.text, payload: hel.span.bytes, mask: nil, isFinal: false, to: &$0)
        WebSocketFrame.append(.continuation, payload: lo.span.bytes, mask: nil, to: &$0)
      } == [0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F])
    #expect(
      encoded { WebSocketFrame.append(.ping, payload: hello.span.bytes, mask: nil, to: &$0) }
        == [0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
    let small = [UInt8](repeating: 0xAB, count: 256)
    #expect(
      encoded { WebSocketFrame.append(.binary, payload: small.span.bytes, mask: nil, to: &$0) }
        == [0x82, 0x7E, 0x01, 0x00] + small)
    let large = [UInt8](repeating: 0xCD, count: 65_536)
    #expect(
      encoded { WebSocketFrame.append(.binary, payload: large.span.bytes, mask: nil, to: &$0) }
        == [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + large)
  }

  static let sizes = [0, 1, 2, 3, 4, 5, 7, 8, 9, 124, 125, 126, 127, 65_534, 65_535, 65_536, 65_537]

  @Test(
    "A header written in front of its payload is the same frame, behind whatever is there already", arguments: sizes)
  func inFront(_ size: Int) {
    let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let before = Array("before".utf8)
    let whole = encoded {
      $0.append("xxbefore")
      $0.consume(2)
      WebSocketFrame.appendUnmasked(.binary, to: &$0) { $0.append(payload) }
      WebSocketFrame.appendUnmasked(.ping, to: &$0) { _ in }
    }
    #expect(whole == before + frame(2, payload, mask: nil) + [0x89, 0])
  }

  @Test(
    "What is encoded is decoded, in both roles, at every length of a header", .longComputation, arguments: testSeeds(4))
  func roundTrip(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let limits = WebSocketLimits(messageBytes: 1 << 20)
    for role in [WebSocketRole.server, .client] {
      var expected: [Event] = []
      let bytes = encoded { out in
        for size in Self.sizes + (0..<6).map({ _ in Int.random(in: 0...70_000, using: &random) }) {
          let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ size) }
          let mask = role == .server ? UInt32.random(in: .min ... .max, using: &random) : nil
          WebSocketFrame.append(.binary, payload: payload.span.bytes, mask: mask, to: &out)
          expected.append(.binary(payload))
          if size <= 125 {
            WebSocketFrame.append(.ping, payload: payload.span.bytes, mask: mask, to: &out)
            expected.append(.ping(payload))
          }
        }
        WebSocketFrame.appendClose(.goingAway, reason: "done", mask: role == .server ? 7 : nil, to: &out)
        expected.append(.close(1001, "done", mustReply: true))
      }
      #expect(events([bytes], role: role, limits: limits) == expected, "seed \(seed)")
      let cuts = (0..<40).map { _ in Int.random(in: 0...bytes.count, using: &random) }
      #expect(events(pieces(bytes, at: cuts), role: role, limits: limits) == expected, "seed \(seed)")
    }
  }

  @Test("A long close reason is cut at a character")
  func longReason() {
    let bytes = encoded {
      WebSocketFrame.appendClose(.normal, reason: "a" + String(repeating: "é", count: 100), mask: nil, to: &$0)
    }
    #expect(bytes == frame(8, [0x03, 0xE8] + Array(("a" + String(repeating: "é", count: 61)).utf8), mask: nil))
  }

  @Test("A close is answered with its own code, and one without a code with none")
  func closeReply() {
    #expect(encoded { WebSocketFrame.appendCloseReply(to: 1001, mask: nil, to: &$0) } == [0x88, 2, 0x03, 0xE9])
    #expect(encoded { WebSocketFrame.appendCloseReply(to: 1005, mask: nil, to: &$0) } == [0x88, 0])
  }
}
