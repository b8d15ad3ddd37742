import Bytes
import TestSupport
import TestTraits
import Testing

@testable import WebSocket

@Suite("Receiving WebSocket frames")
struct WebSocketConnectionTests {
  /// Frames of every kind, and what they are.
  static let conversation: (bytes: [UInt8], events: [Event]) = {
    let long = [UInt8]((0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    var bytes: [UInt8] = []
    bytes += frame(1, Array("Hello".utf8))
    bytes += frame(2, [])
    bytes += frame(1, Array("grüße ".utf8), fin: false)
    bytes += frame(9, Array("amid".utf8))
    bytes += frame(0, [0xF0, 0x9F], fin: false)
    bytes += frame(10, [])
    bytes += frame(0, [], fin: false)
    bytes += frame(0, [0x90, 0xA2])
    bytes += frame(2, long)
    bytes += frame(2, [1], fin: false) + frame(0, [2, 3])
    bytes += frame(8, [0x03, 0xE9] + Array("bye ✓".utf8))
    bytes += frame(1, Array("ignored".utf8))
    return (
      bytes,
      [
        .text("Hello"), .binary([]), .ping(Array("amid".utf8)), .pong([]), .text("grüße 🐢"), .binary(long),
        .binary([1, 2, 3]), .close(1001, "bye ✓", mustReply: true),
      ]
    )
  }()

  @Test("The examples of RFC 6455 section 5.7")
  func examples() {
    #expect(events([[0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]], role: .client) == [.text("Hello")])
    #expect(
      events([[0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]]) == [.text("Hello")])
    #expect(
      events([[0x01, 0x03, 0x48, 0x65, 0x6C], [0x80, 0x02, 0x6C, 0x6F]], role: .client) == [.text("Hello")])
    #expect(
      events([[0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]], role: .client) == [.ping(Array("Hello".utf8))])
    #expect(
      events([[0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]]) == [.pong(Array("Hello".utf8))])
    let small = [UInt8](repeating: 0xAB, count: 256)
    #expect(events([[0x82, 0x7E, 0x01, 0x00] + small], role: .client) == [.binary(small)])
    let large = [UInt8](repeating: 0xCD, count: 65_536)
    #expect(
      events([[0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + large], role: .client) == [.binary(large)])
  }

  @Test("Cut at any byte, a conversation gives the same events")
  func cutAnywhere() {
    let (bytes, expected) = Self.conversation
    #expect(events([bytes]) == expected)
    for cut in 0...bytes.count {
      #expect(events(pieces(bytes, at: [cut])) == expected, "cut at \(cut)")
    }
    #expect(events(bytes.map { [$0] }) == expected)
  }

  @Test("Cut at random, a conversation gives the same events", arguments: testSeeds(50))
  func cutAtRandom(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let (bytes, expected) = Self.conversation
    let cuts = (0..<Int.random(in: 1...20, using: &random)).map { _ in Int.random(in: 0...bytes.count, using: &random) }
    #expect(events(pieces(bytes, at: cuts)) == expected, "seed \(seed)")
  }

  @Test("A message that lies whole in a read is handed out in place")
  func inPlace() throws {
    var connection = WebSocketConnection(role: .server)
    var bytes = frame(1, Array("Hello".utf8))
    try bytes.withUnsafeMutableBytes { memory in
      var input = memory
      guard case .text(let payload)? = try connection.next(&input) else {
        Issue.record("no text came")
        return
      }
      #expect(payload.baseAddress == UnsafeRawPointer(memory.baseAddress! + 6))
      #expect(connection.pendingBytes == 0)
    }
  }

  static let refusals: [(String, [UInt8], UInt16)] = [
    ("RSV1", frame(1, [], rsv: 4), 1002),
    ("RSV2", frame(1, [], rsv: 2), 1002),
    ("RSV3", frame(1, [], rsv: 1), 1002),
    ("opcode 3", frame(3, []), 1002),
    ("opcode 7", frame(7, []), 1002),
    ("opcode 11", frame(11, []), 1002),
    ("opcode 15", frame(15, []), 1002),
    ("a ping of 126 bytes", frame(9, [UInt8](repeating: 0, count: 126)), 1002),
    ("a ping with a 64-bit length", frame(9, [], length: 64), 1002),
    ("a fragmented ping", frame(9, [], fin: false), 1002),
    ("a fragmented close", frame(8, [], fin: false), 1002),
    ("a continuation of nothing", frame(0, []), 1002),
    ("a message inside a message", frame(1, [], fin: false) + frame(2, []), 1002),
    ("125 in 16 bits", frame(2, [UInt8](repeating: 0, count: 125), length: 16), 1002),
    ("65535 in 64 bits", frame(2, [UInt8](repeating: 0, count: 65_535), length: 64), 1002),
    ("a length of 64 bits", [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4], 1002),
    ("a length of 63 bits", [0x82, 0xFF, 0x7F, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4], 1009),
    ("no mask", frame(1, [], mask: nil), 1002),
    ("a close of one byte", frame(8, [3]), 1002),
    ("close code 0", frame(8, [0, 0]), 1002),
    ("close code 999", frame(8, [0x03, 0xE7]), 1002),
    ("close code 1004", frame(8, [0x03, 0xEC]), 1002),
    ("close code 1005", frame(8, [0x03, 0xED]), 1002),
    ("close code 1006", frame(8, [0x03, 0xEE]), 1002),
    ("close code 1015", frame(8, [0x03, 0xF7]), 1002),
    ("close code 1016", frame(8, [0x03, 0xF8]), 1002),
    ("close code 2999", frame(8, [0x0B, 0xB7]), 1002),
    ("close code 5000", frame(8, [0x13, 0x88]), 1002),
    ("a close reason that is not UTF-8", frame(8, [0x03, 0xE8, 0xFF]), 1007),
    ("a close reason cut in a character", frame(8, [0x03, 0xE8, 0xC3]), 1007),
    ("text that is not UTF-8", frame(1, [0x61, 0xFF]), 1007),
    ("text that ends in a character", frame(1, [0x61, 0xE2, 0x82]), 1007),
    ("a surrogate", frame(1, [0xED, 0xA0, 0x80]), 1007),
    ("an overlong slash", frame(1, [0xC0, 0xAF]), 1007),
    ("a fragment that is not UTF-8", frame(1, [0x61], fin: false) + frame(0, [0x80], fin: false), 1007),
  ]

  @Test("Every breach is refused with its code, wherever the bytes are cut", arguments: refusals)
  func refusal(_ name: String, _ bytes: [UInt8], _ code: UInt16) {
    let limits = WebSocketLimits(messageBytes: 1 << 20)
    #expect(events([bytes], limits: limits) == [.refused(code)], "\(name)")
    #expect(events([bytes + frame(1, [])], limits: limits) == [.refused(code)], "\(name), and nothing after it")
    if bytes.count < 1000 {
      for cut in 0...bytes.count {
        #expect(events(pieces(bytes, at: [cut]), limits: limits) == [.refused(code)], "\(name), cut at \(cut)")
      }
    }
  }

  @Test("A continuation after the end of a message is refused")
  func lateContinuation() {
    #expect(events([frame(1, [], fin: false) + frame(0, []) + frame(0, [])]) == [.text(""), .refused(1002)])
  }

  @Test("A server that masks is refused")
  func maskedServer() {
    #expect(events([frame(1, [])], role: .client) == [.refused(1002)])
  }

  @Test("Close codes that may be sent are accepted", arguments: [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 4999])
  func closeCodes(_ code: UInt16) {
    #expect(events([frame(8, [UInt8(code >> 8), UInt8(code & 255)])]) == [.close(code, "", mustReply: true)])
  }

  @Test("A close without a code is told as 1005")
  func closeWithoutCode() {
    #expect(events([frame(8, [])]) == [.close(1005, "", mustReply: true)])
  }

  @Test("The closing handshake goes through its states from either end")
  func closeStates() {
    var connection = WebSocketConnection(role: .server)
    var seen: [Event] = []
    #expect(connection.closeState == .open)
    connection.didSendClose()
    #expect(connection.closeState == .sent)
    feed(frame(1, Array("late".utf8)) + frame(8, [0x03, 0xE8]), to: &connection, into: &seen)
    #expect(seen == [.text("late"), .close(1000, "", mustReply: false)])
    #expect(connection.closeState == .closed)

    var other = WebSocketConnection(role: .server)
    feed(frame(8, []), to: &other, into: &seen)
    #expect(other.closeState == .received)
    other.didSendClose()
    #expect(other.closeState == .closed)

    var broken = WebSocketConnection(role: .server)
    feed(frame(3, []), to: &broken, into: &seen)
    #expect(broken.closeState == .failed)
  }

  @Test("A message over the limit is refused by its header, before anything is kept")
  func messageLimit() {
    let limits = WebSocketLimits(messageBytes: 1000)
    #expect(events([frame(2, [UInt8](repeating: 1, count: 1000))], limits: limits).count == 1)
    var connection = WebSocketConnection(role: .server, limits: limits)
    var seen: [Event] = []
    feed(Array(frame(2, [UInt8](repeating: 1, count: 1001)).prefix(8)), to: &connection, into: &seen)
    #expect(seen == [.refused(1009)])
    #expect(connection.pendingBytes == 0)

    var split = WebSocketConnection(role: .server, limits: limits)
    seen = []
    feed(frame(2, [UInt8](repeating: 1, count: 600), fin: false), to: &split, into: &seen)
    #expect(seen == [] && split.pendingBytes == 600)
    feed(Array(frame(0, [UInt8](repeating: 1, count: 401)).prefix(8)), to: &split, into: &seen)
    #expect(seen == [.refused(1009)])
    #expect(split.pendingBytes == 0)
  }

  @Test("Memory grows with what has come, not with what a header announces")
  func announcedLength() {
    var connection = WebSocketConnection(role: .server)
    var seen: [Event] = []
    feed(Array(frame(2, [UInt8](repeating: 1, count: 60_000)).prefix(10)), to: &connection, into: &seen)
    #expect(connection.pendingBytes == 2)
  }

  @Test("A message of too many fragments is refused")
  func fragmentLimit() {
    let limits = WebSocketLimits(fragments: 3)
    let first = frame(1, [], fin: false)
    let middle = frame(0, [], fin: false)
    #expect(events([first + middle + frame(0, [])], limits: limits) == [.text("")])
    #expect(events([first + middle + middle + frame(0, [])], limits: limits) == [.refused(1009)])
  }

  @Test("A bad octet of text is refused with the read that brings it")
  func failFast() {
    var connection = WebSocketConnection(role: .server)
    var seen: [Event] = []
    // κόσμε, then a surrogate, then more to come: Autobahn's case 6.4.
    let whole = frame(1, Array("κόσμε".utf8) + [0xF4, 0x90, 0x80, 0x80] + Array("edited".utf8))
    feed(Array(whole.prefix(6 + 11)), to: &connection, into: &seen)
    #expect(seen == [])
    feed([whole[17]], to: &connection, into: &seen)
    #expect(seen == [.refused(1007)])
  }

  @Test("A gathered message is given back after it was handed out")
  func release() {
    var connection = WebSocketConnection(role: .server)
    var seen: [Event] = []
    let message = frame(2, [UInt8](repeating: 7, count: 10_000))
    feed(Array(message.prefix(5000)), to: &connection, into: &seen)
    #expect(connection.pendingBytes == 5000 - 8)
    feed(Array(message.dropFirst(5000)), to: &connection, into: &seen)
    #expect(seen == [.binary([UInt8](repeating: 7, count: 10_000))])
    #expect(connection.pendingBytes == 0)
  }

  @Test("Between messages a server holds nothing, wherever the bytes were cut; a client keeps a small buffer")
  func betweenMessages() {
    #expect(MemoryLayout<WebSocketConnection>.size <= 32)
    let messages = [
      frame(1, Array("half".utf8), fin: false) + frame(9, [1, 2, 3]) + frame(0, Array(" and half".utf8)),
      frame(2, [UInt8](repeating: 7, count: 200)), frame(10, []),
    ]
    let bytes = messages.flatMap { $0 }
    let ends = messages.indices.map { messages[...$0].reduce(0) { $0 + $1.count } }
    for cut in 0...bytes.count {
      var connection = WebSocketConnection(role: .server)
      var seen: [Event] = []
      feed(Array(bytes[..<cut]), to: &connection, into: &seen)
      #expect(connection.holdsInput == (cut > 0 && !ends.contains(cut)), "cut at \(cut)")
      feed(Array(bytes[cut...]), to: &connection, into: &seen)
      #expect(seen.count == 4 && connection.holdsInput == false && connection.pendingBytes == 0, "cut at \(cut)")
    }
    var client = WebSocketConnection(role: .client)
    var seen: [Event] = []
    for piece in pieces(frame(2, [1, 2, 3], mask: nil), at: [3]) { feed(piece, to: &client, into: &seen) }
    #expect(seen == [.binary([1, 2, 3])] && client.holdsInput && client.pendingBytes == 0)
  }

  @Test("What was handed out is given back when the caller says so, not only with the next bytes")
  func settling() throws {
    var connection = WebSocketConnection(role: .server)
    var seen: [Event] = []
    let message = frame(2, [UInt8](repeating: 7, count: 200))
    feed(Array(message.prefix(100)), to: &connection, into: &seen)
    var rest = Array(message.dropFirst(100))
    try rest.withUnsafeMutableBytes { memory in
      var input = memory
      guard case .binary(let payload)? = try connection.next(&input) else {
        Issue.record("no message came")
        return
      }
      #expect(payload.count == 200 && connection.holdsInput)
    }
    connection.settle()
    #expect(connection.holdsInput == false)
  }

  @Test("A ping amid a split message leaves the message whole")
  func pingAmid() {
    let bytes = frame(1, Array("half".utf8), fin: false) + frame(9, [1, 2, 3]) + frame(0, Array(" and half".utf8))
    for cut in 0...bytes.count {
      #expect(events(pieces(bytes, at: [cut])) == [.ping([1, 2, 3]), .text("half and half")], "cut at \(cut)")
    }
  }

  @Test(
    "Garbage never crashes, and what is accepted obeys the limits and does not depend on the cuts", .longComputation)
  func garbage() {
    var random = SeededGenerator(seed: testSeeds(1)[0])
    let limits = WebSocketLimits(messageBytes: 64, fragments: 4)
    for round in 0..<100_000 {
      let role: WebSocketRole = round & 1 == 0 ? .server : .client
      var bytes: [UInt8] = []
      // Half of the headers are made likely to be accepted, so that what is behind them is reached too.
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let noise = random.next()
        if noise & 3 == 0 {
          bytes += (0..<Int(noise >> 2 & 15)).map { UInt8(truncatingIfNeeded: random.next() >> $0) }
        } else {
          let opcodes: [UInt8] = [0, 1, 2, 8, 9, 10, 1, 0]
          let payload = (0..<Int(noise >> 8 & 15)).map { _ in UInt8(truncatingIfNeeded: random.next()) & 0xDF }
          bytes += frame(
            opcodes[Int(noise >> 16 & 7)], payload, fin: noise >> 20 & 3 != 0,
            mask: role == .server ? UInt32(truncatingIfNeeded: noise) : nil)
        }
      }
      let whole = events([bytes], role: role, limits: limits)
      let cut = Int.random(in: 0...bytes.count, using: &random)
      guard whole == events(pieces(bytes, at: [cut]), role: role, limits: limits), whole.allSatisfy(Self.isSane) else {
        Issue.record("round \(round), cut at \(cut): \(bytes) gives \(whole)")
        return
      }
    }
  }

  private static func isSane(_ event: Event) -> Bool {
    switch event {
    case .text(let bytes): bytes.count <= 64 && naiveUTF8(bytes).isValid
    case .binary(let bytes): bytes.count <= 64
    case .ping(let bytes), .pong(let bytes): bytes.count <= 125
    case .close(let code, let reason, _):
      (code == 1005 || WebSocketCloseCode(rawValue: code).isSendable) && reason.utf8.count <= 123
    case .refused(let code): [1002, 1007, 1009].contains(code)
    }
  }
}
