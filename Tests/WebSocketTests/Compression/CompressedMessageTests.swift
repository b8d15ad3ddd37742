import Bytes
import TestSupport
import TestTraits
import Testing

@testable import WebSocket

@Suite("Compressed messages")
struct CompressedMessageTests {
  private static let alone = PerMessageDeflate(serverNoContextTakeover: true, clientNoContextTakeover: true)

  private func events(
    _ reads: [[UInt8]], role: WebSocketRole = .client, limits: WebSocketLimits = .init(),
    deflate: PerMessageDeflate = PerMessageDeflate(), pool: InflaterPool? = nil
  ) -> [Event] {
    var connection = WebSocketConnection(role: role, limits: limits, deflate: deflate, inflaters: pool)
    var events: [Event] = []
    for read in reads { feed(read, to: &connection, into: &events) }
    return events
  }

  /// A frame of a server.
  private func plain(_ opcode: UInt8, _ payload: [UInt8], fin: Bool = true, rsv: UInt8 = 4) -> [UInt8] {
    frame(opcode, payload, fin: fin, rsv: rsv, mask: nil)
  }

  private func deflated(_ payload: [UInt8], by deflater: Deflater) -> [UInt8] {
    encoded { out in payload.withUnsafeBytes { deflater.append($0, to: &out) } }
  }

