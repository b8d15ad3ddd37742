import Bytes
import Testing

@testable import WebSocket

@Suite("Frames compressed once for many")
struct FrameCompressorTests {
  private func shared(_ text: String, _ opcode: WebSocketFrame.Opcode = .text) -> SharedBytes {
    SharedBytes(encoded { WebSocketFrame.append(opcode, payload: Array(text.utf8).span.bytes, mask: nil, to: &$0) })
  }

  private let book = String(repeating: #"["64250.01000000","0.50000000"],"#, count: 60)

  @Test("the second client is given the very bytes of the first, also by another loop's compressor")
  func once() {
    let compressor = FrameCompressor()
    let other = FrameCompressor()
    let frame = shared(book)
    let first = compressor.compressed(frame)
    #expect(first !== frame && first.count < frame.count / 4)
    #expect(compressor.compressed(frame) === first)
    #expect(other.compressed(frame) === first)
    #expect(compressor.counts.made == 1 && compressor.counts.frames == 2)
    #expect(other.counts.made == 0 && other.counts.frames == 1)
    #expect(compressor.counts.bytesBefore == UInt64(2 * frame.count))
    #expect(compressor.counts.bytesAfter == UInt64(2 * first.count))
  }

  @Test("every client that agreed on the window reads it, in any order of messages")
  func readable() {
    let compressor = FrameCompressor(windowBits: 9)
    let agreed = PerMessageDeflate(serverNoContextTakeover: true, serverMaxWindowBits: 9)
    for size in [1, 100, 3_000] {
      let text = (0..<size).map { "\(book)\($0)" }.joined()
      var connection = WebSocketConnection(
        role: .client, limits: WebSocketLimits(messageBytes: 16 << 20), deflate: agreed)
      var seen: [Event] = []
      let frame = compressor.compressed(shared(text))
      feed(Array(frame.unsafeBytes), to: &connection, into: &seen)
      feed(Array(frame.unsafeBytes), to: &connection, into: &seen)
      #expect(seen == [.text(text), .text(text)])
    }
  }

  @Test("small frames, control frames, fragments and what would not become smaller are left as they are")
  func leftAlone() {
    let compressor = FrameCompressor(thresholdBytes: 200)
    let small = shared(String(repeating: "a", count: 199))
    #expect(compressor.compressed(small) === small)
    let atThreshold = shared(String(repeating: "a", count: 200))
    #expect(compressor.compressed(atThreshold) !== atThreshold)
    var state: UInt64 = 1
    let noise = String(
      decoding: (0..<400).map { _ -> UInt8 in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(0x21 + (state >> 33) % 94)
      }, as: UTF8.self)
    let incompressible = FrameCompressor(thresholdBytes: 1)
    let short = shared(String(noise.prefix(6)))
    #expect(incompressible.compressed(short) === short)
    #expect(incompressible.compressed(short) === short)
    #expect(incompressible.counts.spared == 1 && incompressible.counts.frames == 0)
    for bytes in [
      frame(9, [UInt8](repeating: 0x61, count: 100), mask: nil), frame(1, Array(book.utf8), fin: false, mask: nil),
      frame(1, Array(book.utf8), rsv: 4, mask: nil), frame(0, Array(book.utf8), mask: nil), [0x81],
    ] {
      let other = SharedBytes(bytes)
      #expect(incompressible.compressed(other) === other)
    }
  }
}