  @Test("the examples of RFC 7692 section 7.2.3, wherever they are cut")
  func examples() {
    let examples: [(String, [UInt8], [Event])] = [
      ("one block", plain(1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]), [.text("Hello")]),
      (
        "fragments", plain(1, [0xF2, 0x48, 0xCD], fin: false) + plain(0, [0xC9, 0xC9, 0x07, 0x00], rsv: 0),
        [.text("Hello")]
      ),
      (
        "the window of the message before",
        plain(1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]) + plain(1, [0xF2, 0x00, 0x11, 0x00, 0x00]),
        [.text("Hello"), .text("Hello")]
      ),
      (
        "a stored block", plain(1, [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]), [.text("Hello")]
      ),
      ("BFINAL", plain(1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]), [.text("Hello")]),
      (
        "BFINAL, then the window before it",
        plain(1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]) + plain(1, [0xF2, 0x00, 0x11, 0x00, 0x00]),
        [.text("Hello"), .text("Hello")]
      ),
      (
        "two blocks", plain(1, [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00]),
        [.text("Hello")]
      ),
      ("nothing", plain(1, [0x00]) + plain(2, [0x00]), [.text(""), .binary([])]),
      ("BFINAL at the very end", plain(1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]), [.text("Hello")]),
      ("not even an empty block", plain(1, []), [.text("")]),
      (
        "a ping amid it",
        plain(1, [0xF2, 0x48, 0xCD], fin: false) + plain(9, [7], rsv: 0) + plain(0, [0xC9, 0xC9, 0x07, 0x00], rsv: 0),
        [.ping([7]), .text("Hello")]
      ),
      (
        "one that is not compressed amid others",
        plain(1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]) + plain(1, Array("Hi".utf8), rsv: 0)
          + plain(1, [0xF2, 0x00, 0x11, 0x00, 0x00]),
        [.text("Hello"), .text("Hi"), .text("Hello")]
      ),
    ]
    for (name, bytes, expected) in examples {
      for cut in 0...bytes.count {
        #expect(events(pieces(bytes, at: [cut])) == expected, "\(name), cut at \(cut)")
      }
    }
  }

  @Test("RSV1 begins messages only, and only where it was agreed on")
  func reservedBits() {
    #expect(events([plain(9, [])]) == [.refused(1002)])
    #expect(events([plain(8, [])]) == [.refused(1002)])
    #expect(events([plain(10, [])]) == [.refused(1002)])
    #expect(events([plain(1, [0], fin: false) + plain(0, [])]) == [.refused(1002)])
    #expect(events([plain(1, [0], fin: false, rsv: 0) + plain(0, [])]) == [.refused(1002)])
    #expect(events([plain(3, [])]) == [.refused(1002)])
    for rsv: UInt8 in [1, 2, 3, 5, 6, 7] { #expect(events([plain(1, [0], rsv: rsv)]) == [.refused(1002)]) }
    var without: [Event] = []
    var connection = WebSocketConnection(role: .client)
    feed(plain(1, [0]), to: &connection, into: &without)
    #expect(without == [.refused(1002)])
  }

  @Test("a context that was not taken over does not know the message before")
  func noTakeover() {
    let hello = plain(1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
    #expect(events([hello + hello], deflate: Self.alone) == [.text("Hello"), .text("Hello")])
    let second = plain(1, [0xF2, 0x00, 0x11, 0x00, 0x00])
    #expect(events([hello + second], deflate: Self.alone) == [.text("Hello"), .refused(1007)])
    #expect(events([hello + second], deflate: Self.alone, pool: InflaterPool()) == [.text("Hello"), .refused(1007)])
  }

  @Test("what is not DEFLATE, or not all of it, is refused with 1007")
  func damaged() {
    let bad: [[UInt8]] = [
      [0xFF], [0x07], [0x06], [0xF2], [0xF2, 0x48], [0xF2, 0x48, 0xCD, 0xC9, 0xC9], [0x05, 0xE0, 0x03],
      [0x00, 0x05, 0x00, 0xFA], [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48], [0x00, 0x05, 0x00, 0x00, 0x00],
      // A distance before the beginning.
      [0x02, 0x13, 0x00, 0x00, 0x00],
    ]
    for bytes in bad { #expect(events([plain(2, bytes)]) == [.refused(1007)], "\(bytes)") }
  }

  @Test("a message that reaches back further than the window that was agreed on is refused")
  func window() {
    var random = SeededGenerator(seed: 5)
    let noise = (0..<600).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    let deflater = Deflater(level: 9, windowBits: 15, takesOver: true)
    let wire = plain(2, deflated(noise, by: deflater)) + plain(2, deflated(noise, by: deflater))
    #expect(events([wire]) == [.binary(noise), .binary(noise)])
    let agreed = PerMessageDeflate(serverMaxWindowBits: 9)
    #expect(events([wire], deflate: agreed) == [.binary(noise), .refused(1007)])
  }

  @Test("text is checked as it is inflated")
  func text() {
    let deflater = Deflater(windowBits: 15)
    let bad = deflated(Array("κόσμε".utf8) + [0xF4, 0x90] + Array(repeating: 0x61, count: 4000), by: deflater)
    #expect(events([plain(1, bad)]) == [.refused(1007)])
    #expect(events([plain(1, deflated([0x61, 0xE2, 0x82], by: deflater))]) == [.refused(1007)])
    #expect(events([plain(2, deflated([0x61, 0xE2, 0x82], by: deflater))]) == [.binary([0x61, 0xE2, 0x82])])
    // The bad octet is refused with the read that brings it, amid a frame of which more is to come.
    var seen: [Event] = []
    var connection = WebSocketConnection(role: .client, deflate: PerMessageDeflate())
    let stored: [UInt8] = [0x00, 0x0A, 0x00, 0xF5, 0xFF] + Array("abc".utf8) + [0xFF] + Array("defghi".utf8) + [0]
    let bytes = plain(1, stored)
    feed(Array(bytes.prefix(2 + 5 + 3)), to: &connection, into: &seen)
    #expect(seen == [])
    feed([bytes[2 + 5 + 3]], to: &connection, into: &seen)
    #expect(seen == [.refused(1007)])
  }

  @Test(
    "a message goes round in every window, level, cut and fragment, with and without its context",
    arguments: testSeeds(30))
  func roundTrips(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let bits = Int.random(in: 9...15, using: &random)
    let takesOver = Bool.random(using: &random)
    let role: WebSocketRole = Bool.random(using: &random) ? .server : .client
    let deflate = PerMessageDeflate(
      serverNoContextTakeover: !takesOver, clientNoContextTakeover: !takesOver, serverMaxWindowBits: bits,
      clientMaxWindowBits: bits)
    let deflater = Deflater(level: Int.random(in: 1...9, using: &random), windowBits: bits, takesOver: takesOver)
    let words = (0..<40).map { _ in (0..<Int.random(in: 1...12, using: &random)).map { _ in letter(&random) } }
    var wire: [UInt8] = []
    var expected: [Event] = []
    for _ in 0..<12 {
      let size = [0, 1, 20, 300, 3_000, 20_000].randomElement(using: &random)!
      var message: [UInt8] = []
      let isNoise = Int.random(in: 0..<4, using: &random) == 0
      while message.count < size {
        message += isNoise ? [UInt8.random(in: .min ... .max, using: &random)] : words.randomElement(using: &random)!
      }
      expected.append(isNoise ? .binary(message) : .text(message))
      let opcode: UInt8 = isNoise ? 2 : 1
      let mask: UInt32? = role == .server ? UInt32.random(in: 1 ... .max, using: &random) : nil
      if Bool.random(using: &random) {
        wire += encoded { out in
          message.withUnsafeBytes {
            WebSocketFrame.append(
              WebSocketFrame.Opcode(rawValue: opcode)!, payload: $0, mask: mask, deflater: deflater, to: &out)
          }
        }
      } else {
        let compressed = deflated(message, by: deflater)
        let cuts = (0..<Int.random(in: 0...4, using: &random)).map { _ in
          Int.random(in: 0...compressed.count, using: &random)
        }
        let parts = pieces(compressed, at: cuts)
        for (index, part) in parts.enumerated() {
          wire += frame(
            index == 0 ? opcode : 0, part, fin: index == parts.count - 1, rsv: index == 0 ? 4 : 0, mask: mask)
        }
      }
    }
    let cuts = (0..<40).map { _ in Int.random(in: 0...wire.count, using: &random) }
    let pool = Bool.random(using: &random) ? InflaterPool() : nil
    #expect(events(pieces(wire, at: cuts), role: role, deflate: deflate, pool: pool) == expected, "seed \(seed)")
  }

  private func letter(_ random: inout SeededGenerator) -> UInt8 { UInt8.random(in: 0x20...0x7E, using: &random) }

  @Test("a bomb is refused with 1009 at the limit, whatever it would become")
  func bomb() {
    let limits = WebSocketLimits(messageBytes: 10_000)
    let deflater = Deflater(level: 9, windowBits: 15)
    let bomb = deflated([UInt8](repeating: 0x20, count: 8 << 20), by: deflater)
    #expect(bomb.count < 10_000)
    #expect(events([plain(1, bomb)], limits: limits) == [.refused(1009)])
    #expect(
      events(pieces(plain(1, bomb), at: Array(stride(from: 1, to: bomb.count, by: 7))), limits: limits) == [
        .refused(1009)
      ])
    let exact = deflated([UInt8](repeating: 0x20, count: 10_000), by: deflater)
    #expect(events([plain(1, exact)], limits: limits) == [.text([UInt8](repeating: 0x20, count: 10_000))])
    let over = deflated([UInt8](repeating: 0x20, count: 10_001), by: deflater)
    #expect(events([plain(1, over)], limits: limits) == [.refused(1009)])
    // What cannot be compressed is larger on the wire than the limit, and is let in.
    var random = SeededGenerator(seed: 3)
    let noise = (0..<10_000).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    let stored = deflated(noise, by: deflater)
    #expect(stored.count > 10_000)
    #expect(events([plain(2, stored)], limits: limits) == [.binary(noise)])
    // The header of a frame that is larger than anything that could inflate to the limit is enough.
    #expect(
      events([Array(plain(2, [UInt8](repeating: 0, count: 13_000)).prefix(4))], limits: limits) == [.refused(1009)])
  }

  @Test("while a bomb goes off no more than the limit and one byte is held")
  func bombMemory() {
    let limit = 10_000
    let bomb = deflated([UInt8](repeating: 0x20, count: 1 << 20), by: Deflater(level: 9, windowBits: 15))
    let inflater = Inflater(windowBits: 15)
    var isRefused = false
    for byte in bomb where !isRefused {
      withUnsafeBytes(of: byte) { input in
        do throws(Inflater.Failure) { try inflater.inflate(input, limit: limit) } catch { isRefused = error == .tooBig }
      }
      #expect(inflater.output.count <= limit + 1)
    }
    #expect(isRefused)
  }

  @Test("an idle connection holds no context, a message under way holds one of the pool's")
  func pool() {
    let pool = InflaterPool()
    var connection = WebSocketConnection(role: .client, deflate: Self.alone, inflaters: pool)
    var seen: [Event] = []
    let hello = plain(1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
    #expect(connection.holdsInflater == false)
    feed(Array(hello.prefix(5)), to: &connection, into: &seen)
    #expect(connection.holdsInflater == true)
    #expect(connection.pendingBytes > 0)
    #expect(pool.idleCount == 0)
    feed(Array(hello.dropFirst(5)), to: &connection, into: &seen)
    #expect(seen == [.text("Hello")])
    #expect(connection.holdsInflater == false)
    #expect(connection.pendingBytes == 0)
    #expect(pool.idleCount == 1)
    feed(hello + hello, to: &connection, into: &seen)
    #expect(seen.count == 3 && pool.idleCount == 1)
    // A ping amid a message leaves the context where it is.
    feed(Array(plain(1, [0xF2, 0x48, 0xCD], fin: false) + plain(9, [], rsv: 0)), to: &connection, into: &seen)
    #expect(connection.holdsInflater == true)
    #expect(seen.last == .ping([]))
    feed(plain(0, [0xC9, 0xC9, 0x07, 0x00], rsv: 0), to: &connection, into: &seen)
    #expect(connection.holdsInflater == false)
    #expect(seen.last == .text("Hello"))
    // A context that met garbage is not lent again.
    feed(plain(1, [0xFF, 0xFF]), to: &connection, into: &seen)
    #expect(seen.last == .refused(1007))
    #expect(connection.holdsInflater == false)
    #expect(pool.idleCount == 0)
  }

  @Test("the pool keeps a few contexts, and what they remember is forgotten")
  func poolLimit() {
    let pool = InflaterPool()
    let lent = (0..<20).map { _ in pool.borrow(windowBits: 15) }
    for inflater in lent { pool.giveBack(inflater) }
    #expect(pool.idleCount == 4)
  }

  @Test(
    "garbage never crashes, obeys the limits and does not depend on the cuts", .longComputation, arguments: testSeeds(4)
  )
  func garbage(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let limits = WebSocketLimits(messageBytes: 2_000, fragments: 6)
    let deflater = Deflater(level: 6, windowBits: 12, takesOver: false)
    for round in 0..<5_000 {
      var wire: [UInt8] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        var payload = (0..<Int.random(in: 0...60, using: &random)).map { _ in
          UInt8.random(in: .min ... .max, using: &random)
        }
        if Bool.random(using: &random) {
          payload = deflated(payload.map { $0 & 0x5F } + payload.map { $0 & 0x5F }, by: deflater)
          if Int.random(in: 0..<3, using: &random) == 0, !payload.isEmpty {
            payload[Int.random(in: 0..<payload.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
          }
        }
        let opcode = [1, 2, 0, 1].randomElement(using: &random)! as UInt8
        wire += plain(
          opcode, payload, fin: Int.random(in: 0..<3, using: &random) > 0,
          rsv: Int.random(in: 0..<8, using: &random) == 0 ? 0 : opcode == 0 ? 0 : 4)
      }
      let deflate = Bool.random(using: &random) ? Self.alone : PerMessageDeflate()
      let whole = events([wire], limits: limits, deflate: deflate)
      let cuts = (0..<3).map { _ in Int.random(in: 0...wire.count, using: &random) }
      let cut = events(pieces(wire, at: cuts), limits: limits, deflate: deflate, pool: InflaterPool())
      guard whole == cut, whole.allSatisfy(Self.isSane) else {
        Issue.record("seed \(seed), round \(round), cut at \(cuts): \(wire) gives \(whole) and \(cut)")
        return
      }
    }
  }

  private static func isSane(_ event: Event) -> Bool {
    switch event {
    case .text(let bytes): bytes.count <= 2_000 && naiveUTF8(bytes).isValid
    case .binary(let bytes): bytes.count <= 2_000
    case .refused(let code): [1002, 1007, 1009].contains(code)
    case .ping, .pong, .close: false
    }
  }

  @Test("what does not become smaller goes out as it is, unless the context has it")
  func notWorthIt() {
    let noise: [UInt8] = Array("q8#Zx".utf8)
    let alone = encoded { out in
      noise.withUnsafeBytes {
        WebSocketFrame.append(.text, payload: $0, mask: nil, deflater: Deflater(windowBits: 12), to: &out)
      }
    }
    #expect(alone == frame(1, noise, mask: nil))
    let kept = encoded { out in
      noise.withUnsafeBytes {
        WebSocketFrame.append(
          .text, payload: $0, mask: nil, deflater: Deflater(windowBits: 12, takesOver: true), to: &out)
      }
    }
    #expect(kept[0] == 0xC1)
    #expect(events([kept]) == [.text(noise)])
  }
}
